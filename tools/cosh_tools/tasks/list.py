"""TaskList: all tasks, and what runs in the background."""

from __future__ import annotations

import json

from pydantic import Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult
from cosh_tools.tasks.background import job_as_json
from cosh_tools.tasks.task_list import TaskList as Tasks
from cosh_tools.tasks.task_list import status_of


class TaskListInput(ToolInput):
    """Arguments of TaskList."""

    status: str | None = Field(None, description="Only tasks in this state.")
    include_completed: bool = Field(True, description="Whether completed ones are listed too.")


class TaskList(Tool[TaskListInput]):
    """Tasks that are not deleted, and the session's background jobs."""

    name = "TaskList"
    description = (
        "List the tasks of the session (id, subject, status, owner, unfinished tasks that block it) and its background "
        "shells and agents, which have a type."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    concurrency_safe = True
    verb = "list tasks"
    keywords = ("task", "list", "background", "jobs", "status")

    def target(self, call: TaskListInput, ctx: ToolContext) -> str:
        """The filter."""
        del ctx
        return call.status or ""

    async def execute(self, call: TaskListInput, ctx: ToolContext) -> ToolResult:
        """List them."""
        wanted = status_of(call.status) if call.status is not None else None
        tasks = Tasks(ctx.tasks, ctx.clock)
        listed = [
            {
                "id": task.id,
                "subject": task.subject,
                "status": task.status,
                **({"owner": task.owner} if task.owner else {}),
                "blocked_by": tasks.waiting_for(task),
            }
            for task in tasks.all()
            if (wanted is None or task.status == wanted)
            and (call.include_completed or task.status != "completed")
            and not task.metadata.get("_internal")
        ]
        states = {"in_progress": ("running",), "failed": ("failed", "killed"), "completed": ("completed",)}
        jobs = [job_as_json(job) for job in ctx.jobs.jobs() if wanted is None or job.status in states.get(wanted, ())]
        everything = [*listed, *jobs]
        text = json.dumps(everything, ensure_ascii=False, indent=1) if everything else "No tasks."
        return ToolResult.success(text).with_metadata(tasks=everything, summary=str(len(everything)))
