"""A forked copy of this process that does one thing behind a wall and leaves nothing behind (Linux).

Only the main thread forks. The child closes every descriptor it inherited but its two pipes, stands in a session of
its own, ends with its parent, and leaves by `os._exit`, whatever happens in it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

HANDSHAKE = 1.0
"""Seconds within which a child must say that it lives: a lock that another thread held at the fork may hang it."""
_PDEATHSIG = 1


class ChildFailed(Exception):
    """The child did not do what it was asked, in a sentence."""


class Pipe:
    """One end of the two pipes between parent and child; messages with their length before them."""

    def __init__(self, reads: int, writes: int) -> None:
        self.reads, self.writes = reads, writes

    def send(self, *parts: bytes | bytearray | memoryview) -> None:
        """One message of several parts."""
        for part in (len(parts).to_bytes(8, "big"), *(piece for p in parts for piece in (_size(p), p))):
            rest = memoryview(part).cast("B")
            while rest:
                rest = rest[os.write(self.writes, rest[: 1 << 24]) :]

    def receive(self, deadline: float | None = None) -> list[bytearray]:
        """The next message. Raises ChildFailed where the other side is gone or silent."""
        count = int.from_bytes(self._exactly(8, deadline), "big")
        return [self._exactly(int.from_bytes(self._exactly(8, deadline), "big"), deadline) for _ in range(count)]

    def close(self) -> None:
        """Close both."""
        for handle in (self.reads, self.writes):
            with contextlib.suppress(OSError):
                os.close(handle)

    def _exactly(self, size: int, deadline: float | None) -> bytearray:
        found = bytearray(size)
        view, at = memoryview(found), 0
        while at < size:
            if deadline is not None and not _readable(self.reads, deadline - time.monotonic()):
                raise ChildFailed("it did not answer in time")
            got = os.readv(self.reads, [view[at : at + (1 << 24)]])
            if not got:
                raise ChildFailed("it ended before it had answered")
            at += got
        return found


class Child:
    """The parent's hold on a child."""

    def __init__(self, pid: int, pipe: Pipe) -> None:
        self.pid, self.pipe = pid, pipe
        self._lock = threading.Lock()
        self._ended = self._killed = False

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        with self._lock:
            if not self._ended:
                with contextlib.suppress(ChildProcessError):
                    if os.waitpid(self.pid, os.WNOHANG)[0] == 0:
                        return True
                self._ended = True
            return False

    def kill(self) -> None:
        """Kill it and all that it started. A thread that reads from it then sees its end."""
        with self._lock:
            if self._killed:
                return
            self._killed = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)  # what it started may outlive it, in its group
            if not self._ended:
                self._ended = True
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)  # before it had a group of its own
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(self.pid, 0)

    def end(self) -> None:
        """Kill it and leave no trace of it. No thread may still read from it."""
        self.kill()
        pipe, self.pipe = self.pipe, _CLOSED
        pipe.close()

    def own_memory(self) -> int:
        """Bytes that it shares with nobody any more."""
        return rollup(self.pid, "Private_")


def fork(work: Callable[[Pipe], None]) -> Child:
    """Main thread: fork a child that does `work` with its end of the pipes. Raises ChildFailed."""
    if unavailable():
        raise ChildFailed(unavailable())
    if threading.current_thread() is not threading.main_thread():
        raise ChildFailed("only the main thread of the kernel may fork")
    parent = os.getpid()
    down, up = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of threads; the module text says why
            pid = os.fork()
    except OSError as error:
        for handle in (*down, *up):
            os.close(handle)
        raise ChildFailed(f"the system did not fork ({error.strerror})") from None
    if pid == 0:
        _be(work, Pipe(down[0], up[1]), parent)
    os.close(down[0])
    os.close(up[1])
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        fcntl.fcntl(up[0], 1031, 1 << 20)  # F_SETPIPE_SZ
    child = Child(pid, Pipe(up[0], down[1]))
    try:
        child.pipe.receive(time.monotonic() + HANDSHAKE)
    except ChildFailed:
        child.end()
        raise ChildFailed("the copy of the kernel did not start within a second") from None
    return child


def unavailable() -> str:
    """Why no copy of this process can be made here; empty where one can."""
    if sys.platform == "linux":
        return ""
    name = "macOS" if sys.platform == "darwin" else "Windows" if sys.platform == "win32" else sys.platform
    return f"a running kernel cannot be copied on {name}"


def rollup(pid: int | str, *names: str) -> int:
    """Bytes of a process's memory whose kind begins with one of `names` ("Rss", "Private_"); 0 where it is not told."""
    total = 0
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:  # noqa: PTH123  (not a person's file)
        for line in lines:
            if line.startswith(names):
                total += int(line.split()[1]) * 1024
    return total


def free_memory() -> float:
    """The part of the machine's memory that is free, 0 to 1; 1 where it is not told."""
    found: dict[str, int] = {}
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123  (the same)
        for line in lines:
            name, _, rest = line.partition(":")
            found[name] = int(rest.split()[0])
    return found["MemAvailable"] / found["MemTotal"] if {"MemAvailable", "MemTotal"} <= set(found) else 1.0


def _be(work: Callable[[Pipe], None], pipe: Pipe, parent: int) -> NoReturn:
    """The child's whole life."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.setsid()
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == parent:
            _keep_only(pipe.reads, pipe.writes)
            with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123  (not a person's file)
                file.write("1000")  # where memory runs out, the copy goes first
            gc.disable()
            gc.freeze()  # a collection would touch, and so copy, every page
            pipe.send(b"here")
            work(pipe)
    finally:
        os._exit(0)


def _keep_only(*keep: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  (names are what is wanted)
        handle = int(name)
        if handle > 2 and handle not in keep:
            with contextlib.suppress(OSError):
                os.close(handle)


def _size(part: bytes | bytearray | memoryview) -> bytes:
    return memoryview(part).nbytes.to_bytes(8, "big")


def _readable(handle: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN | select.POLLHUP)
    return bool(poll.poll(max(seconds, 0) * 1000))


_CLOSED: Any = Pipe(-1, -1)
