"""Top-level `await` in code that runs while the kernel's own loop is blocked or in the middle of a callback.

A loop cannot be entered twice, so awaits run in a second loop of the main thread, which stays the same from call to
call: a client or a task that one call made is usable in the next. What belongs to the kernel's own loop is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class SecondLoop:
    """Runs coroutines on the main thread whether or not a loop runs there already."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coro: Coroutine[Any, Any, T]) -> T:
        """Run to the end. A KeyboardInterrupt cancels the coroutine before it goes on."""
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
        outer = asyncio._get_running_loop()  # noqa: SLF001  (made for frameworks that run loops)
        if outer is None:
            return self._to_the_end(self._loop, coro)
        # Python 3.14 keeps the current task per thread, not per loop; it has to step aside too.
        swap = getattr(asyncio.tasks, "_swap_current_task", None)
        task = swap(outer, None) if swap is not None else None
        asyncio._set_running_loop(None)  # noqa: SLF001  (the same)
        try:
            return self._to_the_end(self._loop, coro)
        finally:
            asyncio._set_running_loop(outer)  # noqa: SLF001  (the same)
            if swap is not None:
                swap(outer, task)

    def close(self) -> None:
        """End the loop."""
        if self._loop is not None and not self._loop.is_running():
            self._loop.close()

    @staticmethod
    def _to_the_end(loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, T]) -> T:
        task = loop.create_task(coro)
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt:
            if not task.done():
                task.cancel()
                loop.run_until_complete(asyncio.wait([task], timeout=0.5))
            raise


def run_plain(coro: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits."""
    try:
        coro.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    coro.close()
    raise RuntimeError("This code waits for something outside a loop.")
