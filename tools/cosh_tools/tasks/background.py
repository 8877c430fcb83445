"""Background jobs as the task tools show them: one id space with the tasks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from cosh_tools.hosts import Job


def job_as_json(job: Job) -> dict[str, Any]:
    """A job in the words of a task."""
    shown: dict[str, Any] = {
        "id": job.id,
        "type": job.kind,
        "subject": job.title.strip().partition("\n")[0][:200],
        "status": job.status,
        "started_at": _time(job.started),
    }
    if job.ended is not None:
        shown["ended_at"] = _time(job.ended)
    if job.exit_code is not None:
        shown["exit_code"] = job.exit_code
    return shown


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone().isoformat(timespec="seconds")
