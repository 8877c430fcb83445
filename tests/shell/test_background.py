"""Background work: one registry, bounded output, and an end for everything."""

from __future__ import annotations

import asyncio
import time

import pytest

from cosh_tools.hosts import Job
from cosh_tools.jobs import Jobs
from cosh_tools.results import ToolError
from support.waiting import alive, until


async def test_a_background_command_returns_at_once_and_goes_on(desk):
    started = time.monotonic()
    result = await desk("Bash", command="sleep 0.2; echo done", run_in_background=True)
    assert time.monotonic() - started < 2
    assert result.content.startswith("Command started in background.\nTask ID: b")
    job = desk.jobs.get(result.metadata["job"])
    assert await desk.jobs.wait(job.id, 10)
    assert (job.status, job.exit_code) == ("completed", 0)
    assert desk.jobs.output(job.id) == "done\n\n(exit code 0)"


async def test_it_has_no_timeout_unless_one_is_given(desk):
    result = await desk("Bash", command="sleep 300", run_in_background=True, timeout=200)
    job = desk.jobs.get(result.metadata["job"])
    assert await desk.jobs.wait(job.id, 10)
    assert job.status == "failed"
    assert "Timed out" in desk.jobs.output(job.id)


async def test_a_failing_one_is_failed_with_its_code(desk):
    result = await desk("Bash", command="echo no >&2; exit 4", run_in_background=True)
    job = desk.jobs.get(result.metadata["job"])
    assert await desk.jobs.wait(job.id, 10)
    assert (job.status, job.exit_code) == ("failed", 4)
    assert "no" in desk.jobs.output(job.id)


async def test_stopping_kills_the_tree_and_keeps_the_output(desk):
    result = await desk("Bash", command="echo $$; trap '' TERM; sleep 300 & wait", run_in_background=True)
    job = desk.jobs.get(result.metadata["job"])
    await until(lambda: desk.jobs.output(job.id).strip())
    pid = int(desk.jobs.output(job.id))
    assert await desk.jobs.stop(job.id)
    assert job.status == "killed"
    assert not alive(pid)
    assert desk.jobs.output(job.id).startswith(str(pid))
    assert not await desk.jobs.stop(job.id)


async def test_closing_the_session_ends_all(desk):
    pids = []
    for _ in range(3):
        result = await desk("Bash", command="echo $$; sleep 300", run_in_background=True)
        await until(lambda job=result.metadata["job"]: desk.jobs.output(job).strip())
        pids.append(int(desk.jobs.output(result.metadata["job"])))
    await desk.jobs.close()
    assert [job.status for job in desk.jobs.jobs()] == ["killed"] * 3
    assert not any(map(alive, pids))
    with pytest.raises(ToolError, match="closing"):
        desk.jobs.start("shell", "x", _nothing)


async def test_its_output_is_bounded(desk):
    result = await desk("Bash", command="seq 1 100000", run_in_background=True)
    assert await desk.jobs.wait(result.metadata["job"], 20)
    text = desk.jobs.output(result.metadata["job"])
    assert text.startswith("1\n2\n")
    assert "100000" in text
    assert len(text) < 61_000


async def test_a_job_stopped_before_its_first_step_is_killed():
    ended: list[Job] = []
    jobs = Jobs(ended.append)
    job = jobs.start("agent", "x", _nothing)
    assert await jobs.stop(job.id)
    assert job.status == "killed"
    assert ended == [job]


async def test_work_that_raises_fails_with_its_words():
    jobs = Jobs()
    job = jobs.start("agent", "x", _breaks)
    assert await jobs.wait(job.id, 5)
    assert job.status == "failed"
    assert "ValueError: it broke" in jobs.output(job.id)


async def test_waiting_says_whether_it_ended():
    jobs = Jobs()
    job = jobs.start("agent", "x", _for_ever)
    assert not await jobs.wait(job.id, 0.01)
    assert job.status == "running"
    await jobs.close()
    assert await jobs.wait(job.id, 0.01)
    assert await jobs.wait("nobody", 0.01)


async def test_ids_tell_shells_from_agents_and_do_not_repeat():
    jobs = Jobs()
    made = [jobs.start(kind, "x", _nothing) for kind in ("shell", "agent") for _ in range(20)]
    assert {job.id[0] for job in made} == {"a", "b"}
    assert len({job.id for job in made}) == 40
    await jobs.close()


async def test_too_many_at_once_are_refused():
    jobs = Jobs()
    for _ in range(64):
        jobs.start("shell", "x", _for_ever)
    with pytest.raises(ToolError, match="Stop one"):
        jobs.start("shell", "x", _for_ever)
    await jobs.close()


async def test_old_jobs_make_room():
    jobs = Jobs()
    for _ in range(300):
        job = jobs.start("shell", "x", _nothing)
        await jobs.wait(job.id, 5)
    assert len(jobs.jobs()) <= 201


async def _nothing(job, write):
    del job, write


async def _breaks(job, write):
    raise ValueError("it broke")


async def _for_ever(job, write):
    await asyncio.Event().wait()
