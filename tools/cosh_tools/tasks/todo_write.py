"""TodoWrite: replace the session's todo list in one step."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import AliasChoices, Field, field_validator

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolError, ToolInput, ToolKind, ToolResult
from cosh_tools.hosts import TaskHost
from cosh_tools.tasks import todo_list
from cosh_tools.tasks.todo_list import Status, Todo


class TodoItem(ToolInput):
    """One item as the model sends it."""

    content: str = Field(min_length=1, description="What is to be done, in the imperative.")
    status: Status = Field(description="Where it stands: pending, in_progress or completed.")
    id: str | None = Field(None, description="A short id, kept from call to call. Left out, one is given.")
    active_form: str = Field(
        "",
        validation_alias=AliasChoices("activeForm", "active_form"),
        description='The same while it is being done ("Running the tests").',
    )
    priority: str = Field("", description="high, medium or low.")

    @field_validator("id", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        return str(value) if isinstance(value, int) else value

    @field_validator("status", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(value, str) else value


class TodoWriteInput(ToolInput):
    """Arguments of TodoWrite."""

    todos: list[TodoItem] = Field(description="The whole list, in order; it replaces the one before.")


class TodoWrite(Tool[TodoWriteInput]):
    """The whole list at once, or nothing of it."""

    name = "TodoWrite"
    description = (
        "Keep a todo list for work of three or more steps; the person sees it as a checklist. Send the whole list "
        "each time: it replaces the one before. Have one item in_progress, and mark it completed as soon as it is done."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "plan"
    keywords = ("todo", "checklist", "plan", "progress")

    def target(self, call: TodoWriteInput, ctx: ToolContext) -> str:
        """How many items there are."""
        del ctx
        return f"{len(call.todos)} todo{'s' * (len(call.todos) != 1)}"

    async def execute(self, call: TodoWriteInput, ctx: ToolContext) -> ToolResult:
        """Check the list against the one before, then replace it."""
        before = todo_list.load(ctx.tasks)
        _check(call.todos, {item.id: item for item in before})
        items = _with_ids(call.todos, before, ctx.tasks)
        todo_list.store(ctx.tasks, items)
        return ToolResult.success(_text(items)).with_metadata(todo_list.metadata(items))


def _check(given: Sequence[TodoItem], before: dict[str, Todo]) -> None:
    """Nothing is saved where an id is used twice or an item goes back."""
    seen: set[str] = set()
    for item in given:
        if item.id is None:
            continue
        if item.id in seen:
            raise ToolError(f'Duplicate task ID "{item.id}" in the provided list. IDs must be unique.')
        seen.add(item.id)
        old = before.get(item.id)
        if old is None or old.content != item.content or old.status == item.status:
            continue
        if old.status == "completed":
            raise ToolError(f'"{item.content}" ({item.id}) is completed and stays so. Add a new item instead.')
        if old.status == "in_progress" and item.status == "pending":
            raise ToolError(f'"{item.content}" ({item.id}) is in progress: it can be completed or left out.')


def _with_ids(given: Sequence[TodoItem], before: Sequence[Todo], host: TaskHost) -> list[Todo]:
    """The items; one without an id keeps the id of the item with the same words, or gets a new one."""
    taken = {item.id for item in given if item.id is not None}
    known = {item.content: item.id for item in before if item.id not in taken}
    items = []
    for item in given:
        item_id = item.id or known.pop(item.content, None) or str(todo_list.next_id(host))
        while item.id is None and item_id in taken:
            item_id = str(todo_list.next_id(host))
        taken.add(item_id)
        items.append(Todo(item_id, item.content, item.status, item.active_form, item.priority))
    return items


def _text(items: Sequence[Todo]) -> str:
    found = todo_list.counts(items)
    head = (
        f"Todo list updated ({found['total']} total: {found['pending']} pending, "
        f"{found['in_progress']} in progress, {found['completed']} completed)"
    )
    if not items:
        return head
    lines = [head, "", *(item.line for item in items), ""]
    if found["completed"] == found["total"]:
        lines.append("All items are done.")
    elif not found["in_progress"]:
        lines.append("Reminder: mark the item that you work on as in_progress.")
    elif found["in_progress"] > 1:
        lines.append(f"Reminder: {found['in_progress']} items are in progress; work on one at a time.")
    else:
        lines.append("Reminder: mark each item as completed as soon as it is done.")
    return "\n".join(lines)
