"""What a host may lend to the tools, as Protocols of one or two methods, and the stand-ins for what is missing.

A stand-in never pretends: each raises ToolError with a sentence that says what is missing and what to do instead.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from cosh_tools.results import Media, PermissionDenied, ToolError, ToolResult

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext
    from cosh_tools.contract import ToolCall, ToolDefinition
    from cosh_tools.policy.decide import Ask
    from cosh_tools.policy.rules import Rule
    from cosh_tools.touches import Touch


# -- approvals ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grant:
    """What one button gives: `label` is its exact words, `rules` what will be allowed, for how long."""

    label: str
    rules: tuple[Rule, ...]
    scope: Literal["session", "always"]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One question to a person: what exactly would happen, why it asks, and which grants may be given."""

    call: ToolCall
    verb: str
    touches: tuple[Touch, ...]
    reason: Ask
    grants: tuple[Grant, ...] = ()
    destructive: bool = False
    diff: str = ""
    """The change as a unified diff, where the call is an edit."""
    agent: str = ""
    """The sub-agent that asks; empty for the main one."""
    working_dir: Path = Path()


@dataclass(frozen=True, slots=True)
class Allowed:
    """Yes. With `grant`, also later calls that it covers; with `input`, in the words that the person corrected."""

    grant: Grant | None = None
    input: Mapping[str, Any] | None = None
    by: str = "you"


@dataclass(frozen=True, slots=True)
class Refused:
    """No. `reason` is told to the model; `stop` ends the turn."""

    reason: str = ""
    stop: bool = False
    by: str = "you"


@dataclass(frozen=True, slots=True)
class RanElsewhere:
    """The host ran the command itself and brings the result."""

    result: ToolResult
    by: str = "the client"


@dataclass(frozen=True, slots=True)
class Undecided:
    """This approver does not decide: the next one is asked; without one the answer is no."""


ApprovalAnswer = Allowed | Refused | RanElsewhere | Undecided


class PermissionHandler(Protocol):
    """Whoever can be asked: a card in the cell, a client of the headless protocol, a recorded policy."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Put the question and wait for the answer."""
        ...


class NobodyToAsk:
    """No person is there, so the answer is no."""

    def __init__(self, why: str = "nobody is there to ask") -> None:
        self.why = why

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Refuse, saying that nobody could be asked."""
        del request
        return Refused(
            f"This needs approval, and {self.why}. Go on without it, or tell the user which rule would allow it.",
            by="nobody to ask",
        )


class GateHost(Protocol):
    """The policy as a running tool sees it."""

    async def check(self, name: str, touches: Sequence[Touch], ctx: ToolContext) -> None:
        """Raise PermissionDenied unless these further touches are allowed."""
        ...

    def says(self, tool: str, touch: Touch) -> Literal["deny", "ask", "allow"] | None:
        """What the rules and grants say of one touch, the strictest first; None where none speaks of it.

        The mode has no voice here: a tool asks this where only a rule that names the very thing will do.
        """
        ...


class ClosedGate:
    """Without a policy nothing more is allowed than what was."""

    async def check(self, name: str, touches: Sequence[Touch], ctx: ToolContext) -> None:
        """Refuse."""
        del touches, ctx
        raise PermissionDenied(f"{name} needs a further approval, and no policy is at work here.")

    def says(self, tool: str, touch: Touch) -> Literal["deny", "ask", "allow"] | None:
        """Nothing."""
        del tool, touch
        return None


# -- the notebook and its kernel -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CellView:
    """One cell as it stands: `outputs` in nbformat 4 shape."""

    index: int
    id: str
    type: str
    source: str
    execution_count: int | None = None
    outputs: Sequence[Mapping[str, Any]] = ()
    """May be made into objects only when it is looked at."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    output_bytes: int = 0
    """About how many bytes the outputs are, where they were not asked for."""


