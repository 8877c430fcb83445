"""How a recipe is written: a generator that yields calls, is sent their outcomes, and returns its answer.

Nothing is kept between two requests. A recipe is run again from its start over the outcomes that the history holds,
up to the call that has none yet: the history is the state.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosh_nb.providers.offline import answers
from cosh_nb.providers.offline.code import Libraries
from cosh_nb.providers.offline.scene import Call, Outcome

if TYPE_CHECKING:
    from cosh_nb.providers.offline.scene import Scene
    from cosh_nb.providers.offline.toolbox import Toolbox


@dataclass(frozen=True, slots=True)
class Table:
    """A table as far as it was looked at. `path` is "" for a variable that is not of this plan."""

    name: str
    path: str = ""
    frame: bool = True
    """A pandas DataFrame; else a list of dicts."""
    columns: tuple[str, ...] = ()
    """Its columns, where they were seen."""
    sample: tuple[str, ...] = ()
    """The values of its first row."""
    separator: str = ","
    loaded: bool = False
    """The variable exists already."""


Steps = Generator[Call, Outcome, Outcome]
"""Calls that end with an outcome."""
Recipe = Generator[Call, Outcome, str]
"""Calls that end with the answer, in Markdown."""


class Stop(Exception):
    """The plan ends here. The message says why, as the answer should."""


@dataclass
class Kit:
    """What a recipe works with."""

    scene: Scene
    tools: Toolbox
    libraries: Libraries
    """What the kernel of this process can import."""
    tables: dict[str, Table] = field(default_factory=dict)
    """Tables that this plan loaded, by variable."""
    kernel: bool | None = None
    """Whether code runs in the person's kernel; None until that was tried."""


def must(call: Call, doing: str) -> Steps:
    """The outcome of a call that went well. Raises Stop, in words, where it was denied or failed."""
    outcome = yield call
    return accept(call, outcome, doing)


def accept(call: Call, outcome: Outcome, doing: str) -> Outcome:
    """The outcome, if it went well. Raises Stop."""
    if not outcome.is_error:
        return outcome
    reason = answers.denial(outcome.text)
    if reason is None:
        lines = outcome.text.strip().split("\n")
        raise Stop(f"{doing} failed:\n\n{answers.block(lines)}")
    raise Stop(denied(call, reason, doing))


def denied(call: Call, reason: str, doing: str) -> str:
    """What to say of a call that was not allowed."""
    if answers.nobody_there(reason):
        return (
            f"{doing} needs approval, and nobody could be asked, so it was not done. "
            f"To allow it beforehand, say so in the cell: `%%cosh --allowed-tools {rule_for(call)}`"
        )
    if reason in ("", "no reason given"):
        return f"You did not allow it, so this was not done: {_small(doing)}."
    return f"{doing} was not allowed, so it was not done. The reason given: {reason}"


def rule_for(call: Call) -> str:
    """What to type after --allowed-tools so that this call may run."""
    command = call.input.get("command")
    if not isinstance(command, str):
        return call.tool
    if "\n" in command or len(command) > 80 or "'" in command:
        return "Bash"
    return f"'Bash({command})'"


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]
