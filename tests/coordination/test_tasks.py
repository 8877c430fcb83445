"""The task list: ids, links, states; and the background jobs that share its tools."""

from __future__ import annotations

import asyncio
import json
import uuid
from pathlib import Path

import pytest

from support.coordination_desk import CoordinationDesk
from support.waiting import alive, until


@pytest.fixture
async def desk(tmp_path: Path):
    made = CoordinationDesk(tmp_path)
    yield made
    await made.jobs.close()


async def create(desk: CoordinationDesk, subject: str, **more: object) -> str:
    result = await desk("TaskCreate", subject=subject, description="d", **more)
    return json.loads(result.content)["task_id"]


async def get(desk: CoordinationDesk, task_id: str) -> dict[str, object]:
    return json.loads((await desk("TaskGet", task_id=task_id)).content)


async def test_a_task_is_made_with_a_uuid_and_found_again(desk):
    task_id = await create(desk, "Write it", metadata={"size": 2}, activeForm="Writing it")
    assert str(uuid.UUID(task_id)) == task_id
    task = await get(desk, task_id)
    assert task["subject"] == "Write it"
    assert task["status"] == "pending"
    assert task["metadata"] == {"size": 2}
    assert task["active_form"] == "Writing it"


async def test_an_unknown_task_is_an_error_in_words(desk):
    for tool in ("TaskGet", "TaskUpdate", "TaskStop", "TaskOutput"):
        result = await desk(tool, task_id="nothing")
        assert result.is_error
        assert "Task 'nothing' not found" in result.content


async def test_both_spellings_of_the_id_are_understood(desk):
    task_id = await create(desk, "x")
    assert json.loads((await desk("TaskGet", taskId=task_id)).content)["id"] == task_id


async def test_an_update_says_which_fields_it_changed(desk):
    task_id = await create(desk, "x")
    result = await desk("TaskUpdate", task_id=task_id, status="in-progress", owner="me", metadata={"a": 1})
    assert json.loads(result.content) == {
        "success": True, "task_id": task_id, "updated_fields": ["status", "owner", "metadata"],
    }  # fmt: skip
    assert (await get(desk, task_id))["status"] == "in_progress"


async def test_metadata_merges_and_null_takes_away(desk):
    task_id = await create(desk, "x", metadata={"a": 1, "b": 2})
    await desk("TaskUpdate", task_id=task_id, metadata={"a": None, "c": 3})
    assert (await get(desk, task_id))["metadata"] == {"b": 2, "c": 3}


async def test_links_are_kept_on_both_sides(desk):
    one, two, three = [await create(desk, name) for name in ("one", "two", "three")]
    await desk("TaskUpdate", task_id=one, addBlocks=[two])
    await desk("TaskUpdate", task_id=three, addBlockedBy=[two])
    assert (await get(desk, two))["blocked_by"] == [one]
    assert (await get(desk, two))["blocks"] == [three]
    await desk("TaskUpdate", task_id=two, status="deleted")
    assert "blocks" not in await get(desk, one)
    assert "blocked_by" not in await get(desk, three)


async def test_a_circle_is_refused_and_nothing_of_the_update_is_kept(desk):
    one, two, three = [await create(desk, name) for name in ("one", "two", "three")]
    await desk("TaskUpdate", task_id=one, addBlocks=[two])
    await desk("TaskUpdate", task_id=two, addBlocks=[three])
    result = await desk("TaskUpdate", task_id=three, subject="changed", addBlocks=[one])
    assert result.is_error
    assert "neither could ever start" in result.content
    assert (await get(desk, three))["subject"] == "three"
    assert (await desk("TaskUpdate", task_id=one, addBlocks=[one])).is_error


async def test_a_bad_status_or_an_unknown_link_changes_nothing(desk):
    task_id = await create(desk, "x")
    for wrong in ({"status": "finished"}, {"addBlocks": ["nobody"]}):
        result = await desk("TaskUpdate", task_id=task_id, subject="changed", **wrong)
        assert result.is_error
    assert (await get(desk, task_id))["subject"] == "x"