@dataclass(frozen=True, slots=True)
class NotebookView:
    """A notebook as it was read. `live` is True for the open document, unsaved typing included."""

    path: Path
    cells: tuple[CellView, ...]
    live: bool
    as_of: str
    """In words: "live" or "as last saved, 12 s old"."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CellEdit:
    """One step of an edit. Cells are named by id (`cell-N` where a notebook has none)."""

    mode: Literal["replace", "insert", "delete", "move"]
    cell: str | None = None
    """The cell that is replaced, deleted or moved."""
    source: str | None = None
    type: Literal["code", "markdown", "raw"] | None = None
    after: str | None = None
    before: str | None = None
    expect: str | None = None
    """The source last read; another one there now is a conflict."""
    expect_digest: str | None = None
    """Its SHA-256, where only that is known."""


@dataclass(frozen=True, slots=True)
class CellReport:
    """What became of one step: index, id and neighbours as read back."""

    status: Literal["landed", "conflicted", "refused"]
    mode: str
    cell: str
    index: int | None
    before: str | None
    after: str | None
    text: str
    """One sentence for the model."""
    old_source: str = ""
    new_source: str = ""


class NotebookHost(Protocol):
    """The notebooks that can be read and edited: the open ones live, the others on disk."""

    async def read(self, path: Path, outputs: Sequence[str] | None = None) -> NotebookView:
        """All cells, with the outputs of those that `outputs` names (None: of all)."""
        ...

    async def apply(self, path: Path, edits: Sequence[CellEdit], ctx: ToolContext) -> Sequence[CellReport]:
        """Apply steps in order, read back, and report each."""
        ...

    async def run(self, path: Path, cells: Sequence[str], timeout: float, ctx: ToolContext) -> Sequence[CodeOutcome]:
        """Run cells by id in order, stopping at the first error; outputs land in the notebook."""
        ...

    def current(self) -> Path | None:
        """The notebook of this session, where it has one."""
        ...


class NoNotebook:
    """There is no notebook host: say so."""

    async def read(self, path: Path, outputs: Sequence[str] | None = None) -> NotebookView:
        """Say that no notebook host is here."""
        del outputs
        raise ToolError(f"{path} cannot be read as a notebook here: this session has no notebook host.")

    async def apply(self, path: Path, edits: Sequence[CellEdit], ctx: ToolContext) -> Sequence[CellReport]:
        """Say that no notebook host is here."""
        del edits, ctx
        raise ToolError(f"{path} cannot be edited as a notebook here: this session has no notebook host.")

    async def run(self, path: Path, cells: Sequence[str], timeout: float, ctx: ToolContext) -> Sequence[CodeOutcome]:
        """Say that no kernel is here."""
        del cells, timeout, ctx
        raise ToolError(f"Cells of {path} cannot be run: this session has no kernel. Use Bash with `jupyter execute`.")

    def current(self) -> Path | None:
        """None."""
        return None


@dataclass(frozen=True, slots=True)
class CodeOutcome:
    """What running code gave. `outputs` in nbformat 4 shape; `media` are its images, for the model."""

    status: Literal["ok", "error", "timeout", "interrupted"]
    text: str
    """stdout, stderr, rich text and the traceback, as a person would read them."""
    outputs: tuple[Mapping[str, Any], ...] = ()
    media: tuple[Media, ...] = ()
    execution_count: int | None = None
    cell: str = ""
    duration: float = 0.0
    note: str = ""


class KernelHost(Protocol):
    """The person's own kernel."""

    async def run_code(self, code: str, timeout: float, progress: Callable[[str], None]) -> CodeOutcome:
        """Run code in the user's namespace on the kernel's main thread."""
        ...

    async def variables(self, names: Sequence[str], limit: int) -> str:
        """Sketches of variables (all when `names` is empty): names, types, shapes, bounded."""
        ...

    async def preview(self, code: str, timeout: float) -> CodeOutcome:
        """What the code would do, run in a forked child that can change nothing."""
        ...

    def cwd(self) -> Path | None:
        """The kernel's own working directory."""
        ...


class NoKernel:
    """There is no kernel: say so."""

    _SAY = "This session has no notebook kernel. Run Python with Bash instead (`python -c` or a script)."

    async def run_code(self, code: str, timeout: float, progress: Callable[[str], None]) -> CodeOutcome:
        """Say that no kernel is here."""
        del code, timeout, progress
        raise ToolError(self._SAY)

    async def variables(self, names: Sequence[str], limit: int) -> str:
        """Say that no kernel is here."""
        del names, limit
        raise ToolError(self._SAY)

    async def preview(self, code: str, timeout: float) -> CodeOutcome:
        """Say that no kernel is here."""
        del code, timeout
        raise ToolError(self._SAY)

    def cwd(self) -> Path | None:
        """None."""
        return None


class EvidenceHost(Protocol):
    """What ran before, and what it printed (cosh_shell_evidence)."""

    async def list_commands(self, limit: int, cursor: str | None) -> ToolResult:
        """Recent commands with their ids, newest first."""
        ...

    async def read_output(self, output_id: str, direction: str, lines: int) -> ToolResult:
        """The head or the tail of one command's output."""
        ...


