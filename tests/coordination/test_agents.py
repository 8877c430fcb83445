"""Sub-agents through the real loop: their own history and tools, the same policy, one Stop for all."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from cosh_nb import events as e
from cosh_nb.agent import Agent, FrontEnd, TurnOptions
from cosh_nb.settings import load
from cosh_nb.trust import Trust
from cosh_tools.hosts import Allowed, ApprovalAnswer, ApprovalRequest
from cosh_tools.kinds import PermissionMode
from cosh_tools.policy.rules import Rules, parse_rule
from support.cast import Cast
from support.scripted import Call, Say, sent_results
from support.waiting import alive, until


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COSH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COSH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home" / ".claude"))
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


class Stage:
    """A main agent with its cast, and what happened."""

    def __init__(self, work: Path, cast: Cast, *, front: FrontEnd | None = None, mode: PermissionMode | None = None,
                 **more: Any) -> None:  # fmt: skip
        self.cast = cast
        self.events: list[e.Event] = []
        self.agent = Agent(
            work, load(work, {}), front or FrontEnd(), mode=mode or PermissionMode.BYPASS, provider=cast, **more
        )

    async def play(self, text: str = "MAIN", options: TurnOptions | None = None) -> e.TurnEnded:
        try:
            return await self.agent.run(text, self.events.append, options)
        finally:
            if options is None:
                await self.agent.close()

    def result(self, number: int = 0) -> str:
        """What the main agent read of its call."""
        finished = [event for event in self.events if isinstance(event, e.ToolFinished)]
        return finished[number].result.content

    def nested(self, kind: type) -> list[Any]:
        return [
            event.event for event in self.events if isinstance(event, e.AgentEvent) and isinstance(event.event, kind)
        ]


def task(prompt: str, **more: Any) -> Call:
    return Call("Task", {"description": prompt.lower(), "prompt": prompt, **more})


async def test_it_has_its_own_history_and_returns_its_last_words(work):
    cast = Cast(
        MAIN=[[task("HELPER: look")], [Say("thanks")]], HELPER=[[Call("Glob", {"pattern": "*"})], [Say("two files")]]
    )
    stage = Stage(work, cast)
    ended = await stage.play()
    assert stage.result() == "two files"
    assert ended.text == "thanks"
    first = cast.requests("HELPER")[0]
    assert [message.text for message in first.messages] == ["HELPER: look"]
    assert "You are a sub-agent" in first.system
    assert "Glob" in {tool.name for tool in first.tools}
    assert {"AskUserQuestion", "ExitPlanMode", "Config", "CronCreate"}.isdisjoint(tool.name for tool in first.tools)


async def test_its_events_are_folded_under_the_call(work):
    cast = Cast(
        MAIN=[[Call("Task", {"description": "d", "prompt": "HELPER"}, "call-7")]],
        HELPER=[[Call("Glob", {"pattern": "*"})]],
    )
    stage = Stage(work, cast)
    await stage.play()
    folded = [event for event in stage.events if isinstance(event, e.AgentEvent)]
    assert {(event.call_id, event.agent) for event in folded} == {("call-7", "general-purpose")}
    kinds = [event.event.kind for event in folded]
    assert kinds[0] == "turn_started"
    assert kinds[-1] == "turn_ended"
    assert "tool_finished" in kinds


async def test_its_moves_and_todos_are_its_own_and_tasks_are_shared(work):
    (work / "sub").mkdir()
    todo = Call("TodoWrite", {"todos": [{"content": "mine", "status": "pending"}]})
    cast = Cast(
        MAIN=[[task("HELPER")], [Call("Bash", {"command": "pwd"}), Call("TaskList", {})]],
        HELPER=[
            [Call("Bash", {"command": "cd sub"}), todo, Call("TaskCreate", {"subject": "shared", "description": "d"})]
        ],
    )
    stage = Stage(work, cast)
    await stage.play()
    assert stage.result(1).startswith(str(work) + "\n")
    assert "shared" in stage.result(2)
    assert stage.agent.session.load("todos") is None


async def test_what_the_parent_has_read_it_may_edit_and_what_it_reads_stays_its_own(work):
    for name in ("a", "b"):
        (work / name).write_text("old")
    edit = {"old_string": "old", "new_string": "new"}
    cast = Cast(
        MAIN=[[Call("Read", {"file_path": "a"})], [task("HELPER")], [Call("Edit", {"file_path": "b", **edit})]],
        HELPER=[[Call("Edit", {"file_path": "a", **edit}), Call("Read", {"file_path": "b"})]],
    )
    stage = Stage(work, cast)
    await stage.play()
    assert (work / "a").read_text() == "new"
    assert (work / "b").read_text() == "old"


@pytest.mark.parametrize("kind", ["explore", "plan", "Explore"])
async def test_who_only_looks_cannot_write_by_any_road(work, kind):
    (work / "a").write_text("old")
    tries = [
        Call("Write", {"file_path": "new", "content": "x"}),
        Call("Edit", {"file_path": "a", "old_string": "old", "new_string": "x"}),
        Call("Bash", {"command": "touch new"}),
        Call("Task", {"description": "d", "prompt": "DEEPER", "subagent_type": "build"}),
        Call("EnterWorktree", {"branch": "x"}),
        Call("NotebookEdit", {"notebook_path": "n.ipynb", "new_source": "x", "edit_mode": "insert"}),
        Call("CronCreate", {"cron": "* * * * *", "prompt": "touch new"}),
        Call("ExitPlanMode", {"plan": "x"}),
    ]
    cast = Cast(
        MAIN=[[task("HELPER", subagent_type=kind)]], HELPER=[tries], DEEPER=[[Call("Bash", {"command": "touch new"})]]
    )
    stage = Stage(work, cast)
    await stage.play()
    assert all(text for text in sent_results(cast.requests("HELPER")[1]).values())
    assert all(event.result.is_error for event in stage.nested(e.ToolFinished))
    assert [path.name for path in work.iterdir()] == ["a"]
    assert (work / "a").read_text() == "old"


async def test_it_gets_no_more_tools_than_it_is_given(work):
    cast = Cast(
        MAIN=[[task("HELPER", tools=["Read", "glob"])]],
        HELPER=[[Call("Bash", {"command": "touch x"})], [Say("no bash")]],
    )
    stage = Stage(work, cast)
    await stage.play()
    assert [tool.name for tool in cast.requests("HELPER")[0].tools] == ["Glob", "Read"]
    assert "Unknown tool: Bash" in next(iter(sent_results(cast.requests("HELPER")[1]).values()))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"subagent_type": "wizard"}, "There is no agent 'wizard'. There are: build, explore, general-purpose, plan."),
        ({"tools": ["Read", "Fly"]}, "There is no tool Fly here."),
        ({"isolation": "worktree"}, "not in a git repository"),
        ({"max_turns": 0}, "max_turns"),
        ({"isolation": "moon"}, "isolation"),
    ],
)
async def test_what_cannot_be_done_is_said_and_nobody_is_started(work, arguments, sentence):
    stage = Stage(work, Cast(MAIN=[[task("HELPER", **arguments)]]))
    await stage.play()
    assert sentence in stage.result()
    assert stage.cast.requests("HELPER") == []


async def test_its_steps_are_bounded(work):
    looks = [[Call("Glob", {"pattern": str(number)})] for number in range(20)]
    stage = Stage(work, Cast(MAIN=[[task("HELPER", max_turns=3)]], HELPER=looks))
    await stage.play()
    assert "[Note: Agent stopped after 3 model calls, its max_turns.]" in stage.result()
    assert len(stage.cast.requests("HELPER")) == 3


async def test_agents_start_agents_only_so_deep(work):
    chain = {f"LEVEL{level}": [[task(f"LEVEL{level + 1}")], [Say(f"level {level} done")]] for level in range(1, 6)}
    stage = Stage(work, Cast(MAIN=[[task("LEVEL1")]], **chain))
    await stage.play()
    assert stage.result() == "level 1 done"
    assert stage.cast.requests("LEVEL3")
    assert stage.cast.requests("LEVEL4") == []
    assert "Task" not in {tool.name for tool in stage.cast.requests("LEVEL3")[0].tools}


class Person:
    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return Allowed()


async def test_its_questions_name_it_and_rules_hold_for_it(work):
    person = Person()
    rules = Rules(deny=(parse_rule("Bash(rm:*)", work),))
    cast = Cast(
        MAIN=[[task("HELPER", name="tidy")]],
        HELPER=[[Call("Bash", {"command": "touch x"})], [Call("Bash", {"command": "ls; rm x"})]],
    )
    stage = Stage(work, cast, front=FrontEnd(permission_handler=person), mode=PermissionMode.DEFAULT, rules=rules)
    await stage.play()
    assert [(request.call.name, request.agent) for request in person.asked] == [("Task", ""), ("Bash", "tidy")]
    assert (work / "x").exists()


async def test_in_plan_mode_none_is_started(work):
    stage = Stage(work, Cast(MAIN=[[task("HELPER", subagent_type="explore")]]), mode=PermissionMode.PLAN)
    await stage.play()
    assert "Plan mode is read-only" in stage.result()


def git(folder: Path, *args: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *args]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(work: Path) -> Path:
    git(work, "init", "-q", "-b", "main")
    (work / "a.txt").write_text("one\n")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "first")
    return work


async def test_in_a_worktree_it_really_works_there_and_leaves_what_it_changed(repository):
    cast = Cast(
        MAIN=[[task("HELPER", isolation="worktree")]],
        HELPER=[
            [Call("Write", {"file_path": "new.txt", "content": "x"}), Call("Bash", {"command": "pwd"})],
            [Say("made it")],
        ],
    )
    stage = Stage(repository, cast)
    await stage.play()
    assert stage.result().startswith("made it\nThe worktree ")
    assert "was kept: it holds 1 changed or new file." in stage.result()
    (place,) = (repository / ".claude" / "worktrees").iterdir()
    assert (place / "new.txt").read_text() == "x"
    assert not (repository / "new.txt").exists()
    assert str(place) in stage.nested(e.ToolFinished)[1].result.content
    assert git(repository, "status", "--porcelain") == ""
    assert stage.agent.ctx.working_dir == repository


async def test_an_unused_worktree_goes_away(repository):
    stage = Stage(repository, Cast(MAIN=[[task("HELPER", isolation="worktree")]], HELPER=[[Say("nothing to do")]]))
    await stage.play()
    assert stage.result() == "nothing to do"
    assert list((repository / ".claude" / "worktrees").iterdir()) == []
    assert git(repository, "branch", "--list", "agent-*") == ""


async def test_at_most_eight_work_at_a_time(work):
    async def nothing() -> None: ...

    slow = [[Call("Sleep", {"ms": 150})], [Say("ok")]]
    calls = [task(f"HELPER{number:02}") for number in range(10)]
    stage = Stage(work, Cast(MAIN=[calls], HELPER=slow))
    started = time.monotonic()
    await stage.play()
    assert [stage.result(number) for number in range(10)] == ["ok"] * 10
    assert len({event.agent for event in stage.events if isinstance(event, e.AgentEvent)}) == 10
    assert any(event.why == "8 agents are at work" for event in stage.nested(e.Waiting))
    assert time.monotonic() - started < 8


async def test_eight_agents_that_edit_one_file_lose_nothing(work):
    (work / "f.txt").write_text("".join(f"line {number}: old\n" for number in range(8)))

    def persists(number: int) -> Any:
        """Reads and edits until its edit is in: an edit of a file that changed meanwhile is refused."""
        edit = Call(
            "Edit", {"file_path": "f.txt", "old_string": f"line {number}: old", "new_string": f"line {number}: new"}
        )

        def step(request: Any) -> list[Any]:
            results = list(sent_results(request).values()) if request.messages[-1].results else [""]
            return [Say("done")] if any("line" in text and "new" in text for text in results) and "old" not in "".join(
                line for text in results for line in text.splitlines() if f"line {number}" in line
            ) else [Call("Read", {"file_path": "f.txt"}), edit]  # fmt: skip

        return step

    scripts = {f"EDITOR{number}": [persists(number)] * 40 for number in range(8)}
    stage = Stage(work, Cast(MAIN=[[task(f"EDITOR{number}", max_turns=40) for number in range(8)]], **scripts))
    await stage.play()
    assert (work / "f.txt").read_text() == "".join(f"line {number}: new\n" for number in range(8))


async def test_stop_ends_all_of_them_and_what_they_run(work):
    scripts = {f"HELPER{n}": [[Call("Bash", {"command": f"echo $$ > pid{n}; sleep 300 & wait"})]] for n in range(8)}
    stage = Stage(work, Cast(MAIN=[[task(f"HELPER{number}") for number in range(8)]], **scripts))
    turn = asyncio.create_task(stage.play(options=TurnOptions()))
    await until(lambda: len([file for file in work.glob("pid*") if file.read_text().strip()]) == 8, 20)
    started = time.monotonic()
    assert stage.agent.interrupt()
    ended = await turn
    assert ended.reason == "interrupted"
    assert time.monotonic() - started < 2
    assert not any(alive(int(file.read_text())) for file in work.glob("pid*"))
    assert stage.agent.inbox.names == ["main"]
    await stage.agent.close()


async def test_in_the_background_it_reports_before_the_next_step(work):
    cast = Cast(
        MAIN=[[task("HELPER", run_in_background=True, name="scout")], [Call("Sleep", {"ms": 400})], [Say("heard")]],
        HELPER=[[Call("Glob", {"pattern": "*"})], [Say("found it")]],
    )
    stage = Stage(work, cast)
    await stage.play()
    said = json.loads(stage.result())
    assert said["status"] == "running"
    job = stage.agent.jobs.get(said["agent_id"])
    assert (job.kind, job.status) == ("agent", "completed")
    assert "> " in stage.agent.jobs.output(job.id)
    assert "found it" in stage.agent.jobs.output(job.id)
    last = cast.requests("MAIN")[2].messages[-1].text
    assert f"[Message from scout:] (job {job.id} has ended) found it" in last


async def test_a_background_agent_is_stopped_like_a_shell(work):
    cast = Cast(
        MAIN=[[task("HELPER", run_in_background=True)], lambda request: [Call("TaskStop", {"task_id": _job(request)})]],
        HELPER=[[Call("Bash", {"command": "echo $$ > pid; sleep 300"})]],
    )
    stage = Stage(work, cast)
    await stage.play(options=TurnOptions())
    (job,) = stage.agent.jobs.jobs()
    assert job.status == "killed"
    if (work / "pid").exists() and (work / "pid").read_text().strip():
        assert not alive(int((work / "pid").read_text()))
    await stage.agent.close()


def _job(request: Any) -> str:
    return json.loads(next(iter(sent_results(request).values())))["agent_id"]


async def test_a_message_reaches_a_running_agent_before_its_next_step(work):
    cast = Cast(
        MAIN=[
            [task("HELPER", run_in_background=True, name="scout")],
            [Call("SendMessage", {"to": "scout", "message": "look left"}), Call("Sleep", {"ms": 700})],
        ],
        HELPER=[[Call("Sleep", {"ms": 300})], [Say("ok")]],
    )
    stage = Stage(work, cast)
    await stage.play()
    assert stage.result(1).startswith("Message sent to 'scout'")
    assert "[Message from main:] look left" in cast.requests("HELPER")[1].messages[-1].text


async def test_a_background_command_s_end_is_heard_before_the_next_step(work):
    cast = Cast(
        MAIN=[
            [Call("Bash", {"command": "exit 3", "run_in_background": True})],
            [Call("Sleep", {"ms": 300})],
            [Say("heard")],
        ]
    )
    stage = Stage(work, cast)
    await stage.play()
    assert "has ended: failed, exit code 3." in cast.requests("MAIN")[2].messages[-1].text


def agent_file(folder: Path, text: str, name: str = "reviewer.md") -> None:
    (folder / "agents").mkdir(parents=True, exist_ok=True)
    (folder / "agents" / name).write_text(text)


REVIEWER = (
    "---\nname: reviewer\ndescription: Reviews.\ntools: Read, Bash(git diff:*)\nmax_turns: 4\n---\nYou review code.\n"
)


async def test_a_written_agent_has_its_own_prompt_tools_and_rules(work):
    agent_file(work / ".claude", REVIEWER)
    git(work, "init", "-q")
    Trust.load().grant(work)
    cast = Cast(
        MAIN=[[task("HELPER", subagent_type="reviewer")]],
        HELPER=[[Call("Bash", {"command": "git diff"}), Call("Bash", {"command": "touch x"})]],
    )
    stage = Stage(work, cast)
    await stage.play()
    first = cast.requests("HELPER")[0]
    assert "You review code." in first.system
    assert "- reviewer: Reviews." in cast.requests("MAIN")[0].system
    assert [tool.name for tool in first.tools] == ["Bash", "Read"]
    assert [event.result.is_error for event in stage.nested(e.ToolFinished)] == [False, True]
    assert not (work / "x").exists()


async def test_a_folder_that_is_not_trusted_brings_no_agents(work):
    agent_file(work / ".claude", REVIEWER)
    stage = Stage(work, Cast(MAIN=[[task("HELPER", subagent_type="reviewer")]]))
    await stage.play()
    assert "There is no agent 'reviewer'" in stage.result()


async def test_the_user_s_own_agents_are_there_everywhere(work, tmp_path):
    agent_file(tmp_path / "home" / ".claude", REVIEWER)
    stage = Stage(work, Cast(MAIN=[[task("HELPER", subagent_type="reviewer")]], HELPER=[[Say("fine")]]))
    await stage.play()
    assert stage.result() == "fine"


def test_a_broken_agent_file_is_named_and_the_others_work(work, tmp_path):
    from cosh_nb.agent_types import agent_types

    own = tmp_path / "home" / ".claude"
    agent_file(own, REVIEWER)
    agent_file(own, "---\nname: [\n---\nx", "broken.md")
    agent_file(own, "---\naccess: everything\n---\nx", "odd.md")
    agent_file(own, "---\nmax_turns: many\n---\nx", "many.md")
    kinds, problems = agent_types(work, trusted=True)
    assert "reviewer" in kinds
    assert kinds["reviewer"].tools == ("Read", "Bash(git diff:*)")
    assert sorted(Path(problem.split(" in ")[1].split(" cannot")[0]).name for problem in problems) == [
        "broken.md", "many.md", "odd.md",
    ]  # fmt: skip


async def test_a_failing_model_is_an_error_for_the_parent_and_no_end(work):
    from cosh_nb.errors import ProviderError
    from support.scripted import Fail

    cast = Cast(MAIN=[[task("HELPER")], [Say("went on")]], HELPER=[[Fail(ProviderError("The service is down."))]])
    stage = Stage(work, cast)
    ended = await stage.play()
    assert stage.result() == "Sub-agent error: The service is down."
    assert ended.text == "went on"


async def test_what_agents_cost_is_counted(work):
    stage = Stage(work, Cast(MAIN=[[task("HELPER")]], HELPER=[[Say("x")]]))
    await stage.play()
    (row,) = stage.agent.costs.table()
    assert row.answers == 3
