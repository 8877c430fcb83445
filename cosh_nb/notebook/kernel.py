"""The person's kernel as a host of tools: code of the agent runs in their namespace, on the main thread, captured."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cosh_nb.notebook.awaiting import SecondLoop, run_plain
from cosh_nb.notebook.capture import Capture
from cosh_nb.notebook.diversion import diverted, swapped
from cosh_nb.notebook.sketch import sketch_all
from cosh_tools.hosts import CodeOutcome
from cosh_tools.results import ToolError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from cosh_nb.notebook.mailbox import Mailbox

_LOOK = 0.125
"""Seconds between two looks at what a running call printed."""

_ENDS_WITHIN = 3.0
"""Seconds that interrupted code gets to show its traceback."""

Status = Literal["ok", "error", "timeout", "interrupted"]


@dataclass(eq=False)
class _Run:
    """One piece of code on its way through the main thread."""

    code: str
    capture: Capture = field(default_factory=Capture)
    started: float | None = None
    ended: bool = False
    why: Literal["timeout", "interrupted"] | None = None
    """Why somebody asked it to end."""
    ending: float | None = None
    """Since when its traceback or its figures are drawn: another interrupt would only spoil them."""


class LiveKernel:
    """Implements KernelHost over the shell of this process."""

    def __init__(self, shell: InteractiveShell, mailbox: Mailbox) -> None:
        self._shell = shell
        self._mailbox = mailbox
        self._second_loop = SecondLoop()
        self._running: _Run | None = None
        self.persists = 5.0
        """Seconds after which code that cannot be interrupted is left alone."""

    @property
    def running(self) -> bool:
        """Whether code of a tool call runs on the main thread now. A magic reached meanwhile is reached from it."""
        return self._running is not None

    def refusal(self) -> str:
        """Why a cosh magic may not run here and now; empty where it may."""
        if self.running:
            return (
                "cosh is refused inside a tool call: the agent cannot start or steer an agent with code it runs. "
                "Leave the magic out; the Task tool starts a sub-agent."
            )
        return ""

    def cwd(self) -> Path | None:
        """Where code in this kernel finds relative paths."""
        try:
            return Path(os.getcwd())  # noqa: PTH109  (Path.cwd() is the same and says no more)
        except FileNotFoundError:
            return None

    async def run_code(self, code: str, timeout: float, progress: Callable[[str], None]) -> CodeOutcome:
        """Run code as a cell of its own would, without a number and without touching `_` and `Out`."""
        if self._running is not None and self._running.why is not None:
            raise ToolError(
                "The kernel is still inside the code of an earlier call that does not return. Ask the user to restart "
                "the kernel, or go on without running code."
            )
        run = _Run(code)
        future = asyncio.wrap_future(self._mailbox.call(self._run, run))
        try:
            return await self._watch(run, future, timeout, progress)
        except asyncio.CancelledError:
            if run.started is not None and not run.ended:
                run.why = "interrupted"
                await self._insist(run, future, 0.8)
            raise

    async def variables(self, names: Sequence[str], limit: int) -> str:
        """Names, types and shapes, without calling anything that the person wrote."""
        return sketch_all(self._shell.user_ns, names, limit, hidden=getattr(self._shell, "user_ns_hidden", {}))

    async def preview(self, code: str, timeout: float) -> CodeOutcome:
        """What the code would do, tried in a forked copy of the kernel that can change nothing."""
        from cosh_nb.notebook.preview import preview  # only where one is wanted

        return await preview(code, timeout, self._shell, self._mailbox, self._in_copy)

    def _in_copy(self) -> Callable[[str], BaseException | None]:
        """In a forked copy: what runs a cell there. The second loop's descriptors are closed in it."""
        self._second_loop = SecondLoop()
        return lambda code: self._execute(_Run(code))

    async def _watch(
        self, run: _Run, future: asyncio.Future[CodeOutcome], timeout: float, progress: Callable[[str], None]
    ) -> CodeOutcome:
        asked = time.monotonic()
        said_waiting = False
        while True:
            left = _LOOK if run.started is None else run.started + timeout - time.monotonic()
            await asyncio.wait({future}, timeout=max(0.001, min(_LOOK, left)))
            if fresh := run.capture.take():
                progress(fresh)
            if future.done():
                return future.result()
            now = time.monotonic()
            if run.started is None:
                if now - asked > 1 and not said_waiting:
                    said_waiting = True
                    progress("(waiting for the cell that runs now)\n")
            elif now - run.started >= timeout:
                run.why = "timeout"
                if await self._insist(run, future, self.persists):
                    return future.result()
                return _outcome(run, "timeout", _NATIVE.format(seconds=timeout))

    async def _insist(self, run: _Run, future: asyncio.Future[CodeOutcome], seconds: float) -> bool:
        """Interrupt the code, again and again; whether it ended in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if run.ending is None or time.monotonic() - run.ending > _ENDS_WITHIN:
                self._mailbox.interrupts.strike(run)
            # Shielded: being cancelled ourselves must not cancel the future that says when it ended.
            await asyncio.wait({asyncio.ensure_future(_settled(future))}, timeout=min(0.4, seconds))
            if future.done():
                return True
        return False

    # -- on the main thread ------------------------------------------------------------------------------------

    def _run(self, run: _Run) -> CodeOutcome:
        return self._mailbox.interrupts.guard(self._captured, run)

    def _captured(self, run: _Run) -> CodeOutcome:
        self._running = run
        stops = self._mailbox.interrupts.count
        failed: BaseException | None = None
        try:
            with diverted(self._shell, run.capture, run.code), swapped(self._shell, "showtraceback", self._show(run)):
                run.started = time.monotonic()
                try:
                    failed = self._mailbox.interrupts.run(self._execute, run, name=run)
                except KeyboardInterrupt as stopped:
                    failed = stopped
        finally:
            run.ended = True
            self._running = None
        status: Status = "ok" if failed is None else "error"
        if failed is not None and run.why is not None:
            status = run.why
        elif isinstance(failed, KeyboardInterrupt) and self._mailbox.interrupts.count > stops:
            status = "interrupted"
        took = time.monotonic() - run.started
        return _outcome(run, status, f"Stopped after {took:.3g} s." if status == "timeout" else "")

    def _show(self, run: _Run) -> Callable[..., None]:
        """`showtraceback`, noting that the code itself is over."""
        real: Any = self._shell.showtraceback

        def show(*args: Any, **kwargs: Any) -> None:
            run.ending = time.monotonic()
            real(*args, **kwargs)

        return show

    def _execute(self, run: _Run) -> BaseException | None:
        """What `run_cell` does, but for its copy of all output in the history, which has no bound."""
        shell: Any = self._shell
        code = run.code
        trouble = None
        try:
            cell = shell.transform_cell(code)
        except Exception:  # noqa: BLE001  (IPython shows it as the cell's own error)
            cell, trouble = code, sys.exc_info()
        waits = shell.should_run_async(code, transformed_cell=cell, preprocessing_exc_tuple=trouble)
        coro = shell.run_cell_async(
            code, store_history=False, silent=False, transformed_cell=cell, preprocessing_exc_tuple=trouble
        )
        result = None
        try:
            result = self._second_loop.run(coro) if waits else run_plain(coro)
        except Exception as error:  # noqa: BLE001  (IPython raises where the text itself cannot be compiled)
            shell.showtraceback()
            return error
        finally:
            run.ending = time.monotonic()
            shell.events.trigger("post_execute")  # matplotlib shows its figures here
            if result is not None:
                shell.events.trigger("post_run_cell", result)
        failed: BaseException | None = result.error_before_exec or result.error_in_exec
        return failed


_NATIVE = (
    "Stopped waiting after {seconds:g} s, but the code did not end: it is inside a native call that does not return to "
    "Python, or it ignores interrupts. The kernel is still waiting for native code. Ask the user to restart the kernel "
    "if it does not come back."
)


async def _settled(future: asyncio.Future[Any]) -> None:
    await asyncio.wait({future})


def _outcome(run: _Run, status: Status, note: str = "") -> CodeOutcome:
    took = time.monotonic() - run.started if run.started is not None else 0.0
    capture = run.capture
    found = CodeOutcome(status, capture.text(), capture.outputs(), capture.images(), duration=took)
    return replace(found, note=note)


__all__ = ["LiveKernel"]
