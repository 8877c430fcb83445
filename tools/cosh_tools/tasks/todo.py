"""cosh's todo: add, list, done and remove on the session's todo list."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolError, ToolInput, ToolKind, ToolResult
from cosh_tools.tasks import todo_list


class TodoInput(ToolInput):
    """Arguments of todo."""

    action: Literal["add", "list", "done", "remove"] = Field(description="What to do with the list.")
    text: str | None = Field(None, description="The words of the item, for add.")
    id: int | str | None = Field(
        None, description="The number of the item, for done and remove.", json_schema_extra={"type": "integer"}
    )


class Todo(Tool[TodoInput]):
    """One item at a time; ids never come twice."""

    name = "todo"
    description = "Manage a list of todo items: add one, list them, mark one as done, remove one."
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    verb = "plan"
    keywords = ("todo", "checklist", "plan", "progress")

    def target(self, call: TodoInput, ctx: ToolContext) -> str:
        """The action and its object."""
        del ctx
        what = call.text or (f"#{call.id}" if call.id is not None else "")
        return f"{call.action} {what}".strip()

    async def execute(self, call: TodoInput, ctx: ToolContext) -> ToolResult:
        """Do the action."""
        items = todo_list.load(ctx.tasks)
        match call.action:
            case "list":
                done = [f"[{'x' if item.status == 'completed' else ' '}] #{item.id}: {item.content}" for item in items]
                return ToolResult.success("\n".join(done) or "No items.").with_metadata(todo_list.metadata(items))
            case "add":
                text = (call.text or "").strip()
                if not text:
                    raise ToolError("Missing 'text': say what the item is.")
                new = todo_list.Todo(str(todo_list.next_id(ctx.tasks)), text)
                items = [*items, new]
                said = f"Added item #{new.id}: {text}"
            case "done":
                wanted = _find(call, items)
                items = [replace(item, status="completed") if item.id == wanted else item for item in items]
                said = f"Marked #{wanted} as done"
            case "remove":
                wanted = _find(call, items)
                items = [item for item in items if item.id != wanted]
                said = f"Removed #{wanted}"
        todo_list.store(ctx.tasks, items)
        return ToolResult.success(said).with_metadata(todo_list.metadata(items))


def _find(call: TodoInput, items: list[todo_list.Todo]) -> str:
    if call.id is None:
        raise ToolError(f"Missing 'id': say which item to {'mark as done' if call.action == 'done' else 'remove'}.")
    wanted = str(call.id).removeprefix("#")
    if all(item.id != wanted for item in items):
        known = ", ".join(f"#{item.id}" for item in items) or "none"
        raise ToolError(f"There is no item #{wanted}. The items are: {known}.")
    return wanted
