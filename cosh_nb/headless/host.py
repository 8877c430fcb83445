"""The headless host: it takes messages as they come, runs one turn after another, and answers each exactly once.

Reading, working and writing are apart: an interrupt, a shutdown or an answer is taken at any time, also while the
model streams and while a tool runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from cosh_nb import __version__
from cosh_nb import events as e
from cosh_nb.agent import Agent, TurnOptions
from cosh_nb.errors import CoshError, UsageError
from cosh_nb.headless import protocol as p
from cosh_nb.headless.control import BAD_INPUT, OK, Control
from cosh_nb.headless.dialects.base import Dialect, Facts, Failure
from cosh_nb.headless.lend import Approver, ClientEvidence
from cosh_nb.headless.outgoing import Line
from cosh_nb.headless.questions import Questions
from cosh_nb.headless.readiness import servers_settled
from cosh_nb.loop import INTERRUPTED
from cosh_tools.contract import ToolCall, ToolResult
from cosh_tools.trim import trim

if TYPE_CHECKING:
    from cosh_nb.headless.flags import Flags
    from cosh_nb.headless.writer import Writer

WAITING = 64 << 20
"""Characters of requests that may wait for their turn."""


@dataclass
class _Request:
    """A request of the person that waits for its turn. `prompt`: it came on the command line or as piped text."""

    line: p.UserLine
    prompt: bool = False
    interrupted: bool = False


@dataclass
class _Change:
    """A change between two turns. `dropped` is called where the end came first."""

    do: Callable[[], Awaitable[None]]
    dropped: Callable[[], None]


class Host:
    """One process, one session. `run` ends with the exit code."""

    def __init__(
        self,
        flags: Flags,
        agent: Agent,
        dialect: Dialect,
        writer: Writer,
        questions: Questions,
        approver: Approver,
        evidence: ClientEvidence,
    ) -> None:
        self.flags = flags
        self.agent = agent
        self.dialect = dialect
        self.questions = questions
        self.approver = approver
        self.rules = agent.gate.rules
        """The rules of the session; a turn starts with them."""
        self.context = e.Usage()
        """Tokens of the latest answer: how full the model's window is."""
        self._writer = writer
        self._evidence = evidence
        self._control = Control(self)
        self._queue: deque[_Request | _Change] = deque()
        self._size = 0
        self._news = asyncio.Event()
        self._turn: asyncio.Task[tuple[e.TurnEnded, Failure | None]] | None = None
        self._interrupted = False
        self._busy = False
        self._over = False
        self._code: int | None = None
        self._failed = False
        self._declared: dict[str, ToolCall] = {}
        approver.client.on_mode = self._control.set_mode
        if flags.prompt is None:  # one request ends before anything could come due
            agent.fires_to(self.scheduled)
        approver.client.trim = lambda result, call: trim(result, agent.ctx.toolset, call, agent.ctx.spill)

    # -- what comes in -------------------------------------------------------------------------------------------

    def take(self, batch: Sequence[p.Incoming | p.BadLine]) -> None:
        """Messages in the order in which they were read. Never waits."""
        for message in batch:
            if self._code is not None:
                return
            self._take(message)

    def prompt(self, text: str) -> None:
        """The one request, from the command line or from a pipe that held nothing else: end when it is done."""
        line = p.UserLine(type="user", message=p.UserContent(content=text))
        self._enqueue(_Request(line, prompt=True))
        self._last()

    def end(self) -> None:
        """The client closed its input: what waits for an answer of it is over, what was asked before is finished."""
        if self.questions.end():
            self.interrupt()
        self._last()

    def interrupt(self) -> None:
        """End the turn that runs, or the one that is about to."""
        if self._turn is not None:
            if not self._interrupted:
                self._interrupted = True
                self._turn.cancel()
            return
        waiting = next((item for item in self._queue if isinstance(item, _Request) and not item.interrupted), None)
        if waiting is not None:
            waiting.interrupted = True

    def stop(self, code: int) -> None:
        """End everything with this exit code; the first one counts."""
        if self._code is None:
            self._code = code
            if self._turn is not None:
                self.interrupt()
            self._news.set()

    def between_turns(self, do: Callable[[], Awaitable[None]], dropped: Callable[[], None]) -> None:
        """Do it when what was asked before is done, or say that the end came first."""
        self._queue.append(_Change(do, dropped))
        self._news.set()

    async def scheduled(self, job: Mapping[str, Any]) -> None:
        """Take up a scheduled prompt when all that was asked before is done; it gets its result like any other."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = p.UserLine(type="user", message=p.UserContent(content=f"[Scheduled: {job['human']}] {job['prompt']}"))

        async def take() -> None:
            self._end_request(*await self._turn_of(_Request(line)))
            done.set_result(None)

        def dropped() -> None:
            done.cancel()

        self.between_turns(take, dropped)
        await done

    def _last(self) -> None:
        self._over = True
        self._news.set()

    def _take(self, message: p.Incoming | p.BadLine) -> None:
        match message:
            case p.UserLine():
                self._enqueue(_Request(message))
            case p.ControlRequestLine(request_id=request_id, request=request):
                self._control.take(request_id, request)
            case p.ControlResponseLine(response=response):
                self.questions.answer(response)
            case p.ApprovalReceiptLine(request_id=request_id):
                self.questions.receipt(request_id)
            case p.RegistryRequestLine():
                answered = self._control.registry(message)
                if self.flags.registry:
                    self.stop(OK if answered else BAD_INPUT)
            case p.OtherLine():
                pass
            case p.BadLine(why=why, request_id=request_id):
                self._bad(why, request_id)
            case _:
                assert_never(message)

    def _bad(self, why: str, request_id: str) -> None:
        if request_id and self.dialect.name == "claude":
            self.put(self.dialect.failed(request_id, why))
        elif self._busy or self._queue:
            self.put(self.dialect.ignored(why))
        else:
            self._end_request(_nothing_ran(), Failure("InvalidJsonlInput", why))
            self.stop(BAD_INPUT)

    def _enqueue(self, request: _Request) -> None:
        size = _size(request)
        if self._size + size > WAITING:
            self._end_request(_nothing_ran(), Failure("too_much_waiting", "Too much is waiting for its turn already."))
            return
        self._size += size
        self._queue.append(request)
        self._news.set()

    # -- one after another ---------------------------------------------------------------------------------------

    async def run(self) -> int:
        """Work until the end; the exit code."""
        self._signals()
        while self._code is None:
            if self._queue:
                self._busy = True
                await self._do(self._queue.popleft())
                self._busy = False
            elif self._over:
                break
            else:
                self._news.clear()
                await self._news.wait()
        self._drop_what_waits()
        if self._code is not None:
            return self._code
        return BAD_INPUT if self._failed else OK

    def _drop_what_waits(self) -> None:
        for item in self._queue:
            match item:
                case _Request():
                    self._end_request(_nothing_ran("interrupted"), None)
                case _Change(dropped=dropped):
                    dropped()
                case _:
                    assert_never(item)
        self._queue.clear()

    async def _do(self, item: _Request | _Change) -> None:
        match item:
            case _Change(do=do):
                await do()
            case _Request():
                self._size -= _size(item)
                ended, failure = await self._turn_of(item)
                self._end_request(ended, failure)
                if item.prompt or self.dialect.name == "claude":
                    # Scripts look at the exit code of one request, and so does the SDK, which calls an interrupt none.
                    fine = {"done"} if item.prompt else {"done", "interrupted"}
                    self._failed = failure is not None or ended.reason not in fine
            case _:
                assert_never(item)

    async def _turn_of(self, item: _Request) -> tuple[e.TurnEnded, Failure | None]:
        self.approver.client.timed_out = ""
        self._interrupted = item.interrupted
        if item.interrupted:
            return _nothing_ran("interrupted"), None
        self._turn = asyncio.create_task(self._take_turn(item.line))
        try:
            return await self._turn
        except asyncio.CancelledError:  # before its first step
            return _nothing_ran("interrupted"), None
        except Exception as bug:  # noqa: BLE001 (the request still gets its result, and the session lives on)
            traceback.print_exc()
            return _nothing_ran(), Failure("turn_failed", f"A fault of cosh_nb itself: {type(bug).__name__}: {bug}")
        finally:
            self._turn = None

    async def _take_turn(self, line: p.UserLine) -> tuple[e.TurnEnded, Failure | None]:
        started = time.monotonic()
        try:
            text, options = self._read(line)
            if self.agent.provider is None:
                await self.agent.use(self.flags.provider, self.flags.model)
        except CoshError as error:
            code = error.code if isinstance(error, BadRequest) else "turn_failed"
            return replace(_nothing_ran(), seconds=time.monotonic() - started), Failure(code, str(error))
        self.put(self.dialect.turn_begins(self.facts(), line))
        self.agent.gate.rules = self.rules
        await servers_settled(self.agent, self._emit)
        ended = await self.agent.run(text, self._emit, options)
        for call in list(self._declared.values()):
            self._emit(e.ToolFinished(call, ToolResult.error(INTERRUPTED), call.name, "", 0.0, False, "interrupted"))
        late = self.approver.client.timed_out
        return ended, Failure("ApprovalTimeout", late) if late else None

    def _emit(self, event: e.Event) -> None:
        """Draw an event; each declared call is answered once."""
        match event:
            case e.ToolUseEnd(id=call, name=name, input=given):
                self._declared[call] = ToolCall(call, name, given or {})
                if name == "cosh_shell_evidence":
                    self._evidence.calls[call] = None
            case e.ToolFinished(call=call):
                self._evidence.calls.pop(call.id, None)
                if self._declared.pop(call.id, None) is None:
                    return
            case e.MessageDone(usage=usage):
                self.context = usage
            case _:
                pass
        self.put(self.dialect.event(event, self.agent.session.id))

    # -- the request itself ----------------------------------------------------------------------------------------

    def _read(self, line: p.UserLine) -> tuple[str, TurnOptions]:
        """The text and the attachments of a request. Raises BadRequest."""
        given = line.session_id
        if self.dialect.name == "cosh" and given not in (None, "", "default", self.agent.session.id):
            raise BadRequest("foreign_session", f"This is the session {self.agent.session.id}, not {given!r:.80}.")
        text, media = _content(line.message.content)
        if not text.strip() and not media:
            raise BadRequest("empty_request", "The message holds no words. Say what is wanted.")
        if (context := line.shell_context) is not None:
            self._move(context)
            if context.last_exit_code:
                text += f"\n\n[The last command in the user's terminal exited with {context.last_exit_code}.]"
        return text or "Look at what is attached.", TurnOptions(media=tuple(media))

    def _move(self, context: p.ShellContext) -> None:
        if context.cwd is not None:
            folder = Path(context.cwd).expanduser()
            if not folder.is_dir():
                raise BadRequest("bad_shell_context", f"shell_context.cwd is {context.cwd!r:.200}, which is no folder.")
            self.agent.state.working_dir = folder.absolute()
        try:
            os.environ.update(context.env)  # this process is the client's own, and commands inherit it
        except ValueError as error:
            raise BadRequest("bad_shell_context", f"shell_context.env cannot be set: {error}.") from None

    # -- what goes out -----------------------------------------------------------------------------------------------

    def facts(self) -> Facts:
        """What the session is now."""
        agent = self.agent
        wanted = self.flags.model or agent.settings.env.get("COSH_MODEL", "")
        return Facts(
            session_id=agent.session.id,
            resumable=agent.session.file is not None,
            model=agent.provider.model if agent.provider is not None else wanted,
            tools=tuple(agent.registry.names()),
            cwd=str(agent.ctx.working_dir),
            mode=agent.state.permission_mode.value,
            version=__version__,
        )

    def put(self, lines: Iterable[Line]) -> None:
        """Send lines to the client, in this order."""
        for line in lines:
            self._writer.put(line.wire())

    def _end_request(self, ended: e.TurnEnded, failure: Failure | None) -> None:
        self.put([self.dialect.result(ended, self.facts(), failure)])

    def _signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(NotImplementedError, RuntimeError):  # not on the main thread, or not on POSIX
                loop.add_signal_handler(number, self.stop, 128 + number)


class BadRequest(UsageError):
    """A request that cannot be taken up; `code` is for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def _nothing_ran(reason: e.TurnEnd = "error") -> e.TurnEnded:
    return e.TurnEnded(reason, e.Usage(), 0.0)


def _size(request: _Request) -> int:
    content = request.line.message.content
    return len(content) if isinstance(content, str) else sum(len(str(block)) for block in content)


def _content(content: str | list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    media: list[dict[str, Any]] = []
    for block in content:
        match block:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "image" | "document", "source": dict()}:
                media.append(block)
            case _:
                raise BadRequest(
                    "bad_content", f"A content block of type {block.get('type')!r:.40} cannot be part of a request."
                )
    return "\n\n".join(texts), media
