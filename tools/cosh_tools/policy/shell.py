"""What a shell command would run, read, write and fetch, said before it runs.

The command line is parsed (tree-sitter-bash); every simple command in it becomes a Runs with its literal words, and
what those words name becomes Reads, Writes and Fetches. Whatever is not understood, or only known when it runs, becomes
an Opaque beside it. Nothing here raises for any text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosh_tools.policy.shell_walk import Walk
from cosh_tools.touches import Opaque, Runs, Touch

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext

LONGEST = 128 * 1024
"""Bytes of a command that are read; a longer one cannot be started either."""
MOST = 400
"""Touches of one command; what has more is not worth reading on a card."""


def read(command: str, ctx: ToolContext) -> tuple[Touch, ...]:
    """The touches of `command`, run by a shell in the context's working directory."""
    shown = command if len(command) <= 200 else command[:200] + "..."
    try:
        size = len(command.encode("utf-8"))
    except UnicodeEncodeError:
        return (Runs(shown.encode("utf-8", "replace").decode(), ()), Opaque(shown, "It holds half of a character."))
    if size > LONGEST:
        return (Runs(shown, ()), Opaque(shown, f"It is longer than {LONGEST} bytes."))
    try:
        touches = _read(command, ctx)
    except (RecursionError, ValueError, OSError) as error:
        touches = [Runs(command, ()), Opaque(command, f"It could not be read ({type(error).__name__}).")]
    if len(touches) > MOST:
        touches = [*touches[:MOST], Opaque(shown, f"It does more than {MOST} things.")]
    return tuple(touches)


def _read(command: str, ctx: ToolContext) -> list[Touch]:
    if not command.strip():
        return [Runs(command, ()), Opaque(command, "It holds no command.")]
    touches = Walk(ctx).read(command)
    if not any(isinstance(touch, Runs) for touch in touches):
        # Only assignments, conditions or redirections, unless it could not be understood at all.
        understood = not any(isinstance(touch, Opaque) for touch in touches)
        touches.insert(0, Runs(command, (), harmless=understood))
    return touches
