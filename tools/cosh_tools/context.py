"""What a call gets to work with: where it is, what may be done, and what the host lends.

The context is shared by all calls of a session; `SessionState` is the only part that moves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from cosh_tools import hosts
from cosh_tools.kinds import PermissionMode
from cosh_tools.policy.protected import is_protected, is_secret
from cosh_tools.results import ToolError
from cosh_tools.touches import Reads, Writes

if TYPE_CHECKING:
    from cosh_tools.touches import Touch


@dataclass(frozen=True, slots=True)
class Worktree:
    """A git worktree that was made for this session, and where it came from."""

    path: Path
    branch: str
    repository: Path
    head: str
    """The commit that it began with."""
    came_from: Path


@dataclass(slots=True)
class SessionState:
    """Where a session stands. A sub-agent gets a copy, so that its moves stay its own."""

    workspace: Path
    """The folder that the person opened. Trust, rules and grants belong to it; it never moves."""
    working_dir: Path
    """Where relative paths start and where Bash runs; moves with `cd` and with a worktree."""
    permission_mode: PermissionMode = PermissionMode.DEFAULT
    extra_roots: list[Path] = field(default_factory=list)
    """Further folders that count as inside (additional directories, a worktree)."""
    mode_before_plan: PermissionMode | None = None
    """The mode that ExitPlanMode brings back."""
    worktree: Worktree | None = None
    """The worktree that EnterWorktree made; ExitWorktree leaves it."""
    narrowed_to: tuple[str, ...] | None = None
    """Rules of the skill at work: only what they allow may be called. The turn's end lifts it."""

    def copy(self) -> SessionState:
        """A state of its own with the same content."""
        return replace(self, extra_roots=list(self.extra_roots))


@dataclass(frozen=True)
class ToolContext:
    """Everything a tool may use. A host that lacks something lends an object that says so in a sentence."""

    state: SessionState
    session_id: str = "session"
    agent: str = "main"
    """The name under which this agent gets and sends messages."""
    call_id: str = ""
    """The call that is being executed."""
    non_interactive: bool = True
    toolset: str = "claude"
    """"claude" or "cosh": decides how results are trimmed."""
    permission_handler: hosts.PermissionHandler = field(default_factory=hosts.NobodyToAsk)
    cost_tracker: hosts.CostTracker = field(default_factory=hosts.NoCost)
    mcp_manager: hosts.McpHost | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    notebook: hosts.NotebookHost = field(default_factory=hosts.NoNotebook)
    kernel: hosts.KernelHost = field(default_factory=hosts.NoKernel)
    ask: hosts.AskHost = field(default_factory=hosts.NoAsk)
    agents: hosts.AgentHost = field(default_factory=hosts.NoAgents)
    jobs: hosts.JobHost = field(default_factory=hosts.NoJobs)
    read_state: hosts.ReadState = field(default_factory=hosts.MemoryReadState)
    catalogue: hosts.Catalogue = field(default_factory=hosts.NoCatalogue)
    settings: hosts.SettingsHost = field(default_factory=hosts.NoSettings)
    hooks: hosts.HookHost = field(default_factory=hosts.NoHooks)
    tasks: hosts.TaskHost = field(default_factory=hosts.NoTasks)
    schedule: hosts.ScheduleHost = field(default_factory=hosts.NoSchedule)
    inbox: hosts.InboxHost = field(default_factory=hosts.NoInbox)
    skills: hosts.SkillHost = field(default_factory=hosts.NoSkills)
    mcp: hosts.McpHost = field(default_factory=hosts.NoMcp)
    evidence: hosts.EvidenceHost = field(default_factory=hosts.NoEvidence)
    snapshots: hosts.SnapshotHost = field(default_factory=hosts.NoSnapshots)
    spill: hosts.SpillHost = field(default_factory=hosts.NoSpill)
    clock: hosts.Clock = field(default_factory=hosts.SystemClock)
    gate: hosts.GateHost = field(default_factory=hosts.ClosedGate)
    progress: Callable[[str], None] = lambda _text: None
    """Live output of the running call, for the card. Callable from the agent's loop."""

    @property
    def working_dir(self) -> Path:
        """Where relative paths start. Tools move it through `state`; the process never changes its own."""
        return self.state.working_dir

    @property
    def workspace(self) -> Path:
        """The folder that the person opened."""
        return self.state.workspace

    @property
    def permission_mode(self) -> PermissionMode:
        """The mode in force now."""
        return self.state.permission_mode

    def with_(self, **changes: Any) -> Self:
        """The same context with some parts exchanged; the state stays shared unless it is among them."""
        if unknown := changes.keys() - self.__dict__.keys():
            raise TypeError(f"a ToolContext has no {', '.join(sorted(unknown))}")
        made = object.__new__(type(self))
        # Every call takes one: dataclasses.replace would read and check all the other parts each time.
        made.__dict__.update(self.__dict__, **changes)
        return made

    def resolve_path(self, path: str) -> Path:
        """An absolute path: `~` expanded, relative ones joined to the working directory, `..` folded, links kept.

        Raises ToolError for a text that no path can be.
        """
        if "\0" in path:
            raise ToolError(f"{path!r} is not a path: no name holds a NUL character.")
        return Path(os.path.normpath(self.working_dir / Path(path).expanduser()))

    def reads(self, path: str) -> Reads:
        """The touch of reading `path`."""
        real = self._real(path)
        return Reads(path, real, self.is_inside(real), is_secret(real), os.path.lexists(real))

    def writes(self, path: str, *, deletes: bool = False) -> Writes:
        """The touch of writing `path`, whether it exists or not."""
        real = self._real(path)
        return Writes(path, real, self.is_inside(real), is_protected(real), os.path.lexists(real), deletes)

    def is_inside(self, real: Path) -> bool:
        """Whether a resolved path lies in the workspace or an added directory."""
        roots = (self.workspace, *self.state.extra_roots)
        return any(real.is_relative_to(os.path.realpath(root)) for root in roots)

    async def check_permission(self, name: str, touches: Sequence[Touch]) -> None:
        """Ask the gate about something learnt only while the tool runs (a redirect, a setup command).

        Raises PermissionDenied with the reason.
        """
        await self.gate.check(name, touches, self)

    def _real(self, path: str) -> Path:
        return Path(os.path.realpath(self.resolve_path(path)))
