"""What a turn did to variables, and what became of putting them back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cosh_nb.timetravel.prints import Print


@dataclass(frozen=True, slots=True)
class VariableChange:
    """One variable that a turn changed. `was` and `now` are sketches, empty where it did not exist."""

    name: str
    what: Literal["new", "changed", "deleted"]
    was: str = ""
    now: str = ""


@dataclass
class Restored:
    """What an undo did to variables, by name."""

    back: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    """Changed by the turn and not put back, with the reason."""
    unsure: dict[str, str] = field(default_factory=dict)
    """Not looked into and left as they are, with their types."""
    since: list[str] = field(default_factory=list)
    """Changed after the turn, and therefore left."""


@dataclass(frozen=True)
class Steps:
    """How to take a turn's changes back."""

    fetch: tuple[str, ...]
    remove: tuple[str, ...]
    report: Restored


def compare(before: Mapping[str, Print], after: Mapping[str, Print] | None, now: Mapping[str, Print]) -> Steps:
    """The names that a turn changed and that nobody changed since. Without `after`, now counts as the turn's end."""
    ended = now if after is None else after
    report = Restored()
    fetch, remove = [], []
    for name in sorted(before.keys() | ended.keys() | now.keys()):
        was, became, present = before.get(name), ended.get(name), now.get(name)
        if _same(was, became):
            if was is not None and not was.digest and present is not None:
                report.unsure[name] = was.why if was.why.startswith("a ") else was.kind
            continue
        if _same(was, present):
            continue
        if not _same(became, present):
            report.since.append(name)
        elif was is None:
            remove.append(name)
        elif was.why:
            report.lost[name] = was.why
        else:
            fetch.append(name)
    return Steps(tuple(fetch), tuple(remove), report)


def changed(before: Mapping[str, Print], after: Mapping[str, Print]) -> dict[str, Literal["new", "changed", "deleted"]]:
    """The names that differ."""
    found: dict[str, Literal["new", "changed", "deleted"]] = {}
    for name in sorted(before.keys() | after.keys()):
        was, became = before.get(name), after.get(name)
        if not _same(was, became):
            found[name] = "new" if was is None else "deleted" if became is None else "changed"
    return found


def _same(one: Print | None, other: Print | None) -> bool:
    return one is None and other is None if one is None else one.same(other)
