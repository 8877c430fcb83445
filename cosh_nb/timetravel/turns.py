"""What each turn changes, kept from its first change on (hosts.SnapshotHost): files, cells and variables."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from cosh_nb.timetravel.cells import CellChanges
from cosh_nb.timetravel.scan import MOST_BYTES, MOST_FILES, Look, Scanner
from cosh_nb.timetravel.snapshots import FileState, Store
from cosh_nb.timetravel.variables import Restored, VariableChange
from cosh_tools.context import ToolContext
from cosh_tools.hosts import NotebookView
from cosh_tools.results import ToolError
from cosh_tools.touches import Opaque, Runs, RunsCode, Touch, Uses, Writes

REMEMBERED = 50
"""Turns whose files and cells are remembered."""


class Variables(Protocol):
    """The kernel's variables: a copy of them before a turn's first code, and what became of them."""

    def unavailable(self) -> str:
        """Why variables are left alone here; empty where they are kept."""
        ...

    async def take(self, key: int, spare: int | None = None) -> str:
        """Keep the variables as they are now, and those of `spare`; why it could not be done, or nothing."""
        ...

    async def seal(self, key: int) -> None:
        """The turn is over: what its variables are now."""
        ...

    async def changes(self, key: int) -> Sequence[VariableChange]:
        """What the turn changed. Raises ToolError where the copy is gone."""
        ...

    async def restore(self, key: int) -> Restored:
        """Put back what the turn changed. Raises ToolError where the copy is gone."""
        ...

    def held(self, key: int) -> int | None:
        """Bytes that the copy takes; None where it is gone."""
        ...


class NoVariables:
    """There is no kernel whose variables could be kept."""

    def unavailable(self) -> str:
        """That there is none."""
        return "this session has no notebook kernel"

    async def take(self, key: int, spare: int | None = None) -> str:
        """Keep nothing."""
        del key, spare
        return ""

    async def seal(self, key: int) -> None:
        """Nothing."""

    async def changes(self, key: int) -> Sequence[VariableChange]:
        """Say that there is none."""
        del key
        raise ToolError("This session has no notebook kernel.")

    async def restore(self, key: int) -> Restored:
        """Say that there is none."""
        del key
        raise ToolError("This session has no notebook kernel.")

    def held(self, key: int) -> int | None:
        """None."""
        del key
        return None


@dataclass
class Turn:
    """What one turn changed. An undo is a turn of its own: `undoes` says of which."""

    key: int
    """Counts up in a session, undos included."""
    number: int
    prompt: str
    started: datetime
    files: dict[Path, tuple[FileState, FileState]] = field(default_factory=dict)
    cells: dict[Path, CellChanges] = field(default_factory=dict)
    folders: set[Path] = field(default_factory=set)
    """Folders that the turn made."""
    code_ran: bool = False
    problems: list[str] = field(default_factory=list)
    undone: bool = False
    undoes: Turn | None = None

    @property
    def any(self) -> bool:
        """Whether there is anything that could be taken back."""
        return bool(self.files) or any(changes.any for changes in self.cells.values()) or self.code_ran


@dataclass
class _Window:
    """What is being watched while calls run."""

    calls: int = 0
    look: Look | None = None
    files: dict[Path, FileState] = field(default_factory=dict)
    views: dict[Path, NotebookView] = field(default_factory=dict)


class Turns:
    """Implements SnapshotHost. Lives on the agent's loop; reading files happens in threads."""

    def __init__(self, session_id: str, variables: Variables | None = None) -> None:
        self.store = Store(session_id)
        self.variables: Variables = variables or NoVariables()
        self.all: list[Turn] = []
        self.current: Turn | None = None
        self._scanner = Scanner(self.store)
        self._window = _Window()
        self._missing: set[Path] = set()
        """Folders that were not there when the turn first named them."""
        self._lock = asyncio.Lock()
        self._keys = 0

    # -- SnapshotHost ------------------------------------------------------------------------------------------------

    def begin(self, number: int, prompt: str) -> None:
        """A turn starts."""
        self.current = self.new(number, prompt)
        self._window = _Window()
        self._missing = set()
        self._scanner.too_many = ""

    async def before(self, touches: Sequence[Touch], ctx: ToolContext) -> None:
        """Keep what the call may change."""
        opaque, code, writes = _effects(touches)
        if not (opaque or writes):
            return
        if self.current is None:
            self.begin(0, "")
        async with self._lock:
            turn, window = self._turn(), self._window
            window.calls += 1
            if code and not turn.code_ran:
                turn.code_ran = True
                if problem := await self.variables.take(turn.key):
                    turn.problems.append(problem)
            if opaque and window.look is None:
                window.look = await asyncio.to_thread(self._scanner.look, _roots(ctx), keep=True)
                _note(turn, window.look.problem)
            for path in writes:
                if path not in window.files and path not in window.views:
                    await self._keep(path, ctx)

    async def after(self, touches: Sequence[Touch], ctx: ToolContext) -> None:
        """The call is over: see what it changed."""
        opaque, _, writes = _effects(touches)
        if not (opaque or writes) or self.current is None:
            return
        async with self._lock:
            window, turn = self._window, self.current
            window.calls -= 1
            for path in writes:
                await self._see(turn, path, ctx)
            if window.look is not None and opaque:
                now = await asyncio.to_thread(self._scanner.look, _roots(ctx), keep=False)
                found = await asyncio.to_thread(self._scanner.changes, window.look, now)
                for path, (was, became) in found.items():
                    if path not in window.views:
                        _merge(turn, path, was, became)
                if not now.problem and not window.look.problem:
                    turn.folders |= now.folders - window.look.folders
            if window.calls <= 0:
                self._window = _Window()

    async def end(self) -> None:
        """The turn is over."""
        turn, self.current = self.current, None
        if turn is None:
            return
        if turn.code_ran:
            await self.variables.seal(turn.key)
        if turn.any:
            self.remember(turn)
        await asyncio.to_thread(self.store.prune)

    # -- for undo ----------------------------------------------------------------------------------------------------

    def new(self, number: int, prompt: str) -> Turn:
        """A turn that nobody has seen yet."""
        self._keys += 1
        return Turn(self._keys, number, " ".join(prompt.split())[:200], datetime.now().astimezone())

    def remember(self, turn: Turn) -> None:
        """Add it to those that can be taken back."""
        self.all.append(turn)
        del self.all[:-REMEMBERED]

    def _turn(self) -> Turn:
        if self.current is None:
            raise ToolError("No turn is running.")
        return self.current

    async def _keep(self, path: Path, ctx: ToolContext) -> None:
        view = await open_view(path, ctx)
        if view is not None:
            self._window.views[path] = view
            return
        self._window.files |= await asyncio.to_thread(_kept, self.store, path)
        self._missing |= await asyncio.to_thread(_missing, path)

    async def _see(self, turn: Turn, path: Path, ctx: ToolContext) -> None:
        if (view := self._window.views.get(path)) is not None:
            now = await open_view(path, ctx)
            if now is None:
                _note(turn, f"{path.name} was closed during the turn, so its cells are not put back.")
                return
            turn.cells.setdefault(path, CellChanges()).add(view.cells, now.cells)
            self._window.views[path] = now
            return
        for each, was in [(each, was) for each, was in self._window.files.items() if each.is_relative_to(path)]:
            became = await asyncio.to_thread(self.store.state, each, keep=False)
            if "folder" not in (was.kind, became.kind):
                _merge(turn, each, was, became)
        turn.folders |= {folder for folder in self._missing if folder.is_dir()}


