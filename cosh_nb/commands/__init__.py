"""The commands of `%cosh /name`, the same in magics and panel.

A command is an async function of a `Desk` (the front end's agent and what belongs to it) and the words after the
name; it runs on the agent's loop and returns Markdown for the person.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cosh_nb.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from cosh_nb.agent import Agent


class Desk(Protocol):
    """Where a command works: the agent of this front end, made when it is first needed."""

    @property
    def agent(self) -> Agent:
        """The agent."""
        ...

    @property
    def workspace(self) -> Path:
        """The folder that the person opened."""
        ...

    def reload(self) -> None:
        """Read settings and trust again; the conversation goes on."""
        ...

    def stop(self) -> bool:
        """End the running turn; whether there was one."""
        ...


@runtime_checkable
class Serves(Protocol):
    """A desk that can lend its kernel's tools to an agent outside (`/mcp serve`)."""

    async def serve(self) -> str:
        """Begin to listen; where the cards will appear."""
        ...

    async def end_serving(self) -> bool:
        """Stop listening; whether it did listen."""
        ...


Run = Callable[[Desk, str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `usage` shows its words, `choices` are for completion."""

    name: str
    summary: str
    run: Run
    usage: str = ""
    choices: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """As a person types it."""
        return f"/{self.name} {self.usage}".strip()


def table() -> Mapping[str, Command]:
    """All commands, by name."""
    # The agent is loaded with the first command.
    from cosh_nb.commands import asking, exporting, extending, info, lab, model, policy, sessions, setting, undo, work

    parts = (asking, exporting, extending, info, lab, model, policy, sessions, setting, undo, work)
    every = [command for part in parts for command in part.COMMANDS]
    return {command.name: command for command in sorted(every, key=lambda command: command.name)}


async def run(desk: Desk, name: str, arguments: str) -> str:
    """Run a command. Raises UsageError for an unknown one, with the nearest."""
    commands = table()
    command = commands.get(name)
    if command is None:
        near = difflib.get_close_matches(name, commands, n=2)
        hint = " or ".join(f"/{one}" for one in near) or "/help"
        raise UsageError(f"There is no command /{name}. Did you mean {hint}?")
    return await command.run(desk, arguments)
