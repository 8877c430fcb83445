"""Sub-agents: each has its own loop, history and tools, and the same policy; never more rights than who started it.

At most TOGETHER work at a time on each level, and they may start others DEEPEST levels down. Their events are folded
under the call that started them; stopping that call ends them and everything they started.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cosh_nb import events as e
from cosh_nb import prompt as prompts
from cosh_nb.agent_types import SEARCH, AgentType
from cosh_nb.catalogue import DeclaredTools
from cosh_nb.errors import CoshError
from cosh_nb.loop import Emit, Turn, run_turn
from cosh_nb.messages import Message, user
from cosh_nb.providers.base import Provider, Request
from cosh_tools import hosts
from cosh_tools.agents.inbox import Inbox
from cosh_tools.agents.task import GENERAL
from cosh_tools.context import SessionState, ToolContext, Worktree
from cosh_tools.kinds import PermissionMode, ToolKind
from cosh_tools.names import canonical
from cosh_tools.policy.rules import BadRule, Rule, parse_rule
from cosh_tools.registry import ToolRegistry
from cosh_tools.results import ToolError, ToolResult
from cosh_tools.runner import Runner
from cosh_tools.worktree.place import make, remove_if_unused

if TYPE_CHECKING:
    from pathlib import Path

    from cosh_tools.contract import Tool
    from cosh_tools.hosts import AgentSpec, Job

TOGETHER = 8
DEEPEST = 3
_TURNS = 10
_NOT_THEIRS = frozenset(
    {
        "AskUserQuestion",
        "Config",
        "CronCreate",
        "CronDelete",
        "EnterPlanMode",
        "EnterWorktree",
        "ExitPlanMode",
        "ExitWorktree",
    }
)
"""What belongs to the conversation with the person: its mode, folder, settings, schedule and questions."""
_REPORT = """\
You are a sub-agent: another agent gave you the request below, and nobody answers questions while you work. Your last \
message is your result, and it is all that is read, so say in it what you did, what you found, and what is open."""


@dataclass(frozen=True)
class Home:
    """What a session lends to its sub-agents."""

    runner: Callable[[], Runner]
    jobs: hosts.JobHost
    inbox: Inbox
    system: Callable[[], str]
    """The stable part of the session's own prompt."""
    kinds: Callable[[], Mapping[str, AgentType]]
    """The agents that may be started."""
    price: Callable[[str, e.Usage], float | None]
    lasting: Callable[[], Provider | None]
    """The session's own provider, for work that outlives the turn."""
    provider: Callable[[str | None], Awaitable[Provider]]
    """A provider for an agent alone, which closes it. Raises CoshError."""
    told: Callable[[Literal["SubagentStop"], Mapping[str, Any]], Awaitable[object]]
    """The hooks of this event."""


