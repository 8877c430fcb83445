"""Where the shell may stand while a command line runs, and what was found of it so far."""

from __future__ import annotations

from typing import NamedTuple

from cosh_tools.policy.shell_places import Folders
from cosh_tools.touches import Opaque, Touch

_FOLDERS = 8
_MOST = 2_000


class Flow(NamedTuple):
    """Where the shell may stand after a command that went well, and after one that failed."""

    ok: Folders
    failed: Folders
    sure: bool = False
    """Whether it will go well, as far as the disk tells now."""

    @property
    def either(self) -> Folders:
        """Whichever it was."""
        return self.ok if self.sure else together(self.ok, self.failed)


def together(one: Folders, other: Folders) -> Folders:
    """Both sets of folders; None where one is unknown or there are too many to follow."""
    if one is None or other is None:
        return None
    both = one | other
    return both if len(both) <= _FOLDERS else None


class Findings:
    """Touches in the order in which they were found, each once."""

    def __init__(self) -> None:
        self._found: dict[Touch, None] = {}

    @property
    def touches(self) -> list[Touch]:
        """All of them."""
        return list(self._found)

    def add(self, touch: Touch) -> None:
        """Note a touch; past any sensible number nothing more is noted, and the reader says so."""
        if len(self._found) <= _MOST:
            self._found.setdefault(touch)

    def doubt(self, text: str, why: str) -> None:
        """Note a part whose effect cannot be told."""
        self.add(Opaque(text, why if why.endswith(".") else f"{why[:1].upper()}{why[1:]}."))
