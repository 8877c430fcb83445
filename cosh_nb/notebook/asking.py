"""Who can answer a question, decided fail-closed: buttons in the cell, a prompt, or nobody."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from cosh_nb.notebook.place import Place
from cosh_nb.notebook.pump import missing

if TYPE_CHECKING:
    from cosh_nb.notebook.card import Card, Output
    from cosh_nb.notebook.mailbox import Mailbox

T = TypeVar("T")

GRACE = 5.0
"""Seconds in which a front end that can draw buttons has drawn them."""

NO_BUTTONS = "this front end draws no buttons, and a cell that has ended has no prompt"

Way = Literal["card", "prompt", "nobody"]


@dataclass(frozen=True)
class Chosen:
    """How a question will be put; `why` says why there is nobody."""

    way: Way
    why: str = ""


class Reply(Generic[T]):
    """An answer on its way from the main thread, where a button is pressed, to the agent's loop, which awaits it."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self._loop.create_future()

    def give(self, answer: T) -> None:
        """Main thread: the answer; the first one counts."""
        self._loop.call_soon_threadsafe(self._set, answer)

    def later(self, seconds: float, work: Callable[[], None]) -> None:
        """Main thread: do something there a little later."""

        def post() -> None:
            self._mailbox.call(work)

        self._loop.call_soon_threadsafe(lambda: self._loop.call_later(seconds, post))

    def _set(self, answer: T) -> None:
        if not self.future.done():
            self.future.set_result(answer)


class Asking:
    """Puts the questions of one session, one at a time, to whoever sits at its cell."""

    def __init__(
        self, mailbox: Mailbox, *, grace: float = GRACE, drawn_by_page: Callable[[], bool] | None = None
    ) -> None:
        self.mailbox = mailbox
        self.place = Place()
        """The cell of the turn; set it before each turn."""
        self.lend: Callable[[str], Output | None] = lambda _call_id: None
        """The output of the turn in which the question of a call stands; set it with the place."""
        self.grace = grace
        self.waiting = 0
        self.moved: list[Callable[[], None]] = []
        """Called on the agent's loop when the number of waiting questions changed."""
        self._drawn_by_page = drawn_by_page or (lambda: False)
        self._draws: set[str] = set()
        self._turn: asyncio.Lock | None = None

    @contextlib.asynccontextmanager
    async def one_at_a_time(self) -> AsyncIterator[None]:
        """Wait for the questions before this one."""
        if self._turn is None:
            self._turn = asyncio.Lock()
        self._wait(1)
        try:
            async with self._turn:
                yield
        finally:
            self._wait(-1)

    @property
    def note(self) -> str:
        """What the open card says of the others."""
        return f"1 of {self.waiting} waiting" if self.waiting > 1 else ""

    def _wait(self, more: int) -> None:
        self.waiting += more
        for tell in self.moved:
            tell()

    def choose(self) -> Chosen:
        """How to ask in this cell."""
        if self.mailbox.kernel is None:
            if sys.stdin is None or not sys.stdin.isatty():
                return Chosen("nobody", "this IPython has no terminal to ask at")
            if self.place.background:
                return Chosen("nobody", "a turn in the background has no prompt to ask at")
            return Chosen("prompt")
        if not self.place.can_ask:
            return Chosen("nobody", "this notebook runs without a person in front of it")
        if missing(self.mailbox.kernel) or not _widgets():
            if self.place.background:
                return Chosen("nobody", NO_BUTTONS)
            return Chosen("prompt")
        return Chosen("card")

    async def nobody_draws(self, card: Card, answered: asyncio.Future[Any]) -> bool:
        """Wait until the card is drawn or answered; True where no front end draws it in time."""
        if self.place.client in self._draws or self._drawn_by_page():
            return False
        end = time.monotonic() + self.grace
        while not card.drawn and not answered.done():
            left = end - time.monotonic()
            if left <= 0:
                return not self._drawn_by_page()
            await asyncio.wait({answered}, timeout=min(left, 0.1))
        # A front end that drew one draws the next, however slow the machine: never take a card from under a click.
        self._draws.add(self.place.client)
        return False

    async def prompt(self, text: str) -> str | None:
        """Ask on one line with `input()`; None where nothing can be read. Stop raises KeyboardInterrupt in the cell."""
        return await asyncio.wrap_future(self.mailbox.call(self._input, text))

    def _input(self, text: str) -> str | None:
        try:
            # Looked up now: the kernel exchanges it for its own while a cell runs.
            return self.place.inside(lambda: self.mailbox.interrupts.run(builtins.input, text))
        except KeyboardInterrupt:
            return None
        except Exception:  # noqa: BLE001  (no stdin, end of file, a front end that refuses: nobody answered)
            return None


def _widgets() -> bool:
    """Whether ipywidgets is here and counts its views."""
    try:
        import ipywidgets
    except ImportError:
        return False
    return hasattr(ipywidgets.Widget, "_view_count")
