"""CronCreate: a prompt that comes back at set times."""

from __future__ import annotations

from pydantic import Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult


class CronCreateInput(ToolInput):
    """Arguments of CronCreate."""

    cron: str = Field(description="Five fields, minute hour day month weekday, in local time: `0 9 * * 1-5`.")
    prompt: str = Field(min_length=1, description="What to do then, as a request that stands alone.")
    recurring: bool = Field(True, description="false: once, at the next match, then it is gone.")
    durable: bool = Field(
        False, description="true: it survives this session; a later session of this workspace runs it."
    )


class CronCreate(Tool[CronCreateInput]):
    """At most 50 jobs."""

    name = "CronCreate"
    description = (
        "Schedule a prompt: it is taken up as a turn of its own when the conversation is idle at that time. The person "
        "may be away then, so nothing that needs approval will be done. Day of month and weekday together mean either."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "schedule"
    keywords = ("cron", "schedule", "timer", "recurring", "remind", "later")

    def target(self, call: CronCreateInput, ctx: ToolContext) -> str:
        """The prompt's first words."""
        del ctx
        return " ".join(call.prompt.split())[:60]

    async def execute(self, call: CronCreateInput, ctx: ToolContext) -> ToolResult:
        """Schedule it."""
        job = ctx.schedule.add(call.cron, call.prompt, recurring=call.recurring, durable=call.durable)
        where = "Kept in ~/.claude/scheduled_tasks.json" if call.durable else "Session-only: it ends with this session"
        if call.recurring:
            text = f"Scheduled recurring job {job['id']} ({job['human']}). {where}."
        else:
            text = f"Scheduled one-shot task {job['id']} ({job['human']}). {where}. Will fire once then auto-delete."
        return ToolResult.success(f"{text} Next run: {job['next']}.").with_metadata(job=dict(job), summary=job["human"])
