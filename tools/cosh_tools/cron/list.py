"""CronList: what is scheduled."""

from __future__ import annotations

from cosh_tools.contract import NoInput, PermissionLevel, Tool, ToolContext, ToolKind, ToolResult


class CronList(Tool[NoInput]):
    """The session's jobs and the lasting ones of this workspace."""

    name = "CronList"
    description = "List the scheduled prompts, with their times in words."
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    concurrency_safe = True
    verb = "list the schedule"
    keywords = ("cron", "schedule", "list", "timer")

    async def execute(self, call: NoInput, ctx: ToolContext) -> ToolResult:
        """List them."""
        del call
        jobs = ctx.schedule.all()
        if not jobs:
            return ToolResult.success("No scheduled cron tasks.").with_metadata(jobs=[], summary="none")
        lines = [f"Scheduled tasks ({len(jobs)}):"]
        for job in jobs:
            prompt = " ".join(str(job["prompt"]).split())
            short = prompt if len(prompt) <= 60 else f"{prompt[:60]}..."
            lines.append(
                f"{job['id']} | {job['cron']} | {job['human']} | recurring={str(job['recurring']).lower()} | "
                f"durable={str(job['durable']).lower()} | next: {job['next']} | prompt: {short}"
            )
        return ToolResult.success("\n".join(lines)).with_metadata(
            jobs=[dict(job) for job in jobs], summary=str(len(jobs))
        )
