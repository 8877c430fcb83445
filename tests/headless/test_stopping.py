"""Interrupts, shutdowns, closed pipes: one result each, every call answered, nothing left running."""

from __future__ import annotations

import os
import signal
import time

import psutil
import pytest

from support.headless_client import Headless
from support.modelserver import call, text, turn


def shell(command: str, **more):
    return call("shell", {"command": command, **more}, chunk=1000)


def answered(cosh: Headless) -> list[str]:
    """The calls that have their line."""
    return [block["tool_use_id"] for line in cosh.of("user") for block in line["message"]["content"]]


def gone(pid: int, within: float = 5) -> bool:
    """Whether a process ends in time."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def running(cosh: Headless, name: str = "pid") -> int:
    """The process that a command wrote the id of."""
    deadline = time.monotonic() + 20
    file = cosh.workspace / name
    while time.monotonic() < deadline:
        if file.exists() and file.read_text().strip():
            return int(file.read_text())
        time.sleep(0.02)
    raise AssertionError(f"the command never started; {cosh.story()}")


def shut_down(cosh: Headless) -> None:
    cosh.control("shutdown")
    assert cosh.ends(5) == 0


def test_an_interrupt_while_the_model_streams(tmp_path, model_server):
    model_server.script(turn(text("a long answer " * 10), stall_after=6), "Better.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("tell me")
        cosh.event("text_delta")
        cosh.control("interrupt")
        result = cosh.result(within=1)
        assert result["error_code"] == "interrupted"
        model_server.wait_left()
        cosh.user("shorter")
        assert cosh.result()["result"] == "Better."
        shut_down(cosh)

    said = model_server.requests[1]["messages"]
    assert said[1]["role"] == "assistant"
    assert "a long answer" in said[1]["content"][0]["text"]  # what was said is kept
    assert all(message["role"] == "user" for message in said[2:])


def test_an_interrupt_while_the_model_declares_a_call(tmp_path, model_server):
    model_server.script(turn(text("So."), call("shell", {"command": "touch made"}), stall_after=9), "Fine.")

    with Headless(tmp_path, model_server.env(), "--mode", "trust") as cosh:
        cosh.user("make it")
        cosh.event("tool_use_delta")
        cosh.control("interrupt")
        assert cosh.result(within=1)["error_code"] == "interrupted"
        cosh.user("go on")
        assert cosh.result()["is_error"] is False
        shut_down(cosh)

    assert not (cosh.workspace / "made").exists()


def test_an_interrupt_while_a_tool_runs_ends_its_whole_process_tree(tmp_path, model_server):
    model_server.script(
        [shell("sh -c 'sleep 300 & echo $! > pid; wait'", timeout_ms=600_000), shell("touch made")], "Fine."
    )

    with Headless(tmp_path, model_server.env(), "--mode", "trust") as cosh:
        cosh.user("wait")
        pid = running(cosh)
        cosh.control("interrupt")
        result = cosh.result(within=1)
        assert result["error_code"] == "interrupted"
        assert sorted(answered(cosh)) == ["toolu_000000", "toolu_000001"]
        assert gone(pid)
        cosh.user("go on")
        assert cosh.result()["is_error"] is False
        shut_down(cosh)

    results = [block for block in model_server.requests[1]["messages"][2]["content"] if block["type"] == "tool_result"]
    assert [block["tool_use_id"] for block in results] == ["toolu_000000", "toolu_000001"]
    assert not (cosh.workspace / "made").exists()


def test_an_interrupt_while_a_person_is_asked(tmp_path, model_server):
    model_server.script([shell("touch made"), shell("touch second")], "Fine.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("make it")
        asked = cosh.request("can_use_tool")
        cosh.control("interrupt")
        assert cosh.result(within=1)["error_code"] == "interrupted"
        assert sorted(answered(cosh)) == ["toolu_000000", "toolu_000001"]
        cosh.answer(asked, {"behavior": "allow"})  # too late
        cosh.user("go on")
        assert cosh.result()["is_error"] is False
        shut_down(cosh)

    assert not list(cosh.workspace.iterdir())


def test_an_interrupt_meets_the_message_that_was_sent_just_before_it_and_no_other(tmp_path, model_server):
    model_server.script("Only the second was heard.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.send(
            {"type": "user", "message": {"role": "user", "content": "one"}},
            {"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}},
            {"type": "user", "message": {"role": "user", "content": "two"}},
        )
        first, second = cosh.result(), cosh.result()
        cosh.control("interrupt")  # nothing runs: nothing happens
        shut_down(cosh)

    assert (first["error_code"], second["result"]) == ("interrupted", "Only the second was heard.")
    assert len(cosh.of("result")) == 2


def test_a_shutdown_answers_everything_that_was_asked(tmp_path, model_server):
    model_server.script(turn(text("a long answer " * 10), stall_after=6))

    with Headless(tmp_path, model_server.env()) as cosh:
        for number in range(3):
            cosh.user(f"request {number}")
        cosh.control("switch_model", "s1", model="claude-haiku-5-5")
        cosh.event("text_delta")
        shut_down(cosh)
        cosh.rest()

    [refused] = cosh.of("control_response")
    assert (refused["response"]["subtype"], refused["response"]["request_id"]) == ("error", "s1")
    assert [line["error_code"] for line in cosh.of("result")] == ["interrupted"] * 3


def test_input_that_is_closed_while_a_person_is_asked_interrupts_and_runs_nothing(tmp_path, model_server):
    model_server.script([shell("touch made")])

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("make it")
        cosh.request("can_use_tool")
        cosh.close_input()
        result = cosh.result(within=2)
        assert cosh.ends() == 0

    assert result["error_code"] == "interrupted"
    assert not (cosh.workspace / "made").exists()


def test_input_that_is_closed_earlier_leaves_the_turn_running_with_nobody_to_ask(tmp_path, model_server):
    model_server.script([shell("touch made")], "I could not.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("make it")
        cosh.close_input()
        result = cosh.result()
        assert cosh.ends() == 0

    assert result["result"] == "I could not."
    told = cosh.of("user")[0]["message"]["content"][0]["content"]
    assert "nobody" in told or "closed its input" in told
    assert not (cosh.workspace / "made").exists()


def test_output_that_nobody_reads_any_more_ends_it_with_74_and_reaps_the_children(tmp_path, model_server):
    model_server.script([shell("sh -c 'sleep 300 & echo $! > pid; wait'", timeout_ms=600_000)])

    with Headless(tmp_path, model_server.env(), "--mode", "trust", stdout=(pipe := os.pipe())[1]) as cosh:
        os.close(pipe[1])
        cosh.user("wait")
        pid = running(cosh)
        os.close(pipe[0])
        assert cosh.ends(5) == 74, cosh.errors
        assert gone(pid)

    assert "Traceback" not in cosh.errors


def test_output_that_is_closed_from_the_start_is_74(tmp_path, model_server):
    out, into = os.pipe()
    os.close(out)

    with Headless(tmp_path, model_server.env(), stdout=into) as cosh:
        os.close(into)
        cosh.control("initialize")
        assert cosh.ends(10) == 74


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it_in_order(tmp_path, model_server, number, code):
    model_server.script([shell("sh -c 'sleep 300 & echo $! > pid; wait'", timeout_ms=600_000)])

    with Headless(tmp_path, model_server.env(), "--mode", "trust") as cosh:
        cosh.user("wait")
        pid = running(cosh)
        cosh.process.send_signal(number)
        assert cosh.result(within=2)["error_code"] == "interrupted"
        assert cosh.ends(5) == code
        assert gone(pid)


# -- waiting for a person --------------------------------------------------------------------------------------------

SOON = {"COSH_CORE_APPROVAL_TIMEOUT_SECS": "1"}


def test_a_question_that_nobody_answers_in_time_fails_the_turn(tmp_path, model_server):
    model_server.script([shell("touch made"), shell("touch second")], "Fine.")

    with Headless(tmp_path, model_server.env(), env=SOON) as cosh:
        cosh.user("make it")
        asked = cosh.request("can_use_tool")
        result = cosh.result(within=5)
        cosh.answer(asked, {"behavior": "allow"})  # too late
        cosh.user("go on")
        assert cosh.result()["is_error"] is False
        shut_down(cosh)

    assert result["error_code"] == "ApprovalTimeout"
    assert "within 1 s" in result["errors"][0]
    assert len(model_server.requests) == 2  # no further generation in the turn that failed
    assert sorted(answered(cosh)) == ["toolu_000000", "toolu_000001"]
    assert not list(cosh.workspace.iterdir())


def test_a_receipt_lifts_the_limit_for_its_question_alone(tmp_path, model_server):
    model_server.script([shell("touch one")], [shell("touch two")])

    with Headless(tmp_path, model_server.env(), env=SOON) as cosh:
        cosh.user("make it")
        asked = cosh.request("can_use_tool")
        cosh.send({"type": "approval_receipt", "request_id": "apr-77"})
        cosh.send({"type": "approval_receipt", "request_id": asked["request_id"]})
        with pytest.raises(AssertionError, match="waited"):
            cosh.result(within=1.5)
        cosh.answer(asked, {"behavior": "allow"})
        cosh.request("can_use_tool")
        assert cosh.result(within=5)["error_code"] == "ApprovalTimeout"

    assert [path.name for path in cosh.workspace.iterdir()] == ["one"]


def test_a_one_shot_run_whose_question_nobody_answers_ends_with_1_though_its_input_is_open(tmp_path, model_server):
    model_server.script([shell("touch made")])

    with Headless(tmp_path, model_server.env(), "make it", env=SOON) as cosh:
        assert cosh.result(within=10)["error_code"] == "ApprovalTimeout"
        assert cosh.ends(5) == 1