async def test_the_list_shows_what_still_blocks_and_leaves_out_the_deleted(desk):
    one, two = [await create(desk, name) for name in ("one", "two")]
    await desk("TaskUpdate", task_id=one, addBlocks=[two])
    listed = json.loads((await desk("TaskList")).content)
    assert [(task["subject"], task["blocked_by"]) for task in listed] == [("one", []), ("two", [one])]
    await desk("TaskUpdate", task_id=one, status="completed")
    listed = json.loads((await desk("TaskList", status="pending")).content)
    assert [(task["subject"], task["blocked_by"]) for task in listed] == [("two", [])]
    await desk("TaskUpdate", task_id=two, status="deleted")
    assert [task["subject"] for task in json.loads((await desk("TaskList")).content)] == ["one"]
    assert (await desk("TaskList", include_completed=False)).content == "No tasks."


async def test_stopping_a_task_fails_it(desk):
    task_id = await create(desk, "x")
    assert not (await desk("TaskStop", task_id=task_id)).is_error
    assert (await get(desk, task_id))["status"] == "failed"
    again = await desk("TaskStop", task_id=task_id)
    assert again.is_error
    assert "is not running (status: failed)" in again.content


async def test_stopping_a_task_ends_the_job_it_names(desk):
    started = await desk("Bash", command="echo $$; sleep 300", run_in_background=True)
    job = started.metadata["job"]
    task_id = await create(desk, "x", metadata={"job": job})
    await desk("TaskStop", task_id=task_id)
    assert desk.jobs.get(job).status == "killed"
    assert (await get(desk, task_id))["status"] == "failed"


async def test_output_is_appended_and_read(desk):
    task_id = await create(desk, "x")
    await desk("TaskOutput", task_id=task_id, text="first")
    await desk("TaskOutput", task_id=task_id, output="second")
    result = await desk("TaskOutput", task_id=task_id)
    head, _, text = result.content.partition("\n")
    assert json.loads(head)["retrieval_status"] == "not_ready"
    assert text == "first\nsecond"


async def test_waiting_for_a_task_ends_when_another_agent_ends_it(desk):
    task_id = await create(desk, "x")
    waiting = asyncio.create_task(desk("TaskOutput", task_id=task_id, block=True, timeout=20_000))
    await asyncio.sleep(0)
    await desk("TaskUpdate", task_id=task_id, status="completed", output="there")
    result = await waiting
    assert json.loads(result.content.partition("\n")[0])["retrieval_status"] == "success"


async def test_a_background_command_is_seen_read_and_stopped_by_the_same_tools(desk):
    started = await desk("Bash", command="echo $$; sleep 300", run_in_background=True)
    job = started.metadata["job"]
    await until(lambda: desk.jobs.output(job))
    assert [task["type"] for task in json.loads((await desk("TaskList", status="in_progress")).content)] == ["shell"]
    reading = await desk("TaskOutput", task_id=job, block=False)
    head, _, text = reading.content.partition("\n")
    assert json.loads(head)["retrieval_status"] == "not_ready"
    pid = int(text)
    stopped = await desk("TaskStop", shell_id=job)
    assert json.loads(stopped.content)["task_type"] == "shell"
    assert not alive(pid)
    assert json.loads((await desk("TaskGet", task_id=job)).content)["status"] == "killed"


async def test_reading_waits_for_the_end(desk):
    started = await desk("Bash", command="sleep 0.3; echo done", run_in_background=True)
    result = await desk("TaskOutput", task_id=started.metadata["job"])
    assert '"retrieval_status": "success"' in result.content
    assert "done" in result.content
    started = await desk("Bash", command="sleep 300", run_in_background=True)
    assert '"timeout"' in (await desk("TaskOutput", task_id=started.metadata["job"], timeout=50)).content


async def test_the_old_names_still_work(desk):
    started = await desk("Bash", command="echo hi", run_in_background=True)
    assert "hi" in (await desk("BashOutput", bash_id=started.metadata["job"])).content
    started = await desk("Bash", command="sleep 300", run_in_background=True)
    assert not (await desk("KillShell", shell_id=started.metadata["job"])).is_error


async def test_tasks_outlive_the_context_in_the_session_s_store(tmp_path):
    from cosh_tools.hosts import NoTasks

    store = NoTasks()
    task_id = await create(CoordinationDesk(tmp_path, tasks=store), "x")
    json.dumps(store.load("tasks"))
    assert (await get(CoordinationDesk(tmp_path, tasks=store), task_id))["subject"] == "x"
