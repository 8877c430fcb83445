"""How the pieces of a turn share the outputs of a cell: few of them, and only the last is sent again as text streams.

A front end hides outputs after the fiftieth, and a display can be changed but not removed. So pieces are gathered in
groups, one per output; when there are too many, a run of finished groups is merged into the first of them and the
outputs behind it are used again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cosh_nb.render.markup import Rendered
from cosh_nb.render.style import framed, style_html

if TYPE_CHECKING:
    from cosh_nb.render.parts import Part

MOST = 45
"""Outputs of a turn, the style's included."""
RUN = 12
"""Outputs that are merged into one when there are too many."""
TAIL = 4_000
"""Characters of HTML above which the last output is left and a new one begun."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One output of the cell. `html` is framed and safe; `changed` since it was last handed out.

    A slot that is not `frozen` is still being written: its plain text can wait. `card` names the call whose question
    is open in this slot, so that a host can put what can be clicked there instead.
    """

    id: int
    html: str
    text: str
    frozen: bool
    changed: bool
    card: str = ""


@dataclass(eq=False)
class Group:
    """Pieces that share one output."""

    slot: int = 0
    parts: list[Part] = field(default_factory=list)
    level: int = 0
    stale: bool = True
    handed: Slot | None = None

    @property
    def done(self) -> bool:
        """Whether no piece of it will change."""
        return all(part.done for part in self.parts)

    @property
    def alone(self) -> bool:
        """Whether it belongs to one piece, such as a card."""
        return any(part.alone for part in self.parts)

    @property
    def size(self) -> int:
        """Characters of HTML."""
        return sum(len(part.rendered().html) for part in self.parts)


class Slots:
    """Keeps groups of pieces and hands out the outputs. Slot 0 holds the style and nothing else."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._groups = [Group(1)]
        self._handed: dict[int, Slot] = {}

    def place(self, part: Part) -> None:
        """Put a new piece at the end."""
        last = self._groups[-1]
        if last.parts and (part.alone or last.alone or last.size >= self._limit()):
            last = self._insert(len(self._groups))
        last.parts.append(part)
        last.stale, part.group = True, last

    def changed(self, part: Part) -> None:
        """A piece draws itself anew."""
        part.held = None
        group = part.group
        if group is None:
            return
        group.stale = True
        if len(group.parts) > 1 and (part.alone or (part is group.parts[-1] and group.size > TAIL * 3 // 2)):
            self._split(group, part)

    def replace(self, old: Sequence[Part], new: Part) -> None:
        """Put one piece where a run of pieces was."""
        group = old[0].group
        if group is not None:
            group.parts.insert(group.parts.index(old[0]), new)
            new.group = group
        for part in old:
            self.remove(part)

    def remove(self, part: Part) -> None:
        """Take a piece out."""
        if part.group is not None:
            part.group.parts.remove(part)
            part.group.stale, part.group = True, None

    def outputs(self, footer: Rendered, *, over: bool) -> list[Slot]:
        """All outputs in order. The footer closes the last one."""
        last = self._groups[-1]
        if not over and (last.alone or (last.done and any(part.opens for part in last.parts))):
            # A row that a person may have opened is not sent again for the footer; a card has its output to itself.
            self._insert(len(self._groups))
        if len(self._groups) >= self._most:
            self._merge()
        slots = [self._handed[0] if self._handed else self._hand(Slot(0, style_html(), "", frozen=True, changed=True))]
        slots += [self._filled(group, footer, over=over) for group in self._groups]
        empty = range(len(slots), len(self._handed))
        return slots + [self._hand(Slot(number, "", "", frozen=True, changed=True)) for number in empty]

    def _filled(self, group: Group, footer: Rendered, *, over: bool) -> Slot:
        last = group is self._groups[-1]
        frozen = over or (not last and group.done)
        before = self._handed.get(group.slot)
        if before is not None and before is group.handed and not last and not group.stale and before.frozen is frozen:
            return before
        html = "".join(part.rendered().html for part in group.parts) + (footer.html if last else "")
        text = joined(group.parts)
        if last and footer.text:
            text = f"{text}\n\n{footer.text}" if text else footer.text
        card = next((part.card for part in group.parts if part.alone), "")
        slot = self._hand(Slot(group.slot, framed(html), text, frozen, changed=True, card=card))
        group.handed, group.stale = self._handed[group.slot], False
        return slot

    def _hand(self, slot: Slot) -> Slot:
        """The slot, `changed` only if it differs from what was handed out under its number."""
        before = self._handed.get(slot.id)
        if before is not None and (before.html, before.frozen, before.card) == (slot.html, slot.frozen, slot.card):
            return before
        self._handed[slot.id] = replace(slot, changed=False)
        return slot

    def _limit(self) -> int:
        """Early outputs are short, so that little is sent again; later ones long, so that they suffice."""
        return TAIL * 3 // 4 if len(self._groups) < self._most // 4 else TAIL

    def _insert(self, index: int, parts: Sequence[Part] = ()) -> Group:
        group = Group(parts=list(parts))
        for part in parts:
            part.group = group
        self._groups.insert(index, group)
        self._number()
        return group

    def _split(self, group: Group, part: Part) -> None:
        """Give a piece its own group, and what stands behind it another."""
        at, index = group.parts.index(part), self._groups.index(group)
        before, behind = group.parts[:at], group.parts[at + 1 :]
        if behind:
            self._insert(index + 1, behind)
        if before:
            group.parts = before
            self._insert(index + 1, [part])
        else:
            group.parts = [part]

    def _merge(self) -> None:
        """Merge the newest run of finished groups of the lowest level that has one: what stands behind it moves up."""
        if any(group.alone for group in self._groups) and len(self._groups) < self._most + 4:
            return  # an open card stays where it is
        mergeable = [group.done and not group.alone for group in self._groups[:-1]]
        longest = (0, 0, 0)
        for level in sorted({group.level for group in self._groups}):
            runs = _runs([fits and group.level <= level for fits, group in zip(mergeable, self._groups, strict=False)])
            for begin, end in reversed(runs):
                if end - begin >= RUN // 2:
                    self._join(max(begin, end - RUN), end, level + 1)
                    return
                longest = max(longest, (end - begin, begin, end))
        if longest[0] > 1:
            self._join(longest[1], longest[2], 1)

    def _join(self, begin: int, end: int, level: int) -> None:
        first = self._groups[begin]
        for group in self._groups[begin + 1 : end]:
            first.parts += group.parts
        for part in first.parts:
            part.group = first
        first.level, first.stale = level, True
        del self._groups[begin + 1 : end]
        self._number()

    def _number(self) -> None:
        for number, group in enumerate(self._groups, 1):
            group.slot = number


def joined(parts: Sequence[Part]) -> str:
    """The plain text of pieces: rows stand close, prose has air around it."""
    from cosh_nb.render.parts import Prose

    out, airy = "", False
    for part in parts:
        text = part.rendered().text
        if text:
            prose = isinstance(part, Prose)
            out += ("\n\n" if prose or airy else "\n") * bool(out) + text
            airy = prose
    return out


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """Begin and end of each run of True."""
    runs, begin = [], None
    for index, flag in enumerate([*flags, False]):
        if flag and begin is None:
            begin = index
        elif not flag and begin is not None:
            runs.append((begin, index))
            begin = None
    return runs
