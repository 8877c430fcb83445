"""TaskCreate: a new task in the session's list."""

from __future__ import annotations

import json
from typing import Any

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult
from cosh_tools.tasks.task_list import TaskList


class TaskCreateInput(ToolInput):
    """Arguments of TaskCreate."""

    subject: str = Field(min_length=1, description="What is to be done, short, in the imperative.")
    description: str = Field(description="What exactly, and when it counts as done.")
    active_form: str = Field(
        "",
        validation_alias=AliasChoices("activeForm", "active_form"),
        description='The same while it is being done ("Running the tests").',
    )
    metadata: dict[str, Any] = Field(default_factory=dict, description="Anything else to keep with it.")


class TaskCreate(Tool[TaskCreateInput]):
    """Adds one task; its id is a UUID."""

    name = "TaskCreate"
    description = (
        "Create a task in the session's task list, for work that is tracked over many steps or shared with other "
        "agents. For your own short checklist use TodoWrite."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "add task"
    keywords = ("task", "create", "track", "work")

    async def execute(self, call: TaskCreateInput, ctx: ToolContext) -> ToolResult:
        """Add it."""
        tasks = TaskList(ctx.tasks, ctx.clock)
        task = tasks.add(call.subject, call.description, metadata=call.metadata, active_form=call.active_form)
        tasks.save()
        text = json.dumps({"task_id": task.id, "subject": task.subject}, ensure_ascii=False)
        return ToolResult.success(text).with_metadata(task=task.as_json(), summary=task.id[:8])
