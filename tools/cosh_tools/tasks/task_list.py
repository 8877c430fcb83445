"""The session's task list: tasks with ids, states and links, kept as one JSON value and changed in one step."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, cast, get_args

from cosh_tools.hosts import Clock, TaskHost
from cosh_tools.results import ToolError

Status = Literal["pending", "in_progress", "completed", "failed"]

STATUSES: tuple[Status, ...] = get_args(Status)
ENDED = frozenset({"completed", "failed"})
_SECTION = "tasks"


@dataclass(frozen=True, slots=True)
class Task:
    """One task. `blocks` and `blocked_by` always name each other."""

    id: str
    subject: str
    description: str = ""
    status: Status = "pending"
    owner: str | None = None
    blocks: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    active_form: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    output: tuple[str, ...] = ()
    created_at: str = ""
    updated_at: str = ""

    def as_json(self) -> dict[str, Any]:
        """The task as the model reads it."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "", (), {})}


class TaskList:
    """The tasks as they stand; `save` puts all changes into the store at once."""

    def __init__(self, host: TaskHost, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        stored = host.load(_SECTION)
        self._tasks = {task.id: task for value in stored or () if (task := _task(value))}

    def all(self) -> list[Task]:
        """Oldest first."""
        return list(self._tasks.values())

    def find(self, task_id: str) -> Task | None:
        """The task of that id."""
        return self._tasks.get(task_id)

    def get(self, task_id: str) -> Task:
        """The task of that id, or a ToolError that names those that exist."""
        if task_id in self._tasks:
            return self._tasks[task_id]
        raise ToolError(f"Task '{task_id}' not found. TaskList shows the tasks that there are.")

    def add(self, subject: str, description: str, **more: Any) -> Task:
        """A new task."""
        now = self._now()
        task = Task(str(uuid.uuid4()), subject, description, created_at=now, updated_at=now, **more)
        self._tasks[task.id] = task
        return task

    def change(self, task_id: str, **changes: Any) -> Task:
        """The task with some fields exchanged."""
        changed = replace(self.get(task_id), **changes, updated_at=self._now())
        self._tasks[task_id] = changed
        return changed

    def remove(self, task_id: str) -> None:
        """Take a task out, and its id out of the links of others."""
        self.get(task_id)
        del self._tasks[task_id]
        for other in self.all():
            if task_id in (*other.blocks, *other.blocked_by):
                self._tasks[other.id] = replace(
                    other, blocks=_without(other.blocks, task_id), blocked_by=_without(other.blocked_by, task_id)
                )

    def link(self, first: str, then: str) -> None:
        """`first` blocks `then`. Raises ToolError where either is unknown or `first` already waits for `then`."""
        one, other = self.get(first), self.get(then)
        if first == then or self._waits_for(first, then):
            raise ToolError(
                f"'{one.subject}' cannot block '{other.subject}': it waits for it already, so neither could ever start."
            )
        self._tasks[first] = replace(one, blocks=_with(one.blocks, then))
        self._tasks[then] = replace(other, blocked_by=_with(other.blocked_by, first))

    def waiting_for(self, task: Task) -> list[str]:
        """The ids of unfinished tasks that block it."""
        return [
            task_id
            for task_id in task.blocked_by
            if (blocker := self._tasks.get(task_id)) is not None and blocker.status != "completed"
        ]

    def save(self) -> None:
        """Keep all changes."""
        self._host.store(_SECTION, [asdict(task) for task in self._tasks.values()])

    def _waits_for(self, task_id: str, other: str) -> bool:
        seen: set[str] = set()
        todo = [task_id]
        while todo:
            each = todo.pop()
            if each == other:
                return True
            if each not in seen and each in self._tasks:
                seen.add(each)
                todo.extend(self._tasks[each].blocked_by)
        return False

    def _now(self) -> str:
        return self._clock.now().isoformat(timespec="seconds")


def status_of(text: str) -> Status | Literal["deleted"]:
    """A status in any spelling (`in-progress`, `running`, `Completed`). Raises ToolError with those that exist."""
    name = text.strip().lower().replace("-", "_").replace(" ", "_")
    name = {"running": "in_progress", "done": "completed", "todo": "pending"}.get(name, name)
    if name in STATUSES or name == "deleted":
        return cast("Status", name)
    raise ToolError(f"Unknown status: {text}. Use one of: {', '.join((*STATUSES, 'deleted'))}.")


def _task(value: Any) -> Task | None:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str) or "subject" not in value:
        return None
    known = {each.name for each in fields(Task)}
    lists = {"blocks", "blocked_by", "output"}
    given: dict[str, Any] = {
        name: tuple(item) if name in lists else item for name, item in value.items() if name in known
    }
    return Task(**given)


def _with(ids: Sequence[str], more: str) -> tuple[str, ...]:
    return (*ids, more) if more not in ids else tuple(ids)


def _without(ids: Iterable[str], gone: str) -> tuple[str, ...]:
    return tuple(each for each in ids if each != gone)
