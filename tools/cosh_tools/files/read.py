"""Read a file: text with numbered lines, images and PDF pages as such, notebooks as cells."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolError, ToolInput, ToolKind, ToolResult, Touch
from cosh_tools.files import cells, images, pages
from cosh_tools.files.lines import Excerpt, InMemory, OnDisk, excerpt, index_of
from cosh_tools.files.opening import Identity, open_regular, read_all
from cosh_tools.files.places import short
from cosh_tools.files.seen import HASHED_IN_FULL, mark_part, mark_whole
from cosh_tools.files.text import NotText, TextStyle, body_of, sniff
from cosh_tools.notebook.access import mark_read

DEFAULT_LINES = 2000
WIDEST = 2000
"""Characters of one line that are shown."""
MOST_CHARACTERS = 95_000
COSH_MOST_BYTES = 10 << 20
_MOST_MEDIA = 200 << 20
_HEAD = 64 * 1024
_SHORT_MAGIC = frozenset({".bmp", ".tif", ".tiff", ".ico", ".cur"})


class ReadInput(ToolInput):
    """What to read."""

    file_path: str = Field(
        min_length=1, validation_alias=AliasChoices("file_path", "path"), description="The file, absolute or relative."
    )
    offset: int = Field(0, ge=0, description="The line to start at, counted from 1 (in a notebook: the cell).")
    limit: int = Field(0, ge=0, description="How many lines to read; 2000 when left out (in a notebook: cells).")
    pages: str = Field("", description='Pages of a PDF, for example "3" or "1-5"; at most 20 at a time.')


class Read(Tool[ReadInput]):
    """Reads one file."""

    name = "Read"
    aliases = ("read_file",)
    description = (
        "Reads a file. Text comes with line numbers: the number, a tab, then the line exactly as it is in the file. "
        "2000 lines at most unless limit says more; offset goes further in, also far into very large files. "
        "PNG, JPEG, GIF and WebP images and PDF pages are shown to you as such; a .ipynb comes as its cells with "
        "outputs. A file must be read before Write or Edit may change it. It does not list folders."
    )
    kind, permission_level = ToolKind.READ_ONLY, PermissionLevel.READ_ONLY
    concurrency_safe = True
    verb = "read"
    keywords = ("file", "open", "view", "cat", "image", "pdf", "notebook", "lines")

    def touches(self, call: ReadInput, ctx: ToolContext) -> Sequence[Touch]:
        """The file."""
        return (ctx.reads(call.file_path),)

    def target(self, call: ReadInput, ctx: ToolContext) -> str:
        """The file as seen from the working directory."""
        return short(ctx.resolve_path(call.file_path), ctx)

    async def execute(self, call: ReadInput, ctx: ToolContext) -> ToolResult:
        """Read it and note what was seen."""
        real = ctx.reads(call.file_path).real
        if real.suffix.lower() == ".ipynb":
            return await _notebook(call, real, ctx)
        return await asyncio.to_thread(_read, call, real, ctx)


class ReadFileInput(ToolInput):
    """What to read, in cosh's terms."""

    path: str = Field(
        min_length=1, validation_alias=AliasChoices("path", "file_path"), description="Path of the file to read."
    )
    offset: int = Field(0, ge=0, description="Line to start from, counted from 0 (default 0).")
    limit: int = Field(DEFAULT_LINES, ge=0, description="Most lines to return (default 2000).")


class ReadFile(Tool[ReadFileInput]):
    """cosh's face of Read: lines count from 0, UTF-8 only, 10 MiB."""

    name = "read_file"
    description = "Read the contents of a text file. Supports a range of lines with offset (from 0) and limit."
    kind, permission_level = ToolKind.READ_ONLY, PermissionLevel.READ_ONLY
    concurrency_safe = True
    verb = "read"

    def touches(self, call: ReadFileInput, ctx: ToolContext) -> Sequence[Touch]:
        """The file."""
        if call.path.startswith("terminal-output://"):
            return ()
        return (ctx.reads(call.path),)

    def target(self, call: ReadFileInput, ctx: ToolContext) -> str:
        """The file as seen from the working directory."""
        return short(ctx.resolve_path(call.path), ctx)

    async def execute(self, call: ReadFileInput, ctx: ToolContext) -> ToolResult:
        """Read it as cosh does."""
        if call.path.startswith("terminal-output://"):
            raise ToolError(
                f"{call.path} is not a file but a reference to terminal output. Read it with cosh_shell_evidence, "
                "action read_output, where that tool is enabled; otherwise run the command again."
            )
        return await asyncio.to_thread(_read_as_cosh, call, ctx.reads(call.path).real, ctx)


