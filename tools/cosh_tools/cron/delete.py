"""CronDelete: take a scheduled prompt back."""

from __future__ import annotations

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolError, ToolInput, ToolKind, ToolResult


class CronDeleteInput(ToolInput):
    """Arguments of CronDelete."""

    id: str = Field(
        validation_alias=AliasChoices("id", "job_id"), description="The id that CronCreate or CronList gave."
    )


class CronDelete(Tool[CronDeleteInput]):
    """Removes it for good, also from the file."""

    name = "CronDelete"
    description = "Cancel a scheduled prompt by its id."
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "unschedule"
    keywords = ("cron", "cancel", "schedule", "remove")

    async def execute(self, call: CronDeleteInput, ctx: ToolContext) -> ToolResult:
        """Remove it."""
        if not ctx.schedule.remove(call.id):
            raise ToolError(f"Cron task '{call.id}' not found. CronList shows those that there are.")
        return ToolResult.success(f"Deleted cron task '{call.id}'.")
