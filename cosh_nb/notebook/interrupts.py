"""Stop and Ctrl-C while we hold the main thread: always counted, and raised only inside code that may be interrupted.

A KeyboardInterrupt that strikes between two of our own steps could leave a hook behind or lose a message. So while
`held`, SIGINT only counts, unless the stack shows that code of the person runs (`run`), where it raises as in any cell.
The stack itself is the state: the innermost of `_open` and `_closed` decides, and no flag can be left wrong.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


class Interrupts:
    """One per mailbox. All but `strike` belong to the main thread."""

    def __init__(self) -> None:
        self.count = 0
        """How often a person pressed Stop, ever."""
        self._held = 0
        self._before: Any = None
        self._lock = threading.Lock()
        self._runs: list[object] = []
        self._strikes = 0

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """SIGINT is ours in this block. Nests; outside the main thread it does nothing."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        if self._held == 0:
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if self._held == 0:
                # None: a handler that Python did not install and cannot put back.
                signal.signal(signal.SIGINT, self._before if self._before is not None else signal.default_int_handler)

    def run(self, work: Callable[..., T], *args: Any, name: object = None) -> T:
        """Run code of the person: Stop raises KeyboardInterrupt inside it. `name` is what `strike` calls it."""
        with self.held():
            token = name if name is not None else object()
            self._runs.append(token)
            try:
                return _open(work, args)
            finally:
                with self._lock:
                    self._runs.remove(token)
                self._settle()

    def guard(self, work: Callable[..., T], *args: Any) -> T:
        """Run code of ours, perhaps called from code of the person: Stop only counts inside it."""
        with self.held():
            return _closed(work, args)

    def strike(self, name: object) -> bool:
        """Any thread: interrupt the run called `name` if it is the one that runs now; whether it was."""
        with self._lock:
            if not self._runs or self._runs[-1] is not name:
                return False
            self._strikes += 1
            if hasattr(signal, "pthread_kill"):
                # A real signal, so that a sleeping system call ends too.
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            else:
                import _thread

                _thread.interrupt_main()
            return True

    def _settle(self) -> None:
        """A strike that was sent must not arrive after the run it was meant for."""
        end = time.monotonic() + 0.05
        while self._strikes and time.monotonic() < end:
            time.sleep(0.001)
        self._strikes = 0

    def _on_signal(self, _number: int, frame: FrameType | None) -> None:
        if self._strikes:
            self._strikes -= 1
        else:
            self.count += 1
        if _may_raise(frame):
            raise KeyboardInterrupt


def _open(work: Callable[..., T], args: tuple[Any, ...]) -> T:
    return work(*args)


def _closed(work: Callable[..., T], args: tuple[Any, ...]) -> T:
    return work(*args)


_OPEN, _CLOSED = _open.__code__, _closed.__code__


def _may_raise(frame: FrameType | None) -> bool:
    """Whether the interrupted code runs inside `_open` and not, nearer, inside `_closed`."""
    while frame is not None:
        if frame.f_code is _OPEN:
            return True
        if frame.f_code is _CLOSED:
            return False
        frame = frame.f_back
    return False
