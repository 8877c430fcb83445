"""Variables: what is defined in the person's kernel, in a line each."""

from __future__ import annotations

from pydantic import Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult


class VariablesInput(ToolInput):
    """Arguments of Variables."""

    names: tuple[str, ...] = Field((), description="Only these variables. Leave it out for all that the user defined.")
    limit: int = Field(60, ge=1, le=500, description="How many to list at most.")


class Variables(Tool[VariablesInput]):
    """Names, types, shapes and sizes, without running anything."""

    name = "Variables"
    description = (
        "List the variables of the user's kernel: name, type, shape or size, column names, and a short look at plain "
        "values. It runs no code of the user's, so it is safe and fast; use Python to look into one."
    )
    kind, permission_level = ToolKind.READ_ONLY, PermissionLevel.READ_ONLY
    concurrency_safe = True
    verb = "look at"
    keywords = ("variables", "namespace", "globals", "dataframe", "shape", "inspect")

    def target(self, call: VariablesInput, ctx: ToolContext) -> str:
        """Their names."""
        del ctx
        return ", ".join(call.names[:5]) or "variables"

    async def execute(self, call: VariablesInput, ctx: ToolContext) -> ToolResult:
        """Sketch them."""
        text = await ctx.kernel.variables(call.names, call.limit)
        count = text.count("\n") + 1
        return ToolResult.success(text).with_metadata(summary=f"{count} line{'s' * (count != 1)}")
