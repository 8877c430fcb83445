"""Work for the kernel's main thread, posted from any thread.

Only the main thread touches widgets, display and user code. A blocked cell takes the work out while it waits; with no
blocked cell a callback on the kernel's own loop does. In terminal IPython, which has no loop, only a blocked call does.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from cosh_nb.notebook.interrupts import Interrupts

if TYPE_CHECKING:
    from ipykernel.kernelbase import Kernel

P = ParamSpec("P")
T = TypeVar("T")

_TURN = 0.1
"""Seconds of work per callback on the kernel's loop, so that messages of the front end get their turn."""


class Mailbox:
    """One per kernel. `kernel` is None in terminal IPython."""

    def __init__(self, kernel: Kernel | None = None) -> None:
        self.kernel = kernel
        self.interrupts = Interrupts()
        self._work: queue.SimpleQueue[tuple[Future[Any] | None, Callable[..., Any], tuple[Any, ...]]] = (
            queue.SimpleQueue()
        )
        self._bells: list[Callable[[], None]] = []

    @property
    def blocked(self) -> bool:
        """Whether a cell waits and takes the work out."""
        return bool(self._bells)

    def call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Any thread: run `work` on the main thread, in order. Waiting for it there would never end."""
        future: Future[T] = Future()
        if kwargs:
            self._work.put((future, lambda: work(*args, **kwargs), ()))
        else:
            self._work.put((future, work, args))
        self.ring()
        return future

    def ring(self) -> None:
        """Any thread: let whoever takes the work out look again."""
        # The work was put before this look, and a cell that stops waiting takes out what is left after it took its
        # bell away: nothing can be left behind.
        bells = self._bells
        if bells:
            try:
                bells[-1]()
            except IndexError:  # the last cell stopped waiting between the two looks
                self._later()
        else:
            self._later()

    def take(self, timeout: float = 0) -> bool:
        """Main thread: do one piece of work, waiting at most `timeout` seconds for it; whether there was one."""
        try:
            future, work, args = self._work.get(timeout=timeout) if timeout > 0 else self._work.get_nowait()
        except queue.Empty:
            return False
        _run(future, work, args)
        return True

    def empty(self) -> bool:
        """Whether nothing waits."""
        return self._work.empty()

    def wait_here(self, bell: Callable[[], None]) -> None:
        """Main thread: a cell begins to wait; `bell` wakes it."""
        self._bells.append(bell)

    def leave(self, bell: Callable[[], None]) -> None:
        """Main thread: that cell stops waiting. What is left is done here or, with no cell left, by the loop."""
        self._bells.remove(bell)
        if not self._work.empty():
            self.ring()

    def wake(self) -> None:
        """Any thread: end a `take` that waits."""
        self._work.put((None, _nothing, ()))
        self.ring()

    def _later(self) -> None:
        if self.kernel is not None:
            self.kernel.io_loop.add_callback(self._in_loop)

    def _in_loop(self) -> None:
        """One turn of the work on the kernel's loop, while no cell waits."""
        if threading.current_thread() is not threading.main_thread():
            return
        end = time.monotonic() + _TURN
        while self.take():
            if time.monotonic() > end:
                self._later()
                return


def _run(future: Future[Any] | None, work: Callable[..., Any], args: tuple[Any, ...]) -> None:
    if future is None:
        return
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work(*args)
    except BaseException as error:  # noqa: BLE001  (it belongs to whoever waits for the future)
        future.set_exception(error)
    else:
        future.set_result(result)


def _nothing() -> None:
    return None
