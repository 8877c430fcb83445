"""EnterPlanMode: from now on nothing is changed, until a person approves the plan."""

from __future__ import annotations

from pydantic import Field

from cosh_tools.contract import (
    PermissionLevel,
    PermissionMode,
    Tool,
    ToolContext,
    ToolError,
    ToolInput,
    ToolKind,
    ToolResult,
)


class EnterPlanModeInput(ToolInput):
    """Arguments of EnterPlanMode."""

    reason: str = Field("", description="Why a plan is wanted first.")


class EnterPlanMode(Tool[EnterPlanModeInput]):
    """The gate enforces the mode; this tool only sets it."""

    name = "EnterPlanMode"
    description = (
        "Switch to plan mode, in which you can read and search but change and run nothing. Use it before work that is "
        "large, or open in a way that the person should decide. Leave it with ExitPlanMode when the plan stands."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "plan first"
    keywords = ("plan", "mode", "read-only", "design")

    def target(self, call: EnterPlanModeInput, ctx: ToolContext) -> str:
        """The reason."""
        del ctx
        return call.reason

    async def execute(self, call: EnterPlanModeInput, ctx: ToolContext) -> ToolResult:
        """Set the mode and remember the one before."""
        state = ctx.state
        if state.permission_mode is PermissionMode.PLAN:
            raise ToolError("Plan mode is on already. Finish the plan and call ExitPlanMode.")
        state.mode_before_plan, state.permission_mode = state.permission_mode, PermissionMode.PLAN
        said = f"Entered plan mode: {call.reason}" if call.reason else "Entered plan mode."
        text = f"{said} Only read-only operations are allowed. Look around, then call ExitPlanMode with the plan."
        return ToolResult.success(text).with_metadata(type="enter_plan_mode", reason=call.reason, mode="plan")
