"""The file of lasting jobs: shared by all kernels of a person, changed under a lock, replaced whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from cosh_tools.own_files import write_atomic
from cosh_tools.results import ToolError


@dataclass(frozen=True, slots=True)
class StoredJob:
    """One job. Times are seconds since the epoch; `running` marks the process that has taken it."""

    id: str
    cron: str
    prompt: str
    recurring: bool = True
    durable: bool = False
    created_at: float = 0.0
    workspace: str = ""
    next_run: float | None = None
    running: str | None = None


class JobFile:
    """Reads without the lock (the file is replaced whole), changes under it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[StoredJob]:
        """The jobs; none where the file is missing or cannot be understood."""
        try:
            return self._parse()
        except (OSError, ValueError):
            return []

    def change(self, how: Callable[[list[StoredJob]], Sequence[StoredJob]]) -> None:
        """Put the result of `how` in the place of the jobs.

        Raises ToolError where the file cannot be read or written: it is left as it is then.
        """
        from filelock import FileLock, Timeout  # loaded where something is scheduled for good

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(f"{self._path}.lock", timeout=5):
                try:
                    jobs = self._parse()
                except FileNotFoundError:
                    jobs = []
                self._write(how(jobs))
        except Timeout:
            raise ToolError(f"{self._path} is locked by another program. Try again in a moment.") from None
        except ValueError as error:
            raise ToolError(
                f"{self._path} is not valid ({error}), so nothing was changed. Mend or remove it."
            ) from None
        except OSError as error:
            raise ToolError(f"{self._path} cannot be written ({error.strerror}), so nothing was changed.") from None

    def _parse(self) -> list[StoredJob]:
        data = json.loads(self._path.read_text("utf-8"))
        values = data.get("tasks", []) if isinstance(data, dict) else data
        if not isinstance(values, list):
            raise ValueError("it holds no list of jobs")  # noqa: TRY004 (the file is wrong, not the type of a variable)
        return [job for value in values if (job := _job(value)) is not None]

    def _write(self, jobs: Sequence[StoredJob]) -> None:
        whole = {"tasks": [asdict(job) for job in jobs]}
        write_atomic(self._path, json.dumps(whole, ensure_ascii=False, indent=1))


def _job(value: Any) -> StoredJob | None:
    if not isinstance(value, dict):
        return None
    known = {each.name for each in fields(StoredJob)}
    given: dict[str, Any] = {name: item for name, item in value.items() if name in known}
    texts = ("id", "cron", "prompt")
    return StoredJob(**given) if all(isinstance(given.get(name), str) for name in texts) else None
