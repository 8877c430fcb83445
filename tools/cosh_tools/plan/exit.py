"""ExitPlanMode: a person approves the plan, and the mode from before comes back."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import AliasChoices, Field

from cosh_tools.contract import (
    Needs,
    PermissionLevel,
    PermissionMode,
    Tool,
    ToolContext,
    ToolError,
    ToolInput,
    ToolKind,
    ToolResult,
    Touch,
)


class ExitPlanModeInput(ToolInput):
    """Arguments of ExitPlanMode."""

    plan: str = Field(
        "",
        validation_alias=AliasChoices("plan", "summary"),
        description="The plan in Markdown: what will be changed and run, in which order. The person decides by it.",
    )


class ExitPlanMode(Tool[ExitPlanModeInput]):
    """States that it needs a person; whoever says no leaves the mode as it is."""

    name = "ExitPlanMode"
    description = (
        "Show the plan to the person and ask to begin. Once it is approved, plan mode ends and the permission mode "
        "from before it is in force again. Call it only when the plan is complete."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "begin"
    keywords = ("plan", "mode", "approve", "begin")

    def target(self, call: ExitPlanModeInput, ctx: ToolContext) -> str:
        """The plan's first line."""
        del ctx
        return next((line.strip("# ").strip() for line in call.plan.splitlines() if line.strip()), "the plan")

    def touches(self, call: ExitPlanModeInput, ctx: ToolContext) -> Sequence[Touch]:
        """Leaving plan mode needs a person, whatever the rules say of other things."""
        del call
        planning = ctx.permission_mode is PermissionMode.PLAN
        return [Needs("The work begins when you approve the plan.")] if planning else []

    async def execute(self, call: ExitPlanModeInput, ctx: ToolContext) -> ToolResult:
        """Bring the mode back."""
        state = ctx.state
        if state.permission_mode is not PermissionMode.PLAN:
            raise ToolError("Plan mode is not on, so there is nothing to leave. Go on with the work.")
        state.permission_mode = state.mode_before_plan or PermissionMode.DEFAULT
        state.mode_before_plan = None
        mode = state.permission_mode.value
        text = f"The plan is approved. Exited plan mode; the permission mode is {mode} again. Begin."
        if call.plan:
            text += f"\n\nThe approved plan:\n{call.plan}"
        result = ToolResult.success(text)
        return result.with_metadata(
            type="exit_plan_mode", plan=call.plan, mode=mode, summary="approved", display=call.plan
        )
