"""What becomes of a job whose time has come, decided without doing anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from cosh_tools.cron.store import StoredJob
from cosh_tools.cron.when import count_between, following, in_zone, latest

LATE = timedelta(seconds=120)
"""A run that is this late was missed: the machine slept, or nobody was there."""


@dataclass(frozen=True, slots=True)
class Due:
    """A job at its time. `fires` is False where only missed runs are to be said."""

    job: StoredJob
    at: datetime
    fires: bool
    missed: int = 0
    held_up: bool = False
    """Whether its run before still goes on, so that this one is left out."""


def take(job: StoredJob, now: datetime, mine: str, lives: Callable[[str], bool]) -> tuple[StoredJob | None, Due | None]:
    """The job as it is kept from now on (None: no longer), and what is to be done now (None: nothing).

    `mine` marks the job as taken by this process; `lives` says whether another mark's process still runs.
    """
    if job.next_run is None or job.next_run > now.timestamp():
        return job, None
    at = in_zone(datetime.fromtimestamp(job.next_run, UTC).astimezone(now.tzinfo))
    missed, fires = 0, True
    if now - at > LATE:
        runs = count_between(job.cron, at, now) if job.recurring else 1
        at = latest(job.cron, at, now) if job.recurring else at
        fires = now - at <= LATE
        missed = runs - int(fires)
    held_up = fires and job.running is not None and lives(job.running)
    due = Due(job, at, fires and not held_up, missed, held_up)
    if job.recurring:
        after = following(job.cron, now)
        kept = replace(job, next_run=after.timestamp() if after is not None else None)
        return (replace(kept, running=mine) if due.fires else kept), due
    if job.durable and due.fires:
        return replace(job, next_run=None, running=mine), due
    return None, due


def said(due: Due) -> str:
    """The sentence on runs that did not happen; empty where all is well."""
    name = f"scheduled job {due.job.id} ({short(due.job.prompt)})"
    if due.held_up:
        return f"The run of {name} at {due.at:%H:%M} was left out: the one before still goes on."
    if due.missed:
        runs = f"{due.missed} runs" if due.missed > 1 else "A run"
        return f"{runs} of {name} went by while nobody was here. Missed runs are not caught up."
    return ""


def short(text: str) -> str:
    """A prompt as one line."""
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."
