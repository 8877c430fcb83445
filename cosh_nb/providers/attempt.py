"""One attempt at one request: raw bytes in, model events out, by the clock. Knows no HTTP.

The bytes come from a reader that runs in its own task, so a silence can be put into words while the socket is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from cosh_nb.errors import ProviderError
from cosh_nb.events import ModelEvent, Waiting
from cosh_nb.providers import faults
from cosh_nb.providers.retry import Patience
from cosh_nb.providers.sse import Frames


class Decoder(Protocol):
    """Turns the events of one stream into model events."""

    complete: bool
    """The answer is whole; what may follow is usage and the end mark."""
    finished: bool
    """The terminal event came."""

    def feed(self, event: dict[str, Any]) -> Sequence[ModelEvent]:
        """What this event means. Raises ProviderError for an error event."""
        ...

    def end(self) -> Sequence[ModelEvent]:
        """The stream is over: what is still owed. Raises StreamCut where the answer is not complete."""
        ...


class Failed(Exception):
    """An attempt that ended badly; `after` is how long the service asks to wait."""

    def __init__(self, error: ProviderError, after: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.after = after


class Inbox:
    """Where a reader lays down chunks as they come, and where one attempt waits for them."""

    AHEAD = 4_000_000
    """Bytes that may lie unread before the reader lets the service wait."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.over = False
        self.failure: BaseException | None = None
        self._eager = True
        self._ahead = 0
        self._room = asyncio.Event()
        self._waiter: asyncio.Future[None] | None = None

    def put(self, chunk: bytes) -> bool:
        """Lay a chunk down; whether the reader should `pause` before the next."""
        self.chunks.append(chunk)
        self._ahead += len(chunk)
        if self._waiter is not None:
            self.wake()
        return self._eager or self._ahead > self.AHEAD

    async def pause(self) -> None:
        """Until something was shown, every chunk is handed over before the next is read; later, only a flood waits."""
        if self._eager:
            await asyncio.sleep(0)
        else:
            self._room.clear()
            await self._room.wait()

    def close(self, failure: BaseException | None) -> None:
        """Nothing more comes."""
        self.failure, self.over = failure, True
        self.wake()

    def take(self) -> bytes:
        """All bytes that came since the last time."""
        chunks, self.chunks = self.chunks, []
        self._ahead = 0
        self._room.set()
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def relax(self) -> None:
        """Something was shown: from now on chunks may gather."""
        self._eager = False

    async def news(self, seconds: float) -> None:
        """Wait until something happens, at most so long."""
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(seconds, self.wake)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None

    def wake(self) -> None:
        """Let the one who waits look."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Attempt:
    """Reads one answer. `next` gives what has come, batch by batch, and None at its end."""

    def __init__(self, inbox: Inbox, decoder: Decoder, service: faults.Service, patience: Patience) -> None:
        self._inbox = inbox
        self._decoder = decoder
        self._service = service
        self._patience = patience
        self._frames = Frames()
        self._failure: ProviderError | None = None
        self._clock = asyncio.get_running_loop().time
        self._last = self._clock()
        self._spoken = 0.0

    @property
    def whole(self) -> bool:
        """The terminal event came."""
        return self._decoder.finished

    async def next(self) -> Sequence[ModelEvent] | None:
        """The next events, or a word about the silence; None after the last. Raises Failed."""
        inbox = self._inbox
        while True:
            if self._failure is not None:
                raise Failed(self._failure)
            if self._decoder.finished:
                return None
            if inbox.chunks:
                events = self._decode(inbox.take())
                if events:
                    inbox.relax()
                    return events
            elif inbox.over:
                return self._end()
            elif waiting := await self._wait():
                return waiting

    def _decode(self, data: bytes) -> list[ModelEvent]:
        """What these bytes mean. What came before a fault is still given; the fault follows."""
        frames = self._frames
        seen = frames.seen
        events = self._decode_all(frames.feed(data))
        if frames.bad is not None and self._failure is None:
            self._failure = faults.garbled(self._service, frames.bad)
        if frames.seen != seen:
            self._last, self._spoken = self._clock(), 0.0
        return events

    def _decode_all(self, found: list[dict[str, Any]]) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        feed = self._decoder.feed
        raw: dict[str, Any] = {}
        try:
            for raw in found:
                events += feed(raw)
        except ProviderError as error:
            self._failure = error
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # a text where an object belongs, say
            self._failure = faults.garbled(self._service, str(raw))
        return events

    def _end(self) -> Sequence[ModelEvent]:
        """The body is over."""
        if self._inbox.failure is not None and not self._decoder.complete:
            raise self._inbox.failure
        events: list[ModelEvent] = []
        try:
            events += self._decode_all(self._frames.flush())
            if self._failure is None:
                events += self._decoder.end()
        except ProviderError as error:
            self._failure = error
        return events

    async def _wait(self) -> Sequence[ModelEvent]:
        """Wait a while; what there is to say about it."""
        patience, complete = self._patience, self._decoder.complete
        limit = patience.between if self._frames.seen else patience.first
        if complete:
            limit = patience.trailing
        quiet = self._clock() - self._last
        if quiet >= limit:
            if not complete:
                raise Failed(faults.stalled(self._service, limit))
            self._inbox.over = True
            return ()
        if quiet >= self._spoken + patience.say_every:
            self._spoken = quiet
            return (Waiting(f"no answer for {quiet:.0f} s", limit - quiet),)
        await self._inbox.news(min(limit, self._spoken + patience.say_every) - quiet)
        return ()
