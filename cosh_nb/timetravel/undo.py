"""Taking a turn back: files, cells, variables. What changed since stays and is named, so is what cannot come back."""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from cosh_nb.timetravel.cells import CellChanges, plan
from cosh_nb.timetravel.snapshots import FileState, Store
from cosh_nb.timetravel.turns import Turn, Turns, open_view
from cosh_nb.timetravel.variables import Restored
from cosh_tools.context import ToolContext
from cosh_tools.files.atomic import replace
from cosh_tools.results import ToolError


@dataclass
class Undone:
    """What an undo did, by name."""

    turn: Turn
    files: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    variables: Restored = field(default_factory=Restored)
    since: list[str] = field(default_factory=list)
    """Files and cells that somebody changed after the turn: left."""
    lost: list[str] = field(default_factory=list)
    """What cannot come back or could not be put back, a sentence each."""

    @property
    def any(self) -> bool:
        """Whether anything was put back."""
        return bool(self.files or self.cells or self.variables.back or self.variables.removed)


async def undo(turns: Turns, turn: Turn, ctx: ToolContext) -> Undone:
    """Put back what `turn` changed. The undo is itself remembered as a turn."""
    report = Undone(turn, lost=list(turn.problems))
    record = turns.new(turn.number, turn.prompt)
    record.undoes = turn
    for path, (was, became) in sorted(turn.files.items()):
        if path.suffix == ".ipynb" and await open_view(path, ctx) is not None:
            report.since.append(f"{path.name} (it is open now, so the saved file is left to its page)")
            continue
        await asyncio.to_thread(_file, turns.store, path, was, became, record, report, _place(path, ctx))
    await asyncio.to_thread(_remove_folders, turn)
    for path, changes in turn.cells.items():
        await _cells(path, changes, record, report, ctx)
    if turn.code_ran:
        await _variables(turns, turn, record, report)
    if report.any:
        turn.undone = True
        if turn.undoes is not None:
            turn.undoes.undone = False
        turns.remember(record)
    return report


def _file(
    store: Store, path: Path, was: FileState, became: FileState, record: Turn, report: Undone, shown: str
) -> None:
    now = store.state(path)
    if was.same(now):
        return
    if not became.same(now):
        report.since.append(shown)
        return
    if was.kind in ("other", "folder") or (
        was.kind == "file" and not (was.digest and not was.why and store.has(was.digest))
    ):
        report.lost.append(f"{shown}: {was.why or 'what was kept of it is gone from the cache'}")
        return
    try:
        _put(store, path, was, now, shown)
    except (ToolError, OSError) as error:
        report.lost.append(f"{shown}: {error}")
        return
    if now.why:
        report.lost.append(f"{shown} was put back, but this cannot be taken back: {now.why}")
    record.files[path] = (now, store.state(path, keep=False))
    report.files.append(shown)


def _put(store: Store, path: Path, was: FileState, now: FileState, shown: str) -> None:
    match was.kind:
        case "absent":
            path.unlink()
        case "link":
            temporary = path.with_name(f".cosh-tmp-{os.getpid()}")
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.symlink_to(was.target)
            temporary.replace(path)
        case "file":
            if now.kind == "link":
                path.unlink()
            if was.digest != now.digest or now.kind != "file":
                old = os.lstat(path) if os.path.lexists(path) else None
                replace(path, [store.content(was.digest)], old, shown)
            path.chmod(was.mode)
        case "folder" | "other":
            raise ToolError("it is no ordinary file")


def _remove_folders(turn: Turn) -> None:
    """The folders that the turn made, where nothing is left in them."""
    for folder in sorted(turn.folders, key=lambda path: len(path.parts), reverse=True):
        with contextlib.suppress(OSError):
            folder.rmdir()


async def _cells(path: Path, changes: CellChanges, record: Turn, report: Undone, ctx: ToolContext) -> None:
    if not changes.any:
        return
    view = await open_view(path, ctx)
    if view is None:
        report.lost.append(f"{path.name}: it is not open any more, so its cells stay as they are")
        return
    steps = plan(changes, view.cells)
    report.since += [f"{path.name} {cell}" for cell in steps.since]
    if not steps.edits:
        return
    # The cells come back as they were, a cosh cell of the person's too.
    allowing = ctx.with_(config={**ctx.config, "allow_cosh_cells": True})
    try:
        done = await ctx.notebook.apply(path, steps.edits, allowing)
    except ToolError as error:
        report.lost.append(f"{path.name}: {error}")
        return
    for edit, said in zip(steps.edits, done, strict=False):
        name = f"{path.name} {said.cell or edit.cell or 'a cell'}"
        match said.status:
            case "landed":
                note = " (without its outputs)" if edit.mode == "insert" and edit.type == "code" else ""
                report.cells.append(name + note)
            case "conflicted":
                report.since.append(name)
            case "refused":
                report.lost.append(f"{name}: {said.text}")
    with contextlib.suppress(ToolError):
        now = await ctx.notebook.read(path, ())
        record.cells.setdefault(path, CellChanges()).add(view.cells, now.cells)


async def _variables(turns: Turns, turn: Turn, record: Turn, report: Undone) -> None:
    variables = turns.variables
    if why := variables.unavailable():
        report.lost.append(f"Variables were left alone: {why}")
        return
    if variables.held(turn.key) is None:
        report.lost.append(
            "Variables were left alone: the copy of them is gone (five turns are kept, fewer where memory is short)"
        )
        return
    if problem := await variables.take(record.key, spare=turn.key):
        report.lost.append(problem)
    else:
        record.code_ran = True
    try:
        report.variables = await variables.restore(turn.key)
    except ToolError as error:
        report.lost.append(str(error))
    if record.code_ran:
        await variables.seal(record.key)


def _place(path: Path, ctx: ToolContext) -> str:
    with contextlib.suppress(ValueError):
        return str(path.relative_to(ctx.workspace))
    return str(path)
