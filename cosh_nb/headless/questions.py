"""The requests that wait for the client: each has an id, the first answer counts, others are ignored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from cosh_nb.headless.outgoing import Line
from cosh_nb.headless.protocol import AnswerEnvelope


class NotAnswered(Exception):
    """There will be no answer: the client closed its input, or the time was up. The message says which."""


class TimeUp(NotAnswered):
    """Nobody answered in time."""


@dataclass
class _Open:
    answer: asyncio.Future[AnswerEnvelope]
    clock: asyncio.TimerHandle | None


class Questions:
    """Asks the client. Questions to its person come one at a time, in the order they arose."""

    def __init__(self, put: Callable[[Line], None], on_cancel: Callable[[str], None] = lambda _id: None) -> None:
        self._put = put
        self._on_cancel = on_cancel
        self._open: dict[str, _Open] = {}
        self._count = 0
        self._one_at_a_time = asyncio.Lock()
        self.ended = False

    async def ask(self, prefix: str, line: Callable[[str], Line], limit: float | None = None) -> AnswerEnvelope:
        """Put a question to the client and wait, after every question that was put before."""
        async with self._one_at_a_time:
            return await self.request(prefix, line, limit)

    async def request(self, prefix: str, line: Callable[[str], Line], limit: float | None = None) -> AnswerEnvelope:
        """Send a request and wait for its answer, beside whatever else is open. Raises NotAnswered."""
        if self.ended:
            raise NotAnswered("the client has closed its input")
        self._count += 1
        request_id = f"{prefix}-{self._count}"
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[AnswerEnvelope] = loop.create_future()
        clock = loop.call_later(limit, self._time_up, request_id, limit) if limit is not None else None
        self._open[request_id] = _Open(answer, clock)
        try:
            self._put(line(request_id))
            return await answer
        except asyncio.CancelledError:
            self._on_cancel(request_id)
            raise
        finally:
            del self._open[request_id]
            if clock is not None:
                clock.cancel()

    def answer(self, envelope: AnswerEnvelope) -> bool:
        """Take an answer; False where nothing (any more) waits for it."""
        waiting = self._open.get(envelope.request_id)
        if waiting is None or waiting.answer.done():
            return False
        waiting.answer.set_result(envelope)
        return True

    def receipt(self, request_id: str) -> None:
        """The client shows this question to a person, who may take their time."""
        waiting = self._open.get(request_id)
        if waiting is not None and waiting.clock is not None:
            waiting.clock.cancel()

    def end(self) -> bool:
        """No more answers will come; whether one was awaited."""
        self.ended = True
        return any(not waiting.answer.done() for waiting in self._open.values())

    def _time_up(self, request_id: str, limit: float) -> None:
        waiting = self._open.get(request_id)
        if waiting is not None and not waiting.answer.done():
            waiting.answer.set_exception(TimeUp(f"nobody answered within {limit:g} s"))
