"""Scheduled prompts: when they come, who fires them, and what becomes of runs that nobody was there for."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cosh_tools.cron.schedule import Schedule
from cosh_tools.results import ToolError
from support.coordination_desk import CoordinationDesk, TurnedClock, settle
from support.waiting import until

BERLIN = ZoneInfo("Europe/Berlin")


class Kernel:
    """One session with its schedule running; what it fired, and what it said."""

    def __init__(self, folder: Path, clock: TurnedClock, file: Path | None = None) -> None:
        self.clock = clock
        self.schedule = Schedule(folder, file or folder / "jobs.json", clock)
        self.fired: list[str] = []
        self.said: list[str] = []
        self.hold: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> Kernel:
        self._task = asyncio.create_task(self.schedule.run(self._fire, self.said.append))
        await settle()
        return self

    async def stop(self) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _fire(self, job: Mapping[str, Any]) -> None:
        self.fired.append(f"{job['prompt']} at {self.clock.now():%d. %H:%M}")
        if self.hold is not None:
            await self.hold.wait()


def at(text: str, zone: ZoneInfo = BERLIN) -> TurnedClock:
    return TurnedClock(datetime.fromisoformat(text).replace(tzinfo=zone))


async def test_a_job_fires_when_its_time_comes_and_again(tmp_path):
    kernel = await Kernel(tmp_path, at("2026-05-04 08:00")).start()
    kernel.schedule.add("0 9 * * *", "report", recurring=True, durable=False)
    await kernel.clock.pass_(step=600, hours=26)
    assert kernel.fired == ["report at 04. 09:00", "report at 05. 09:00"]
    await kernel.stop()


async def test_a_one_shot_fires_once_and_is_gone(tmp_path):
    kernel = await Kernel(tmp_path, at("2026-05-04 08:00")).start()
    for durable in (False, True):
        kernel.schedule.add("5 8 * * *", f"once {durable}", recurring=False, durable=durable)
    await kernel.clock.pass_(step=300, hours=25)
    assert sorted(kernel.fired) == ["once False at 04. 08:05", "once True at 04. 08:05"]
    assert kernel.schedule.all() == []
    await kernel.stop()


@pytest.mark.parametrize(
    ("cron", "runs"),
    [
        ("0 9,17 * * *", ["04. 09:00", "04. 17:00", "05. 09:00"]),
        ("30 8-10 * * *", ["04. 08:30", "04. 09:30", "04. 10:30"]),
        ("0 */8 * * *", ["04. 08:00", "04. 16:00", "05. 00:00"]),
        ("0 12 * * TUE,thu", ["05. 12:00", "07. 12:00"]),
        ("0 12 * * 7", ["10. 12:00"]),
        ("0 0 6 * 5", ["06. 00:00", "08. 00:00"]),
        ("0 0 * MAY *", ["05. 00:00", "06. 00:00"]),
    ],
)
async def test_lists_ranges_steps_names_and_either_day(tmp_path, cron, runs):
    kernel = await Kernel(tmp_path, at("2026-05-04 07:30")).start()
    kernel.schedule.add(cron, "x", recurring=True, durable=False)
    await kernel.clock.pass_(step=1_800, days=7)
    assert [run.removeprefix("x at ") for run in kernel.fired][: len(runs)] == runs
    await kernel.stop()


async def test_when_the_clock_jumps_ahead_the_run_in_the_gap_comes_once(tmp_path):
    kernel = await Kernel(tmp_path, at("2026-03-28 12:00")).start()
    kernel.schedule.add("30 2 * * *", "night", recurring=True, durable=False)
    kernel.schedule.add("*/30 1-3 * * *", "often", recurring=True, durable=False)
    await kernel.clock.pass_(step=300, hours=40)
    assert [run for run in kernel.fired if run.startswith("night")] == ["night at 29. 03:00", "night at 30. 02:30"]
    often = [run for run in kernel.fired if run.startswith("often at 29.")]
    assert often == ["often at 29. 01:00", "often at 29. 01:30", "often at 29. 03:00", "often at 29. 03:30"]
    await kernel.stop()


async def test_when_the_clock_is_set_back_a_daily_run_comes_once(tmp_path):
    kernel = await Kernel(tmp_path, at("2026-10-24 12:00")).start()
    kernel.schedule.add("30 2 * * *", "night", recurring=True, durable=False)
    await kernel.clock.pass_(step=300, hours=40)
    assert kernel.fired == ["night at 25. 02:30", "night at 26. 02:30"]
    await kernel.stop()


async def test_a_suspended_laptop_says_missed_runs_once_and_goes_on(tmp_path):
    kernel = await Kernel(tmp_path, at("2026-05-04 08:00")).start()
    job = kernel.schedule.add("0 * * * *", "hourly", recurring=True, durable=True)
    await kernel.clock.jump(hours=5, minutes=30)
    assert kernel.fired == []
    assert kernel.said == [
        f"5 runs of scheduled job {job['id']} (hourly) went by while nobody was here. Missed runs are not caught up."
    ]
    await kernel.clock.pass_(step=300, hours=1)
    assert kernel.fired == ["hourly at 04. 14:00"]
    assert len(kernel.said) == 1
    await kernel.stop()


async def test_waking_at_the_very_time_fires_that_run_and_says_the_others(tmp_path):
    kernel = await Kernel(tmp_path, at("2026-05-04 08:00")).start()
    kernel.schedule.add("0 * * * *", "hourly", recurring=True, durable=False)
    await kernel.clock.jump(hours=3, seconds=20)
    assert kernel.fired == ["hourly at 04. 11:00"]
    assert kernel.said[0].startswith("2 runs of")
    await kernel.stop()


async def test_a_one_shot_that_was_missed_is_said_and_gone(tmp_path):
    first = Kernel(tmp_path, at("2026-05-04 08:00"))
    first.schedule.add("0 9 * * *", "once", recurring=False, durable=True)
    later = await Kernel(tmp_path, at("2026-05-04 12:00")).start()
    assert later.fired == []
    assert later.said[0].startswith("A run of")
    assert later.schedule.all() == []
    await later.stop()


async def test_two_kernels_on_one_file_fire_each_job_in_one_of_them(tmp_path):
    clock = at("2026-05-04 08:00")
    kernels = [await Kernel(tmp_path, clock, tmp_path / "jobs.json").start() for _ in range(2)]
    for number in range(10):
        kernels[number % 2].schedule.add("0 9 * * *", f"job{number}", recurring=True, durable=True)
    await clock.pass_(step=30, hours=1, minutes=2)
    fired = [run for kernel in kernels for run in kernel.fired]
    assert sorted(fired) == [f"job{number} at 04. 09:00" for number in range(10)]
    for kernel in kernels:
        await kernel.stop()


async def test_a_job_of_another_workspace_is_neither_seen_nor_fired(tmp_path):
    clock = at("2026-05-04 08:00")
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    here = await Kernel(tmp_path / "here", clock, tmp_path / "jobs.json").start()
    there = Kernel(tmp_path / "there", clock, tmp_path / "jobs.json")
    job = there.schedule.add("0 9 * * *", "x", recurring=True, durable=True)
    assert here.schedule.all() == []
    assert not here.schedule.remove(job["id"])
    await clock.pass_(step=60, hours=2)
    assert here.fired == []
    await here.stop()


async def test_a_run_that_takes_longer_than_its_interval_is_not_doubled(tmp_path):
    kernel = await Kernel(tmp_path, at("2026-05-04 08:00")).start()
    kernel.hold = asyncio.Event()
    kernel.schedule.add("*/5 * * * *", "slow", recurring=True, durable=True)
    await kernel.clock.pass_(step=30, minutes=11)
    assert kernel.fired == ["slow at 04. 08:05"]
    assert "was left out" in kernel.said[0]
    kernel.hold.set()
    await settle()
    await kernel.clock.pass_(step=30, minutes=5)
    assert kernel.fired == ["slow at 04. 08:05", "slow at 04. 08:15"]
    await kernel.stop()


async def test_a_run_that_fails_is_said_and_the_schedule_goes_on(tmp_path):
    clock, said = at("2026-05-04 08:00"), []
    schedule = Schedule(tmp_path, tmp_path / "jobs.json", clock)
    schedule.add("*/5 * * * *", "x", recurring=True, durable=False)

    async def fails(job: Mapping[str, Any]) -> None:
        raise RuntimeError("no model")

    task = asyncio.create_task(schedule.run(fails, said.append))
    await settle()
    await clock.pass_(step=30, minutes=11)
    assert [sentence.endswith("failed: no model") for sentence in said] == [True, True]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


DIES = """
import asyncio, sys
from pathlib import Path
from cosh_tools.cron.schedule import Schedule
from datetime import datetime, timedelta
class Clock:
    offset = timedelta(0)
    def now(self): return datetime.now().astimezone() + self.offset
    async def sleep(self, seconds): await asyncio.sleep(min(seconds, 0.05))