def _read(call: ReadInput, real: Path, ctx: ToolContext) -> ToolResult:
    handle, found = open_regular(real, call.file_path)
    try:
        head = os.pread(handle, _HEAD, 0)
        if images.image_kind(head) or (images.other_image(head) and real.suffix.lower() in _SHORT_MAGIC):
            return _image(call, real, _whole(handle, found, call.file_path), ctx)
        if pages.is_pdf(head):
            return _pdf(call, real, _whole(handle, found, call.file_path), ctx)
        return _text(call, real, handle, found, ctx)
    finally:
        os.close(handle)


def _text(call: ReadInput, real: Path, handle: int, found: os.stat_result, ctx: ToolContext) -> ToolResult:
    given, first, count = call.file_path, max(call.offset, 1), call.limit or DEFAULT_LINES
    try:
        if found.st_size > HASHED_IN_FULL:
            source = OnDisk(handle, found.st_size)
            style = sniff(source.at(0, _HEAD), whole=False)
            if style.encoding.startswith(("utf-16", "utf-32")):
                raise ToolError(
                    f"{given} is {style.encoding} of {found.st_size:,} bytes. Convert it first: Bash iconv."
                )
            part = excerpt(source, index_of(source, Identity.of(found)), first, count, WIDEST * 4, MOST_CHARACTERS)
            mark_part(ctx.read_state, real, handle, found, part.start, source.at(part.start, part.end - part.start))
        else:
            data = read_all(handle, found.st_size)
            mark_whole(ctx.read_state, real, data)
            style = sniff(data)
            memory = InMemory(_with_plain_newlines(data, style))
            part = excerpt(memory, index_of(memory, None), first, count, WIDEST * 4, MOST_CHARACTERS)
    except NotText as error:
        raise ToolError(
            f"File appears to be binary and cannot be displayed as text: {given} ({error}). "
            "Look at it with Bash, for example `file` or `xxd | head`."
        ) from None
    if part.total == 0:
        return ToolResult.success(f"[File {given} exists but is empty]").with_metadata(_facts(real, part, "empty"))
    if first > part.total:
        raise ToolError(f"Offset {first} exceeds total line count {part.total} in {given}.")
    shown = len(part.lines)
    return ToolResult.success(_numbered(part, style) + _rest(part, first) + _about(style)).with_metadata(
        _facts(real, part, f"{shown} line{'s' * (shown != 1)}"), encoding=style.encoding
    )


def _numbered(part: Excerpt, style: TextStyle) -> str:
    width = len(str(part.lines[-1].number))
    out = []
    for line in part.lines:
        cut = line.length > len(line.raw)
        raw = line.raw.removeprefix(style.bom) if line.number == 1 and style.is_utf8 else line.raw
        encoding = "utf-8" if style.encoding.startswith("utf") else style.encoding
        text = raw.decode(encoding, "ignore" if cut else "replace")
        if not cut:
            text = text.removesuffix("\r")
        if cut or len(text) > WIDEST:
            text = f"{text[:WIDEST]}... [line cut here: {line.length:,} bytes in all]"
        out.append(f"{line.number:>{width}}\t{text}\n")
    return "".join(out)


def _rest(part: Excerpt, first: int) -> str:
    more = part.total - (first - 1) - len(part.lines)
    return f"\n... ({more} more lines, {part.total} total. Use offset/limit to read more.)" if more > 0 else ""


def _about(style: TextStyle) -> str:
    if style.damaged:
        return "\n(Some bytes are not UTF-8 and show as \ufffd; edits keep them.)"
    if style.encoding != "utf-8":
        return f"\n(The file is encoded as {style.encoding}; edits keep that.)"
    return ""


def _facts(real: Path, part: Excerpt, summary: str) -> dict[str, object]:
    return {
        "path": str(real),
        "start_line": part.lines[0].number if part.lines else 0,
        "lines": len(part.lines),
        "total_lines": part.total,
        "summary": summary,
    }


