"""What a shell command would run, read, write and fetch, said before it runs."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from cosh_tools.touches import Opaque, Runs, Touch

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext

_PLAIN = re.compile(r"[\w@%+=:,./ \t\"'-]*")


def read(command: str, ctx: ToolContext) -> tuple[Touch, ...]:
    """The touches of `command`, every simple command in it named."""
    del ctx
    try:
        words = tuple(shlex.split(command)) if _PLAIN.fullmatch(command) else ()
    except ValueError:
        words = ()
    if not words or "=" in words[0]:
        return (Runs(command, ()), Opaque(command, "It is more than one plain command."))
    return (Runs(" ".join(words), words),)
