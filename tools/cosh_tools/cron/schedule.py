"""The schedule of a session: its own jobs in memory, lasting ones in a file that all kernels share.

A lasting job is taken under the file's lock before it runs, so that it runs in one session only, whatever happens
afterwards. Runs that nobody was there for are said once and not caught up.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cosh_tools.cron.due import Due, said, short, take
from cosh_tools.cron.store import JobFile, StoredJob
from cosh_tools.cron.when import check, in_words, in_zone
from cosh_tools.hosts import Clock, SystemClock
from cosh_tools.results import ToolError

Fire = Callable[[Mapping[str, Any]], Awaitable[None]]
Say = Callable[[str], None]

MOST = 50
_NAP = 30.0
"""Seconds after which the file is looked at again: another kernel may have changed it, the machine may have slept."""


class Schedule:
    """hosts.ScheduleHost, and the loop that fires."""

    def __init__(self, workspace: Path, file: Path, clock: Clock | None = None) -> None:
        self._workspace = str(Path(os.path.realpath(workspace)))
        self._clock = clock or SystemClock()
        self._file = JobFile(file)
        self._own: dict[str, StoredJob] = {}
        self._changed = asyncio.Event()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._me = f"{os.getpid()}:{_born(os.getpid())}:{uuid.uuid4().hex[:8]}"

    def add(self, cron: str, prompt: str, *, recurring: bool, durable: bool) -> Mapping[str, Any]:
        """A new job. Raises ToolError for a wrong expression and for one job too many."""
        now = self._now()
        first = check(cron, now)
        if len(self._visible()) >= MOST:
            raise ToolError(f"Too many scheduled jobs (max {MOST}). Cancel one first.")
        job = StoredJob(
            id=uuid.uuid4().hex[:8],
            cron=" ".join(cron.split()),
            prompt=prompt,
            recurring=recurring,
            durable=durable,
            created_at=now.timestamp(),
            workspace=self._workspace,
            next_run=first.timestamp(),
        )
        if durable:
            self._file.change(lambda jobs: [*jobs, job])
        else:
            self._own[job.id] = job
        self._changed.set()
        return self._shown(job)

    def remove(self, job_id: str) -> bool:
        """Whether it existed. A run that has begun goes on."""
        if self._own.pop(job_id, None) is not None:
            self._changed.set()
            return True
        found = any(job.id == job_id and self._mine(job) for job in self._file.read())
        if found:
            self._file.change(lambda jobs: [job for job in jobs if job.id != job_id])
            self._changed.set()
        return found

    def all(self) -> Sequence[Mapping[str, Any]]:
        """The session's own jobs and the lasting ones of this workspace, oldest first."""
        return [self._shown(job) for job in sorted(self._visible(), key=lambda job: job.created_at)]

    async def run(self, fire: Fire, say: Say = lambda _text: None) -> None:
        """Fire jobs as they come due, until cancelled. `fire` gets a job, `say` sentences about runs that were not."""
        try:
            while True:
                self._changed.clear()
                try:
                    for sentence in self._cut_off():
                        say(sentence)
                    for due in self._take():
                        self._begin(due, fire, say)
                except ToolError as error:
                    say(f"The schedule cannot be kept just now: {error}")
                await self._nap()
        finally:
            running = [*self._running.values()]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    # -- one look at the clock -----------------------------------------------------------------------------------

    def _begin(self, due: Due, fire: Fire, say: Say) -> None:
        if sentence := said(due):
            say(sentence)
        if not due.fires:
            return
        job = due.job
        task = asyncio.get_running_loop().create_task(self._fire(due, fire, say), name=f"cron {job.id}")
        self._running[job.id] = task
        task.add_done_callback(lambda _task: self._running.pop(job.id, None))

    async def _fire(self, due: Due, fire: Fire, say: Say) -> None:
        try:
            await fire({**self._shown(due.job), "due": due.at.isoformat(timespec="minutes")})
        except Exception as error:  # noqa: BLE001  (a run that failed is said; the schedule goes on)
            say(f"Scheduled job {due.job.id} ({short(due.job.prompt)}) failed: {error}")
        finally:
            if due.job.durable:
                self._free(due.job.id)

    def _take(self) -> list[Due]:
        """Everything that is due, the lasting jobs under the file's lock: nobody else can take those any more."""
        now, found = self._now(), list[Due]()

        def taken(job: StoredJob) -> StoredJob | None:
            kept, due = take(job, now, self._me, self._lives)
            found.extend([due] if due is not None else [])
            return kept

        own = [replace(job, running=self._me if job.id in self._running else None) for job in self._own.values()]
        self._own = {job.id: kept for job in own if (kept := taken(job)) is not None}
        due = (
            job.next_run is not None and job.next_run <= now.timestamp() for job in self._file.read() if self._mine(job)
        )
        if any(due):
            self._file.change(
                lambda jobs: [kept for job in jobs if (kept := taken(job) if self._mine(job) else job) is not None]
            )
        return found

    def _free(self, job_id: str) -> None:
        """A lasting job may be taken again; one that runs once is gone."""
        self._file.change(
            lambda jobs: [
                replace(job, running=None) if job.id == job_id else job
                for job in jobs
                if job.id != job_id or job.recurring
            ]
        )

    def _cut_off(self) -> list[str]:
        """Sentences on runs whose process died; said once, by whoever comes first."""
        found: list[str] = []

        def settled(jobs: list[StoredJob]) -> list[StoredJob]:
            kept = []
            for job in jobs:
                if not self._mine(job) or job.running is None or self._lives(job.running):
                    kept.append(job)
                    continue
                found.append(f"Scheduled job {job.id} ({short(job.prompt)}) was cut off while it ran.")
                if job.recurring:
                    kept.append(replace(job, running=None))
            return kept

        taken = (job.running for job in self._file.read() if self._mine(job))
        if any(mark is not None and not self._lives(mark) for mark in taken):
            self._file.change(settled)
        return found

    async def _nap(self) -> None:
        """Sleep until the next run, a change, or the next look at the file."""
        now = self._now().timestamp()
        runs = [job.next_run for job in self._visible() if job.next_run is not None]
        sleep = asyncio.ensure_future(self._clock.sleep(min([_NAP, *(max(run - now, 0.05) for run in runs)])))
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait({sleep, changed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            changed.cancel()

    # -- small things --------------------------------------------------------------------------------------------

    def _visible(self) -> list[StoredJob]:
        return [*self._own.values(), *(job for job in self._file.read() if self._mine(job))]

    def _mine(self, job: StoredJob) -> bool:
        return job.workspace == self._workspace

    def _lives(self, mark: str) -> bool:
        """Whether who took a job still runs. Numbers of processes come again, so their birth counts too."""
        if mark == self._me:
            return True
        pid, _, rest = mark.partition(":")
        return pid.isdecimal() and _born(int(pid)) == rest.partition(":")[0] != ""

    def _shown(self, job: StoredJob) -> Mapping[str, Any]:
        now = self._now()
        after = in_zone(datetime.fromtimestamp(job.next_run, UTC).astimezone(now.tzinfo)) if job.next_run else None
        return {
            "id": job.id,
            "cron": job.cron,
            "human": in_words(job.cron),
            "recurring": job.recurring,
            "durable": job.durable,
            "prompt": job.prompt,
            "created_at": job.created_at,
            "next": after.isoformat(timespec="minutes") if after is not None else None,
        }

    def _now(self) -> datetime:
        return in_zone(self._clock.now())


def _born(pid: int) -> str:
    """When a process was born; empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except OSError:
        return ""
    return "alive"
