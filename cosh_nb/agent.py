"""An agent: provider, tools, policy and session put together for one front end, and the turns it takes."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_nb import extensions
from cosh_nb import prompt as prompts
from cosh_nb.agent_types import AgentType, agent_types
from cosh_nb.agents import Home, SubAgents
from cosh_nb.catalogue import DeclaredTools
from cosh_nb.command_hooks import CommandHooks, Hook, configured
from cosh_nb.compact import KEPT, compact, is_full
from cosh_nb.cost import Costs, context_window
from cosh_nb.errors import AuthError, CoshError
from cosh_nb.events import ApprovalAnswered, ApprovalAsked, Event, Notice, TurnEnded, Usage
from cosh_nb.loop import Emit, Turn, run_turn
from cosh_nb.mcp_client.config import configured as configured_servers
from cosh_nb.mcp_client.servers import Servers
from cosh_nb.messages import Block, Message, user
from cosh_nb.paths import claude_folder, data_folder
from cosh_nb.providers.base import Provider, Request
from cosh_nb.session import Session
from cosh_nb.settings import Settings, UserSettings
from cosh_nb.skills import Skills
from cosh_nb.spill import Spill
from cosh_tools import hosts
from cosh_tools.agents.inbox import MAIN, Inbox
from cosh_tools.context import SessionState, ToolContext
from cosh_tools.cron.schedule import Fire, Schedule
from cosh_tools.gate import Gate
from cosh_tools.jobs import Jobs
from cosh_tools.kinds import PermissionMode
from cosh_tools.policy.grants import GrantStore
from cosh_tools.policy.rules import Rules, parse_rule, split_rules
from cosh_tools.registry import ToolRegistry
from cosh_tools.results import ToolError
from cosh_tools.runner import FileLocks, Runner

if TYPE_CHECKING:
    from cosh_nb.providers.choose import Choice

EVERY_TURN = 50
"""Model calls in one turn, unless said otherwise."""


@dataclass(frozen=True)
class FrontEnd:
    """What a front end lends to its agent. Whatever it lacks stays a stand-in that says so."""

    permission_handler: hosts.PermissionHandler = field(default_factory=hosts.NobodyToAsk)
    ask: hosts.AskHost = field(default_factory=hosts.NoAsk)
    notebook: hosts.NotebookHost = field(default_factory=hosts.NoNotebook)
    kernel: hosts.KernelHost = field(default_factory=hosts.NoKernel)
    evidence: hosts.EvidenceHost = field(default_factory=hosts.NoEvidence)
    snapshots: hosts.SnapshotHost = field(default_factory=hosts.NoSnapshots)
    news: Callable[[], str] = str
    """What happened beside the conversation since the last turn, for the volatile part of the prompt."""
    interactive: bool = False


@dataclass(frozen=True)
class TurnOptions:
    """What a person may say for one turn. None leaves it as it is."""

    mode: PermissionMode | None = None
    model: str | None = None
    provider: str | None = None
    allowed_tools: str = ""
    disallowed_tools: str = ""
    max_turns: int | None = None
    media: tuple[Block, ...] = ()
    record: Path | None = None
    replay: Path | None = None
    replay_tools: bool = False
    """The recorded results stand in for the tools."""
    away: bool = False
    """Nobody may be there: what would be asked is refused, saying so."""


class Agent:
    """One conversation with one workspace. Turns come one at a time; another one waits and says so."""

    def __init__(
        self,
        workspace: Path,
        settings: Settings,
        front: FrontEnd,
        *,
        registry: ToolRegistry | None = None,
        toolset: str = "claude",
        mode: PermissionMode = PermissionMode.DEFAULT,
        session: Session | None = None,
        rules: Rules | None = None,
        provider: Provider | None = None,
        hooks: Sequence[Hook] | None = None,
        max_turns: int = EVERY_TURN,
        system: str | None = None,
    ) -> None:
        self.workspace = Path(os.path.realpath(workspace))
        self.settings = settings
        self.front = front
        self.extensions: tuple[extensions.Extension, ...] = ()
        self.kinds: Mapping[str, AgentType] = {}
        """The sub-agents that may be started."""
        self.problems: list[str] = []
        """What could not be read or used, a sentence each."""
        self.session = session or Session.new(self.workspace)
        self.registry = registry or ToolRegistry.for_notebook()
        self.catalogue = DeclaredTools(self.registry)
        self.costs = Costs()
        self.jobs = Jobs(self._job_ended)
        self.inbox = Inbox()
        self.schedule = Schedule(self.workspace, claude_folder() / "scheduled_tasks.json")
        self._fires: Fire | None = None
        self._firing: asyncio.Task[None] | None = None
        self._to_say: list[str] = []
        self._last_usage = Usage()
        self._git = ""
        self.max_turns = max_turns
        self.hooks = CommandHooks(
            hooks or (),
            self.workspace,
            self.session.id,
            self.session.file,
            mode=lambda: self.state.permission_mode.value,
        )
        self.provider = provider
        self.choice: Choice | None = None
        self._system = system
        self._mode = mode
        self._running: asyncio.Task[TurnEnded] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._typed_on: deque[str] = deque()
        self._notices: set[asyncio.Task[Any]] = set()
        self._stable: tuple[tuple[Any, ...], str] | None = None
        self.mcp = Servers(self.registry, self.workspace, self.session.id)
        self.skills = Skills(self.workspace, session_id=self.session.id)
        grants = GrantStore(data_folder() / "grants.json", self.workspace)
        self.gate = Gate(rules or settings.rules, grants)
        self.state = SessionState(self.workspace, self.workspace, mode)
        self.agents = SubAgents(
            Home(
                runner=lambda: self.runner,
                jobs=self.jobs,
                inbox=self.inbox,
                system=self._stable_prompt,
                kinds=lambda: self.kinds,
                price=self.costs.count,
                provider=lambda model: self._build(None, model),
                lasting=lambda: self.provider,
                told=self.hooks.fire,
            )
        )
        self.ctx = self._context(toolset)
        self.runner = Runner(self.registry, self.ctx, self.gate, FileLocks())
        self.take_settings(settings, rules=rules, hooks=hooks)

    # -- turns -----------------------------------------------------------------------------------------------

    async def run(self, text: str, emit: Emit, options: TurnOptions | None = None) -> TurnEnded:
        """Take one turn, telling `emit` of everything that happens. Ends with TurnEnded, whatever happens."""
        options = options or TurnOptions()
        if self._one_at_a_time.locked():
            emit(Notice("info", "Another turn is running in this session; this one waits for its end."))
        try:
            async with self._one_at_a_time:
                with self._options(options):
                    return await self._turn(text, emit, options)
        except CoshError as error:
            emit(Notice("error", str(error), error.detail))
            ended = TurnEnded("error", Usage(), 0.0, error=str(error))
        except asyncio.CancelledError:
            ended = TurnEnded("interrupted", Usage(), 0.0)
        emit(ended)
        return ended

    async def turn(self, text: str, options: TurnOptions | None = None) -> AsyncIterator[Event]:
        """The same turn as a stream of events. Closing the iterator interrupts it."""
        queue: asyncio.Queue[Event] = asyncio.Queue()
        task = asyncio.create_task(self.run(text, queue.put_nowait, options))
        try:
            while True:
                event = await queue.get()
                yield event
                if isinstance(event, TurnEnded):
                    return
        finally:
            if not task.done():
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def interrupt(self) -> bool:
        """End the running turn; whether there was one. Call it on the agent's loop."""
        if self._running is None or self._running.done():
            return False
        self._running.cancel()
        return True

    def type_on(self, text: str) -> None:
        """Text that a person adds while a turn runs: it joins the next request of that turn."""
        self._typed_on.append(text)

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits."""
        return self._one_at_a_time.locked()

    async def _turn(self, text: str, tell: Emit, options: TurnOptions) -> TurnEnded:
        def emit(event: Event) -> None:
            if isinstance(event, TurnEnded) and self.session.problem:
                tell(Notice("warning", self.session.problem))
                self.session.problem = ""
            tell(event)

        provider = await self._provider_for(options)
        await self.mcp.start()
        self._git = await asyncio.to_thread(prompts.git_status, self.workspace) if self.settings.trusted else ""
        self.hooks.tell = emit
        self.agents.emit, self.agents.provider = emit, provider
        self._keep_schedule(emit)
        self.gate.watch = self._watch(emit)
        turn = Turn(
            provider=provider,
            runner=self._runner_for(provider, options),
            history=self.session,
            ask=self.request,
            emit=emit,
            price=self.costs.count,
            pending=self._pending,
            hooks=self.hooks,
            shorten=lambda usage, overflow: self._shorten(provider, usage, overflow, emit),
            last=self._last_usage,
            max_turns=options.max_turns or self.max_turns,
        )
        self.front.snapshots.begin(self.session.turns + 1, text)
        self._running = asyncio.create_task(run_turn(turn, user(text, options.media), self.session.turns + 1))
        try:
            ended = await asyncio.shield(self._running)
        except asyncio.CancelledError:
            self._running.cancel()
            ended = await self._running
        finally:
            await self.front.snapshots.end()
            if options.provider or options.model or options.replay:
                await provider.close()
        self.session.store("read_state", self._read_state.known)
        self._last_usage = turn.last
        if isinstance(turn.failure, AuthError) and provider is self.provider:
            self.provider = None  # the next turn looks for a key again
        self.session.end_turn(ended)
        return ended

    async def compact(self, more: str = "", emit: Emit = lambda _event: None, kept: int = KEPT) -> bool:
        """Summarise the beginning of the conversation now; whether it was long enough. Raises CoshError."""
        if self.provider is None:
            self.provider = await self._build(None, None)
        return await self._compact(self.provider, "manual", more, emit, kept)

    async def _shorten(self, provider: Provider, usage: Usage, overflow: bool, emit: Emit) -> bool:
        """Compact where the window is nearly full, or where a request did not fit. A failure costs no turn."""
        if not overflow and not is_full(usage, context_window(provider.model), self._max_tokens):
            return False
        try:
            return await self._compact(provider, "auto", "", emit, 4 if overflow else KEPT)
        except CoshError as error:
            emit(Notice("warning", f"The conversation is nearly too long for the model. {error}"))
            return False

    async def _compact(self, provider: Provider, trigger: str, more: str, emit: Emit, kept: int) -> bool:
        await self.hooks.fire("PreCompact", {"trigger": trigger, "custom_instructions": more})
        made = await compact(provider, self.session.messages, self.session.state, more=more, kept=kept)
        if made is None:
            return False
        self.session.shorten(made)
        self._last_usage = Usage()
        emit(Notice("info", f"The first {made.dropped} messages were summarised, so that the conversation can go on."))
        return True

    def window(self) -> str:
        """How full the model's window is, in words."""
        used = self._last_usage.total
        whole = context_window(self.provider.model) if self.provider is not None else None
        size = (
            f"of {whole:,} tokens ({used / whole:.0%})"
            if whole
            else "tokens; the size of the model's window is not known"
        )
        return f"{len(self.session.messages)} messages. The last request used {used:,} {size}."

    @property
    def _max_tokens(self) -> int:
        return int(self.settings.values.get("max_tokens") or 32_000)

    def request(self, messages: Sequence[Message]) -> Request:
        """The next request for these messages."""
        now: datetime = self.ctx.clock.now()
        return Request(
            messages=messages,
            system=self._stable_prompt(),
            volatile=prompts.volatile(
                self.workspace,
                self.ctx.working_dir,
                self.state.permission_mode.value,
                now,
                git=self._git,
                extra=self._beside(),
            ),
            tools=self.catalogue.definitions(),
            max_tokens=self._max_tokens,
        )

    def _beside(self) -> str:
        """The open notebook, and what the person did in it meanwhile."""
        notebook = self.front.notebook.current()
        lines = [f"Notebook: {notebook}"] if notebook is not None else []
        return "\n".join([*lines, *filter(None, [self.front.news()])])

    # -- what a person changes between turns --------------------------------------------------------------------

    def take_settings(
        self, settings: Settings, *, rules: Rules | None = None, hooks: Sequence[Hook] | None = None
    ) -> None:
        """Work under these settings from now on: rules, folders, skills, hooks, environment."""
        self.settings = settings
        self.problems[:] = settings.problems
        found = extensions.find(self.workspace, settings.env, trusted=settings.trusted)
        self.extensions = found.extensions
        self.problems += found.problems
        if hooks is None:
            own, problems = configured(settings.values.get("hooks") or {}, "the settings")
            self.problems += problems
            hooks = [*own, *(hook for extension in found.extensions for hook in extension.hooks)]
        self.gate.rules = rules or settings.rules
        self.hooks.hooks = hooks
        self.kinds, problems = agent_types(self.workspace, trusted=settings.trusted)
        self.problems += problems
        self.skills.trusted = settings.trusted
        self.skills.extensions = [(one.name, folder) for one in found.extensions for folder in one.skills]
        self.skills.refresh()
        self.problems += self.skills.problems
        servers = configured_servers(settings.values, self.workspace, settings.env, trusted=settings.trusted)
        theirs = tuple(server for extension in found.extensions for server in extension.servers)
        self.mcp.configure(replace(servers, servers=(*servers.servers, *theirs)))
        self.problems += self.mcp.problems
        tree = [self.state.worktree.path] if self.state.worktree is not None else []
        self.state.extra_roots[:] = [*settings.extra_roots, *tree]
        self.ctx = replace(self.ctx, config={"env": dict(settings.env)}, settings=UserSettings(settings))
        self.runner.ctx = self.ctx

    def set_mode(self, mode: PermissionMode) -> None:
        """Another permission mode for this session."""
        self._mode = self.state.permission_mode = mode

    async def use(self, provider: str | None = None, model: str | None = None) -> Provider:
        """Another provider or model from now on. Raises ProviderError where it cannot be had."""
        chosen = await self._build(provider, model)
        if self.provider is not None:
            await self.provider.close()
        self.provider = chosen
        return chosen

    def start_session(self, session: Session) -> None:
        """Go on with another session; the old one is closed and kept."""
        self.session.close()
        self.session = session
        self._read_state.known = dict(session.load("read_state") or {})
        self.ctx = replace(self.ctx, session_id=session.id, tasks=session, spill=Spill(session.id))
        self.runner.ctx = self.ctx

    async def close(self) -> None:
        """End jobs, connections and the session."""
        self.interrupt()
        if self._firing is not None:
            self._firing.cancel()
            await asyncio.gather(self._firing, return_exceptions=True)
        await self.hooks.fire("SessionEnd", {"reason": "other"})
        await self.jobs.close()
        await self.mcp.close()
        if self.provider is not None:
            await self.provider.close()
        self.session.close()

    # -- parts ------------------------------------------------------------------------------------------------

    def _context(self, toolset: str) -> ToolContext:
        front = self.front
        self._read_state = hosts.MemoryReadState(self.session.load("read_state"))
        return ToolContext(
            state=self.state,
            session_id=self.session.id,
            non_interactive=not front.interactive,
            toolset=toolset,
            permission_handler=front.permission_handler,
            cost_tracker=self.costs,
            notebook=front.notebook,
            kernel=front.kernel,
            ask=front.ask,
            evidence=front.evidence,
            snapshots=front.snapshots,
            jobs=self.jobs,
            agents=self.agents,
            inbox=self.inbox,
            read_state=self._read_state,
            catalogue=self.catalogue,
            hooks=self.hooks,
            skills=self.skills,
            mcp=self.mcp,
            tasks=self.session,
            spill=Spill(self.session.id),
            gate=self.gate,
        )

    @contextlib.contextmanager
    def _options(self, options: TurnOptions) -> Iterator[None]:
        """The turn's own mode and rules, for as long as it lasts."""
        rules, mode = self.gate.rules, self.state.permission_mode
        allow = [parse_rule(text, self.workspace) for text in split_rules(options.allowed_tools)]
        deny = [parse_rule(text, self.workspace) for text in split_rules(options.disallowed_tools)]
        self.gate.rules = Rules((*rules.deny, *deny), rules.ask, (*rules.allow, *allow))
        if options.mode is not None:
            self.state.permission_mode = options.mode
        try:
            yield
        finally:
            self.gate.rules = rules
            self.state.narrowed_to = None
            if options.mode is not None and self.state.permission_mode is options.mode:
                self.state.permission_mode = mode

    async def _provider_for(self, options: TurnOptions) -> Provider:
        if options.replay is not None:
            from cosh_nb.providers.recorded import RecordedProvider  # only where a recording is named

            return RecordedProvider(options.replay, self.workspace)
        if options.provider or options.model:
            provider = await self._build(options.provider, options.model)
        else:
            if self.provider is None:
                self.provider = await self._build(None, None)
            provider = self.provider
        if options.record is None:
            return provider
        from cosh_nb.providers.recorded import Recorder  # only where a recording is made

        return Recorder(provider, options.record, self.workspace, split_rules(options.allowed_tools))

    def _runner_for(self, provider: Provider, options: TurnOptions) -> Runner:
        """The runner of a turn: a recording that the person named may approve its own calls where nobody is there."""
        if options.away:
            nobody = hosts.NobodyToAsk("it was scheduled, and the person may be away")
            ctx = self.runner.ctx.with_(permission_handler=nobody, ask=hosts.NoAsk())
            return replace(self.runner, ctx=ctx)
        if options.replay is None:
            return self.runner
        from cosh_nb.replay import runner_for  # only where a recording is named

        return runner_for(provider, self.runner, replay_tools=options.replay_tools)

    async def _build(self, provider: str | None, model: str | None) -> Provider:
        from cosh_nb.providers import choose, others  # the wire is loaded with the first prompt

        env, values = self.settings.environment(), self.settings.values
        named = provider or env.get("COSH_PROVIDER") or values.get("provider")
        if named and (made := others.make(str(named), model or env.get("COSH_MODEL"), env)) is not None:
            self.choice = choose.Choice(str(named), made.model, "another package offers it under that name")
            return made
        choice = await choose.choose(env, values, provider, model, self._consent)
        self.choice = choice
        made = choose.build(choice)
        if choice.runs_here:
            self.costs.runs_here(made.model)
        return made

    async def _consent(self, server: str, model: str) -> bool:
        """Whether a model server found on this machine may be used: one yes per server."""
        if not self.front.interactive:
            return False
        question = hosts.Question(
            f"A model server answers on this machine ({server}, model {model}). Use it for this session?",
            "Model",
            (hosts.Choice("Use it"), hosts.Choice("Don't use it")),
            free_text=False,
        )
        answers = await self.front.ask.ask([question])
        return answers is not None and list(answers[0]) == ["Use it"]

    def _watch(self, emit: Emit) -> Callable[[hosts.ApprovalRequest, hosts.ApprovalAnswer | None], None]:
        """Tells of questions and answers; a question is also what Notification hooks are for."""

        def watch(request: hosts.ApprovalRequest, answer: hosts.ApprovalAnswer | None) -> None:
            if answer is not None:
                emit(ApprovalAnswered(request, answer))
                return
            emit(ApprovalAsked(request))
            message = f"cosh needs your approval to use {request.call.name}"
            self._notify({"message": message, "notification_type": "permission_prompt"})

        return watch

    def _notify(self, facts: Mapping[str, Any]) -> None:
        task = asyncio.get_running_loop().create_task(self.hooks.fire("Notification", facts))
        self._notices.add(task)
        task.add_done_callback(self._notices.discard)

    def _pending(self) -> list[str]:
        texts = [f"[The user adds:] {text}" for text in self._typed_on]
        self._typed_on.clear()
        texts += self.inbox.drain(MAIN)
        return texts

    def fires_to(self, take: Fire) -> None:
        """Scheduled prompts can be made from now on; `take` takes one up as a turn, when the conversation is idle."""
        self._fires = take
        self.ctx = self.runner.ctx = replace(self.ctx, schedule=self.schedule)

    def _keep_schedule(self, emit: Emit) -> None:
        """The schedule lives on the loop of the first turn; what it had to say comes with the next one."""
        if self._fires is not None and self._firing is None:
            self._firing = asyncio.create_task(self.schedule.run(self._fires, self._to_say.append))
        for text in self._to_say:
            emit(Notice("info", text))
        self._to_say.clear()

    def _job_ended(self, job: hosts.Job) -> None:
        """The model reads of a background command's end before its next step; agents report themselves."""
        if job.kind == "shell" and job.status != "killed":
            how = job.status if job.exit_code is None else f"{job.status}, exit code {job.exit_code}"
            with contextlib.suppress(ToolError):  # a full box: it will ask with TaskOutput
                self.inbox.send("background", MAIN, f"Task {job.id} ({job.title[:80]}) has ended: {how}.")

    def _stable_prompt(self) -> str:
        if self._system is not None:
            return self._system
        skills = tuple(self.ctx.skills.names())
        notebook = not isinstance(self.front.kernel, hosts.NoKernel)
        written = tuple((kind.name, kind.description) for kind in self.kinds.values() if kind.source != "built-in")
        key = (self.session.id, notebook, self.settings.trusted, skills, written)
        if self._stable is None or self._stable[0] != key:
            context = [file for extension in self.extensions for file in extension.context]
            text = prompts.stable(
                self.workspace, notebook=notebook, trusted=self.settings.trusted, skills=skills, context=context
            )
            if written:
                text += "\n\nAgents that people wrote (Task with subagent_type):\n"
                text += "\n".join(f"- {name}: {about}" for name, about in written)
            self._stable = (key, text)
        return self._stable[1]


__all__ = ["Agent", "FrontEnd", "TurnOptions"]
