"""Commands that become a request: fix and explain a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cosh_nb.commands import Command, Desk
from cosh_nb.errors import UsageError
from cosh_tools.fences import tagged


@dataclass(frozen=True, slots=True)
class SeenCell:
    """A cell that ran: its number, its source, what it showed, and whether it failed."""

    count: int
    source: str
    shown: str
    failed: bool


@runtime_checkable
class SeesCells(Protocol):
    """A desk that knows which cells ran."""

    def seen_cells(self) -> list[SeenCell]:
        """The cells that ran, oldest first."""
        ...


async def fix(desk: Desk, arguments: str) -> str:
    """The request that mends the last failing cell, or a named one."""
    cell = _wanted(desk, arguments, failed=True)
    return (
        f"Cell [{cell.count}] failed. Find the cause and propose an edit of that very cell with NotebookEdit: read the "
        "notebook to find its id, keep what works, change as little as you can. Then say in one sentence what was "
        f"wrong. Do not run it.\n\n{_shown(cell)}"
    )


async def explain(desk: Desk, arguments: str) -> str:
    """The request that explains the last cell, or a named one, or its error."""
    cell = _wanted(desk, arguments, failed=False)
    what = "why it failed and how to mend it" if cell.failed else "what it does and what its output means"
    return f"Explain cell [{cell.count}]: {what}. Be brief; change nothing.\n\n{_shown(cell)}"


def _wanted(desk: Desk, arguments: str, *, failed: bool) -> SeenCell:
    if not isinstance(desk, SeesCells):
        raise UsageError("Only a notebook has cells. Ask in plain words and name the file.")
    cells = desk.seen_cells()
    wanted = arguments.strip().strip("[]")
    if wanted:
        found = [cell for cell in cells if str(cell.count) == wanted]
        if not found:
            raise UsageError(f"No cell [{wanted}] ran since cosh_nb was loaded. Run it once, then ask again.")
        return found[-1]
    fitting = [cell for cell in cells if cell.failed] if failed else cells
    if not fitting:
        what = "No cell has failed" if failed else "No cell has run"
        raise UsageError(f"{what} since cosh_nb was loaded. Name one: %cosh /{'fix' if failed else 'explain'} NUMBER.")
    return fitting[-1]


def _shown(cell: SeenCell) -> str:
    shown = cell.shown if len(cell.shown) <= 8_000 else f"{cell.shown[:3_000]}\n[...]\n{cell.shown[-5_000:]}"
    return f"{tagged('cell', cell.source, number=str(cell.count))}\n{tagged('output', shown)}"


COMMANDS = (
    Command("fix", "Mends the last failing cell, or a named one, as an edit of that cell.", fix, "[cell]"),
    Command("explain", "Explains the last cell or its error, or a named one.", explain, "[cell]"),
)
REQUESTS = frozenset({"fix", "explain"})
"""Commands whose answer is a request to the agent, not a text for the person."""