def _with_plain_newlines(data: bytes, style: TextStyle) -> bytes:
    """UTF-8 with LF, as far as lines are concerned."""
    if style.encoding.startswith(("utf-16", "utf-32")):
        data = style.decode(body_of(data, style), "replace").encode("utf-8", "replace")
    return data.replace(b"\r", b"\n") if style.newline == "\r" else data


def _whole(handle: int, found: os.stat_result, given: str) -> bytes:
    if found.st_size > _MOST_MEDIA:
        raise ToolError(f"{given} has {found.st_size:,} bytes, too many to show. Make a smaller copy with Bash.")
    return read_all(handle, found.st_size)


def _image(call: ReadInput, real: Path, data: bytes, ctx: ToolContext) -> ToolResult:
    media = images.for_model(data, real.name)
    mark_whole(ctx.read_state, real, data)
    size = images.image_kind(data)
    pixels = f", {size.width} x {size.height} pixels" if size is not None else ""
    smaller = " It is shown scaled down." if media.data is not data else ""
    return ToolResult.success(
        f"Image file {call.file_path}{pixels}, {len(data):,} bytes.{smaller}", media
    ).with_metadata(path=str(real), summary=f"image{pixels}")


def _pdf(call: ReadInput, real: Path, data: bytes, ctx: ToolContext) -> ToolResult:
    media, sentence = pages.pdf_for_model(data, real.name, call.pages)
    mark_whole(ctx.read_state, real, data)
    return ToolResult.success(sentence, media).with_metadata(path=str(real), summary=sentence.rpartition(", ")[2])


async def _notebook(call: ReadInput, real: Path, ctx: ToolContext) -> ToolResult:
    raw = await asyncio.to_thread(_bytes_of, real, call.file_path)
    try:
        view = await ctx.notebook.read(real)
    except ToolError:
        view = cells.view_of(real, raw)  # no notebook host, or not one of its notebooks: the file itself
    mark_whole(ctx.read_state, real, raw)
    first = max(call.offset, 1)
    wanted = view.cells[first - 1 : first - 1 + call.limit] if call.limit else view.cells[first - 1 :]
    if not view.cells:
        return ToolResult.success(f"[Notebook {call.file_path} has no cells]").with_metadata(path=str(real))
    if not wanted:
        raise ToolError(f"Offset {first} exceeds the {len(view.cells)} cells of {call.file_path}.")
    text, media, count = cells.cells_as_text(wanted, MOST_CHARACTERS)
    mark_read(ctx, real, wanted[:count])  # NotebookEdit changes cells that were read
    more = len(view.cells) - (first - 1) - count
    rest = f"\n\n... ({more} more cells, {len(view.cells)} total. Use offset/limit to read more.)" if more > 0 else ""
    return ToolResult(f"Notebook {call.file_path} ({view.as_of}):\n{text}{rest}", media=media).with_metadata(
        path=str(real), summary=f"{count} cell{'s' * (count != 1)}"
    )


def _bytes_of(real: Path, given: str) -> bytes:
    handle, found = open_regular(real, given)
    try:
        return read_all(handle, found.st_size)
    finally:
        os.close(handle)


def _read_as_cosh(call: ReadFileInput, real: Path, ctx: ToolContext) -> ToolResult:
    handle, found = open_regular(real, call.path)
    try:
        if found.st_size > COSH_MOST_BYTES:
            raise ToolError(f"{call.path} is larger than 10 MiB. Read a part of it with shell (sed -n, head, tail).")
        data = read_all(handle, found.st_size, COSH_MOST_BYTES + 1)
    finally:
        os.close(handle)
    mark_whole(ctx.read_state, real, data)
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ToolError(f"{call.path} is not valid UTF-8 (byte {error.start}). Look at it with shell.") from None
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    shown = lines[call.offset : call.offset + call.limit]
    out = "".join(f"{number}\t{line.removesuffix(chr(13))}\n" for number, line in enumerate(shown, call.offset + 1))
    more = len(lines) - call.offset - len(shown)
    if shown and more > 0:
        out += f"\n... ({more} more lines, {len(lines)} total)"
    return ToolResult.success(out).with_metadata(path=str(real), summary=f"{len(shown)} lines")
