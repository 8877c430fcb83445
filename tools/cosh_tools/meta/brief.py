"""Brief: a word to the person while the work goes on, with files attached."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from cosh_tools.contract import (
    Media,
    PermissionLevel,
    Tool,
    ToolContext,
    ToolError,
    ToolInput,
    ToolKind,
    ToolResult,
    Touch,
)

_IMAGES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".svg": "image/svg+xml",
}  # fmt: skip
_SHOWN = 3_000_000
"""Bytes of an image that are shown in the card; a larger one is named only."""


class BriefInput(ToolInput):
    """Arguments of Brief."""

    message: str = Field(description="What the person should know, in Markdown.")
    status: Literal["normal", "proactive"] = Field(
        "normal", description="proactive: it was not asked for, but matters now."
    )
    attachments: list[str] = Field(default_factory=list, description="Files to show with it.")


@dataclass(frozen=True, slots=True)
class _Attached:
    path: Path
    size: int
    media: Media | None


class Brief(Tool[BriefInput]):
    """All of its attachments, or an error that names each that cannot be had."""

    name = "Brief"
    description = (
        "Show the person a short message while you go on working: a finding, a result, a warning. Attach files that "
        "belong to it; images are shown. Do not use it for the final answer."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "tell"
    keywords = ("message", "status", "user", "attach", "notify", "show")

    def target(self, call: BriefInput, ctx: ToolContext) -> str:
        """The first line."""
        del ctx
        return next((line.strip() for line in call.message.splitlines() if line.strip()), "")

    def touches(self, call: BriefInput, ctx: ToolContext) -> Sequence[Touch]:
        """Attachments are read."""
        return [ctx.reads(path) for path in call.attachments]

    async def execute(self, call: BriefInput, ctx: ToolContext) -> ToolResult:
        """Look at the files, then show it."""
        if not call.message.strip():
            raise ToolError("Message cannot be empty. Say something.")
        found, problems = await asyncio.to_thread(_look, call.attachments, ctx)
        if problems:
            raise ToolError("\n".join(["Failed to resolve attachments:", *problems]))
        return ToolResult.success(call.message).with_metadata(
            type="brief",
            message=call.message,
            status=call.status,
            sentAt=ctx.clock.now().isoformat(timespec="seconds"),
            attachments=[
                {"path": str(each.path), "size": each.size, "is_image": each.path.suffix.lower() in _IMAGES}
                for each in found
            ],
            display=call.message,
            media=tuple(each.media for each in found if each.media is not None),
        )


def _look(paths: Sequence[str], ctx: ToolContext) -> tuple[list[_Attached], list[str]]:
    found, problems = [], []
    for given in paths:
        path = ctx.resolve_path(given)
        try:
            if not path.is_file():
                problems.append(f"{given}: {'it is a folder' if path.is_dir() else 'there is no such file'}")
                continue
            size = path.stat().st_size
            kind = _IMAGES.get(path.suffix.lower())
            shown = kind is not None and size <= _SHOWN
            found.append(_Attached(path, size, Media(str(kind), path.read_bytes(), path.name) if shown else None))
        except OSError as error:
            problems.append(f"{given}: {error.strerror}")
    return found, problems
