"""The same long turn as over the protocol, in a real kernel, with the cards answered by clicks."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from support.kernel_client import KernelClient
from support.modelscript import call, turn
from support.modelserver import ModelServer
from support.one_long_turn import results, script


def start_the_agent(kernel: KernelClient) -> None:
    """The smallest yes of the card that asks whether an agent may be started."""
    kernel.wait(lambda: any("Task(" in label for label in kernel.buttons()), 15, "the card of the agent")
    kernel.click(kernel.buttons()[0])


def test_it_asks_plans_hands_over_schedules_and_messages(kernel: KernelClient, model_server: ModelServer):
    model_server.answer(script)
    (kernel.cwd / "a.txt").write_text("a")
    cell = kernel.start("%%cosh\nMAIN: begin")
    kernel.click("left")
    kernel.click("Start")
    start_the_agent(kernel)
    kernel.finish(cell, 60)
    assert cell.status == "ok", cell.text
    own = [request for request in model_server.requests if "MAIN" in json.dumps(request["messages"][0])]
    told = [text for request in own for text in results(request)]
    assert "-> left" in told[0]
    assert told[3].startswith("The plan is approved.")
    assert told[4] == "one file: a.txt"
    assert told[5].startswith("Scheduled recurring job ")
    assert "half way" in cell.text
    assert "All done." in cell.text
    assert "look" in cell.text


def test_a_job_that_comes_due_gets_a_card_of_its_own_and_asks_nobody(
    kernel: KernelClient, model_server: ModelServer, tmp_path: Path
):
    def answers(request: Any) -> Any:
        if results(request):
            return "I may not, so I stop."
        return turn(call("Bash", {"command": "touch x"})) if "look again" in json.dumps(request) else "hello"

    model_server.answer(answers)
    file = tmp_path / "home" / "user" / ".claude" / "scheduled_tasks.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    job = {
        "id": "abcd1234",
        "cron": "* * * * *",
        "prompt": "look again",
        "recurring": False,
        "durable": True,
        "created_at": time.time(),
        "workspace": os.path.realpath(kernel.cwd),
        "next_run": time.time() - 1,
    }
    file.write_text(json.dumps({"tasks": [job]}))
    cell = kernel.run("%cosh hi")
    kernel.wait(lambda: "I may not" in cell.text, 30, "an answer to the scheduled prompt")
    assert "Scheduled (Every minute): look again" in cell.text
    assert not (kernel.cwd / "x").exists()
    assert "the person may be away" in results(model_server.requests[-1])[0]
    assert kernel.buttons() == []
    kernel.wait(lambda: json.loads(file.read_text()) == {"tasks": []}, 10, "an end of the one-shot job")


def test_a_question_of_a_sub_agent_is_asked_once_and_leaves_no_row_that_says_otherwise(
    kernel: KernelClient, model_server: ModelServer
):
    def answers(request: Any) -> Any:
        if "HELPER" in json.dumps(request["messages"][0]):
            return "made x" if results(request) else turn(call("Bash", {"command": "touch x"}))
        task = {"description": "make x", "prompt": "HELPER: make x", "name": "maker"}
        return "thanks" if results(request) else turn(call("Task", task))

    model_server.answer(answers)
    cell = kernel.start("%%cosh\nMAIN")
    start_the_agent(kernel)
    kernel.wait(lambda: "Run once" in kernel.buttons(), 15, "the question of the sub-agent")
    assert "(agent maker)" in cell.text
    kernel.click("Run once")
    kernel.finish(cell)
    assert (kernel.cwd / "x").exists()
    assert "Ran touch x" in cell.text
    assert "Not run" not in cell.text
