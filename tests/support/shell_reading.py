"""What the reader of shell commands says of a command, in the short forms that the stories compare."""

from __future__ import annotations

from pathlib import Path

from cosh_tools.context import SessionState, ToolContext
from cosh_tools.policy.shell import read
from cosh_tools.touches import Fetches, Opaque, Reads, Runs, Touch, Writes


class Said:
    """The touches of one command in `folder`."""

    def __init__(self, command: str, folder: Path) -> None:
        self.touches: tuple[Touch, ...] = read(command, ToolContext(SessionState(folder, folder)))

    @property
    def runs(self) -> list[str]:
        return [touch.text for touch in self.touches if isinstance(touch, Runs)]

    @property
    def destructive(self) -> list[str]:
        return [touch.text for touch in self.touches if isinstance(touch, Runs) and touch.destructive]

    @property
    def needing_leave(self) -> list[str]:
        return [touch.text for touch in self.touches if isinstance(touch, Runs) and not touch.harmless]

    @property
    def reads(self) -> list[str]:
        return [touch.as_given for touch in self.touches if isinstance(touch, Reads)]

    @property
    def writes(self) -> list[str]:
        return [touch.as_given for touch in self.touches if isinstance(touch, Writes) and not touch.deletes]

    @property
    def deletes(self) -> list[str]:
        return [touch.as_given for touch in self.touches if isinstance(touch, Writes) and touch.deletes]

    @property
    def fetches(self) -> list[str]:
        return [touch.host for touch in self.touches if isinstance(touch, Fetches)]

    @property
    def opaque(self) -> list[str]:
        return [touch.why for touch in self.touches if isinstance(touch, Opaque)]

    def place(self, as_given: str) -> Reads | Writes:
        return next(touch for touch in self.touches if isinstance(touch, Reads | Writes) and touch.as_given == as_given)
