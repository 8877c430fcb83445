"""Edit: replace one exact text in a file by another, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolError, ToolInput, ToolKind, ToolResult, Touch
from cosh_tools.files.atomic import Parts
from cosh_tools.files.changing import Face, Place, commit, place
from cosh_tools.files.diff import Change, Span, change_of_spans, change_of_texts
from cosh_tools.files.matching import find
from cosh_tools.files.nearest import explain_missing
from cosh_tools.files.placeholders import refuse_new_placeholders, secrets_told
from cosh_tools.files.places import short
from cosh_tools.files.text import NotText, TextStyle, body_of, sniff


class EditInput(ToolInput):
    """Which text becomes which."""

    file_path: str = Field(
        min_length=1, validation_alias=AliasChoices("file_path", "path"), description="The file, absolute or relative."
    )
    old_string: str = Field(
        description="The exact text to replace, without the line numbers that Read shows. Empty: create the file."
    )
    new_string: str = Field(description="The text that takes its place.")
    replace_all: bool = Field(False, description="Replace every occurrence, not exactly one.")


class EditCoshInput(ToolInput):
    """Which text becomes which, in cosh's terms."""

    path: str = Field(
        min_length=1, validation_alias=AliasChoices("path", "file_path"), description="Path of the file to edit."
    )
    old_string: str = Field(description="Exact text to find.")
    new_string: str = Field(description="Text to put in its place.")
    replace_all: bool = Field(False, description="Replace all occurrences (default false).")


class Edit(Tool[EditInput]):
    """Replaces text in one file."""

    name = "Edit"
    aliases = ("edit", "MultiEdit")
    description = (
        "Replaces old_string by new_string in a file that you have read. old_string must be in the file exactly as "
        "given, and only once: add lines around it until it is unique, or set replace_all. An empty old_string "
        "creates a file that does not exist. Every other byte, the encoding and the line endings stay as they are."
    )
    kind, permission_level = ToolKind.FILE_EDIT, PermissionLevel.WRITE
    verb = "edit"
    keywords = ("file", "replace", "change", "modify", "patch", "substitute")

    def touches(self, call: EditInput, ctx: ToolContext) -> Sequence[Touch]:
        """The file."""
        return (ctx.writes(call.file_path),)

    def target(self, call: EditInput, ctx: ToolContext) -> str:
        """The file as seen from the working directory."""
        return short(ctx.resolve_path(call.file_path), ctx)

    async def diff(self, call: EditInput, ctx: ToolContext) -> str:
        """The change, before it is made."""
        return (await asyncio.to_thread(_plan, call, call.file_path, ctx, "claude")).change(ctx).diff

    async def execute(self, call: EditInput, ctx: ToolContext) -> ToolResult:
        """Make the change."""
        plan, change = await asyncio.to_thread(_edit, call, call.file_path, ctx, "claude")
        count = len(plan.spans)
        sentence = f"Successfully edited {call.file_path} ({count} replacement{'s' * (count != 1)})."
        return plan.result(sentence if plan.at.before is not None else f"Created {call.file_path}.", change)


class EditCosh(Tool[EditCoshInput]):
    """cosh's face of Edit."""

    name = "edit"
    description = "Edit a file by replacing an exact text. The text must be unique unless replace_all is true."
    kind, permission_level = ToolKind.FILE_EDIT, PermissionLevel.WRITE
    verb = "edit"

    def touches(self, call: EditCoshInput, ctx: ToolContext) -> Sequence[Touch]:
        """The file."""
        return (ctx.writes(call.path),)

    def target(self, call: EditCoshInput, ctx: ToolContext) -> str:
        """The file as seen from the working directory."""
        return short(ctx.resolve_path(call.path), ctx)

    async def diff(self, call: EditCoshInput, ctx: ToolContext) -> str:
        """The change, before it is made."""
        return (await asyncio.to_thread(_plan, call, call.path, ctx, "cosh")).change(ctx).diff

    async def execute(self, call: EditCoshInput, ctx: ToolContext) -> ToolResult:
        """Make the change."""
        plan, change = await asyncio.to_thread(_edit, call, call.path, ctx, "cosh")
        return plan.result(f"Replaced {len(plan.spans)} occurrence(s) in {call.path}", change)


