"""A turn in terminal IPython, where nothing that was printed can be replaced: each event adds its text."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cosh_nb.events import TurnEnded
from cosh_nb.render.text import TextTurn

if TYPE_CHECKING:
    from cosh_nb.events import Event


class TerminalDisplay:
    """Used as a LiveDisplay is, by whoever runs a turn."""

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._turn = TextTurn(at=time.strftime("%Y-%m-%d %H:%M"))
        self._write = write or _to_terminal
        self._over = False

    def feed(self, event: Event) -> None:
        """Print what this event adds."""
        if text := self._turn.feed(event):
            self._write(text)
        self._over = self._over or isinstance(event, TurnEnded)

    def close(self) -> None:
        """End the line of a turn that was cut."""
        if not self._over:
            self._over = True
            self._write("\n")

    def output(self, call_id: str) -> None:
        """A terminal has no output to lend; questions are put at the prompt."""
        del call_id


def _to_terminal(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
