"""The daemon thread that holds the agent's asyncio loop: sessions, files, processes and the network live there."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from cosh_nb.errors import CoshError

T = TypeVar("T")

NAME = "cosh-agent"


class Running(Generic[T]):
    """A coroutine at work on the agent's loop, seen from another thread."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, T], ended: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._coro = coro
        self._call_ended = ended
        self._task: asyncio.Task[T] | None = None
        self._end = threading.Event()
        self._cancelled = False
        loop.call_soon_threadsafe(self._start)

    @property
    def ended(self) -> bool:
        """Whether the task itself is over: after `cancel` that may take a while."""
        return self._end.is_set()

    def cancel(self) -> None:
        """Ask it to end."""
        self._cancelled = True
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended
            self._loop.call_soon_threadsafe(self._cancel)

    def wait(self, timeout: float) -> bool:
        """Whether it ended within `timeout` seconds."""
        return self._end.wait(timeout)

    def result(self) -> T:
        """What it returned, once it ended. Raises what it raised; CancelledError if it was cancelled."""
        if self._task is None or not self._task.done():
            raise CoshError("The turn has not ended, so it has no result yet.")
        return self._task.result()

    def _start(self) -> None:
        self._task = self._loop.create_task(self._coro)
        self._task.add_done_callback(self._done)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _done(self, task: asyncio.Task[T]) -> None:
        if not task.cancelled():
            task.exception()  # whoever asks for the result gets it; asyncio need not log it too
        self._end.set()
        self._call_ended()


class AgentThread:
    """Starts at the first use. A forked child has none of the parent's threads, so there it starts anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self._closed = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, running."""
        if self._process != os.getpid():
            # A copy of a lock may be held for ever by a thread that does not exist in this process.
            self._lock, self._loop, self._thread = threading.Lock(), None, None
            self._process, self._closed = os.getpid(), False
        with self._lock:
            if self._closed:
                raise CoshError("The kernel is shutting down: nothing more can be started.")
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = self._begin()
            return self._loop

    @property
    def alive(self) -> bool:
        """Whether the loop runs in this process."""
        return self._process == os.getpid() and self._thread is not None and self._thread.is_alive()

    def start(self, coro: Coroutine[Any, Any, T], ended: Callable[[], None] = lambda: None) -> Running[T]:
        """Run a coroutine; `ended` is called on the agent's thread when its task is over."""
        try:
            return Running(self.loop, coro, ended)
        except BaseException:
            coro.close()
            raise

    def submit(self, coro: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine; its future."""
        try:
            return asyncio.run_coroutine_threadsafe(coro, self.loop)
        except BaseException:
            coro.close()
            raise

    def close(self, timeout: float = 2) -> None:
        """End every task, then the loop. Bounded: a task that does not end is left behind with the daemon thread."""
        if self._process != os.getpid() or self._loop is None or self._thread is None:
            return
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
        atexit.unregister(self.close)
        if thread.is_alive() and thread is not threading.current_thread():
            with contextlib.suppress(RuntimeError, TimeoutError):
                asyncio.run_coroutine_threadsafe(_end_all(), loop).result(timeout)
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout)
        if not thread.is_alive() and not loop.is_closed():
            loop.close()

    def _begin(self) -> asyncio.AbstractEventLoop:
        loop, ready = asyncio.new_event_loop(), threading.Event()

        def work() -> None:
            asyncio.set_event_loop(loop)
            loop.call_soon(ready.set)
            loop.run_forever()

        self._thread = threading.Thread(target=work, name=NAME, daemon=True)
        self._thread.start()
        ready.wait(5)
        atexit.unregister(self.close)
        atexit.register(self.close)
        return loop


async def _end_all() -> None:
    """Cancel every other task of this loop and wait for their ends."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
