"""Write a whole file: safely, in one step, and in the spelling that the file already has."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult, Touch
from cosh_tools.files.changing import Face, Place, commit, place
from cosh_tools.files.diff import Change, change_of_texts
from cosh_tools.files.placeholders import refuse_new_placeholders, secrets_told
from cosh_tools.files.places import short
from cosh_tools.files.text import NotText, TextStyle, body_of, sniff


class WriteInput(ToolInput):
    """What to write, and where."""

    file_path: str = Field(
        min_length=1, validation_alias=AliasChoices("file_path", "path"), description="The file, absolute or relative."
    )
    content: str = Field(description="The whole new content.")


class WriteFileInput(ToolInput):
    """What to write, in cosh's terms."""

    path: str = Field(
        min_length=1, validation_alias=AliasChoices("path", "file_path"), description="Path of the file to write."
    )
    content: str = Field(description="The content to write.")


class Write(Tool[WriteInput]):
    """Creates or overwrites one file."""

    name = "Write"
    aliases = ("write_file",)
    description = (
        "Creates a file, or replaces the whole content of one. Missing folders are made. A file that exists must have "
        "been read first; for a small change use Edit instead. Encoding, line endings, a final newline and the mode of "
        "an existing file are kept. Notebooks are changed with NotebookEdit."
    )
    kind, permission_level = ToolKind.FILE_EDIT, PermissionLevel.WRITE
    verb = "write"
    keywords = ("file", "create", "save", "overwrite", "new")

    def touches(self, call: WriteInput, ctx: ToolContext) -> Sequence[Touch]:
        """The file."""
        return (ctx.writes(call.file_path),)

    def target(self, call: WriteInput, ctx: ToolContext) -> str:
        """The file as seen from the working directory."""
        return short(ctx.resolve_path(call.file_path), ctx)

    async def diff(self, call: WriteInput, ctx: ToolContext) -> str:
        """The change, before it is made."""
        return (await asyncio.to_thread(_plan, call.file_path, call.content, ctx, "claude")).change.diff

    async def execute(self, call: WriteInput, ctx: ToolContext) -> ToolResult:
        """Write it."""
        plan = await asyncio.to_thread(_write, call.file_path, call.content, ctx, "claude")
        what = "Wrote" if plan.at.before is not None else "Created"
        return plan.result(f"{what} {call.file_path} ({plan.lines} lines, {len(plan.data)} bytes)")


class WriteFile(Tool[WriteFileInput]):
    """cosh's face of Write."""

    name = "write_file"
    description = "Write content to a file, creating it and its parent folders as needed, or overwriting it."
    kind, permission_level = ToolKind.FILE_EDIT, PermissionLevel.WRITE
    verb = "write"

    def touches(self, call: WriteFileInput, ctx: ToolContext) -> Sequence[Touch]:
        """The file."""
        return (ctx.writes(call.path),)

    def target(self, call: WriteFileInput, ctx: ToolContext) -> str:
        """The file as seen from the working directory."""
        return short(ctx.resolve_path(call.path), ctx)

    async def diff(self, call: WriteFileInput, ctx: ToolContext) -> str:
        """The change, before it is made."""
        return (await asyncio.to_thread(_plan, call.path, call.content, ctx, "cosh")).change.diff

    async def execute(self, call: WriteFileInput, ctx: ToolContext) -> ToolResult:
        """Write it."""
        plan = await asyncio.to_thread(_write, call.path, call.content, ctx, "cosh")
        return plan.result(f"Wrote {len(plan.data)} bytes ({plan.lines} lines) to {call.path}")


@dataclass(frozen=True)
class _Plan:
    """New content for a place, ready to be put there."""

    at: Place
    data: bytes
    lines: int
    change: Change

    def result(self, sentence: str) -> ToolResult:
        return ToolResult.success("\n".join([sentence, *self.at.notes])).with_metadata(
            path=str(self.at.real),
            file_path=str(self.at.real),
            is_new=self.at.before is None,
            lines=self.lines,
            bytes=len(self.data),
            diff=self.change.diff,
            summary=self.change.summary,
        )


def _plan(given: str, content: str, ctx: ToolContext, face: Face) -> _Plan:
    at = place(given, ctx, face)
    try:
        style = sniff(at.data)
        before = style.decode(body_of(at.data, style)) if at.before is not None else None
    except NotText:
        style, before = TextStyle(), ""  # a binary file becomes the text that the model sends
    refuse_new_placeholders(content, before or "", given)
    if warning := secrets_told(content, before or ""):
        at.notes.append(warning)
    text = style.with_newlines(content) if before and "\n" in before.replace("\r", "\n") else content
    if face == "claude" and before and before.endswith("\n") and text and not text.endswith("\n"):
        text += style.newline
        at.notes.append("(The final newline was kept.)")
    data = style.bom + style.encode(text)
    lines = text.count("\n") + (bool(text) and not text.endswith("\n"))
    return _Plan(at, data, lines, change_of_texts(before, text, short(at.real, ctx)))


def _write(given: str, content: str, ctx: ToolContext, face: Face) -> _Plan:
    plan = _plan(given, content, ctx, face)
    commit(plan.at, [plan.data], ctx)
    return plan
