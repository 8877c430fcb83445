"""Lines that are no messages: a typed error, exit 1 only where nothing runs, never a trace on stdout."""

from __future__ import annotations

import json

import psutil
import pytest

from support.headless_client import Headless
from support.modelserver import call, text, turn

WRONG = {
    "not JSON": b'{"type": "user", ',
    "not an object": b"[1, 2]",
    "unknown type": b'{"type": "nonsense"}',
    "unknown subtype": b'{"type": "control_request", "request_id": "1", "request": {"subtype": "fly"}}',
    "wrong types": b'{"type": "user", "message": {"role": "user", "content": 7}}',
    "a mode that is none": (
        b'{"type": "control_request", "request_id": "1", '
        b'"request": {"subtype": "config_override", "approval_mode": "loose"}}'
    ),
    "invalid UTF-8": b'{"type": "user", "message": {"role": "user", "content": "\xff\xfe"}}',
    "NUL bytes": b'\x00\x00{"type": "user"}',
}


SOME = {"not JSON", "unknown subtype", "invalid UTF-8"}


@pytest.mark.parametrize(
    "line",
    [pytest.param(line, id=name, marks=[] if name in SOME else pytest.mark.slow) for name, line in WRONG.items()],
)
def test_a_wrong_line_where_nothing_runs_ends_it_with_1(tmp_path, model_server, line):
    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.raw(line + b"\n")
        [result] = cosh.rest()

    assert cosh.code == 1
    assert (result["subtype"], result["is_error"], result["error_code"]) == ("error", True, "InvalidJsonlInput")
    assert result["errors"][0].endswith(".")
    assert "Traceback" not in cosh.errors
    assert not model_server.requests


def test_wrong_lines_while_a_turn_runs_are_told_and_ignored(tmp_path, model_server):
    model_server.script([call("shell", {"command": "touch made"})], "Done.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("make it")
        asked = cosh.request("can_use_tool")
        for line in WRONG.values():
            cosh.raw(line + b"\n")
        cosh.answer(asked, {"behavior": "allow"})
        result = cosh.result()
        cosh.control("shutdown")
        assert cosh.ends() == 0

    assert result["is_error"] is False
    assert (cosh.workspace / "made").exists()
    ignored = [line for line in cosh.of("system") if line.get("status") == "line_ignored"]
    assert [line["error_code"] for line in ignored] == ["InvalidJsonlInput"] * len(WRONG)


def test_a_line_of_100_mb_is_an_error_and_not_100_mb_of_memory(tmp_path, model_server):
    model_server.script(turn(text("slowly " * 10), stall_after=4))

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("wait")
        cosh.event("text_delta")
        before = psutil.Process(cosh.process.pid).memory_info().rss
        cosh.raw(b'{"type": "user", "message": {"role": "user", "content": "')
        for _ in range(100):
            cosh.raw(b"x" * 1_000_000)
        cosh.raw(b'"}}\n')
        told = cosh.until(lambda line: line.get("status") == "line_ignored")
        after = psutil.Process(cosh.process.pid).memory_info().rss
        cosh.control("interrupt")
        cosh.result(within=2)
        cosh.control("shutdown")
        assert cosh.ends() == 0

    assert "longer than 32 MB" in told["message"]
    assert after - before < 80_000_000


def test_a_line_of_100_mb_where_nothing_runs_ends_it_with_1(tmp_path, model_server):
    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.raw(b'{"type": "user", "message": {"role": "user", "content": "')
        for _ in range(100):
            cosh.raw(b"x" * 1_000_000)
        cosh.raw(b'"}}\n')
        [result] = cosh.rest()

    assert result["error_code"] == "InvalidJsonlInput"
    assert cosh.code == 1


def test_a_message_may_come_byte_by_byte(tmp_path, model_server):
    model_server.script("Grüße zurück.")
    line = json.dumps({"type": "user", "message": {"role": "user", "content": "Grüße ✓"}}, ensure_ascii=False)

    with Headless(tmp_path, model_server.env()) as cosh:
        for byte in line.encode() + b"\r\n":
            cosh.raw(bytes([byte]))
        assert cosh.result()["result"] == "Grüße zurück."

    assert model_server.requests[0]["messages"][0]["content"][0]["text"] == "Grüße ✓"


def test_ten_thousand_messages_at_once(tmp_path, model_server):
    model_server.answer(lambda request: "Heard: " + request["messages"][-1]["content"][0]["text"])
    noise = [
        {"type": "control_response", "response": {"subtype": "success", "request_id": f"apr-{n}", "response": {}}}
        for n in range(9_000)
    ]
    asks = [
        {"type": "registry_request", "request_id": f"r{n}", "domain": "tools", "action": "list"} for n in range(990)
    ]
    users = [{"type": "user", "message": {"role": "user", "content": f"number {n}"}} for n in range(10)]

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.send(*noise[:4_500], *users[:5], *asks, *users[5:], *noise[4_500:])
        results = [cosh.result() for _ in users]
        cosh.control("shutdown")
        cosh.rest()

    assert [result["result"] for result in results] == [f"Heard: number {n}" for n in range(10)]
    assert [line["request_id"] for line in cosh.of("registry_response")] == [f"r{n}" for n in range(990)]
    assert cosh.code == 0


def test_more_than_can_wait_is_refused_in_words(tmp_path, model_server):
    model_server.script(turn(text("slowly " * 10), stall_after=4))
    big = "x" * 30_000_000

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("wait")
        cosh.event("text_delta")
        for _ in range(3):
            cosh.user(big)
        refused = cosh.result()
        cosh.control("shutdown")
        assert cosh.ends(10) == 0
        cosh.rest()

    assert refused["error_code"] == "too_much_waiting"
    assert len(cosh.of("result")) == 4


def test_garbage_from_the_model_stays_one_line_of_json(tmp_path, model_server):
    strange = 'line\u2028sep\u2029 "quoted" \\ \x07 \U0001f600 {"type":"result"}\n{"type":"result"}\n'
    model_server.script(strange)

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("be strange")
        result = cosh.result()
        cosh.close_input()
        cosh.rest()

    assert result["result"] == strange
    assert len(cosh.of("result")) == 1


def test_a_model_service_that_fails_is_a_result_and_the_session_lives_on(tmp_path, model_server):
    from support.modelserver import status

    model_server.script(status(401), "Back again.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("hi")
        failed = cosh.result()
        cosh.user("hi")
        fine = cosh.result()
        cosh.control("shutdown")
        assert cosh.ends() == 0

    assert (failed["subtype"], failed["error_code"]) == ("error", "turn_failed")
    assert "key" in failed["errors"][0].lower()
    assert fine["result"] == "Back again."
