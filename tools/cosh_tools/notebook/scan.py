"""Where the cells of a notebook file are, in bytes: found without making objects of its outputs.

A pretty-printed file (what Jupyter writes) is cut at its line structure, since a line break is never part of a JSON
string. Any other file, and one whose lines mislead, is walked value by value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # (public, but not in the stubs)
from typing import Any, overload

import orjson

from cosh_tools.results import ToolError

BOM = b"\xef\xbb\xbf"

_SPACE = re.compile(r"[ \t\r\n]*")
_FIRST_KEY = re.compile(rb'\s*\{(\r?\n)([ \t]*)"')
_DECODER = json.JSONDecoder()


class NotANotebook(ToolError):
    """The file is not a notebook that can be read; the message says why and what to do."""


class Outputs(Sequence[Mapping[str, Any]]):
    """The outputs of one cell, made into objects when they are looked at. `nbytes` is their size in the file."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self._data, self._start, self._end = data, start, end
        self._made: tuple[Mapping[str, Any], ...] | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes of the file they are."""
        return self._end - self._start

    @overload
    def __getitem__(self, at: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, at: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        return self._all()[at]

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> tuple[Mapping[str, Any], ...]:
        if self._made is None:
            made = loads(memoryview(self._data)[self._start : self._end])
            self._made = tuple(item for item in made if isinstance(item, dict)) if isinstance(made, list) else ()
        return self._made


@dataclass(frozen=True, slots=True)
class CellText:
    """One cell in the file: `data[start:end]` is its object."""

    start: int
    end: int
    id: str
    """Empty where the file gives none."""
    type: str
    source: str
    execution_count: int | None
    outputs: Sequence[Mapping[str, Any]]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NotebookText:
    """A notebook file. The cells stand between `data[head]`, just after `[`, and `data[tail]`, the `]`."""

    data: bytes
    head: int
    tail: int
    cells: tuple[CellText, ...]
    top: Mapping[str, Any]
    """The document without its cells."""

    @property
    def minor(self) -> int:
        """nbformat_minor; ids exist from 5 on."""
        minor = self.top.get("nbformat_minor", 0)
        return minor if isinstance(minor, int) else 0


def scan(data: bytes, name: str) -> NotebookText:
    """Find the cells. Raises NotANotebook with a sentence about `name`."""
    try:
        found = _by_lines(data) or _by_values(data, name)
    except (ValueError, IndexError, TypeError, RecursionError) as error:
        found = None
        why = str(error)
    if found is None:
        raise NotANotebook(f"{name} does not parse as JSON ({why}), so it was not touched. Repair the file first.")
    _check_version(found.top, name)
    return found


def verify(text: NotebookText, name: str) -> NotebookText:
    """The same notebook, proven: every cell parses and is what `scan` said. Needed before bytes are exchanged."""
    view = memoryview(text.data)
    try:
        for cell in text.cells:
            whole = loads(view[cell.start : cell.end])
            if _joined(whole["source"]) != cell.source or whole["cell_type"] != cell.type:
                break
            if whole.get("id", "") != cell.id:
                break
        else:
            return text
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    try:
        return _by_values(text.data, name)
    except (ValueError, IndexError, TypeError, RecursionError) as error:
        raise NotANotebook(
            f"{name} does not parse as JSON ({error}), so it was not touched. Repair the file first."
        ) from None


def loads(raw: bytes | memoryview) -> Any:
    """JSON as Python reads it: NaN and lone surrogates, which notebooks do hold, included."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return json.loads(bytes(raw))


def members(text: str, start: int) -> Iterator[tuple[str, int, int, int]]:
    """Key, its position, and the span of its value, for each member of the object that starts at `text[start]`.

    `text` is the file decoded as latin-1, so that positions are those of the bytes. The last item has the key "" and
    the position after the object.
    """
    at = _skip(text, start + 1)
    if text[at] == "}":
        yield "", at + 1, at + 1, at + 1
        return
    while True:
        if text[at] != '"':
            raise ValueError(f"a name was expected at byte {at}")
        key, after = scanstring(text, at + 1, True)
        colon = _skip(text, after)
        if text[colon] != ":":
            raise ValueError(f"a colon was expected at byte {colon}")
        value = _skip(text, colon + 1)
        end = value_end(text, value)
        yield key, at, value, end
        at = _skip(text, end)
        if text[at] == "}":
            yield "", at + 1, at + 1, at + 1
            return
        if text[at] != ",":
            raise ValueError(f"a comma was expected at byte {at}")
        at = _skip(text, at + 1)


