"""Commands that take turns back: /undo, /checkpoints, /diff."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

from cosh_nb.commands import Command, Desk
from cosh_nb.commands.tables import cell
from cosh_nb.errors import CoshError, UsageError
from cosh_nb.timetravel.cells import Cell
from cosh_nb.timetravel.snapshots import FileState
from cosh_nb.timetravel.turns import Turn, Turns
from cosh_nb.timetravel.undo import Undone
from cosh_nb.timetravel.undo import undo as take_back
from cosh_tools.fences import fenced
from cosh_tools.results import ToolError

_DIFF_BYTES = 1_000_000
_DIFF_LINES = 400


async def undo(desk: Desk, arguments: str) -> str:
    """Take back the last turn, a named one, or the last undo."""
    turns = _turns(desk)
    if desk.agent.busy:
        raise CoshError("A turn is running. Wait for its end or stop it (%cosh /stop), then undo.")
    turn = _chosen(turns, arguments.strip())
    if turn.undone:
        raise CoshError(f"{_title(turn)} is taken back already. `%cosh /undo undo` brings it again.")
    return _said(turns, await take_back(turns, turn, desk.agent.ctx))


async def checkpoints(desk: Desk, arguments: str) -> str:
    """The turns that can be taken back."""
    del arguments
    turns = _turns(desk)
    if not turns.all:
        return "No turn has changed anything yet."
    lines = ["| turn | request | files | cells | variables |", "|---|---|--:|--:|---|"]
    for turn in turns.all:
        size = await asyncio.to_thread(_size, turns, turn)
        files = f"{len(turn.files)}" + (f" ({_bytes(size)})" if size else "")
        cells = sum(len(changes.changed) for changes in turn.cells.values())
        name = f"{turn.number}" if turn.undoes is None else f"undo of {turn.undoes.number}"
        state = ", taken back" if turn.undone else ""
        lines.append(f"| {name}{state} | {cell(turn.prompt, 60)} | {files} | {cells} | {_variables(turns, turn)} |")
    if why := turns.variables.unavailable():
        lines += ["", f"Variables are left alone: {why}."]
    return "\n".join(lines)


async def diff(desk: Desk, arguments: str) -> str:
    """What a turn changed: files, cells, variables."""
    turns = _turns(desk)
    turn = _chosen(turns, arguments.strip())
    parts = [f"What {_title(turn, start=False)} changed:"]
    for path, (was, became) in sorted(turn.files.items()):
        text = await asyncio.to_thread(_file_diff, turns, path, _place(path, desk), was, became)
        parts.append(text)
    for path, changes in turn.cells.items():
        for name, (old, new) in changes.changed.items():
            parts.append(_as_diff(_cell_diff(f"{path.name} {name}", old, new)))
    if turn.code_ran:
        parts.append(await _variable_lines(turns, turn))
    parts += turn.problems
    if len(parts) == 1:
        return f"{_title(turn)} changed nothing."
    return "\n\n".join(parts)


def _turns(desk: Desk) -> Turns:
    turns = desk.agent.front.snapshots
    if not isinstance(turns, Turns):
        raise CoshError("Turns are not kept in this session, so nothing can be taken back.")
    return turns


def _chosen(turns: Turns, said: str) -> Turn:
    if not turns.all:
        raise CoshError("There is nothing to undo: no turn has changed anything yet.")
    if said in ("undo", "redo"):
        found = next((turn for turn in reversed(turns.all) if turn.undoes is not None and not turn.undone), None)
        if found is None:
            raise CoshError("There is no undo to take back.")
        return found
    if not said:
        found = next((turn for turn in reversed(turns.all) if turn.undoes is None and not turn.undone), None)
        if found is None:
            raise CoshError("There is nothing more to undo. `%cosh /undo undo` brings back what was undone last.")
        return found
    numbers = sorted({turn.number for turn in turns.all if turn.undoes is None})
    if not said.isdigit():
        raise UsageError(f"/undo takes the number of a turn ({', '.join(map(str, numbers))}) or `undo`, not {said!r}.")
    found = next((turn for turn in reversed(turns.all) if turn.undoes is None and turn.number == int(said)), None)
    if found is None:
        raise UsageError(f"Turn {said} is not kept. There are {', '.join(map(str, numbers))}: %cosh /checkpoints.")
    return found


def _said(turns: Turns, done: Undone) -> str:
    report = done.variables
    lines = [
        f"{_title(done.turn)} is taken back." if done.any else f"Nothing of {_title(done.turn, start=False)} came back."
    ]
    lines += _line("Files put back", done.files)
    lines += _line("Cells put back", done.cells)
    lines += _line("Variables put back", report.back)
    lines += _line("Variables removed, which the turn had made", report.removed)
    lines += _line("Changed since, and therefore left", [*done.since, *(f"variable {name}" for name in report.since)])
    lines += _line("Cannot come back", [f"{name} ({why})" for name, why in report.lost.items()])
    unsure = [f"{name} ({kind})" for name, kind in report.unsure.items()]
    lines += _line("Not restored, because it cannot be copied; left as it is", unsure)
    lines += [f"- {sentence.rstrip('.')}." for sentence in done.lost]
    if done.any and any(turn.undoes is done.turn for turn in turns.all):
        lines += ["", "`%cosh /undo undo` brings it again."]
    return "\n".join(lines)


def _line(label: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(_code(name) for name in names[:60])
    more = f" and {len(names) - 60} more" if len(names) > 60 else ""
    return [f"- {label}: {shown}{more}"]


def _code(said: str) -> str:
    """A name as code; what is said of it in brackets is not."""
    name, bracket, rest = said.partition(" (")
    return f"`{name}`{bracket}{rest}"


def _title(turn: Turn, *, start: bool = True) -> str:
    if turn.undoes is not None:
        return f"{'The' if start else 'the'} undo of turn {turn.undoes.number}"
    return f"{'Turn' if start else 'turn'} {turn.number}"


def _variables(turns: Turns, turn: Turn) -> str:
    if not turn.code_ran:
        return "no code ran"
    held = turns.variables.held(turn.key)
    return f"kept, {_bytes(held)}" if held is not None else "not kept any more"


def _size(turns: Turns, turn: Turn) -> int:
    return sum(was.size for was, _ in turn.files.values() if turns.store.has(was.digest))


def _bytes(size: int) -> str:
    return f"{size:,} B" if size < 1000 else f"{size / 1e3:,.1f} kB" if size < 1e6 else f"{size / 1e6:,.1f} MB"


def _file_diff(turns: Turns, path: Path, shown: str, was: FileState, became: FileState) -> str:
    now = turns.store.state(path, keep=False)
    since = "" if now.same(became) else f"\n\n`{shown}` was changed again since; this is the difference to now."
    if was.kind == "file" and not turns.store.has(was.digest):
        return f"`{shown}`: {was.why or 'what was kept of it is gone'}, so there is no difference to show."
    if max(was.size, now.size) > _DIFF_BYTES:
        return f"`{shown}`: {_bytes(was.size)} before, {_bytes(now.size)} now.{since}"
    try:
        old = turns.store.content(was.digest) if was.kind == "file" else b""
        new = path.read_bytes() if now.kind == "file" else b""
        texts = old.decode("utf-8").splitlines(), new.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return f"`{shown}`: {_bytes(was.size)} before, {_bytes(now.size)} now (not text).{since}"
    except OSError as error:
        return f"`{shown}`: {error}"
    names = shown if was.kind != "absent" else "(no file)", shown if now.kind != "absent" else "(no file)"
    lines = list(difflib.unified_diff(*texts, *names, lineterm=""))
    if not lines:
        mode = f": mode {was.mode:o} before, {now.mode:o} now" if was.mode != now.mode else " has no lines that differ"
        return f"`{shown}`{mode}.{since}"
    return _as_diff(lines) + since


def _cell_diff(name: str, old: Cell | None, new: Cell | None) -> Iterable[str]:
    was = old.source.splitlines() if old is not None else []
    now = new.source.splitlines() if new is not None else []
    return difflib.unified_diff(was, now, name if old else "(no cell)", name if new else "(no cell)", lineterm="")


def _as_diff(lines: Iterable[str]) -> str:
    every = list(lines)
    more = [f"... {len(every) - _DIFF_LINES} more lines"] if len(every) > _DIFF_LINES else []
    return fenced("\n".join([*every[:_DIFF_LINES], *more]), "diff")


async def _variable_lines(turns: Turns, turn: Turn) -> str:
    if why := turns.variables.unavailable():
        return f"Variables are not looked at: {why}."
    try:
        changes = await turns.variables.changes(turn.key)
    except ToolError as error:
        return str(error)
    if not changes:
        return "No variable changed."
    rows = []
    for change in changes:
        match change.what:
            case "new":
                rows.append(f"+ {change.name}: {change.now}")
            case "deleted":
                rows.append(f"- {change.name}: {change.was}")
            case "changed":
                same = change.was == change.now
                rows.append(f"~ {change.name}: {change.was}" + (", changed in place" if same else f" -> {change.now}"))
    return _as_diff(row.replace("\n", " ") for row in rows)


def _place(path: Path, desk: Desk) -> str:
    return str(path.relative_to(desk.agent.workspace)) if path.is_relative_to(desk.agent.workspace) else str(path)


COMMANDS = (
    Command("undo", "Takes back the last turn: cells, files and variables.", undo, "[turn | undo]", ("undo",)),
    Command("checkpoints", "Lists the turns that can be taken back, with sizes.", checkpoints),
    Command("diff", "Shows what the last turn changed, or a named one.", diff, "[turn]"),
)
