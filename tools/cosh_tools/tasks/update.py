"""TaskUpdate: change a task, all of the changes or none."""

from __future__ import annotations

import json
from typing import Any

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult
from cosh_tools.tasks.task_list import TaskList, status_of


class TaskUpdateInput(ToolInput):
    """Arguments of TaskUpdate."""

    task_id: str = Field(validation_alias=AliasChoices("task_id", "taskId", "id"), description="The task to change.")
    subject: str | None = Field(None, min_length=1, description="New words for it.")
    description: str | None = Field(None, description="A new description.")
    status: str | None = Field(
        None, description="pending, in_progress, completed, failed; deleted takes it out of the list."
    )
    owner: str | None = Field(None, description="Who works on it.")
    active_form: str | None = Field(
        None,
        validation_alias=AliasChoices("activeForm", "active_form"),
        description="The same while it is being done.",
    )
    add_blocks: list[str] = Field(
        default_factory=list,
        validation_alias=AliasChoices("addBlocks", "add_blocks"),
        description="Ids of tasks that cannot start before this one is done.",
    )
    add_blocked_by: list[str] = Field(
        default_factory=list,
        validation_alias=AliasChoices("addBlockedBy", "add_blocked_by"),
        description="Ids of tasks that must be done before this one.",
    )
    metadata: dict[str, Any] | None = Field(None, description="Keys to set; null takes one away.")
    output: str | None = Field(None, description="Text to append to its output.")


class TaskUpdate(Tool[TaskUpdateInput]):
    """Nothing is saved where one of the changes cannot be made."""

    name = "TaskUpdate"
    description = (
        "Change a task of the session's task list: status, words, owner, what blocks it. Set in_progress when work "
        "begins and completed only when it is really done. All changes are made, or none."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "update task"
    keywords = ("task", "update", "status", "complete", "block")

    async def execute(self, call: TaskUpdateInput, ctx: ToolContext) -> ToolResult:
        """Change it."""
        tasks = TaskList(ctx.tasks, ctx.clock)
        before = tasks.get(call.task_id)
        status = status_of(call.status) if call.status is not None else None
        if status == "deleted":
            tasks.remove(before.id)
            tasks.save()
            return _said(before.id, ["status"]).with_metadata(summary="deleted")
        changes: dict[str, Any] = {
            "subject": call.subject,
            "description": call.description,
            "status": status,
            "owner": call.owner,
            "active_form": call.active_form,
            "output": (*before.output, call.output) if call.output is not None else None,
        }
        changes = {name: value for name, value in changes.items() if value is not None}
        if call.metadata is not None:
            merged = {**before.metadata, **call.metadata}
            changes["metadata"] = {key: value for key, value in merged.items() if value is not None}
        tasks.change(before.id, **changes)
        for other in call.add_blocks:
            tasks.link(before.id, other)
        for other in call.add_blocked_by:
            tasks.link(other, before.id)
        tasks.save()
        linked = [name for name in ("add_blocks", "add_blocked_by") if getattr(call, name)]
        task = tasks.get(before.id)
        result = _said(task.id, [*changes, *(name.removeprefix("add_") for name in linked)])
        return result.with_metadata(task=task.as_json(), summary=task.status)


def _said(task_id: str, updated: list[str]) -> ToolResult:
    return ToolResult.success(json.dumps({"success": True, "task_id": task_id, "updated_fields": updated}))
