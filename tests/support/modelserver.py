"""A model service on loopback that plays a script: Anthropic SSE and OpenAI SSE, byte for byte, faults included.

    def test_the_answer_streams(model_server):                       # the fixture of tests/conftest.py
        model_server.script("Hello, world.")                         # one turn of prose
        model_server.script(                                         # a call, then the end; appended to what is left
            [text("I list the files."), call("Bash", {"command": "ls"})],
            "Two files.",
        )
        ...
        assert model_server.requests[0]["messages"][0]["role"] == "user"     # bodies as JSON, oldest first
        assert model_server.seen[0].headers["x-api-key"] == "test-key"       # path, headers, raw bytes

Both dialects play the same script: POST /v1/messages answers as Anthropic, POST /v1/chat/completions as OpenAI.

A turn is prose (a str), a list of blocks, or `turn(..., **faults)`; whole answers that are faults are turns, too:

    turn(text("long ..."), pause=0.05)             0.05 s between events            delay=2: before the headers
    turn(text("..."), stall_after=3)               nothing more after 3 events, until `server.release()`
    turn(text("..."), drop_after=3)                the socket is torn after 3 events
    turn(text("..."), cut_after=3)                 the body ends well after 3 events, without the terminal event
    turn(text("..."), inject=(3, b"data: {"))      these bytes after 3 events, then on
    turn(text("..."), error_after=(3, "overloaded_error", "Overloaded"))     an error event, then the end
    status(529, times=2)   status(429, headers={"retry-after-ms": "20"})   status(401, {"error": {...}})
    raw(b"<html>...", content_type="text/html")    any bytes      frames({...}, b"data: [DONE]\\n\\n")  any events

A script that answers by what was asked (in the server's thread):

    model_server.answer(lambda request: "yes" if "ready" in str(request["messages"][-1]) else "no")

A request for which no turn is left gets status 400 and a sentence, so that the test fails with a reason.

A kernel or a headless process is pointed at it by its environment:

    env = {**os.environ, **model_server.env()}     # ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY
    env = {**os.environ, **model_server.env("openai")}                 # OPENAI_BASE_URL, OPENAI_API_KEY, COSH_MODEL

Other paths answer what `model_server.routes["GET /v1/models"] = (200, {...})` says, else 404.
`model_server.wait_for(2)` blocks until two requests have come; `model_server.left` counts clients that hung up early.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from support.modelscript import (
    Answer,
    Block,
    Turn,
    Whole,
    anthropic_events,
    call,
    frames,
    openai_events,
    other,
    raw,
    raw_call,
    redacted,
    sse,
    status,
    text,
    thinking,
    turn,
)

__all__ = [
    "Answer",
    "Block",
    "ModelServer",
    "Seen",
    "Turn",
    "Whole",
    "anthropic_events",
    "call",
    "frames",
    "other",
    "raw",
    "raw_call",
    "redacted",
    "status",
    "text",
    "thinking",
    "turn",
]

# -- the server ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    at: float

    @property
    def body(self) -> Any:
        """The body as JSON."""
        return json.loads(self.raw or b"null")


class ModelServer:
    """Serves on a free port of 127.0.0.1 from its own thread, from `start` to `stop`."""

    def __init__(self, *, ready_made: bool = False) -> None:
        """`ready_made`: answer the same turn with the same bytes, made once, and keep no requests (for a bench)."""
        self._made: dict[Any, bytes] | None = {} if ready_made else None
        self.seen: list[Seen] = []
        self.routes: dict[str, tuple[int, Any]] = {}
        self.left = 0
        self.connections = 0
        self.port = 0
        self._turns: deque[Answer] = deque()
        self._decide: Callable[[Any], Answer] | None = None
        self._calls = 0
        self._news = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._released = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="model-server", daemon=True)
        self._ready = threading.Event()

    def start(self) -> Self:
        """Listen."""
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the model server did not start within 10 s")
        return self

    def stop(self) -> None:
        """Hang up on everybody and end the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        if self._thread.is_alive():
            raise RuntimeError("the model server did not stop within 10 s")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """What ANTHROPIC_BASE_URL is set to."""
        return f"http://127.0.0.1:{self.port}"

    def env(self, dialect: str = "anthropic", *, model: str = "") -> dict[str, str]:
        """Environment variables that point a process at this server."""
        found = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        if dialect == "anthropic":
            found |= {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "test-key", "COSH_PROVIDER": "anthropic"}
            return found | ({"COSH_MODEL": model} if model else {})
        found |= {"OPENAI_BASE_URL": self.url + "/v1", "OPENAI_API_KEY": "test-key", "COSH_PROVIDER": "openai"}
        return found | {"COSH_MODEL": model or "scripted-model"}

    def script(self, *turns: Answer) -> None:
        """Append turns; each model request takes the next."""
        self._turns.extend(turns)

    def answer(self, decide: Callable[[Any], Answer]) -> None:
        """Let `decide` answer every request from now on; it gets the request's JSON."""
        self._decide = decide

    def release(self) -> None:
        """Let stalled turns go on."""
        self._loop.call_soon_threadsafe(self._released.set)

    @property
    def requests(self) -> list[Any]:
        """The JSON bodies of the model requests, oldest first."""
        return [seen.body for seen in self.seen]

    @property
    def unplayed(self) -> int:
        """How many scripted turns nobody has asked for."""
        return len(self._turns)

    def wait_for(self, count: int, timeout: float = 20) -> None:
        """Block until `count` model requests have come."""
        self._wait(lambda: len(self.seen) >= count, f"{count} requests", timeout)

    def wait_left(self, count: int = 1, timeout: float = 20) -> None:
        """Block until `count` clients have hung up before the end of their answer."""
        self._wait(lambda: self.left >= count, f"{count} clients that hang up", timeout)

    def _wait(self, enough: Callable[[], bool], what: str, timeout: float) -> None:
        with self._news:
            if not self._news.wait_for(enough, timeout):
                raise AssertionError(f"waited {timeout} s for {what}; {len(self.seen)} requests came, {self.left} left")

    # -- in the server's thread ------------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 26))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._serve_one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").split("\r\n")
        method, path, _ = line.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (item.partition(":") for item in fields if item)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        bare = path.partition("?")[0]
        if (route := self.routes.get(f"{method} {bare}")) is not None:
            code, what = route
            writer.write(_whole(Whole(code, json.dumps(what).encode(), "application/json", {})))
            await writer.drain()
            return True
        dialect = "anthropic" if bare.endswith("/messages") else "openai" if bare.endswith("/chat/completions") else ""
        if method != "POST" or not dialect:
            writer.write(_whole(status(404, {"error": {"message": f"no such path: {method} {bare}"}})))
            await writer.drain()
            return True
        seen = Seen(path, headers, body, time.monotonic())
        answer = self._next(seen)
        if self._made is not None and isinstance(answer, Turn):
            key = (answer, dialect)
            if key not in self._made:
                events = self._events(answer, dialect, seen)
                self._made[key] = _head(200, "text/event-stream", {}) + _chunked(events, answer.group) + b"0\r\n\r\n"
            writer.write(self._made[key])
            await writer.drain()
            return True
        with self._news:
            self.seen.append(seen)
            self._news.notify_all()
        try:
            return await self._play(answer, dialect, seen, reader, writer)
        except OSError:
            self._gone()
            return False

    def _next(self, seen: Seen) -> Turn | Whole:
        try:
            if self._decide is not None:
                return _as_turn(self._decide(seen.body))
            answer = _as_turn(self._turns.popleft())
        except IndexError:
            return status(400, {"error": {"type": "invalid_request_error", "message": "the script has no turn left"}})
        except Exception as error:  # noqa: BLE001 (the script's own fault is shown to the test)
            return status(400, {"error": {"type": "invalid_request_error", "message": f"the script failed: {error!r}"}})
        if isinstance(answer, Whole) and answer.times > 1:
            self._turns.appendleft(
                Whole(answer.status, answer.body, answer.content_type, answer.headers, answer.times - 1, answer.delay)
            )
        return answer

    async def _play(
        self,
        answer: Turn | Whole,
        dialect: str,
        seen: Seen,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        if answer.delay and await self._hung_up(reader, answer.delay):
            return False
        if isinstance(answer, Whole):
            writer.write(_whole(answer))
            await writer.drain()
            return True
        events = self._events(answer, dialect, seen)
        writer.write(_head(200, "text/event-stream; charset=utf-8", answer.headers))
        if not answer.pause and answer.stall_after is None and answer.drop_after is None:
            writer.write(_chunked(events, answer.group) + b"0\r\n\r\n")
            await writer.drain()
            return True
        for number, event in enumerate(events):
            if number == answer.drop_after:
                await writer.drain()
                writer.transport.abort()
                return False
            if number == answer.stall_after and await self._hung_up(reader, None):
                return False
            writer.write(_chunked([event], 1))
            await writer.drain()
            if answer.pause and await self._hung_up(reader, answer.pause):
                return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _hung_up(self, reader: asyncio.StreamReader, seconds: float | None) -> bool:
        """Wait so long (None: until released); whether the client left meanwhile."""
        gone = asyncio.ensure_future(reader.read(1))
        released = asyncio.ensure_future(self._released.wait()) if seconds is None else None
        waits = [gone] if released is None else [gone, released]
        try:
            done, _ = await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        if gone in done:
            self._gone()
            return True
        return False

    def _gone(self) -> None:
        with self._news:
            self.left += 1
            self._news.notify_all()

    def _events(self, answer: Turn, dialect: str, seen: Seen) -> list[bytes]:
        model = str((seen.body or {}).get("model", "scripted-model"))
        first_id = self._calls
        self._calls += sum(block.kind == "tool_use" for block in answer.blocks)
        make = anthropic_events if dialect == "anthropic" else openai_events
        events = make(answer, model, first_id, f"{len(self.seen):024d}")
        if answer.cut_after is not None:
            events = events[: answer.cut_after]
        if answer.inject is not None:
            at, what = answer.inject
            events.insert(at, what)
        if answer.error_after is not None:
            at, kind, message = answer.error_after
            error = {"type": "error", "error": {"type": kind, "message": message}}
            events = [*events[:at], sse(error)]
        return events


# -- bytes -------------------------------------------------------------------------------------------------------------


def _as_turn(answer: Answer) -> Turn | Whole:
    if isinstance(answer, str):
        return turn(text(answer))
    return answer if isinstance(answer, Turn | Whole) else turn(*answer)


def _head(code: int, content_type: str, headers: Mapping[str, str], length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {code} Scripted", f"content-type: {content_type}", "request-id: req_scripted"]
    lines.append("transfer-encoding: chunked" if length is None else f"content-length: {length}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _whole(answer: Whole) -> bytes:
    return _head(answer.status, answer.content_type, answer.headers, len(answer.body)) + answer.body


def _chunked(events: Iterable[bytes], group: int) -> bytes:
    listed = list(events)
    parts = (b"".join(listed[at : at + group]) for at in range(0, len(listed), group))
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