class NoEvidence:
    """Nothing was recorded: say so."""

    async def list_commands(self, limit: int, cursor: str | None) -> ToolResult:
        """Say that no terminal is recorded."""
        del limit, cursor
        return ToolResult.error("No terminal output is recorded in this session. Run the command again to see it.")

    async def read_output(self, output_id: str, direction: str, lines: int) -> ToolResult:
        """Say that no terminal is recorded."""
        del direction, lines
        return ToolResult.error(f"{output_id} is not recorded in this session. Run the command again to see it.")


# -- people and other agents ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a question."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the person; `choices` may be empty where free text is allowed."""

    text: str
    header: str = ""
    choices: tuple[Choice, ...] = ()
    multi_select: bool = False
    free_text: bool = True


class AskHost(Protocol):
    """Puts questions to the person."""

    async def ask(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        """The answers in order, each a list of labels or one free text; None when the person declined."""
        ...


class NoAsk:
    """Nobody can be asked: say so."""

    async def ask(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        """Say that nobody can answer."""
        del questions
        raise ToolError(
            "Cannot ask user questions in non-interactive mode. Choose the safest option yourself and say which one."
        )


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """A sub-agent as the Task tool describes it."""

    prompt: str
    description: str
    type: str = ""
    name: str = ""
    tools: tuple[str, ...] | None = None
    system_prompt: str = ""
    model: str | None = None
    max_turns: int = 10
    isolation: Literal["worktree"] | None = None
    background: bool = False


class AgentHost(Protocol):
    """Runs sub-agents."""

    async def run(self, spec: AgentSpec, ctx: ToolContext) -> ToolResult:
        """The final answer of the agent, or the id of its job when it runs in the background."""
        ...


class NoAgents:
    """No sub-agents: say so."""

    async def run(self, spec: AgentSpec, ctx: ToolContext) -> ToolResult:
        """Say that sub-agents are not available."""
        del spec, ctx
        return ToolResult.error("Sub-agents are not available in this session. Do the work directly.")


class InboxHost(Protocol):
    """Messages between named agents."""

    def send(self, sender: str, to: str, text: str) -> Sequence[str]:
        """Put a message into the inbox of `to` ("*": all others); the names that will get it."""
        ...

    def drain(self, name: str) -> Sequence[str]:
        """Take all messages for `name`."""
        ...


class NoInbox:
    """No other agent is there."""

    def send(self, sender: str, to: str, text: str) -> Sequence[str]:
        """Say that nobody is there."""
        del sender, text
        raise ToolError(f"No agent named {to!r} is running, so the message was not sent.")

    def drain(self, name: str) -> Sequence[str]:
        """Nothing."""
        del name
        return ()


# -- work that goes on -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Job:
    """A background shell or agent. `output` grows; `status` ends as completed, failed or killed."""

    id: str
    kind: Literal["shell", "agent"]
    title: str
    status: Literal["running", "completed", "failed", "killed"] = "running"
    exit_code: int | None = None
    started: float = field(default_factory=time.time)
    ended: float | None = None


class JobHost(Protocol):
    """The one registry of background work."""

    def start(
        self, kind: Literal["shell", "agent"], title: str, work: Callable[[Job, Callable[[str], None]], Awaitable[None]]
    ) -> Job:
        """Start `work(job, write)` as a task; `write` appends to the job's bounded output."""
        ...

    def get(self, job_id: str) -> Job | None:
        """The job of that id."""
        ...

    def jobs(self) -> Sequence[Job]:
        """All jobs, oldest first."""
        ...

    def output(self, job_id: str) -> str:
        """What it wrote so far (bounded: head and tail)."""
        ...

    async def wait(self, job_id: str, timeout: float) -> bool:
        """Whether it ended within `timeout` seconds."""
        ...

    async def stop(self, job_id: str) -> bool:
        """Kill it and its process tree; whether it was running."""
        ...


class NoJobs:
    """No background work here: say so."""

    def start(
        self, kind: Literal["shell", "agent"], title: str, work: Callable[[Job, Callable[[str], None]], Awaitable[None]]
    ) -> Job:
        """Say that nothing can run in the background."""
        del kind, title, work
        raise ToolError("Nothing can run in the background in this session. Run it in the foreground.")

    def get(self, job_id: str) -> Job | None:
        """None."""
        del job_id
        return None

    def jobs(self) -> Sequence[Job]:
        """None."""
        return ()

    def output(self, job_id: str) -> str:
        """Nothing."""
        del job_id
        return ""

    async def wait(self, job_id: str, timeout: float) -> bool:
        """There is nothing to wait for."""
        del job_id, timeout
        return True

    async def stop(self, job_id: str) -> bool:
        """There is nothing to stop."""
        del job_id
        return False


class TaskHost(Protocol):
    """The session's task list and todo list, persisted: plain JSON values keyed by section ("tasks", "todos")."""

    def load(self, section: str) -> Any:
        """What was stored under `section`, or None."""
        ...

    def store(self, section: str, value: Any) -> None:
        """Keep a JSON value; drawn by the host."""
        ...


class NoTasks:
    """Keeps the lists in memory only."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def load(self, section: str) -> Any:
        """What was stored in this process."""
        return self._kept.get(section)

    def store(self, section: str, value: Any) -> None:
        """Keep it in this process."""
        self._kept[section] = value


class ScheduleHost(Protocol):
    """Scheduled prompts."""

    def add(self, cron: str, prompt: str, *, recurring: bool, durable: bool) -> Mapping[str, Any]:
        """The stored job: id, cron, human, recurring, durable, prompt, next."""
        ...

    def remove(self, job_id: str) -> bool:
        """Whether it existed."""
        ...

    def all(self) -> Sequence[Mapping[str, Any]]:
        """All jobs, oldest first."""
        ...


class NoSchedule:
    """Nothing fires here: say so."""

    def add(self, cron: str, prompt: str, *, recurring: bool, durable: bool) -> Mapping[str, Any]:
        """Say that nothing would fire."""
        del cron, prompt, recurring, durable
        raise ToolError("Nothing can be scheduled in this session: it ends with the request.")

    def remove(self, job_id: str) -> bool:
        """There is nothing to remove."""
        del job_id
        return False

    def all(self) -> Sequence[Mapping[str, Any]]:
        """None."""
        return ()


class Clock(Protocol):
    """Time, so that tests can turn it."""

    def now(self) -> datetime:
        """The time now, with its zone."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The time now in the local zone."""
        return datetime.now(UTC).astimezone()

    async def sleep(self, seconds: float) -> None:
        """Wait; cancelled with the task."""
        await asyncio.sleep(seconds)


# -- what is known and kept --------------------------------------------------------------------------------------------


class ReadState(Protocol):
    """Which content of a file the model has seen, by canonical path. Sub-agents get a copy."""

    def record(self, real: Path, digest: str) -> None:
        """The model has now seen the content with this SHA-256 digest."""
        ...

    def seen(self, real: Path) -> str | None:
        """The digest of the content last seen, or None."""
        ...


class MemoryReadState:
    """Read-state in memory; the session stores it."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self.known: dict[str, str] = dict(known or {})

    def record(self, real: Path, digest: str) -> None:
        """Remember the digest."""
        self.known[str(real)] = digest

    def seen(self, real: Path) -> str | None:
        """The digest last recorded."""
        return self.known.get(str(real))


class Catalogue(Protocol):
    """All tools that exist, declared or deferred (ToolSearch)."""

    def entries(self) -> Sequence[tuple[ToolDefinition, tuple[str, ...], bool]]:
        """Definition, keywords and whether it is deferred, of every tool."""
        ...

    def declare(self, names: Sequence[str]) -> None:
        """Declare deferred tools from the next request on."""
        ...


class NoCatalogue:
    """Nothing to search."""

    def entries(self) -> Sequence[tuple[ToolDefinition, tuple[str, ...], bool]]:
        """None."""
        return ()

    def declare(self, names: Sequence[str]) -> None:
        """Nothing is deferred."""
        del names


class SettingsHost(Protocol):
    """The person's settings file (Config)."""

    def get(self, key: str) -> Any:
        """The value in force; KeyError for an unknown key."""
        ...

    def set(self, key: str, value: Any) -> Path:
        """Write it, keep everything else; the file that was written."""
        ...


class NoSettings:
    """No settings here: say so."""

    def get(self, key: str) -> Any:
        """Say that there are none."""
        raise ToolError(f"Settings cannot be read in this session, so {key!r} is unknown.")

    def set(self, key: str, value: Any) -> Path:
        """Say that there are none."""
        del value
        raise ToolError(f"Settings cannot be written in this session, so {key!r} was not changed.")


@dataclass(frozen=True, slots=True)
class HookVerdict:
    """What the hooks made of a call. They can only tighten: "pass", "ask" or "deny"."""

    decision: Literal["pass", "ask", "deny"] = "pass"
    reason: str = ""
    input: Mapping[str, Any] | None = None
    context: str = ""
    """Text that is added to the result for the model."""
    stop: bool = False
    """Whether the turn ends with this call."""


class HookHost(Protocol):
    """The hooks that a person configured."""

    async def before(self, call: ToolCall, ctx: ToolContext) -> HookVerdict:
        """PreToolUse."""
        ...

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> ToolResult:
        """PostToolUse or PostToolUseFailure: the result, perhaps with more context or replaced by a block."""
        ...


class NoHooks:
    """No hooks are configured."""

    async def before(self, call: ToolCall, ctx: ToolContext) -> HookVerdict:
        """Pass."""
        del call, ctx
        return HookVerdict()

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> ToolResult:
        """The result as it is."""
        del call, ctx
        return result


class SkillHost(Protocol):
    """Skills and commands that people wrote."""

    def names(self) -> Sequence[tuple[str, str]]:
        """Name and description of each."""
        ...

    def load(self, name: str, arguments: str) -> ToolResult:
        """The skill's text with its arguments filled in; metadata says allowed tools and commands to run."""
        ...


class NoSkills:
    """No skills are here: say so."""

    def names(self) -> Sequence[tuple[str, str]]:
        """None."""
        return ()

    def load(self, name: str, arguments: str) -> ToolResult:
        """Say that there are none."""
        del arguments
        return ToolResult.error(f"Skill {name!r} not found: no skills are available in this session.")


class McpHost(Protocol):
    """The connected MCP servers."""

    async def resources(self, server: str | None) -> Sequence[Mapping[str, Any]]:
        """uri, name, description, mimeType, server of each resource."""
        ...

    async def read(self, server: str | None, uri: str) -> ToolResult:
        """One resource: text, images as images, blobs on disk."""
        ...


class NoMcp:
    """No server is connected: say so."""

    _SAY = "No MCP servers connected. Configure MCP servers in settings."

    async def resources(self, server: str | None) -> Sequence[Mapping[str, Any]]:
        """Say that there is none."""
        del server
        raise ToolError(self._SAY)

    async def read(self, server: str | None, uri: str) -> ToolResult:
        """Say that there is none."""
        del server, uri
        raise ToolError(self._SAY)


class SnapshotHost(Protocol):
    """Keeps what a call is about to change, so that a turn can be taken back."""

    def begin(self, number: int, prompt: str) -> None:
        """Called when a turn starts."""
        ...

    async def before(self, touches: Sequence[Touch], ctx: ToolContext) -> None:
        """Called before the first effect of an approved call."""
        ...

    async def after(self, touches: Sequence[Touch], ctx: ToolContext) -> None:
        """Called when that call is over, however it ended."""
        ...

    async def end(self) -> None:
        """Called when the turn is over, however it ended."""
        ...


class NoSnapshots:
    """Nothing is kept."""

    def begin(self, number: int, prompt: str) -> None:
        """Keep nothing."""
        del number, prompt

    async def before(self, touches: Sequence[Touch], ctx: ToolContext) -> None:
        """Keep nothing."""
        del touches, ctx

    async def after(self, touches: Sequence[Touch], ctx: ToolContext) -> None:
        """Keep nothing."""
        del touches, ctx

    async def end(self) -> None:
        """Keep nothing."""


class SpillHost(Protocol):
    """Keeps on disk what is too long for the model."""

    def keep(self, text: str, name: str) -> Path | None:
        """Where the whole text is, or None when it could not be kept."""
        ...


class NoSpill:
    """Nothing is kept."""

    def keep(self, text: str, name: str) -> Path | None:
        """None."""
        del text, name
        return None


class CostTracker(Protocol):
    """Counts what a session costs."""

    def add(self, model: str, usage: Mapping[str, int]) -> None:
        """Count the tokens of one answer."""
        ...

    def total(self) -> float | None:
        """US dollars so far; None where a price is unknown."""
        ...


class NoCost:
    """Nothing is counted."""

    def add(self, model: str, usage: Mapping[str, int]) -> None:
        """Count nothing."""
        del model, usage

    def total(self) -> float | None:
        """Unknown."""
        return None
