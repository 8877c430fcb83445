"""The prose of a turn as it streams: whole blocks become pieces that never change, the rest is one open piece."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosh_nb.render.blocks import Blocks
from cosh_nb.render.parts import Part, Prose

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

JOINED = 1_500
"""Characters of prose that are drawn together where they came between two drawings."""


@dataclass
class ProseStream:
    """Writes into the pieces of a turn: `parts` are all, `undrawn` those that changed since the last drawing."""

    parts: Sequence[Part]
    undrawn: Collection[Part]
    add: Callable[[Prose], Prose]
    touch: Callable[[Part], None]
    _blocks: Blocks = field(default_factory=Blocks)
    _open: Prose | None = None

    def write(self, text: str) -> None:
        """More text."""
        for block in self._blocks.feed(text):
            self._whole(block)

    def close(self) -> None:
        """Nothing more comes: what is left is a whole block."""
        for block in self._blocks.close():
            self._whole(block)

    def refresh(self) -> None:
        """Let the open piece show what has come so far."""
        opened = self._blocks.open
        if self._open is None and opened.strip():
            self._open = self.add(Prose())
        if self._open is not None and self._open.source != opened:
            self._open.source = opened
            self.touch(self._open)

    def _whole(self, block: str) -> None:
        """The open piece becomes this block, or the block joins the one before that was not drawn since."""
        last = self.parts[-1] if self.parts else None
        joins = self._open is None and isinstance(last, Prose) and last in self.undrawn
        if joins and isinstance(last, Prose) and len(last.source) + len(block) < JOINED:
            last.source = f"{last.source.rstrip()}\n\n{block}"
            return
        prose = self._open or self.add(Prose())
        prose.source, prose.done, self._open = block, True, None
        self.touch(prose)
