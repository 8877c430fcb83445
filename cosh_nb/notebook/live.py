"""A turn shown in a cell while it happens: at most eight times a second, only what changed, plain text when it is done.

    live = LiveDisplay(TurnView(), place)
    agent.run(text, live.feed)     # from any thread; the turn's last event ends it
    live.close()                   # in a `finally`: shows what there is, however the turn ended

An open card gets the output in which its question stands: `lend` names it, `give_back` returns it with its last row.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from cosh_nb.events import TextDelta, TurnEnded
from cosh_nb.render.style import framed

if TYPE_CHECKING:
    from cosh_nb.events import Event
    from cosh_nb.render.markup import Rendered
    from cosh_nb.render.slots import Slot
    from cosh_nb.render.turn import TurnView

HZ = 8.0
"""How often a cell is drawn, at most."""
_READ = 3_000
"""Characters per second that a person may want to follow; a faster stream is drawn less often, which saves the page."""
_SLOWEST = 1 / 3
_TICK = 1.0
"""Seconds after which the times in the footer are drawn anew."""


class Outputs(Protocol):
    """Where outputs go: the cell of the turn."""

    def show(self, bundle: Mapping[str, Any], display_id: str) -> object:
        """Add an output."""
        ...

    def update(self, bundle: Mapping[str, Any], display_id: str) -> object:
        """Replace an output."""
        ...


class LiveDisplay:
    """One turn in one cell. `post` runs a function where outputs may be sent from; by default, here and now."""

    def __init__(
        self, view: TurnView, outputs: Outputs, post: Callable[[Callable[[], None]], object] = lambda work: work()
    ) -> None:
        self.view = view
        self._outputs, self._post = outputs, post
        self._lock = threading.RLock()
        self._ids: dict[int, str] = {}
        self._lent: dict[str, int] = {}
        self._owed: set[int] = set()
        self._posted = self._over = False
        self._changed, self._closed = threading.Event(), threading.Event()
        self._pace: threading.Thread | None = None
        self._texts: deque[str] = deque()
        self._calm = False
        self._bare: set[int] = set()
        """Outputs that were sent without plain text."""

    def feed(self, event: Event) -> None:
        """Take note of an event; the last one of the turn is shown at once."""
        if isinstance(event, TextDelta) and self._pace is not None:
            self._texts.append(event.text)  # the commonest event: taken up with the next drawing or event
            if not self._changed.is_set():
                self._changed.set()
            return
        with self._lock:
            self._take_texts()
            self.view.feed(event)
            if self._over:
                return
            if isinstance(event, TurnEnded):
                self._end()
                return
            if self._pace is None:
                self._pace = threading.Thread(target=self._beat, name="cosh-live", daemon=True)
                self._pace.start()
        self._changed.set()

    def stop(self) -> None:
        """Draw no more by itself."""
        self._closed.set()
        self._changed.set()

    def close(self) -> None:
        """Show what there is and stop. A second call does nothing."""
        with self._lock:
            if not self._over:
                self._end()

    def lend(self, call_id: str) -> str | None:
        """The display id of the output in which the question of this call stands; None where it stands nowhere.

        Nothing is sent there until it is given back.
        """
        with self._lock:
            self.draw()
            slot = next((slot for slot in self.view.outputs() if slot.card == call_id), None)
            if slot is None or slot.id not in self._ids:
                return None
            self._lent[call_id] = slot.id
            return self._ids[slot.id]

    def output(self, call_id: str) -> LentOutput | None:
        """The output of `lend` as a card uses it."""
        display_id = self.lend(call_id)
        return LentOutput(self, call_id, display_id) if display_id is not None else None

    def show_lent(self, display_id: str, data: Mapping[str, Any]) -> None:
        """Put a card into an output that is lent."""
        self._outputs.update(data, display_id)

    def give_back(self, call_id: str, row: Rendered | None = None) -> None:
        """The question is over: show `row` there at once, and whatever the turn says of it from now on."""
        with self._lock:
            number = self._lent.pop(call_id, None)
            if number is None:
                return
            slot = next(slot for slot in self.view.outputs() if slot.id == number)
            if row is not None and slot.card == call_id:
                data = {"text/html": framed(row.html), "text/plain": row.text}
                self._outputs.update(data, self._ids[number])
            else:
                self._send(slot)

    # -- drawing --------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        self._over = True
        self._owed, self._lent = set(self._lent.values()), {}
        self.stop()
        self._post(self.draw)

    def _beat(self) -> None:
        """Ask for a drawing when something changed or a second went by, and then leave the page in peace a while."""
        while not self._closed.is_set():
            self._changed.wait(_TICK)
            self._changed.clear()
            if self._closed.is_set():
                return
            fresh = sum(map(len, self._texts.copy()))
            if not self._posted:
                self._posted = True
                self._post(self.draw)
            self._closed.wait(min(max(1 / HZ, fresh / _READ), _SLOWEST))

    def draw(self) -> None:
        """Send what changed, now. Where outputs may be sent from."""
        with self._lock:
            self._posted = False
            self._calm = not self._take_texts()
            lent = set(self._lent.values())
            for slot in self.view.outputs():
                bare = self._calm and slot.id in self._bare
                if ((slot.changed or bare) and slot.id not in lent) or slot.id in self._owed:
                    self._send(slot)
            self._owed.clear()

    def _take_texts(self) -> bool:
        """Tell the view of the prose that has come; whether there was any."""
        texts = []
        while self._texts:
            texts.append(self._texts.popleft())
        if texts:
            self.view.feed(TextDelta("".join(texts)))
        return bool(texts)

    def _send(self, slot: Slot) -> None:
        data = {"text/html": slot.html}
        if slot.frozen or self._calm:  # what stands still reads everywhere, should the kernel die now
            data["text/plain"] = slot.text
            self._bare.discard(slot.id)
        else:
            self._bare.add(slot.id)
        known = self._ids.get(slot.id)
        if known is not None:
            self._outputs.update(data, known)
        else:
            self._ids[slot.id] = uuid4().hex
            self._outputs.show(data, self._ids[slot.id])


@dataclass(frozen=True)
class LentOutput:
    """One output of a turn while a card stands in it (card.Output)."""

    live: LiveDisplay
    call_id: str
    display_id: str

    def put(self, data: Mapping[str, Any]) -> None:
        """Show the card."""
        self.live.show_lent(self.display_id, data)

    def settle(self, row: Rendered) -> None:
        """Give the output back, with the card's last row."""
        self.live.give_back(self.call_id, row)


class IPythonOutputs:
    """The running cell, through IPython's own display. Main thread only."""

    def show(self, bundle: Mapping[str, Any], display_id: str) -> None:
        """Add an output."""
        _display(bundle, display_id=display_id)

    def update(self, bundle: Mapping[str, Any], display_id: str) -> None:
        """Replace an output."""
        _display(bundle, display_id=display_id, update=True)


def _display(bundle: Mapping[str, Any], **how: Any) -> None:
    from IPython import display

    show: Any = display.display
    show(dict(bundle), raw=True, **how)
