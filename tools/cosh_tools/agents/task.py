"""Task: hand a piece of work to a sub-agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult, Touch, Uses
from cosh_tools.hosts import AgentSpec

GENERAL = "general-purpose"


class TaskInput(ToolInput):
    """Arguments of Task."""

    description: str = Field(min_length=1, description="The work in three to five words.")
    prompt: str = Field(
        min_length=1, description="The whole request: the agent knows nothing else of the conversation."
    )
    subagent_type: str = Field(
        "",
        validation_alias=AliasChoices("subagent_type", "agent", "type"),
        description="A named agent: build, plan (read-only), explore (search only), or one of .claude/agents.",
    )
    name: str = Field("", description="A name for SendMessage while it runs.")
    tools: list[str] | None = Field(None, description="The only tools it may use. Never more than you have.")
    system_prompt: str = Field("", description="Instructions in the place of the agent's own.")
    model: str | None = Field(None, description="Another model for it.")
    max_turns: int | None = Field(None, gt=0, le=200, description="Model calls at most. Default 10.")
    isolation: Literal["worktree"] | None = Field(
        None, description="worktree: it works in a git worktree of its own, which stays if it changed something."
    )
    run_in_background: bool = Field(
        False, description="Return at once with a task id; TaskOutput reads the result, TaskStop ends it."
    )


class Task(Tool[TaskInput]):
    """Its own loop, history and tools; the same policy, never more rights."""

    name = "Task"
    aliases = ("Agent",)
    description = (
        "Start a sub-agent that works through a request on its own and returns its final answer. Use it for searches "
        "over many files and for independent pieces of work; several in one answer run at the same time. It sees only "
        "the prompt, so say everything in it, also what to report back."
    )
    kind, permission_level = ToolKind.SHELL_EXEC, PermissionLevel.EXECUTE
    concurrency_safe = True
    verb = "hand over"
    keywords = ("agent", "subagent", "delegate", "parallel", "spawn")

    def target(self, call: TaskInput, ctx: ToolContext) -> str:
        """The description."""
        del ctx
        return call.description

    def touches(self, call: TaskInput, ctx: ToolContext) -> Sequence[Touch]:
        """Which kind of agent is used; what that does is asked for as it does it."""
        del ctx
        return [Uses("Task", call.subagent_type or GENERAL)]

    async def execute(self, call: TaskInput, ctx: ToolContext) -> ToolResult:
        """Run it."""
        spec = AgentSpec(
            prompt=call.prompt,
            description=call.description,
            type=call.subagent_type,
            name=call.name,
            tools=tuple(call.tools) if call.tools is not None else None,
            system_prompt=call.system_prompt,
            model=call.model,
            max_turns=call.max_turns or 0,
            isolation=call.isolation,
            background=call.run_in_background,
        )
        return await ctx.agents.run(spec, ctx)
