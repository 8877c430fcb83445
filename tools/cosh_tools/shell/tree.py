"""Ending a command for good: every process that it started, however it tried to get away."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MARK = "COSH_COMMAND_ID"
"""The environment variable by which a process that left its session and its parent is still known."""

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Member:
    """A live process. `born` tells it from a later one of the same number."""

    pid: int
    parent: int
    session: int
    born: str
    name: str


def members(root: int, mark: str) -> list[Member]:
    """The live processes that belong to the command whose shell is (or was) `root`."""
    alive = {member.pid: member for member in _everyone()}
    found = {pid for pid, member in alive.items() if root in (pid, member.session) or _is_marked(pid, mark)}
    grew = True
    while grew:
        more = {pid for pid, member in alive.items() if member.parent in found and pid not in found}
        found |= more
        grew = bool(more)
    found.discard(os.getpid())
    return [alive[pid] for pid in sorted(found)]


async def end(root: int, mark: str, grace: float) -> None:
    """TERM to all of them, and KILL to those that are still there after `grace` seconds."""
    loop = asyncio.get_running_loop()
    asked = members(root, mark)
    _send(asked, signal.SIGTERM)
    deadline = loop.time() + grace
    while members(root, mark) and loop.time() < deadline:  # noqa: ASYNC110 (the system tells of no such end)
        await asyncio.sleep(0.01)
    for _ in range(20):  # whoever forks while being killed is found in the next round
        left = members(root, mark)
        if not left:
            return
        _send(left, signal.SIGKILL)
        await asyncio.sleep(0.005)


def kill(root: int, mark: str) -> None:
    """KILL to all of them, now."""
    for _ in range(5):
        left = members(root, mark)
        if not left:
            return
        _send(left, signal.SIGKILL)


def _send(processes: Iterable[Member], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)


def _everyone() -> list[Member]:
    if not _PROC.is_dir():
        return _from_ps()
    numbers = [int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdigit()]
    return [member for number in numbers if (member := _from_proc(number)) is not None]


def _from_proc(pid: int) -> Member | None:
    try:
        line = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    name, _, rest = line.partition("(")[2].rpartition(")")
    fields = rest.split()
    if fields[0] in "ZX":
        return None
    return Member(pid, int(fields[1]), int(fields[3]), fields[19], name)


def _is_marked(pid: int, mark: str) -> bool:
    if not mark:
        return False
    try:
        return f"{MARK}={mark}".encode() in (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False


def _from_ps() -> list[Member]:
    """Where there is no /proc (macOS), the `ps` command tells."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat=,lstart=,comm="], capture_output=True, text=True, check=False
    )
    found = []
    for line in listed.stdout.splitlines():
        pid, parent, state, *rest = line.split(None, 8)
        if not state.startswith("Z"):
            with contextlib.suppress(OSError):
                found.append(Member(int(pid), int(parent), os.getsid(int(pid)), " ".join(rest[:5]), rest[-1]))
    return found
