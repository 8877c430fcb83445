"""TaskStop: end a background job, or give a task up as failed."""

from __future__ import annotations

import json

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolError, ToolInput, ToolKind, ToolResult
from cosh_tools.hosts import Job
from cosh_tools.tasks.task_list import ENDED, TaskList


class TaskStopInput(ToolInput):
    """Arguments of TaskStop."""

    task_id: str = Field(
        validation_alias=AliasChoices("task_id", "taskId", "shell_id", "bash_id", "id"),
        description="The id of a background shell or agent, or of a task.",
    )


class TaskStop(Tool[TaskStopInput]):
    """Kills the process tree or the agent; a task becomes failed, together with the job that its metadata names."""

    name = "TaskStop"
    description = (
        "Stop a background shell or agent: everything it started is ended. A task of the task list becomes failed."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "stop"
    keywords = ("task", "stop", "kill", "background", "cancel")

    async def execute(self, call: TaskStopInput, ctx: ToolContext) -> ToolResult:
        """Stop it."""
        if job := ctx.jobs.get(call.task_id):
            return await _stop(job, ctx)
        tasks = TaskList(ctx.tasks, ctx.clock)
        task = tasks.get(call.task_id)
        if task.status in ENDED:
            raise ToolError(f"Task '{task.id}' is not running (status: {task.status}).")
        linked = ctx.jobs.get(str(task.metadata.get("job", "")))
        if linked is not None:
            await ctx.jobs.stop(linked.id)
        tasks = TaskList(ctx.tasks, ctx.clock)  # it may have changed while the job ended
        if tasks.find(task.id) is not None:
            tasks.change(task.id, status="failed")
            tasks.save()
        said = {"message": f"Task stopped: {task.subject}", "task_id": task.id, "task_type": "task", "status": "failed"}
        return ToolResult.success(json.dumps(said, ensure_ascii=False)).with_metadata(summary="failed")


async def _stop(job: Job, ctx: ToolContext) -> ToolResult:
    if job.status != "running" or not await ctx.jobs.stop(job.id):
        raise ToolError(f"Task '{job.id}' is not running (status: {job.status}).")
    said = {"message": f"Stopped: {job.title}", "task_id": job.id, "task_type": job.kind, "status": job.status}
    return ToolResult.success(json.dumps(said, ensure_ascii=False)).with_metadata(summary=job.status)
