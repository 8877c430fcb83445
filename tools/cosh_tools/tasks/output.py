"""TaskOutput: read what a background job wrote (waiting for its end), or append to a task's output."""

from __future__ import annotations

import json

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult
from cosh_tools.hosts import Job
from cosh_tools.tasks.background import job_as_json
from cosh_tools.tasks.task_list import ENDED, Task, TaskList

_LOOK = 0.25


class TaskOutputInput(ToolInput):
    """Arguments of TaskOutput."""

    task_id: str = Field(
        validation_alias=AliasChoices("task_id", "taskId", "bash_id", "shell_id", "id"),
        description="The id of a background shell or agent, or of a task.",
    )
    text: str | None = Field(
        None,
        validation_alias=AliasChoices("text", "output"),
        description="Text to append to a task's output. Leave it out to read.",
    )
    block: bool | None = Field(
        None, description="Whether to wait for its end. Default: yes for a background job, no for a task."
    )
    timeout: int = Field(30_000, ge=0, le=600_000, description="Milliseconds to wait at most.")


class TaskOutput(Tool[TaskOutputInput]):
    """With `text` it appends (the seed's TaskOutput); without, it reads and waits (Claude Code's)."""

    name = "TaskOutput"
    description = (
        "Read the output of a background shell or agent, waiting for its end up to a timeout, or of a task. With "
        "`text`, append that to a task's output instead."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    concurrency_safe = True
    verb = "read output"
    keywords = ("task", "output", "background", "wait", "shell", "result")

    async def execute(self, call: TaskOutputInput, ctx: ToolContext) -> ToolResult:
        """Append, or read."""
        job = ctx.jobs.get(call.task_id)
        if call.text is not None and job is None:
            tasks = TaskList(ctx.tasks, ctx.clock)
            task = tasks.change(call.task_id, output=(*tasks.get(call.task_id).output, call.text))
            tasks.save()
            said = {"success": True, "task_id": task.id, "outputs": len(task.output)}
            return ToolResult.success(json.dumps(said)).with_metadata(summary=f"{len(task.output)} kept")
        if job is not None:
            return await _job(job, call, ctx)
        return await _task(call, ctx)


async def _job(job: Job, call: TaskOutputInput, ctx: ToolContext) -> ToolResult:
    waits = call.block is not False and job.status == "running"
    if waits:
        await ctx.jobs.wait(job.id, call.timeout / 1000)
    running = job.status == "running"
    status = "success" if not running else "timeout" if waits else "not_ready"
    shown = {"retrieval_status": status, "task": job_as_json(job)}
    text = f"{json.dumps(shown, ensure_ascii=False)}\n{ctx.jobs.output(job.id) or '(no output yet)'}"
    return ToolResult.success(text).with_metadata(shown, summary=job.status, display=ctx.jobs.output(job.id))


async def _task(call: TaskOutputInput, ctx: ToolContext) -> ToolResult:
    task: Task | None = TaskList(ctx.tasks, ctx.clock).get(call.task_id)
    left = call.timeout / 1000 if call.block else 0.0
    while task is not None and task.status not in ENDED and left > 0:
        await ctx.clock.sleep(min(_LOOK, left))  # another agent may end it
        left -= _LOOK
        task = TaskList(ctx.tasks, ctx.clock).find(call.task_id)
    if task is None:
        return ToolResult.error(f"Task '{call.task_id}' was deleted meanwhile.")
    status = "success" if task.status in ENDED else "timeout" if call.block else "not_ready"
    output = "\n".join(task.output)
    shown = {"retrieval_status": status, "task": {"id": task.id, "subject": task.subject, "status": task.status}}
    text = f"{json.dumps(shown, ensure_ascii=False)}\n{output or '(no output)'}"
    return ToolResult.success(text).with_metadata(shown, summary=task.status, display=output)
