"""The one owner of stdout: whole JSON lines leave in order, everything else that prints goes to stderr.

A thread writes, so that a client that reads slowly never stalls the agent, whatever stdout is (pipe, socket, file,
terminal). The thread also notices a client that went away while nothing is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable

SLOW = 8 << 20
"""Bytes that may wait before events of a turn are held back."""
STUCK = 64 << 20
"""Bytes that may wait at all; a client that lets more pile up does not read."""


class Writer:
    """Writes lines to one descriptor. `on_gone` is called once, on the loop, when nobody reads any more."""

    def __init__(self, fd: int, on_gone: Callable[[], None]) -> None:
        self._fd = fd
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._room = asyncio.Event()
        self._room.set()
        self._lock = threading.Lock()
        self._wake_read, self._wake_write = os.pipe()
        self._closing = False
        self.gone = False
        self._thread = threading.Thread(target=self._run, name="cosh-stdout", daemon=True)
        self._thread.start()

    def put(self, line: bytes) -> None:
        """Queue one line (without its newline). Never waits; dropped when the client is gone."""
        if self.gone:
            return
        # A reader that splits at every Unicode line end must still see one line.
        line = line.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
        with self._lock:
            first = not self._lines
            self._lines.append(line + b"\n")
            self._waiting += len(line) + 1
            waiting = self._waiting
        if waiting > STUCK:
            self._gone()
        elif waiting > SLOW:
            self._room.clear()
        if first:
            self._wake()

    async def room(self) -> None:
        """Wait until the client has read enough that more may be said."""
        await self._room.wait()

    async def close(self) -> None:
        """Write what is queued and stop. Returns at once when the client is gone."""
        self._closing = True
        self._wake()
        await asyncio.to_thread(self._thread.join)

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b"x")

    def _run(self) -> None:
        watch = select.poll()
        watch.register(self._wake_read, select.POLLIN)
        watch.register(self._fd, 0)  # errors and hang-ups are always reported
        broken = select.POLLERR | select.POLLHUP | select.POLLNVAL
        try:
            while True:
                for fd, event in watch.poll():
                    if fd == self._wake_read:
                        os.read(self._wake_read, 4096)
                    elif event & broken:
                        raise BrokenPipeError
                self._drain()
                if self._closing or self.gone:
                    return
        except OSError:
            with contextlib.suppress(RuntimeError):  # the loop may have ended meanwhile
                self._loop.call_soon_threadsafe(self._gone)
        finally:
            os.close(self._wake_read)

    def _drain(self) -> None:
        while True:
            with self._lock:
                data = b"".join(self._lines)
                self._lines.clear()
            if not data:
                return
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
            with self._lock:
                self._waiting -= len(data)
                low = self._waiting < SLOW
            if low and not self._room.is_set():
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._room.set)

    def _gone(self) -> None:
        if not self.gone:
            self.gone = True
            self._room.set()
            self._on_gone()


def _fill(fd: int, flags: int) -> None:
    try:
        os.fstat(fd)
    except OSError:
        os.dup2(nothing := os.open(os.devnull, flags), fd)
        if nothing != fd:
            os.close(nothing)


def take_stdout() -> int:
    """The real stdout, for the writer alone; whatever prints from now on, children too, prints to stderr.

    Raises OSError where it is closed. A closed stdin or stderr becomes an empty one, so that no other file of ours
    ever takes its number.
    """
    _fill(0, os.O_RDONLY)
    os.fstat(1)
    _fill(2, os.O_WRONLY)
    if sys.stderr is None:  # Python found it closed at its start
        sys.stderr = os.fdopen(os.dup(2), "w")
    sys.stdout.flush()
    mine = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return mine
