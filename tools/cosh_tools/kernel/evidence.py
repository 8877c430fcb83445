"""cosh_shell_evidence: what ran before in the terminal or the notebook, and what it printed."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, StrictBool, model_validator

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult

_GOOD_EXCERPTS = frozenset({"available", "already_delivered"})
_BAD_STATUS = frozenset({"unavailable", "failed", "redacted_confirmation_required"})
_ONLY_READ = ("output_id", "lines", "bypass_recent_filter")
_ONLY_LIST = ("limit", "cursor")


class EvidenceInput(ToolInput):
    """Arguments of cosh_shell_evidence."""

    action: Literal["list_commands", "read_output"] = Field(
        description="list_commands: recent commands or cells with their output ids. read_output: what one printed."
    )
    limit: int = Field(20, description="list_commands: how many, 1 to 100.")
    cursor: str | None = Field(None, description="list_commands: where the last list ended, to go on from there.")
    output_id: str | None = Field(
        None, description="read_output: terminal-output://<session>/<command>, as list_commands gave it."
    )
    direction: Literal["head", "tail"] = Field("tail", description="read_output: its beginning or its end.")
    lines: int = Field(120, description="read_output: how many lines, 1 to 300.")
    bypass_recent_filter: StrictBool = Field(
        False,
        description="read_output: read it although it was read a moment ago. It always is, so this changes nothing.",
    )

    @model_validator(mode="after")
    def _fields_belong_to_the_action(self) -> Self:
        wrong = _ONLY_READ if self.action == "list_commands" else _ONLY_LIST
        mixed = [name for name in wrong if name in self.model_fields_set]
        if mixed:
            raise ValueError(
                f"{self.action} does not take {' or '.join(mixed)}. Leave {'them' * (len(mixed) > 1) or 'it'} out."
            )
        if self.action == "read_output" and not (self.output_id or "").strip():
            raise ValueError("read_output needs output_id. Call list_commands first: it gives the ids.")
        return self


class ShellEvidence(Tool[EvidenceInput]):
    """Reads what is recorded; runs nothing and never asks."""

    name = "cosh_shell_evidence"
    description = (
        "See what was run before and what it printed, without running it again: commands of the terminal, or the "
        "user's own notebook cells. list_commands gives recent ones, newest first, with their output ids; read_output "
        "gives the head or the tail of one output."
    )
    kind, permission_level = ToolKind.SHELL_EVIDENCE, PermissionLevel.READ_ONLY
    always_allowed = True
    concurrency_safe = True
    verb = "look up"
    keywords = ("output", "terminal", "history", "cells", "evidence")

    def target(self, call: EvidenceInput, ctx: ToolContext) -> str:
        """The output that is read."""
        del ctx
        return call.output_id or "earlier output"

    async def execute(self, call: EvidenceInput, ctx: ToolContext) -> ToolResult:
        """Ask the host."""
        match call.action:
            case "list_commands":
                result = await ctx.evidence.list_commands(_within(call.limit, 100), call.cursor)
            case "read_output":
                result = await ctx.evidence.read_output(
                    (call.output_id or "").strip(), call.direction, _within(call.lines, 300)
                )
        if result.is_error or not _failed(result):
            return result
        return ToolResult(result.content, is_error=True, metadata=result.metadata, media=result.media)


def _within(number: int, most: int) -> int:
    return max(1, min(number, most))


def _failed(result: ToolResult) -> bool:
    """Whether what the host says of its answer makes it an error."""
    about = result.metadata
    return bool(
        about.get("is_error") is True
        or ("excerpt_status" in about and about["excerpt_status"] not in _GOOD_EXCERPTS)
        or about.get("status") in _BAD_STATUS
        or about.get("reason") == "redacted_confirmation_required"
    )