def items(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The span of each item of the array that starts at `text[start]`; the last one is empty, at its `]`."""
    at = _skip(text, start + 1)
    if text[at] != "]":
        while True:
            end = value_end(text, at)
            yield at, end
            at = _skip(text, end)
            if text[at] == "]":
                break
            if text[at] != ",":
                raise ValueError(f"a comma was expected at byte {at}")
            at = _skip(text, at + 1)
    yield at, at


def name_end(text: str, start: int) -> int:
    """Where the member name that starts at `text[start]` ends."""
    _, end = scanstring(text, start + 1, True)
    return int(end)


def value_end(text: str, start: int) -> int:
    """Where the JSON value that starts at `text[start]` ends."""
    _, end = _DECODER.raw_decode(text, start)
    return end


# -- the two ways ----------------------------------------------------------------------------------------------------


def _by_lines(data: bytes) -> NotebookText | None:
    """Cut at the lines of a pretty-printed file; None where its lines do not say enough."""
    first = _FIRST_KEY.match(data, len(BOM) if data.startswith(BOM) else 0)
    if first is None:
        return None
    line, one = first.groups()
    key = data.find(line + one + b'"cells"')
    opening = re.compile(rb'"cells"[ \t]*:[ \t]*\[(?=' + line + rb"([ \t]*)\{" + line + rb'([ \t]*)")').match(
        data, key + len(line) + len(one)
    )
    if key < 0 or opening is None:
        return None
    two, three = opening.groups()
    head = opening.end()
    start = head + len(line) + len(two)
    between = line + two + b"}," + line + two + b"{"
    last = line + two + b"}" + line + one + b"]"
    spans: list[tuple[int, int]] = []
    blocks: list[tuple[int, int]] = []
    block = line + three + b'"outputs": [' + line
    close = line + three + b"]"
    size = len(data)
    upcoming = -1
    while True:
        if upcoming < start:
            upcoming = data.find(block, start)
            upcoming = size if upcoming < 0 else upcoming
        outputs = (0, 0)
        end = data.find(between, start, upcoming)
        if end < 0:
            if upcoming < size:
                closed = data.find(close, upcoming)
                if closed < 0:
                    return None
                outputs = (upcoming + len(block) - len(line) - 1, closed + len(close))
                # The line break before `]` may also be the first of the next separator.
                end = data.find(between, closed + len(close))
                stop = data.find(last, closed + len(close)) if end < 0 else end
            else:
                stop = data.find(last, start)
        else:
            stop = end
        if stop < 0:
            return None
        close_at = stop + len(line) + len(two) + 1
        spans.append((start, close_at))
        blocks.append(outputs)
        if end < 0:
            tail = close_at + len(line) + len(one)
            break
        start = end + len(between) - 1
    return _light(data, head, tail, spans, blocks)


def _light(
    data: bytes, head: int, tail: int, spans: list[tuple[int, int]], blocks: list[tuple[int, int]]
) -> NotebookText | None:
    """Parse everything but the outputs; None where a piece is not a cell, so that the lines misled."""
    view = memoryview(data)
    pieces: list[bytes | memoryview] = []
    for (start, end), (out, out_end) in zip(spans, blocks, strict=True):
        pieces.append(b"".join((view[start:out], b"[]", view[out_end:end])) if out_end else view[start:end])
    try:
        parsed = orjson.loads(b"[" + b",".join(pieces) + b"]")
        top = loads(b"".join((view[len(BOM) if data.startswith(BOM) else 0 : head], view[tail:])))
    except ValueError:
        return None
    if len(parsed) != len(spans) or not isinstance(top, dict):
        return None
    cells = []
    for piece, (start, end), (out, out_end) in zip(parsed, spans, blocks, strict=True):
        if not _is_cell(piece):
            return None
        outputs = Outputs(data, out, out_end) if out_end else tuple(piece.get("outputs") or ())
        cells.append(_cell(piece, start, end, outputs))
    return NotebookText(data, head, tail, tuple(cells), {k: v for k, v in top.items() if k != "cells"})


def _by_values(data: bytes, name: str) -> NotebookText:
    """Walk the document value by value. Raises ValueError or IndexError where it is not JSON."""
    data.decode("utf-8")
    text = data.decode("latin-1")
    start = _skip(text, len(BOM) if data.startswith(BOM) else 0)
    if start >= len(text) or text[start] != "{":
        raise NotANotebook(f"{name} is not a notebook: it does not hold a JSON object.")
    top: dict[str, Any] = {}
    array = -1
    done = 0
    for key, _, value, end in members(text, start):
        if not key and value == end:
            done = end
        elif key == "cells" and text[value] == "[":
            array = value
        else:
            top[key] = loads(data[value:end])
    if _skip(text, done) != len(text):
        raise ValueError(f"there is more after the document, at byte {done}")
    if array < 0:
        _check_version(top, name)
        raise NotANotebook(f"{name} is not a notebook: it has no list of cells.")
    cells: list[CellText] = []
    tail = array + 1
    for first, end in items(text, array):
        if first == end:
            tail = first
            break
        whole = loads(data[first:end])
        if not _is_cell(whole):
            raise NotANotebook(
                f"{name} is not a valid notebook: item {len(cells)} of its cells has no cell_type and source. "
                "Repair the file first."
            )
        cells.append(_cell(whole, first, end, tuple(whole.get("outputs") or ())))
    return NotebookText(data, array + 1, tail, tuple(cells), top)


def _is_cell(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("cell_type"), str)
        and isinstance(value.get("source"), str | list)
        and isinstance(value.get("id", ""), str)
    )


def _cell(value: Mapping[str, Any], start: int, end: int, outputs: Sequence[Mapping[str, Any]]) -> CellText:
    count = value.get("execution_count")
    return CellText(
        start,
        end,
        value.get("id", ""),
        value["cell_type"],
        _joined(value["source"]),
        count if isinstance(count, int) else None,
        outputs,
        value.get("metadata") or {},
    )


def _joined(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def _check_version(top: Mapping[str, Any], name: str) -> None:
    major = top.get("nbformat")
    if major == 4:
        return
    if isinstance(major, int) and major < 4:
        raise NotANotebook(
            f"{name} is in the old notebook format {major}, so it was not touched. Upgrade it first, if the user "
            f"agrees: `jupyter nbconvert --to notebook --nbformat 4 --inplace {name}`."
        )
    if isinstance(major, int):
        raise NotANotebook(f"{name} is in notebook format {major}, which this version does not know. Use format 4.")
    raise NotANotebook(f"{name} is not a notebook: it has no nbformat number.")


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