async def open_view(path: Path, ctx: ToolContext) -> NotebookView | None:
    """The cells of a notebook that is open in a page; None for a closed one and for any other file."""
    if path.suffix != ".ipynb":
        return None
    with contextlib.suppress(ToolError, OSError):
        view = await ctx.notebook.read(path, ())
        return view if view.live else None
    return None


def _merge(turn: Turn, path: Path, was: FileState, became: FileState) -> None:
    first = turn.files[path][0] if path in turn.files else was
    if first.same(became) or (first == became and not first.why):
        turn.files.pop(path, None)
    else:
        turn.files[path] = (first, became)


def _effects(touches: Sequence[Touch]) -> tuple[bool, bool, list[Path]]:
    """Whether nobody can tell what it writes, whether it runs code in the kernel, and the files it says it writes."""
    opaque = any(
        isinstance(touch, RunsCode | Opaque)
        or (isinstance(touch, Runs) and not touch.harmless)
        or (isinstance(touch, Uses) and touch.tool.startswith("mcp"))
        for touch in touches
    )
    code = any(isinstance(touch, RunsCode) for touch in touches)
    return opaque, code, list(dict.fromkeys(touch.real for touch in touches if isinstance(touch, Writes)))


def _roots(ctx: ToolContext) -> list[Path]:
    """The folders that count as inside, none of them within another."""
    every = [ctx.workspace, ctx.working_dir, *ctx.state.extra_roots]
    found: list[Path] = []
    for root in sorted({Path(root).resolve() for root in every}, key=lambda path: len(path.parts)):
        if not any(root.is_relative_to(other) for other in found):
            found.append(root)
    return found


def _kept(store: Store, path: Path) -> dict[Path, FileState]:
    """What stands at a path; of a folder everything in it, as far as it fits."""
    state = store.state(path)
    if state.kind != "folder":
        return {path: state}
    found, room = {path: state}, MOST_BYTES
    for folder, folders, names in os.walk(path):
        for name in (*names, *(one for one in folders if Path(folder, one).is_symlink())):
            if len(found) > MOST_FILES:
                return found
            each = Path(folder, name)
            found[each] = store.state(each, most=max(room, 0))
            room -= found[each].size
    return found


def _missing(folder: Path) -> set[Path]:
    """The folders that are not there yet, this one included."""
    found = set()
    while not folder.exists() and folder != folder.parent:
        found.add(folder)
        folder = folder.parent
    return found


def _note(turn: Turn, problem: str) -> None:
    if problem and problem not in turn.problems:
        turn.problems.append(problem)
