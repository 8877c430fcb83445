"""The one registry of background work: shells that run on and agents that work beside the conversation."""

from __future__ import annotations

import asyncio
import secrets
import string
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from cosh_tools.hosts import Job
from cosh_tools.results import ToolError
from cosh_tools.shell.output import HeadTail

Kind = Literal["shell", "agent"]
Work = Callable[[Job, Callable[[str], None]], Awaitable[None]]

_LETTERS = {"shell": "b", "agent": "a"}
_ALPHABET = string.digits + string.ascii_lowercase
_OUTPUT = 60_000
_REMEMBERED = 200
_AT_ONCE = 64
_PATIENCE = 2.0


class Jobs:
    """Starts, watches and ends background work; a session has one and closes it at its end.

    `on_end` is told of each job that ended, on the loop that it ran on.
    """

    def __init__(self, on_end: Callable[[Job], None] = lambda _job: None) -> None:
        self._jobs: dict[str, Job] = {}
        self._output: dict[str, HeadTail] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._on_end = on_end
        self._closed = False

    def start(self, kind: Kind, title: str, work: Work) -> Job:
        """Start `work(job, write)` as a task of the running loop.

        It sets `job.exit_code` where there is one; raising fails the job, being cancelled must end all it started.
        """
        if self._closed:
            raise ToolError("The session is closing, so nothing new can be started in the background.")
        if len(self._tasks) >= _AT_ONCE:
            raise ToolError(f"{_AT_ONCE} background jobs are running already. Stop one with TaskStop first.")
        job = Job(self._new_id(kind), kind, title)
        kept = HeadTail(_OUTPUT)
        self._jobs[job.id] = job
        self._output[job.id] = kept
        self._forget()
        task = asyncio.get_running_loop().create_task(self._run(job, kept, work), name=f"job {job.id}")
        self._tasks[job.id] = task
        task.add_done_callback(lambda _task: self._ended(job))
        return job

    def get(self, job_id: str) -> Job | None:
        """The job of that id."""
        return self._jobs.get(job_id)

    def jobs(self) -> Sequence[Job]:
        """All that are remembered, oldest first."""
        return tuple(self._jobs.values())

    def output(self, job_id: str) -> str:
        """What it wrote so far: the beginning and the end."""
        kept = self._output.get(job_id)
        return kept.text() if kept is not None else ""

    async def wait(self, job_id: str, timeout: float) -> bool:
        """Whether it ended within `timeout` seconds."""
        task = self._tasks.get(job_id)
        if task is not None:
            await asyncio.wait({task}, timeout=timeout)
        return job_id not in self._tasks

    async def stop(self, job_id: str) -> bool:
        """Kill it and its process tree; whether it was running."""
        task = self._tasks.get(job_id)
        if task is None:
            return False
        task.cancel()
        await asyncio.wait({task}, timeout=_PATIENCE)
        return True

    async def close(self) -> None:
        """End everything: the session is over."""
        self._closed = True
        tasks = {*self._tasks.values()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_PATIENCE)

    async def _run(self, job: Job, kept: HeadTail, work: Work) -> None:
        def write(text: str) -> None:
            kept.write(text.encode("utf-8", "replace"))

        try:
            await work(job, write)
            job.status = "completed" if not job.exit_code else "failed"
        except ToolError as error:
            write(f"\n{error}")
            job.status = "failed"
        except Exception as error:  # noqa: BLE001  (whatever the work raises is the job's failure, not the loop's)
            write(f"\n{type(error).__name__}: {error}")
            job.status = "failed"

    def _ended(self, job: Job) -> None:
        """Also for a job that was stopped before its first step."""
        if job.status == "running":
            job.status = "killed"
        job.ended = time.time()
        self._tasks.pop(job.id, None)
        self._on_end(job)

    def _new_id(self, kind: Kind) -> str:
        while True:
            job_id = _LETTERS[kind] + "".join(secrets.choice(_ALPHABET) for _ in range(8))
            if job_id not in self._jobs:
                return job_id

    def _forget(self) -> None:
        """Old jobs that ended make room for new ones."""
        over = len(self._jobs) - _REMEMBERED
        for job_id in [job_id for job_id in self._jobs if job_id not in self._tasks][: max(over, 0)]:
            del self._jobs[job_id], self._output[job_id]
