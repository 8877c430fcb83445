"""Editing a notebook file as bytes: only the edited cell's bytes change, all others stay as they were found."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cosh_tools.notebook.scan import CellText, NotebookText, members
from cosh_tools.notebook.style import Style, restyle_list, style_of


@dataclass(eq=False, slots=True)
class Piece:
    """One cell of a draft: unchanged (`raw` is None) or rewritten."""

    id: str
    type: str
    source: str
    span: tuple[int, int] | None
    raw: bytes | None = None


@dataclass
class Draft:
    """A notebook being edited. Cells are pieces; names are resolved against the notebook as it was opened."""

    text: NotebookText
    style: Style
    pieces: list[Piece]
    gaps: list[bytes]
    lead: bytes
    trail: bytes
    was: tuple[Piece, ...] = ()
    changed: bool = field(default=False)

    @classmethod
    def of(cls, text: NotebookText) -> Draft:
        """A draft that is the file itself."""
        pieces = [Piece(cell.id, cell.type, cell.source, (cell.start, cell.end)) for cell in text.cells]
        data = text.data
        gaps = [data[one.end : two.start] for one, two in zip(text.cells, text.cells[1:], strict=False)]
        style = style_of(text)
        if text.cells:
            lead, trail = data[text.head : text.cells[0].start], data[text.cells[-1].end : text.tail]
        else:
            lead, trail = style.line + style.depth[1], style.line + style.depth[0]
        return cls(text, style, pieces, gaps, lead, trail, tuple(pieces))

    def index(self, piece: Piece) -> int | None:
        """Where it stands now; None once it is deleted."""
        return next((at for at, other in enumerate(self.pieces) if other is piece), None)

    def name(self, at: int) -> str:
        """The id of the cell at an index, or `cell-N` where it has none."""
        return self.pieces[at].id or f"cell-{at}"

    def original(self, piece: Piece) -> CellText:
        """The cell as it was in the file. Raises ValueError for one that was added."""
        return self.text.cells[self.was.index(piece)]

    def replace(self, piece: Piece, source: str, kind: str, metadata: Mapping[str, Any]) -> None:
        """Exchange the source, and the type where `kind` is another one."""
        old = self._raw(piece)
        raw = self._with_source(old, source)
        if source != piece.source or kind != piece.type:
            raw = self._without_results(raw)
        if metadata:
            raw = self._with_metadata(raw, metadata)
        if kind != piece.type:
            raw = self._retyped(raw, kind)
        piece.raw, piece.source, piece.type = raw, source, kind
        self.changed = True

    def insert(self, at: int, source: str, kind: str, metadata: Mapping[str, Any]) -> Piece:
        """A new cell at an index, with an id of its own where the format has ids."""
        cell: dict[str, Any] = {"cell_type": kind, "metadata": dict(metadata), "source": self.style.source(source)}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        name = self._fresh_id() if self.text.minor >= 5 else ""
        if name:
            cell["id"] = name
        piece = Piece(name, kind, source, None, self.style.cell(cell))
        self._put(at, piece)
        return piece

    def delete(self, piece: Piece) -> None:
        """Take a cell out."""
        self._take(self.pieces.index(piece))

    def move(self, piece: Piece, at: int) -> None:
        """Put a cell at the index `at` that it shall have afterwards."""
        self._take(self.pieces.index(piece))
        self._put(at, piece)

    def parts(self) -> list[memoryview | bytes]:
        """The new file in as few parts as possible."""
        data = memoryview(self.text.data)
        joined: list[memoryview | bytes] = []
        run: tuple[int, int] | None = None
        for part in self._sequence():
            if isinstance(part, bytes):
                if run is not None and self.text.data.startswith(part, run[1]):
                    run = (run[0], run[1] + len(part))  # the separator that stood there anyway
                    continue
                if run is not None:
                    joined.append(data[run[0] : run[1]])
                    run = None
                joined.append(part)
            elif run is not None and run[1] == part[0]:
                run = (run[0], part[1])
            else:
                if run is not None:
                    joined.append(data[run[0] : run[1]])
                run = part
        if run is not None:
            joined.append(data[run[0] : run[1]])
        return joined

    # -- how ---------------------------------------------------------------------------------------------------------

    def _sequence(self) -> Iterator[bytes | tuple[int, int]]:
        yield 0, self.text.head
        if self.pieces:
            yield self.lead
            for at, piece in enumerate(self.pieces):
                if at:
                    yield self.gaps[at - 1]
                yield piece.raw if piece.raw is not None else (piece.span or (0, 0))
            yield self.trail
        yield self.text.tail, len(self.text.data)

    def _put(self, at: int, piece: Piece) -> None:
        self.pieces.insert(at, piece)
        if len(self.pieces) > 1:
            gap = self.gaps[0] if self.gaps else self._plain_gap()
            self.gaps.insert(max(at - 1, 0), gap)
        self.changed = True

    def _take(self, at: int) -> None:
        del self.pieces[at]
        if self.gaps:
            del self.gaps[max(at - 1, 0)]
        self.changed = True

    def _plain_gap(self) -> bytes:
        return b"," + self.lead if self.style.line else self.style.comma

    def _raw(self, piece: Piece) -> bytes:
        if piece.raw is not None:
            return piece.raw
        start, end = piece.span or (0, 0)
        return self.text.data[start:end]

    def _with_source(self, raw: bytes, source: str) -> bytes:
        start, end = _value(raw, "source")
        old = raw[start:end]
        if old.startswith(b"["):
            new = restyle_list(self.style, old, source.splitlines(keepends=True), _indent(raw, start))
        else:
            new = self.style.text(source)
        return raw[:start] + new + raw[end:]

    def _without_results(self, raw: bytes) -> bytes:
        for key, empty in (("outputs", b"[]"), ("execution_count", b"null")):
            start, end = _value(raw, key)
            if end:
                raw = raw[:start] + empty + raw[end:]
        return raw

    def _with_metadata(self, raw: bytes, metadata: Mapping[str, Any]) -> bytes:
        from cosh_tools.notebook.scan import loads

        start, end = _value(raw, "metadata")
        if not end:
            return raw
        new = self.style.dump({**loads(raw[start:end]), **metadata}, self.style.depth[2] if self.style.line else b"")
        return raw[:start] + new + raw[end:]

    def _retyped(self, raw: bytes, kind: str) -> bytes:
        """Another type has other fields: outputs and a count for code, attachments for the rest."""
        from cosh_tools.notebook.scan import loads

        value = loads(raw)
        value["cell_type"] = kind
        if kind == "code":
            value.pop("attachments", None)
            value |= {"execution_count": None, "outputs": []}
        else:
            value.pop("outputs", None)
            value.pop("execution_count", None)
        return self.style.cell(value)

    def _fresh_id(self) -> str:
        taken = {piece.id for piece in (*self.pieces, *self.was)}
        while True:
            name = uuid.uuid4().hex[:8]
            if name not in taken:
                return name


def _value(raw: bytes, key: str) -> tuple[int, int]:
    """The span of a member's value in a cell (the last one, as JSON readers take it); (0, 0) where it is missing."""
    found = (0, 0)
    for name, _, start, end in members(raw.decode("latin-1"), 0):
        if name == key:
            found = (start, end)
    return found


def _indent(raw: bytes, at: int) -> bytes:
    """The indent of the line on which `raw[at]` stands."""
    line = raw.rfind(b"\n", 0, at) + 1
    return raw[line : len(raw) - len(raw[line:].lstrip(b" \t"))] if line else b""
