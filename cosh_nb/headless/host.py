"""The headless host: it takes messages as they come, runs one turn after another, and answers each exactly once.

Reading, working and writing are apart: an interrupt, a shutdown or an answer is taken at any time, also while the
model streams and while a tool runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from cosh_nb import __version__
from cosh_nb import events as e
from cosh_nb.agent import Agent, TurnOptions
from cosh_nb.errors import CoshError, UsageError
from cosh_nb.headless import assemble
from cosh_nb.headless import protocol as p
from cosh_nb.headless.dialects.base import Dialect, Facts, Failure
from cosh_nb.headless.inventory import Inventory
from cosh_nb.headless.lend import Approver, ClientEvidence
from cosh_nb.headless.outgoing import Line, RegistryResponseLine
from cosh_nb.headless.questions import Questions
from cosh_nb.loop import INTERRUPTED
from cosh_tools.contract import ToolCall, ToolResult
from cosh_tools.kinds import PermissionMode
from cosh_tools.trim import trim

if TYPE_CHECKING:
    from cosh_nb.headless.flags import Flags
    from cosh_nb.headless.writer import Writer

OK, BAD_INPUT, BAD_ARGUMENTS, WRONG_VERSION, CLIENT_GONE = 0, 1, 2, 65, 74
"""Exit codes. An end by a signal is 128 and its number."""
WAITING = 64 << 20
"""Characters of requests that may wait for their turn."""


@dataclass
class _Request:
    """A request of the person that waits for its turn."""

    line: p.UserLine
    interrupted: bool = False
    prompt: bool = False
    """Whether it came on the command line or as piped text."""


@dataclass
class _Change:
    """A change between two turns."""

    do: Callable[[], Awaitable[None]]


class Host:
    """One process, one session. `run` ends with the exit code."""

    def __init__(
        self, flags: Flags, agent: Agent, dialect: Dialect, writer: Writer, questions: Questions, lent: Lent
    ) -> None:
        self.flags = flags
        self.agent = agent
        self.dialect = dialect
        self.questions = questions
        self._writer = writer
        self._lent = lent
        self._inventory = Inventory(agent)
        self._rules = agent.gate.rules
        self._allowed = flags.allowed
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
        self._context = e.Usage()
        self._tasks: set[asyncio.Task[None]] = set()
        client = lent.approver.client
        client.on_mode = self._set_mode
        client.trim = lambda result, call: trim(result, agent.ctx.toolset, call, agent.ctx.spill)

    # -- what comes in -------------------------------------------------------------------------------------------

    def take(self, batch: Sequence[p.Incoming | p.BadLine]) -> None:
        """Messages in the order in which they were read. Never waits."""
        for message in batch:
            if self._code is not None:
                return
            self._take(message)

    def prompt(self, text: str) -> None:
        """A request in plain words, from the command line or a pipe."""
        line = p.UserLine(type="user", message=p.UserContent(content=text))
        self._enqueue(_Request(line, prompt=True))

    def piped(self, text: str) -> None:
        """The whole input was a request in plain words."""
        self.prompt(text)
        self.last()

    def last(self) -> None:
        """Nothing more is asked: end when what waits is done."""
        self._over = True
        self._news.set()

    def end(self) -> None:
        """The client closed its input: what waits for an answer of it is over, what was asked before is finished."""
        if self.questions.end():
            self.interrupt()
        self.last()

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

    def _take(self, message: p.Incoming | p.BadLine) -> None:
        match message:
            case p.UserLine():
                self._enqueue(_Request(message))
            case p.ControlRequestLine(request_id=request_id, request=request):
                self._control(request_id, request)
            case p.ControlResponseLine(response=response):
                self.questions.answer(response)
            case p.ApprovalReceiptLine(request_id=request_id):
                self.questions.receipt(request_id)
            case p.RegistryRequestLine():
                self._registry(message)
            case p.OtherLine():
                pass
            case p.BadLine(why=why, request_id=request_id):
                self._bad(why, request_id)
            case _:
                assert_never(message)

    def _control(self, request_id: str, request: Any) -> None:
        match request:
            case p.Initialize():
                self._initialize(request_id, request)
            case p.Interrupt():
                self.interrupt()
                self._done(request_id, request.subtype)
            case p.Shutdown():
                self._done(request_id, request.subtype)
                self.stop(OK)
            case p.ConfigOverride(approval_mode=mode, allowed_tools=allowed):
                self._override(request_id, mode, allowed)
            case p.SetPermissionMode(mode=mode):
                self._set_mode(mode)
                self._done(request_id, request.subtype, {"mode": self.agent.state.permission_mode.value})
            case p.SwitchModel(model=model):
                self._later(request_id, request.subtype, lambda: self._switch(model))
            case p.ReloadConfig():
                self._later(request_id, request.subtype, self._reload)
            case p.StopTask(task_id=task):
                self._background(self._stop_task(request_id, task))
            case p.Ask(subtype="mcp_status"):
                self._done(request_id, request.subtype, {"mcpServers": self._servers()})
            case p.Ask():
                self._done(request_id, request.subtype, self._usage())
            case p.ToggleMcp(server=server):
                self._put(self.dialect.failed(request_id, f"There is no MCP server {server!r} to switch here."))
            case p.RewindFiles():
                self._put(self.dialect.failed(request_id, "Files cannot be taken back in a headless session."))
            case _:
                assert_never(request)

    def _initialize(self, request_id: str, request: p.Initialize) -> None:
        if request.protocol_version not in (None, p.PROTOCOL_VERSION):
            why = f"The protocol version {request.protocol_version} is not spoken here; {p.PROTOCOL_VERSION} is."
            self._put(self.dialect.failed(request_id, why))
            self.stop(WRONG_VERSION)
            return
        if request.hooks:
            from cosh_nb.headless.callbacks import ClientHooks  # only for clients that bring hooks

            ClientHooks(self.agent, self.questions, self.dialect, request.hooks).install()
        self._put(self.dialect.initialized(request_id, self.facts()))

    def _bad(self, why: str, request_id: str) -> None:
        if request_id and self.dialect.name == "claude":
            self._put(self.dialect.failed(request_id, why))
        elif self._busy or self._queue:
            self._put(self.dialect.ignored(why))
        else:
            self._end_request(_nothing_ran(), Failure("InvalidJsonlInput", why))
            self.stop(BAD_INPUT)

    def _enqueue(self, request: _Request) -> None:
        size = len(str(request.line.message.content))
        if self._size + size > WAITING:
            self._end_request(_nothing_ran(), Failure("TooMuchWaiting", "Too much is waiting for its turn already."))
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
        for item in self._queue:
            if isinstance(item, _Request):
                self._end_request(_nothing_ran("interrupted"), None)
        self._queue.clear()
        if self._code is not None:
            return self._code
        return BAD_INPUT if self._failed else OK

    async def _do(self, item: _Request | _Change) -> None:
        match item:
            case _Change(do=do):
                await do()
            case _Request(line=line):
                self._size -= len(str(line.message.content))
                self._lent.approver.client.timed_out = ""
                self._interrupted = item.interrupted
                ended, failure = _nothing_ran("interrupted"), None
                if not item.interrupted:
                    self._turn = asyncio.create_task(self._take_turn(line))
                    with contextlib.suppress(asyncio.CancelledError):
                        ended, failure = await self._turn
                    self._turn = None
                self._end_request(ended, failure)
                if self._counts(item):
                    self._failed = failure is not None or ended.reason not in ("done", "interrupted")
                    if item.prompt:
                        self._failed |= ended.reason == "interrupted"
            case _:
                assert_never(item)

    def _counts(self, item: _Request) -> bool:
        """Whether the exit code speaks of this request: scripts look at it, and so does the SDK."""
        return item.prompt or self.dialect.name == "claude"

    async def _take_turn(self, line: p.UserLine) -> tuple[e.TurnEnded, Failure | None]:
        started = time.monotonic()
        try:
            text, options = self._read(line)
            if self.agent.provider is None:
                await self.agent.use(self.flags.provider, self.flags.model)
        except CoshError as error:
            code = getattr(error, "code", "turn_failed")
            return replace(_nothing_ran(), seconds=time.monotonic() - started), Failure(code, str(error))
        self._put(self.dialect.turn_begins(self.facts(), line))
        self.agent.gate.rules = self._rules
        ended = await self.agent.run(text, self._emit, options)
        for call in list(self._declared.values()):
            self._emit(e.ToolFinished(call, ToolResult.error(INTERRUPTED), call.name, "", 0.0, False, "interrupted"))
        late = self._lent.approver.client.timed_out
        return ended, Failure("ApprovalTimeout", late) if late else None

    def _read(self, line: p.UserLine) -> tuple[str, TurnOptions]:
        """The text and the attachments of a request. Raises UsageError with its code."""
        given = line.session_id
        if self.dialect.name == "cosh" and given not in (None, "", "default", self.agent.session.id):
            raise BadRequest("foreign_session", f"This is the session {self.agent.session.id}, not {given}.")
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
                raise BadRequest("bad_shell_context", f"shell_context.cwd is {context.cwd}, which is no folder.")
            self.agent.ctx.working_dir = folder.absolute()
        env = self.agent.ctx.config.get("env")
        if isinstance(env, dict):
            env.update(context.env)

    def _emit(self, event: e.Event) -> None:
        """Draw an event; each declared call is answered once."""
        match event:
            case e.ToolUseEnd(id=call, name=name, input=given):
                self._declared[call] = ToolCall(call, name, given or {})
                if name == "cosh_shell_evidence":
                    self._lent.evidence.calls[call] = None
            case e.ToolFinished(call=call):
                self._lent.evidence.calls.pop(call.id, None)
                if self._declared.pop(call.id, None) is None:
                    return
            case e.MessageDone(usage=usage):
                self._context = usage
            case _:
                pass
        self._put(self.dialect.event(event, self.facts()))

    def _end_request(self, ended: e.TurnEnded, failure: Failure | None) -> None:
        self._put([self.dialect.result(ended, self.facts(), failure)])

    # -- what a client changes -------------------------------------------------------------------------------------

    def _override(self, request_id: str, mode: PermissionMode | str | None, allowed: list[str] | None) -> None:
        if allowed is not None:
            try:
                assemble.allow(",".join(allowed), self.agent.workspace)
            except UsageError as error:
                self._put(self.dialect.failed(request_id, str(error)))
                return
            self._allowed = ",".join(allowed)
            self._apply_rules()
        if mode is not None:
            self._set_mode(mode)
        self._done(request_id, "config_override")

    def _set_mode(self, mode: PermissionMode | str) -> None:
        if self.flags.client_asks:
            self._lent.approver.silent = "the mode dontAsk asks nobody" if mode == p.DONT_ASK else ""
        self.agent.set_mode(PermissionMode.DEFAULT if mode == p.DONT_ASK else PermissionMode(mode))

    def _apply_rules(self) -> None:
        root = self.agent.workspace
        self._rules = assemble.rules(
            self.agent.settings.rules,
            assemble.allow(self._allowed, root),
            assemble.allow(self.flags.disallowed, root),
        )
        self.agent.gate.rules = self._rules

    def _later(self, request_id: str, subtype: str, do: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        """Change something between two turns, and say so then."""

        async def change() -> None:
            try:
                body = await do()
            except CoshError as error:
                self._put(self.dialect.failed(request_id, str(error)))
            else:
                self._done(request_id, subtype, body)

        self._queue.append(_Change(change))
        self._news.set()

    async def _switch(self, model: str | None) -> dict[str, Any]:
        await self.agent.use(self.flags.provider, model or self.flags.model)
        return {}

    async def _reload(self) -> dict[str, Any]:
        self.agent.settings = await asyncio.to_thread(assemble.settings, self.flags)
        self.agent.state.extra_roots[:] = self.agent.settings.extra_roots
        self._apply_rules()
        return {"problems": list(self.agent.settings.problems)}

    async def _stop_task(self, request_id: str, task: str) -> None:
        if await self.agent.jobs.stop(task):
            self._done(request_id, "stop_task")
        else:
            self._put(self.dialect.failed(request_id, f"No background task {task!r} is running."))

    def _registry(self, asked: p.RegistryRequestLine) -> None:
        try:
            line = RegistryResponseLine(request_id=asked.request_id, success=True, data=self._inventory.answer(asked))
        except CoshError as error:
            line = RegistryResponseLine(request_id=asked.request_id, success=False, error=str(error))
        self._put([line])
        if self.flags.registry:
            self.stop(OK if line.success else BAD_INPUT)

    # -- parts -------------------------------------------------------------------------------------------------------

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

    def _usage(self) -> dict[str, Any]:
        from cosh_nb.cost import context_window  # prices and windows are read where they are asked for

        model = self.facts().model
        used, window = self._context.total, context_window(model)
        percent = round(100 * used / window, 1) if window else 0.0
        return {
            "categories": [{"name": "Messages", "tokens": used, "color": "blue"}],
            "totalTokens": used,
            "maxTokens": window,
            "percentage": percent,
            "model": model,
            "mcpTools": [],
            "memoryFiles": [],
            "agents": [],
        }

    def _servers(self) -> list[dict[str, Any]]:
        asked = p.RegistryRequestLine(type="registry_request", request_id="", domain="mcp", action="list")
        return [
            {"name": row["name"], "status": "connected", "tools": [{"name": name} for name in row["tools"]]}
            for row in self._inventory.answer(asked)["servers"]
        ]

    def _done(self, request_id: str, what: str, body: dict[str, Any] | None = None) -> None:
        self._put(self.dialect.done(request_id, what, body or {}, self.facts()))

    def _put(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._writer.put(line.wire())

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop, 128 + number)


class BadRequest(UsageError):
    """A request that cannot be taken up; `code` is for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Lent:
    """What the client lends, as the host needs it."""

    approver: Approver
    evidence: ClientEvidence


def _nothing_ran(reason: e.TurnEnd = "error") -> e.TurnEnded:
    return e.TurnEnded(reason, e.Usage(), 0.0)


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
                kind = str(block.get("type"))[:40]
                raise BadRequest("bad_content", f"A content block of type {kind!r} cannot be part of a request.")
    return "\n\n".join(texts), media
