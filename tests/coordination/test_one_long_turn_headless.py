"""One long turn that asks, plans, hands over, schedules and messages, over the headless protocol."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from support.headless_client import Headless
from support.modelscript import call, turn
from support.modelserver import ModelServer
from support.one_long_turn import results, script


def answered(cosh: Headless, until: str) -> list[str]:
    """Answer what is asked until the turn ends; which tools were asked about."""
    asked = []
    while True:
        line = cosh.until(lambda line: line["type"] == until or line["type"] == "control_request")
        if line["type"] == until:
            return asked
        request = line["request"]
        match request["subtype"]:
            case "ask_user":
                asked.append("question")
                cosh.answer(line, {"answer": "left"}, "ask_user")
            case "can_use_tool":
                asked.append(request["tool_name"])
                cosh.answer(line, {"behavior": "allow"})


def test_it_asks_plans_hands_over_schedules_and_messages(tmp_path: Path, model_server: ModelServer):
    model_server.answer(script)
    with Headless(tmp_path, model_server.env(), "--toolset", "claude", "--approval-mode", "default") as cosh:
        (cosh.workspace / "a.txt").write_text("a")
        cosh.user("MAIN: begin")
        asked = answered(cosh, "result")
    assert cosh.code == 0, cosh.errors
    assert asked == ["question", "ExitPlanMode", "Task"]
    own = [request for request in model_server.requests if "MAIN" in json.dumps(request["messages"][0])]
    told = [text for request in own for text in results(request)]
    assert "-> left" in told[0]
    assert told[1].startswith("Todo list updated")
    assert told[2].startswith("Entered plan mode")
    assert told[3].startswith("The plan is approved.")
    assert told[4] == "one file: a.txt"
    assert told[5].startswith("Scheduled recurring job ")
    assert told[6].startswith("No agent named 'nobody' is running")
    assert told[7] == "half way"
    own = [line for line in cosh.lines if line["type"] == "user" and not line.get("parent_tool_use_id")]
    assert sum(len(line["message"]["content"]) for line in own) == 8
    stored = json.loads((tmp_path / "home" / ".claude" / "scheduled_tasks.json").read_text())
    assert [job["prompt"] for job in stored["tasks"]] == ["look again"]


def test_a_job_that_comes_due_is_taken_up_as_a_turn(tmp_path: Path, model_server: ModelServer):
    model_server.answer(script)
    file = tmp_path / "home" / ".claude" / "scheduled_tasks.json"
    file.parent.mkdir(parents=True)
    job = {
        "id": "abcd1234",
        "cron": "* * * * *",
        "prompt": "look again",
        "recurring": False,
        "durable": True,
        "created_at": time.time(),
        "workspace": os.path.realpath(tmp_path / "workspace"),
        "next_run": time.time() - 1,
    }
    file.write_text(json.dumps({"tasks": [job]}))
    with Headless(tmp_path, model_server.env(), "--toolset", "claude") as cosh:
        cosh.user("HELPER: hello")
        cosh.result()
        second = cosh.result()
    assert second["result"] == "the scheduled work is done"
    assert json.loads(file.read_text()) == {"tasks": []}


def test_one_request_schedules_nothing_and_says_so(tmp_path: Path, model_server: ModelServer):
    model_server.script(turn(call("CronCreate", {"cron": "* * * * *", "prompt": "x"})), "I cannot.")
    with Headless(tmp_path, model_server.env(), "--toolset", "claude", "go") as cosh:
        cosh.result()
    assert "Nothing can be scheduled in this session" in results(model_server.requests[1])[0]