@dataclass(frozen=True)
class _Plan:
    """The stretches of the file that will change."""

    at: Place
    style: TextStyle
    spans: tuple[Span, ...]

    @property
    def parts(self) -> Parts:
        """The new content, in pieces of the old one and the new texts between them."""
        old, at = memoryview(self.at.data), 0
        parts: list[bytes | memoryview] = []
        for span in self.spans:
            parts += [old[at : span.start], span.new]
            at = span.end
        return [*parts, old[at:]]

    def change(self, ctx: ToolContext) -> Change:
        """The change as a diff."""
        name, style = short(self.at.real, ctx), self.style
        if self.at.before is None:
            return change_of_texts(None, style.decode(self.spans[0].new), name)
        if style.encoding.startswith(("utf-16", "utf-32")):
            after = b"".join(self.parts)
            return change_of_texts(
                style.decode(body_of(self.at.data, style)), style.decode(body_of(after, style), "replace"), name
            )
        return change_of_spans(self.at.data, self.spans, name, lambda raw: style.decode(raw, "replace"))

    def result(self, sentence: str, change: Change) -> ToolResult:
        return ToolResult.success("\n".join([sentence, *self.at.notes])).with_metadata(
            path=str(self.at.real),
            file_path=str(self.at.real),
            replacements=len(self.spans),
            diff=change.diff,
            summary=change.summary,
        )


def _plan(call: EditInput | EditCoshInput, given: str, ctx: ToolContext, face: Face) -> _Plan:
    if call.old_string == call.new_string:
        raise ToolError("old_string and new_string must be different.")
    at = place(given, ctx, face)
    if at.before is None and (call.old_string or face == "cosh"):
        raise ToolError(f"File not found: {given}. To create it, " + _how_to_create(face))
    try:
        style = sniff(at.data)
    except NotText as error:
        raise ToolError(f"{given} is binary ({error}), and only text is edited. Use Bash for it.") from None
    if not call.old_string:
        if body_of(at.data, style):
            raise ToolError(
                f"old_string is empty, but {given} is not. Send the text to replace, or use Write for a new content."
            )
        refuse_new_placeholders(call.new_string, "", given)
        whole = Span(len(style.bom), len(style.bom), style.encode(call.new_string))
        return _Plan(at, style, (whole,))
    refuse_new_placeholders(call.new_string, call.old_string, given)
    if warning := secrets_told(call.new_string, call.old_string):
        at.notes.append(warning)
    body = body_of(at.data, style)
    found = find(body, style, call.old_string, call.new_string, every=call.replace_all)
    if not found.spans:
        why = explain_missing(body, style, call.old_string)
        raise ToolError(f"old_string not found in {given}. Make sure the string matches exactly. {why}")
    if len(found.spans) > 1 and not call.replace_all:
        raise ToolError(
            f"old_string appears {len(found.spans)} times in {given} (lines {_line_numbers(body, found.spans)}). "
            "Either provide a larger string with more of its surroundings, or set replace_all to change them all."
        )
    if found.by_quotes:
        at.notes.append("(old_string was found with other quote marks; the file's own were kept.)")
    shift = len(style.bom)
    return _Plan(at, style, tuple(Span(span.start + shift, span.end + shift, span.new) for span in found.spans))


def _edit(call: EditInput | EditCoshInput, given: str, ctx: ToolContext, face: Face) -> tuple[_Plan, Change]:
    plan = _plan(call, given, ctx, face)
    change = plan.change(ctx)
    commit(plan.at, plan.parts, ctx)
    return plan, change


def _line_numbers(body: bytes, spans: Sequence[Span]) -> str:
    numbers, line, at = [], 1, 0
    for span in spans[:10]:
        line += body.count(b"\n", at, span.start)
        at = span.start
        numbers.append(str(line))
    return ", ".join(numbers) + (", ..." if len(spans) > 10 else "")


def _how_to_create(face: Face) -> str:
    return "use write_file." if face == "cosh" else "use Write, or Edit with an empty old_string."
