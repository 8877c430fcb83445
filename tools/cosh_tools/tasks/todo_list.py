"""The todo list of a session: one list under two faces, TodoWrite (claude) and todo (cosh)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from cosh_tools.hosts import TaskHost

Status = Literal["pending", "in_progress", "completed"]

STATUSES: tuple[Status, ...] = ("pending", "in_progress", "completed")
_MARKS = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}
_SECTION, _LAST = "todos", "todos_last_id"


@dataclass(frozen=True, slots=True)
class Todo:
    """One item. `active` says the same while it is being done ("Running the tests")."""

    id: str
    content: str
    status: Status = "pending"
    active: str = ""
    priority: str = ""

    @property
    def line(self) -> str:
        """The item as a line of the list."""
        return f"{_MARKS[self.status]} {self.content} ({self.id})"


def load(host: TaskHost) -> list[Todo]:
    """The items in order. What cannot be read as an item is left out."""
    stored = host.load(_SECTION)
    return [item for value in stored if (item := _item(value))] if isinstance(stored, list) else []


def store(host: TaskHost, items: Sequence[Todo]) -> None:
    """Replace the whole list."""
    host.store(_SECTION, [asdict(item) for item in items])
    numbers = [int(item.id) for item in items if item.id.isdecimal()]
    if numbers and max(numbers) > _last(host):
        host.store(_LAST, max(numbers))


def next_id(host: TaskHost) -> int:
    """An id that no item of this session ever had. It is taken at once."""
    new = _last(host) + 1
    host.store(_LAST, new)
    return new


def counts(items: Sequence[Todo]) -> dict[str, int]:
    """How many there are of each."""
    found = {"total": len(items)}
    for status in STATUSES:
        found[status] = sum(item.status == status for item in items)
    return found


def metadata(items: Sequence[Todo]) -> dict[str, Any]:
    """What a host needs to draw the checklist."""
    found = counts(items)
    return {
        **found,
        "todos": [asdict(item) for item in items],
        "summary": f"{found['completed']} of {found['total']} done" if items else "empty",
    }


def _last(host: TaskHost) -> int:
    last = host.load(_LAST)
    return last if isinstance(last, int) else 0


def _item(value: Any) -> Todo | None:
    if not isinstance(value, dict) or not isinstance(value.get("content"), str):
        return None
    status = value.get("status")
    return Todo(
        id=str(value.get("id", "")),
        content=value["content"],
        status=cast("Status", status) if status in STATUSES else "pending",
        active=str(value.get("active", "")),
        priority=str(value.get("priority", "")),
    )
