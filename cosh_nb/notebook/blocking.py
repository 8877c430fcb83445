"""A cell that blocks while a coroutine works on the agent's thread: clicks are served, Stop cancels."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from cosh_nb.errors import CoshError
from cosh_nb.notebook.pump import Pump

if TYPE_CHECKING:
    from cosh_nb.notebook.agent_thread import AgentThread, Running
    from cosh_nb.notebook.mailbox import Mailbox

T = TypeVar("T")

STOPS_WITHIN = 1.0
"""Seconds that a stopped turn gets to end its tools, before the cell ends without it."""


def run_blocking(
    make_coro: Callable[[], Coroutine[Any, Any, T]],
    mailbox: Mailbox,
    on_interrupt: Callable[[], None] = lambda: None,
    *,
    agent: AgentThread,
) -> T:
    """Main thread: run `make_coro()` on the agent's loop and wait for it, doing the mailbox's work meanwhile.

    Stop calls `on_interrupt`, cancels the coroutine, waits up to a second for its end, and raises KeyboardInterrupt
    with a sentence; a second Stop ends that wait.
    """
    return mailbox.interrupts.guard(lambda: _run(make_coro, mailbox, on_interrupt, agent))


def _run(
    make_coro: Callable[[], Coroutine[Any, Any, T]],
    mailbox: Mailbox,
    on_interrupt: Callable[[], None],
    agent: AgentThread,
) -> T:
    stops = mailbox.interrupts.count
    with Pump(mailbox) as pump:
        work = agent.start(make_coro(), mailbox.wake)
        while not work.ended:
            if mailbox.interrupts.count > stops:
                said = _stop(work, pump, on_interrupt)
                break
            if not agent.alive:
                raise CoshError("The agent's thread has ended, so the turn cannot go on. Restart the kernel.")
            pump.turn()
        else:
            # Stop may have come with the very last event: then the turn is done, and the cell still ends as stopped.
            said = "cosh: interrupted" if mailbox.interrupts.count > stops else ""
    if said:
        raise _interrupted(said)
    return work.result()


def _stop(work: Running[Any], pump: Pump, on_interrupt: Callable[[], None]) -> str:
    """Cancel, and wait for the end; what to say of it."""
    stops = pump.mailbox.interrupts.count
    on_interrupt()
    work.cancel()
    end = time.monotonic() + STOPS_WITHIN
    while not work.ended:
        if pump.mailbox.interrupts.count > stops:
            return "cosh: interrupted. You did not wait for the turn to end: some of its work may still run."
        if time.monotonic() > end:
            return (
                f"cosh: interrupted. Some of the turn's work did not end within {STOPS_WITHIN:g} s and may still run."
            )
        pump.turn()
    return "cosh: interrupted"


def _interrupted(said: str) -> KeyboardInterrupt:
    """The error of a stopped cell: one line, without a traceback through our own waiting."""
    error = KeyboardInterrupt(said)
    vars(error)["_render_traceback_"] = lambda: [f"KeyboardInterrupt: {said}"]
    return error