async def main():
    clock = Clock()
    schedule = Schedule(Path(sys.argv[1]), Path(sys.argv[1]) / "jobs.json", clock)
    schedule.add("* * * * *", "often", recurring=True, durable=True)
    schedule.add("* * * * *", "once", recurring=False, durable=True)
    clock.offset = timedelta(seconds=60)
    async def fire(job):
        print(job["prompt"], flush=True)
        await asyncio.sleep(600)
    await schedule.run(fire)
asyncio.run(main())
"""


RIVAL = """
import asyncio, sys
from datetime import datetime, timedelta
from pathlib import Path
from cosh_tools.cron.schedule import Schedule
class Clock:
    def now(self): return datetime.now().astimezone() + timedelta(seconds=61)
    async def sleep(self, seconds): await asyncio.sleep(0.02)
async def main():
    schedule = Schedule(Path(sys.argv[1]), Path(sys.argv[1]) / "jobs.json", Clock())
    async def fire(job):
        print(job["prompt"], flush=True)
    sys.stdin.readline()
    try:
        await asyncio.wait_for(schedule.run(fire), 2)
    except TimeoutError:
        pass
asyncio.run(main())
"""


async def test_four_processes_at_once_fire_each_job_once(tmp_path):
    schedule = Schedule(tmp_path, tmp_path / "jobs.json")
    for number in range(20):
        schedule.add("* * * * *", f"job{number}", recurring=False, durable=True)
    pipe = asyncio.subprocess.PIPE
    rivals = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", RIVAL, str(tmp_path), stdin=pipe, stdout=pipe)
        for _ in range(4)
    ]
    outputs = await asyncio.gather(*(rival.communicate(b"go\n") for rival in rivals))
    fired = sorted(line for out, _ in outputs for line in out.decode().split())
    assert fired == sorted(f"job{number}" for number in range(20))
    assert schedule.all() == []


async def test_killed_while_firing_a_run_is_said_once_and_not_run_twice(tmp_path):
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DIES, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    begun = {(await asyncio.wait_for(child.stdout.readline(), 30)).strip() for _ in range(2)}
    assert begun == {b"often", b"once"}
    child.send_signal(signal.SIGKILL)
    await child.wait()
    clock = TurnedClock(datetime.now().astimezone(BERLIN))
    first = await Kernel(tmp_path, clock).start()
    assert sorted(sentence.split("(")[1].split(")")[0] for sentence in first.said) == ["often", "once"]
    assert all("was cut off while it ran" in sentence for sentence in first.said)
    assert first.fired == []
    assert [job["prompt"] for job in first.schedule.all()] == ["often"]
    await first.stop()
    second = await Kernel(tmp_path, clock).start()
    assert second.said == []
    await second.stop()


async def test_a_real_clock_fires_too(tmp_path):
    fired: list[str] = []
    schedule = Schedule(tmp_path, tmp_path / "jobs.json")
    made = schedule.add("* * * * *", "x", recurring=True, durable=True)
    data = json.loads((tmp_path / "jobs.json").read_text())
    data["tasks"][0]["next_run"] -= 60
    (tmp_path / "jobs.json").write_text(json.dumps(data))

    async def fire(job: Mapping[str, Any]) -> None:
        fired.append(job["id"])

    task = asyncio.create_task(schedule.run(fire))
    await until(lambda: fired == [made["id"]])
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    ("cron", "sentence"),
    [
        ("*/0 * * * *", "not a cron expression"),
        ("61 * * * *", "not a cron expression"),
        ("0 25 * * *", "not a cron expression"),
        ("10-5 * * * *", "not a cron expression"),
        ("0 0 31 2 *", "cron expression"),
        ("@daily", "five fields"),
        ("* * * * * *", "five fields"),
        ("every day", "five fields"),
        ("", "five fields"),
        ("a b c d e", "not a cron expression"),
    ],
)
async def test_a_wrong_expression_is_refused_in_words_and_the_rest_works(tmp_path, cron, sentence):
    schedule = Schedule(tmp_path, tmp_path / "jobs.json", at("2026-05-04 08:00"))
    schedule.add("0 9 * * *", "fine", recurring=True, durable=False)
    with pytest.raises(ToolError, match=sentence):
        schedule.add(cron, "x", recurring=True, durable=False)
    assert [job["prompt"] for job in schedule.all()] == ["fine"]


async def test_the_fifty_first_job_is_refused(tmp_path):
    schedule = Schedule(tmp_path, tmp_path / "jobs.json", at("2026-05-04 08:00"))
    for number in range(50):
        schedule.add("0 9 * * *", str(number), recurring=True, durable=number % 2 == 0)
    with pytest.raises(ToolError, match=r"Too many scheduled jobs \(max 50\)\. Cancel one first\."):
        schedule.add("0 9 * * *", "x", recurring=True, durable=False)
    assert schedule.remove(schedule.all()[0]["id"])
    schedule.add("0 9 * * *", "x", recurring=True, durable=True)


async def test_a_broken_file_is_said_and_left_as_it_is(tmp_path):
    file = tmp_path / "jobs.json"
    file.write_text("{ not json")
    schedule = Schedule(tmp_path, file, at("2026-05-04 08:00"))
    assert schedule.all() == []
    with pytest.raises(ToolError, match="not valid"):
        schedule.add("0 9 * * *", "x", recurring=True, durable=True)
    assert file.read_text() == "{ not json"
    schedule.add("0 9 * * *", "x", recurring=True, durable=False)


async def test_the_file_holds_what_others_can_read(tmp_path):
    schedule = Schedule(tmp_path, tmp_path / "jobs.json", at("2026-05-04 08:00"))
    job = schedule.add("0  9 * * *", "x", recurring=True, durable=True)
    (stored,) = json.loads((tmp_path / "jobs.json").read_text())["tasks"]
    assert {key: stored[key] for key in ("id", "cron", "prompt", "recurring", "durable")} == {
        "id": job["id"], "cron": "0 9 * * *", "prompt": "x", "recurring": True, "durable": True,
    }  # fmt: skip
    assert stored["workspace"] == str(tmp_path)
    assert len(job["id"]) == 8


async def test_the_tools_create_list_and_delete(tmp_path):
    schedule = Schedule(tmp_path, tmp_path / "jobs.json", at("2026-05-04 08:00"))
    desk = CoordinationDesk(tmp_path, schedule=schedule)
    made = await desk("CronCreate", cron="0 9 * * 1-5", prompt="Look at the build " * 9, durable=True)
    job = made.metadata["job"]["id"]
    assert made.content.startswith(f"Scheduled recurring job {job} (At 09:00 on Monday through Friday). Kept in ")
    once = await desk("CronCreate", cron="5 8 * * *", prompt="x", recurring=False)
    assert "Session-only" in once.content
    assert "Will fire once then auto-delete." in once.content
    listed = (await desk("CronList")).content.splitlines()
    assert listed[0] == "Scheduled tasks (2):"
    line = next(line for line in listed if line.startswith(job))
    assert line.startswith(
        f"{job} | 0 9 * * 1-5 | At 09:00 on Monday through Friday | recurring=true | durable=true | "
    )
    assert line.endswith("...")
    assert (await desk("CronDelete", id=job)).content == f"Deleted cron task '{job}'."
    gone = await desk("CronDelete", id=job)
    assert gone.is_error
    assert gone.content.startswith(f"Cron task '{job}' not found.")
    await desk("CronDelete", id=once.metadata["job"]["id"])
    assert (await desk("CronList")).content == "No scheduled cron tasks."
    assert (await desk("CronCreate", cron="*/0 * * * *", prompt="x")).is_error