@dataclass
class SubAgents:
    """hosts.AgentHost of one agent; each sub-agent gets its own, one level deeper."""

    home: Home
    emit: Emit = lambda _event: None
    """Where the events of the running turn go."""
    provider: Provider | None = None
    """The model of the running turn, which its sub-agents share."""
    level: int = 1
    registry: ToolRegistry | None = None
    """The tools of the agent that starts them; None: the session's."""
    rooms: dict[int, asyncio.Semaphore] = field(default_factory=dict)

    async def run(self, spec: AgentSpec, ctx: ToolContext) -> ToolResult:
        """The final answer of the agent, or the id of its job where it works in the background."""
        kind = self._kind(spec.type)
        if self.level > DEEPEST:
            raise ToolError(f"Agents are {DEEPEST} levels deep already, so no further one is started. Do it yourself.")
        registry, rules = self._tools(spec, kind, ctx)
        name = self.home.inbox.open(spec.name or kind.name)
        work = _Work(self, spec, kind, ctx, name, registry, rules)
        if spec.background:
            try:
                return self._in_background(work)
            except ToolError:
                self.home.inbox.close(name)
                raise
        call, emit = ctx.call_id, self.emit
        return await self._in_a_room(work, lambda event: emit(e.AgentEvent(call, name, event)), self.provider)

    async def _in_a_room(self, work: _Work, emit: Emit, provider: Provider | None) -> ToolResult:
        room = self.rooms.setdefault(self.level, asyncio.Semaphore(TOGETHER))
        try:
            if room.locked():
                emit(e.Waiting(f"{TOGETHER} agents are at work"))
            async with room:
                return await work.do(emit, provider)
        finally:
            self.home.inbox.close(work.name)

    def _in_background(self, work: _Work) -> ToolResult:
        async def run(job: Job, write: Callable[[str], None]) -> None:
            def note(event: e.Event) -> None:
                if isinstance(event, e.ToolFinished):
                    how = " (failed)" if event.result.is_error else ""
                    write(f"> {event.verb} {event.target}{how}\n")

            result = await self._in_a_room(work, note, self.home.lasting())
            job.exit_code = int(result.is_error)
            write(f"\n{result.content}\n")
            self._report(work, job, result)

        job = self.home.jobs.start("agent", work.spec.description, run)
        said = {
            "agent_id": job.id,
            "status": "running",
            "message": f"Agent {work.name} works in the background. You get its result when it ends; TaskOutput waits.",
        }
        text = json.dumps(said, ensure_ascii=False)
        return ToolResult.success(text).with_metadata(
            job=job.id, agent=work.name, summary=f"in the background as {job.id}"
        )

    def _report(self, work: _Work, job: Job, result: ToolResult) -> None:
        """Whoever started it reads the result before its next step."""
        to = work.ctx.agent if work.ctx.agent in self.home.inbox.names else "main"
        try:
            self.home.inbox.send(work.name, to, f"(job {job.id} has ended) {result.content}")
        except ToolError:
            return  # its box is full; TaskOutput still has the result

    def _kind(self, name: str) -> AgentType:
        kinds = self.home.kinds()
        found = kinds.get(name or GENERAL) or next(
            (kind for key, kind in kinds.items() if key.lower() == name.lower()), None
        )
        if found is None:
            raise ToolError(f"There is no agent {name!r}. There are: {', '.join(sorted(kinds))}.")
        return found

    def _tools(self, spec: AgentSpec, kind: AgentType, ctx: ToolContext) -> tuple[ToolRegistry, tuple[str, ...]]:
        """The tools it gets, and the rules that narrow them where its file names some."""
        mine = self.registry or self.home.runner().registry
        kept = [tool for tool in mine.tools() if canonical(tool.name) not in _NOT_THEIRS]
        match kind.access:
            case "full":
                pass
            case "read-only":
                kept = [tool for tool in kept if tool.kind is ToolKind.READ_ONLY or canonical(tool.name) == "TodoWrite"]
            case "search-only":
                kept = [tool for tool in kept if canonical(tool.name) in SEARCH]
        if self.level == DEEPEST:
            kept = [tool for tool in kept if canonical(tool.name) != "Task"]
        rules: tuple[str, ...] = ()
        for wanted in (kind.tools, spec.tools):
            if wanted is None:
                continue
            parsed = _parsed(wanted, ctx.workspace)
            for rule in parsed if wanted is spec.tools else ():
                if not any(_speaks_of(rule, tool) for tool in mine.tools()):
                    names = ", ".join(tool.name for tool in mine.tools())
                    raise ToolError(f"There is no tool {rule.tool} here. There are: {names}.")
            kept = [tool for tool in kept if any(_speaks_of(rule, tool) for rule in parsed)]
            rules = (*rules, *wanted) if any("(" in text for text in wanted) else rules
        if rules and ctx.state.narrowed_to is not None:
            # A skill narrows already, and two such lists cannot hold at once: what would need the second one goes.
            whole = {canonical(text.strip()) for text in rules if "(" not in text}
            return ToolRegistry(tool for tool in kept if canonical(tool.name) in whole), ()
        return ToolRegistry(kept), rules


def _parsed(texts: Sequence[str], root: Path) -> list[Rule]:
    try:
        return [parse_rule(text, root) for text in texts if text.strip()]
    except BadRule as error:
        raise ToolError(f"The tools of the agent cannot be read: {error}") from None


def _speaks_of(rule: Rule, tool: Tool[Any]) -> bool:
    name = canonical(tool.name)
    return rule.tool in (name, tool.name) or rule.names(name)


