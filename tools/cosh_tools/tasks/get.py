"""TaskGet: one task in full."""

from __future__ import annotations

import json

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult
from cosh_tools.tasks.background import job_as_json
from cosh_tools.tasks.task_list import TaskList


class TaskGetInput(ToolInput):
    """Arguments of TaskGet."""

    task_id: str = Field(
        validation_alias=AliasChoices("task_id", "taskId", "id"), description="The id that TaskCreate or TaskList gave."
    )


class TaskGet(Tool[TaskGetInput]):
    """All that is known of a task, or of a background job."""

    name = "TaskGet"
    description = (
        "Get one task of the session's task list in full, by its id. Ids of background jobs are understood too."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    concurrency_safe = True
    verb = "look at task"
    keywords = ("task", "get", "detail")

    async def execute(self, call: TaskGetInput, ctx: ToolContext) -> ToolResult:
        """Find it."""
        if job := ctx.jobs.get(call.task_id):
            found = job_as_json(job)
        else:
            tasks = TaskList(ctx.tasks, ctx.clock)
            found = tasks.get(call.task_id).as_json()
        return ToolResult.success(json.dumps(found, ensure_ascii=False, indent=1)).with_metadata(task=found)
