"""A notebook as text for the model: whole where it is short, an outline where it is long, cells on request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cosh_tools.hosts import CellView, NotebookView
from cosh_tools.notebook.access import name_of
from cosh_tools.notebook.outputs import render, size, weight
from cosh_tools.notebook.steps import Names, Refusal
from cosh_tools.results import Media, ToolError

Detail = Literal["short", "full", "none"]

SHORT, FULL = 1_500, 30_000
"""Characters of one output: at a glance, and when it is asked for."""
WHOLE = 24_000
"""A notebook up to so many characters is shown whole."""
ROOM = 80_000
"""So many characters at most in one answer."""
_LINE = 90
_OUTLINE_ROWS = 400
_IMAGES = 10
_RANGE = re.compile(r"(.+?)\.\.(.+)")
_NUMBERS = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True, slots=True)
class Shown:
    """Text and images for the model, and the cells whose source it holds whole."""

    text: str
    media: tuple[Media, ...]
    cells: tuple[CellView, ...]


def show(view: NotebookView, wanted: Sequence[str], detail: Detail) -> Shown:
    """The cells that are wanted; without a wish the whole notebook, or its outline when it is long."""
    picked = pick(view.cells, wanted) if wanted else view.cells
    if not picked:
        return Shown(f"{heading(view)}\nIt has no cells.", (), ())
    if not wanted and len(picked) > 1 and _length(picked) > WHOLE:
        return outline(view)
    parts = [heading(view)]
    media: list[Media] = []
    shown: list[CellView] = []
    room = ROOM
    for at, cell in enumerate(picked):
        text, images = cell_text(cell, detail)
        if len(text) > room and shown:
            rest = picked[at:]
            parts.append(
                f"({len(rest)} more cell{'s' * (len(rest) > 1)} not shown. "
                f'Go on with cells=["{name_of(rest[0])}..{name_of(rest[-1])}"].)'
            )
            break
        parts.append(text)
        room -= len(text)
        media += images
        shown.append(cell)
    if len(media) > _IMAGES:
        parts.append(f"({len(media) - _IMAGES} more images not attached. Read those cells alone to see them.)")
    return Shown("\n\n".join(parts), tuple(media[:_IMAGES]), tuple(shown))


def outline(view: NotebookView) -> Shown:
    """One line per cell: index, name, type, first line, sizes."""
    rows = []
    step = max(len(view.cells) // _OUTLINE_ROWS + 1, 1) if len(view.cells) > 2 * _OUTLINE_ROWS else 1
    for cell in view.cells[:: 1 if step == 1 else step]:
        first = next((line.strip() for line in cell.source.splitlines() if line.strip()), "(empty)")
        lines = cell.source.count("\n") + 1
        count = f"[{cell.execution_count if cell.execution_count is not None else ' '}]" if cell.type == "code" else ""
        result = f"  -> {size(outputs_size(cell))}" if outputs_size(cell) else ""
        rows.append(
            f"{cell.index:>4} {name_of(cell)} {cell.type}{count} {lines} line{'s' * (lines > 1)}: "
            f"{first[:_LINE]}{result}"
        )
    thinned = f" Every {step}th cell is listed." if step > 1 else ""
    return Shown(
        f"{heading(view)}\nIt is long, so this is its outline (index, id, type, lines, first line -> size of outputs)."
        f'{thinned} Read cells with cells=["id", "from..to"] before you change them.\n' + "\n".join(rows),
        (),
        (),
    )


def heading(view: NotebookView) -> str:
    """Which notebook, how long, and how current the answer is."""
    count = len(view.cells)
    total = sum(outputs_size(cell) for cell in view.cells)
    kernel = view.metadata.get("kernelspec") or {}
    name = f", kernel {kernel['name']}" if isinstance(kernel, dict) and isinstance(kernel.get("name"), str) else ""
    outputs = f", {size(total)} of outputs" if total else ""
    return f"{view.path} ({view.as_of}): {count} cell{'s' * (count != 1)}{outputs}{name}.{_doubles(view)}"


def cell_text(cell: CellView, detail: Detail) -> tuple[str, tuple[Media, ...]]:
    """One cell with its outputs."""
    count = f' execution_count="{cell.execution_count}"' if cell.execution_count is not None else ""
    head = f'<cell id="{name_of(cell)}" index="{cell.index}" type="{cell.type}"{count}>'
    body = f"{head}\n{cell.source}\n</cell>"
    weighs = outputs_size(cell)
    if not weighs or cell.type != "code":
        return body, ()
    if detail == "none":
        return f"{body}\n<outputs size={size(weighs)!r} />", ()
    text, media = render(cell.outputs, SHORT if detail == "short" else FULL)
    if not text:
        return f"{body}\n<outputs size={size(weighs)!r} />", ()
    return f"{body}\n<outputs size={size(weighs)!r}>\n{text}\n</outputs>", media


def outputs_size(cell: CellView) -> int:
    """About how many bytes the outputs are."""
    return max(cell.output_bytes, weight(cell.outputs) if cell.type == "code" else 0)


def pick(cells: Sequence[CellView], wanted: Sequence[str]) -> tuple[CellView, ...]:
    """The cells that names, `from..to` ranges and positions (`3`, `3-7`) mean, in notebook order.

    Raises ToolError with the nearest names for one that is not there.
    """
    names = Names([cell.id for cell in cells])
    chosen: set[int] = set()
    for wish in wanted:
        try:
            chosen.update(_indices(names, wish.strip(), len(cells)))
        except Refusal as refusal:
            raise ToolError(str(refusal)) from None
    return tuple(cells[at] for at in sorted(chosen))


def _indices(names: Names, wish: str, count: int) -> range:
    if wish not in names.ids:
        if span := _RANGE.fullmatch(wish):
            first, last = sorted((names.index(span[1].strip()), names.index(span[2].strip())))
            return range(first, last + 1)
        if (numbers := _NUMBERS.fullmatch(wish)) and int(numbers[1]) < max(count, 1):
            return range(int(numbers[1]), min(int(numbers[2] or numbers[1]), count - 1) + 1)
    at = names.index(wish)
    return range(at, at + 1)


def _length(cells: Sequence[CellView]) -> int:
    return sum(len(cell.source) + min(outputs_size(cell), SHORT) + 60 for cell in cells)


def _doubles(view: NotebookView) -> str:
    ids = [cell.id for cell in view.cells if cell.id]
    double = sorted({name for name in ids if ids.count(name) > 1}) if len(set(ids)) < len(ids) else []
    if not double:
        return ""
    return f" Several cells share an id ({', '.join(double)}): name those by position, cell-N."