@dataclass
class _Work:
    """One sub-agent from its start to its result."""

    host: SubAgents
    spec: AgentSpec
    kind: AgentType
    ctx: ToolContext
    name: str
    registry: ToolRegistry
    rules: tuple[str, ...]

    async def do(self, emit: Emit, provider: Provider | None) -> ToolResult:
        """Work, and leave nothing behind but what was asked for."""
        home, spec = self.host.home, self.spec
        state = self._state()
        tree: Worktree | None = None
        if spec.isolation == "worktree":
            tree = await make(self.ctx.working_dir, f"agent-{self.name}-{uuid.uuid4().hex[:6]}")
            state.worktree, state.working_dir = tree, tree.path
            state.extra_roots.append(tree.path)
        model = spec.model or self.kind.model
        own = await home.provider(model) if model or provider is None else None
        try:
            ended = await self._turn(own or provider, state, emit)
            result = self._result(ended)
        except CoshError as error:
            result = ToolResult.error(f"Sub-agent error: {error}")
        finally:
            if own is not None:
                await own.close()
            note = await remove_if_unused(tree) if tree is not None else ""
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise asyncio.CancelledError
        await home.told("SubagentStop", self._facts())
        return result.with_note(note) if note else result

    async def _turn(self, provider: Provider | None, state: SessionState, emit: Emit) -> e.TurnEnded:
        assert provider is not None  # noqa: S101 (one was built where none was lent)
        host, home = self.host, self.host.home
        deeper = SubAgents(home, emit, provider, host.level + 1, self.registry, host.rooms)
        catalogue = DeclaredTools(self.registry)
        known = getattr(self.ctx.read_state, "known", {})
        ctx = self.ctx.with_(
            state=state,
            agent=self.name,
            agents=deeper,
            catalogue=catalogue,
            read_state=hosts.MemoryReadState(known),
            tasks=_OwnTodos(self.ctx.tasks),
            progress=lambda _text: None,
        )
        system = self._system()

        def ask(messages: Sequence[Message]) -> Request:
            mode = state.permission_mode.value
            volatile = prompts.volatile(
                ctx.workspace, ctx.working_dir, mode, ctx.clock.now(), extra=f"You are {self.name}."
            )
            return Request(messages=messages, system=system, volatile=volatile, tools=catalogue.definitions())

        lead = home.runner()
        turn = Turn(
            provider=provider,
            runner=Runner(self.registry, ctx, lead.gate, lead.locks),
            history=_Memory(),
            ask=ask,
            emit=emit,
            price=home.price,
            pending=lambda: home.inbox.drain(self.name),
            max_turns=self.spec.max_turns or self.kind.max_turns or _TURNS,
        )
        return await run_turn(turn, user(self.spec.prompt))

    def _state(self) -> SessionState:
        """A copy, so that its moves stay its own; whoever only looks is held to that by the mode."""
        state = self.ctx.state.copy()
        if self.kind.access != "full":
            state.permission_mode = PermissionMode.PLAN
        if self.rules:
            state.narrowed_to = self.rules
        return state

    def _system(self) -> str:
        own = self.spec.system_prompt or "\n\n".join(
            part for part in (self.host.home.system(), self.kind.prompt) if part
        )
        return f"{own}\n\n{_REPORT}"

    def _result(self, ended: e.TurnEnded) -> ToolResult:
        text = ended.text or "(The agent ended without a final answer.)"
        match ended.reason:
            case "done":
                result = ToolResult.success(text)
            case "max_turns":
                result = ToolResult.success(
                    f"{text}\n[Note: Agent stopped after {ended.turns} model calls, its max_turns.]"
                )
            case "max_tokens":
                result = ToolResult.success(f"{text}\n[Note: Agent hit max_tokens limit]")
            case "interrupted":
                result = ToolResult.error("Sub-agent was cancelled")
            case "stopped":
                result = ToolResult.error("Sub-agent stopped: the user said so. Do not start it again.")
            case "refused":
                result = ToolResult.error("Sub-agent stopped: the model declined the request. Put it another way.")
            case "error":
                result = ToolResult.error(f"Sub-agent error: {ended.error or 'it ended early'}")
        calls = f"{ended.turns} step{'s' * (ended.turns != 1)}"
        usage = {"input": ended.usage.input, "output": ended.usage.output}
        return result.with_metadata(agent=self.name, type=self.kind.name, turns=ended.turns, usage=usage, summary=calls)

    def _facts(self) -> Mapping[str, Any]:
        return {"agent_id": self.name, "agent_type": self.kind.name}


@dataclass
class _Memory:
    """The history of a sub-agent: gone with it."""

    messages: list[Message] = field(default_factory=list)

    def add(self, message: Message) -> None:
        self.messages.append(message)


class _OwnTodos:
    """The session's tasks, but a todo list of its own: the person's checklist stays the main agent's."""

    def __init__(self, shared: hosts.TaskHost) -> None:
        self._shared = shared
        self._own = hosts.NoTasks()

    def load(self, section: str) -> Any:
        return (self._own if section.startswith("todos") else self._shared).load(section)

    def store(self, section: str, value: Any) -> None:
        (self._own if section.startswith("todos") else self._shared).store(section, value)


__all__ = ["DEEPEST", "TOGETHER", "Home", "SubAgents"]
