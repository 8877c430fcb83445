"""What a turn changed in the cells of an open notebook, and the steps that take it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from cosh_tools.hosts import CellEdit, CellView


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as far as it can be put back."""

    type: str
    source: str


@dataclass
class CellChanges:
    """Cells of one notebook, before the turn's first change of each and after its last; None: not there."""

    changed: dict[str, tuple[Cell | None, Cell | None]] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)
    """The order at the beginning."""
    after: list[str] = field(default_factory=list)
    moved: bool = False

    def add(self, was: Sequence[CellView], now: Sequence[CellView]) -> None:
        """What one call changed."""
        old, new = _by_id(was), _by_id(now)
        self.before = self.before or list(old)
        self.after = list(new)
        for name in old.keys() | new.keys():
            if old.get(name) != new.get(name):
                first = self.changed[name][0] if name in self.changed else old.get(name)
                self.changed[name] = (first, new.get(name))
        self.changed = {name: pair for name, pair in self.changed.items() if pair[0] != pair[1]}
        common = [name for name in old if name in new]
        self.moved = self.moved or common != [name for name in new if name in old]

    @property
    def any(self) -> bool:
        """Whether there is anything to take back."""
        return bool(self.changed) or self.moved


@dataclass(frozen=True)
class Plan:
    """Steps, and the cells that somebody changed since and that therefore stay."""

    edits: tuple[CellEdit, ...]
    since: tuple[str, ...]


def plan(changes: CellChanges, now: Sequence[CellView]) -> Plan:
    """How to take the changes back without touching what changed since."""
    present = _by_id(now)
    edits: list[CellEdit] = []
    since: list[str] = []
    returning: list[str] = []
    for name, (was, became) in changes.changed.items():
        cell = present.get(name)
        if cell == was:
            continue
        if cell != became:
            since.append(name)
        elif was is None:
            edits.append(CellEdit("delete", cell=name, expect=cell.source if cell else None))
        elif cell is None:
            returning.append(name)
        else:
            kind = was.type if was.type != cell.type else None
            edits.append(CellEdit("replace", cell=name, source=was.source, type=_kind(kind), expect=cell.source))
    if changes.moved:
        edits += _moves(changes, list(present), since)
    # After the moves: a cell returns behind the one that it stood behind.
    edits += _inserts(changes, returning, present)
    return Plan(tuple(edits), tuple(since))


def _inserts(changes: CellChanges, returning: list[str], present: dict[str, Cell]) -> list[CellEdit]:
    """Deleted cells, each after the nearest one before it that is still there, in their order."""
    edits: list[CellEdit] = []
    for name in sorted(returning, key=changes.before.index):
        was = changes.changed[name][0]
        if was is None:
            continue
        earlier = changes.before[: changes.before.index(name)]
        anchor = next((one for one in reversed(earlier) if one in present), None)
        later = changes.before[changes.before.index(name) + 1 :]
        first = next((one for one in later if one in present), None) if anchor is None else None
        edits.append(CellEdit("insert", source=was.source, type=_kind(was.type), after=anchor, before=first))
    return edits


def _moves(changes: CellChanges, now: list[str], since: list[str]) -> list[CellEdit]:
    common = [name for name in changes.before if name in changes.after and name in now]
    order = [name for name in now if name in common]
    if order != [name for name in changes.after if name in common]:
        since.append("the order of the cells")
        return []
    edits = []
    for earlier, name in zip([None, *common], common, strict=False):
        at = order.index(name)
        if (order[at - 1] if at else None) == earlier:
            continue
        order.remove(name)
        place = 0 if earlier is None else order.index(earlier) + 1
        before = order[place] if earlier is None and order else None
        order.insert(place, name)
        edits.append(CellEdit("move", cell=name, after=earlier, before=before))
    return edits


def _by_id(cells: Sequence[CellView]) -> dict[str, Cell]:
    return {cell.id or f"cell-{cell.index}": Cell(cell.type, cell.source) for cell in cells}


def _kind(text: str | None) -> Literal["code", "markdown", "raw"] | None:
    return text if text in ("code", "markdown", "raw") else None  # type: ignore[return-value]  # (`in` narrows no literals)
