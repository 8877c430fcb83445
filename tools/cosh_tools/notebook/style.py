"""How a notebook file is written, read off the file itself, so that what is added looks like what was there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cosh_tools.notebook.scan import NotebookText, items, members, name_end

_ESCAPE = re.compile(rb"\\u(?!00[01]|d[89ab])[0-9a-fA-F]{4}")
_LEAD = re.compile(rb"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Style:
    """`line` is the line break between values ("" for a file on one line); `depth` the indents of levels 1 to 3."""

    line: bytes
    depth: tuple[bytes, bytes, bytes]
    unit: bytes
    comma: bytes
    colon: bytes
    ascii: bool
    source_as_list: bool
    keys: tuple[str, ...]
    """The order of keys in a cell, as found."""
    cell_on_one_line: bool = False

    def dump(self, value: Any, indent: bytes) -> bytes:
        """A value whose own line is indented by `indent`."""
        if not self.line:
            separators = (self.comma.decode(), self.colon.decode())
            return _encode(json.dumps(value, ensure_ascii=self.ascii, separators=separators))
        text = json.dumps(
            value, ensure_ascii=self.ascii, indent=self.unit.decode(), separators=(",", self.colon.decode())
        )
        return _encode(text).replace(b"\n", self.line + indent)

    def cell(self, value: Mapping[str, Any]) -> bytes:
        """A whole new cell, its keys in the order of the file's other cells."""
        place = {key: at for at, key in enumerate(self.keys)}
        ordered = sorted(value, key=lambda key: (place.get(key, _between(key, self.keys)), key))
        style = replace(self, line=b"") if self.cell_on_one_line else self
        return style.dump({key: value[key] for key in ordered}, self.depth[1])

    def source(self, text: str) -> str | list[str]:
        """A source in the shape that the file uses."""
        return text.splitlines(keepends=True) if self.source_as_list else text

    def text(self, text: str) -> bytes:
        """One JSON string."""
        return _encode(json.dumps(text, ensure_ascii=self.ascii))


def style_of(text: NotebookText) -> Style:
    """Read the style off the file."""
    data = text.data
    latin = data[: text.cells[0].end if text.cells else len(data)].decode("latin-1")
    first = latin.index("{")
    opened = next(members(latin, first), None) if not text.cells else None
    lead = _LEAD.match(data, first + 1)
    line, one = _split(lead.group() if lead else b"")
    head = _LEAD.match(data, text.head)
    _, two = _split(head.group() if head and text.cells else b"")
    two = two if text.cells else one * 2
    keys: tuple[str, ...] = ()
    three = one * 3 or two
    colon, comma = b": ", b", "
    as_list, one_line = True, False
    sample = next((cell for cell in text.cells if cell.type == "code"), text.cells[0] if text.cells else None)
    if sample is not None:
        raw = data[sample.start : sample.end]
        whole = raw.decode("latin-1")
        found = list(members(whole, 0))[:-1]
        keys = tuple(key for key, _, _, _ in found)
        inner = _LEAD.match(raw, 1)
        broken, three = _split(inner.group() if inner else b"")
        one_line = not broken
        _, at, value, _ = found[0]
        colon = raw[name_end(whole, at) : value]
        if len(found) > 1:
            comma = raw[found[0][3] : found[1][1]]
        as_list = _source_is_list(text)
    elif opened:
        _, at, value, _ = opened
        colon = latin[name_end(latin, at) : value].encode("latin-1")
    unit = three[len(two) :] if three.startswith(two) else one
    # Beside a line break a separator says nothing about separators on one line.
    comma = comma.lstrip(b" ") if comma.strip(b" ") == b"," else b", "
    colon = colon if colon.strip(b" ") == b":" else b": "
    return Style(line, (one, two, three), unit or one, comma, colon, _writes_ascii(data), as_list, keys, one_line)


def restyle_list(style: Style, old: bytes, lines: Sequence[str], indent: bytes) -> bytes:
    """The JSON array of source lines `lines` in the layout of the array `old`; lines that stay keep their bytes."""
    if not lines:
        return b"[]"
    latin = old.decode("latin-1")
    spans = list(items(latin, 0))
    kept = {_string(old[start:end]): old[start:end] for start, end in spans[:-1]}
    if len(spans) > 1:
        lead, trail = old[1 : spans[0][0]], old[spans[-2][1] : spans[-1][0]]
        gap = old[spans[0][1] : spans[1][0]] if len(spans) > 2 else b"," + (lead or style.comma[1:])
    elif style.line:
        lead, trail = style.line + indent + style.unit, style.line + indent
        gap = b"," + lead
    else:
        lead, trail, gap = b"", b"", style.comma
    return b"[" + lead + gap.join(kept.get(line) or style.text(line) for line in lines) + trail + b"]"


def _string(raw: bytes) -> str:
    value = json.loads(raw)
    return value if isinstance(value, str) else ""


def _split(space: bytes) -> tuple[bytes, bytes]:
    """The line break and the indent of the white space before a value."""
    at = space.rfind(b"\n")
    if at < 0:
        return b"", b""
    return (b"\r\n" if space[at - 1 : at] == b"\r" else b"\n"), space[at + 1 :]


def _writes_ascii(data: bytes) -> bool:
    """Whether the file escapes what is not ASCII; a file that holds neither is written as Jupyter does, unescaped."""
    return data.isascii() and _ESCAPE.search(data) is not None


def _source_is_list(text: NotebookText) -> bool:
    """Whether sources are arrays of lines: the first cell whose source is not empty decides."""
    for cell in text.cells:
        if cell.source or cell is text.cells[-1]:
            raw = text.data[cell.start : cell.end].decode("latin-1")
            return any(key == "source" and raw[value] == "[" for key, _, value, _ in members(raw, 0))
    return True


def _between(key: str, keys: Sequence[str]) -> float:
    """Where a key that the sample lacks belongs: after the last known key that sorts before it."""
    return max((at for at, known in enumerate(keys) if known < key), default=-1) + 0.5


def _encode(text: str) -> bytes:
    """UTF-8, with a lone surrogate written as its escape."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join(c if not "\ud800" <= c <= "\udfff" else f"\\u{ord(c):04x}" for c in text).encode("utf-8")
