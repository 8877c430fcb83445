"""Valid messages in any order: each request is answered exactly once, and the history stays valid for the service."""

from __future__ import annotations

import collections
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from cosh_nb.headless.outgoing import Outgoing
from support.headless_client import Headless
from support.modelserver import ModelServer, call, text, turn

TURNS = {
    "say": lambda: text("Fine. " * 5),
    "slowly": lambda: turn(text("Slow. " * 5), pause=0.02),
    "shell": lambda: [text("I look."), call("shell", {"command": "echo hi"})],
    "wait": lambda: [call("shell", {"command": "sleep 0.3"}), call("grep", {"pattern": "x"})],
    "edit": lambda: [call("write_file", {"path": "a.txt", "content": "x"}), call("read_file", {"path": "a.txt"})],
    "ask": lambda: [call("ask_user_question", {"question": "Which?"}), call("todo", {"action": "list"})],
    "evidence": lambda: [call("cosh_shell_evidence", {"action": "list_commands"}), call("nonsense", {})],
}
ANSWERS = [
    {"behavior": "allow"},
    {"behavior": "deny", "message": "no"},
    {"behavior": "deny", "interrupt": True},
    {"behavior": "ask"},
    {"behavior": "allow", "scope": "session"},
    {"behavior": "allow", "updatedInput": {"command": "echo other"}},
    {"behavior": "host_executed_shell", "result": {"llmContent": "there", "metadata": {"exit_code": 0}}},
    {"answer": "this one"},
    {},
]


def model(request: dict[str, Any]) -> Any:
    """The word of the latest prompt decides the first answer; after results the turn ends."""
    last = request["messages"][-1]["content"]
    if any(block["type"] == "tool_result" for block in last):
        return "Done."
    word = next(block["text"].split()[1] for block in reversed(last) if block["text"].startswith("please "))
    answer = TURNS[word]()
    return [answer] if not isinstance(answer, list) and not hasattr(answer, "blocks") else answer


steps = st.one_of(
    st.tuples(st.just("user"), st.sampled_from(sorted(TURNS))),
    st.tuples(st.just("interrupt"), st.none()),
    st.tuples(st.just("mode"), st.sampled_from(["trust", "auto", "balanced", "suggest", "strict"])),
    st.tuples(st.just("allowed"), st.lists(st.sampled_from(["shell", "edit", "todo"]), max_size=2)),
    st.tuples(st.just("model"), st.sampled_from(["claude-sonnet-5-5", "claude-haiku-5-5"])),
    st.tuples(st.just("reload"), st.none()),
    st.tuples(st.just("registry"), st.sampled_from(["tools", "skills", "hooks", "mcp", "nonsense"])),
    st.tuples(st.just("initialize"), st.none()),
    st.tuples(st.just("stale"), st.integers(0, 20)),
    st.tuples(st.just("receipt"), st.integers(0, 20)),
    st.tuples(st.just("wait"), st.integers(1, 150)),
)


class Play:
    """One client that sends the steps and answers what it is asked."""

    def __init__(self, cosh: Headless, answers: list[tuple[dict[str, Any], bool]]) -> None:
        self.cosh = cosh
        self.answers = answers
        self.sent: collections.Counter[str] = collections.Counter()

    def step(self, name: str, value: Any) -> None:
        cosh, number = self.cosh, sum(self.sent.values())
        self.sent[name] += 1
        match name:
            case "user":
                cosh.user(f"please {value}")
            case "interrupt":
                cosh.control("interrupt", f"c{number}")
            case "mode":
                cosh.control("config_override", f"c{number}", approval_mode=value)
            case "allowed":
                cosh.control("config_override", f"c{number}", allowed_tools=value)
            case "model":
                cosh.control("switch_model", f"c{number}", model=value)
            case "reload":
                cosh.control("reload_config", f"c{number}")
            case "registry":
                cosh.send({"type": "registry_request", "request_id": f"g{number}", "domain": value, "action": "list"})
            case "initialize":
                cosh.control("initialize", f"i{number}", protocol_version=1)
            case "stale":
                cosh.answer({"request_id": f"old-{value}"}, {"behavior": "allow"})
            case "receipt":
                cosh.send({"type": "approval_receipt", "request_id": f"apr-{value}"})
            case "wait":
                time.sleep(value / 1000)  # the client's own pace is part of what varies

    def react(self) -> None:
        for line in self.cosh.now():
            if line["type"] == "control_request":
                answer, twice = self.answers.pop() if self.answers else ({"behavior": "allow"}, False)
                for _ in range(1 + twice):
                    self.cosh.answer(line, answer)

    def changes(self) -> int:
        return sum(line["subtype"] in ("model_switched", "config_reloaded") for line in self.cosh.of("system"))

    def finish(self) -> None:
        deadline = time.monotonic() + 30
        while (
            len(self.cosh.of("result")) < self.sent["user"] or self.changes() < self.sent["model"] + self.sent["reload"]
        ):
            assert time.monotonic() < deadline, f"a request was not answered; {self.cosh.story()}"
            assert self.cosh.code is None, self.cosh.story()
            self.react()
            time.sleep(0.01)
        self.cosh.control("shutdown")
        self.cosh.rest(10)
        assert self.cosh.ends(10) == 0, self.cosh.story()


def check_lines(cosh: Headless, sent: collections.Counter[str]) -> None:
    lines = cosh.lines
    adapter: TypeAdapter[Any] = TypeAdapter(Outgoing)
    for line in lines:
        adapter.validate_python(line)
    assert len(cosh.of("result")) == sent["user"]
    assert len(cosh.of("registry_response")) == sent["registry"]
    assert len(cosh.of("control_response")) == sent["initialize"]
    kinds = collections.Counter(line.get("status", line["subtype"]) for line in cosh.of("system"))
    assert sum(count for kind, count in kinds.items() if kind.startswith("model_switched")) == sent["model"]
    assert kinds["config_reloaded"] == sent["reload"]
    assert kinds["config_override_applied"] == sent["mode"] + sent["allowed"]
    asked = [line["request_id"] for line in cosh.of("control_request")]
    assert len(asked) == len(set(asked))
    declared, open_call = set(), ""
    for line in cosh.of("stream_event"):
        match line["event"]:
            case {"subtype": "tool_use_begin", "tool_use_id": call_id}:
                open_call = call_id
            case {"subtype": "tool_use_end"}:
                declared.add(open_call)
    answered = [block["tool_use_id"] for line in cosh.of("user") for block in line["message"]["content"]]
    assert len(answered) == len(set(answered)), "a call was answered twice"
    assert set(answered) == declared, "a declared call was not answered"


def check_history(messages: list[dict[str, Any]]) -> None:
    """What every service insists on."""
    assert messages[0]["role"] == "user"
    waiting: list[str] = []
    for message in messages:
        blocks = message["content"]
        assert blocks, "an empty message"
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if message["role"] == "user":
            assert sorted(results) == sorted(waiting)
            waiting = []
        else:
            assert not waiting
            waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert not waiting


def play(script: list[tuple[str, Any]], answers: list[tuple[dict[str, Any], bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        server.answer(model)
        with Headless(Path(folder), server.env(), "--enable-shell-evidence-tool") as cosh:
            client = Play(cosh, answers)
            for name, value in script:
                client.step(name, value)
                client.react()
            client.finish()
            check_lines(cosh, client.sent)
            assert "Traceback" not in cosh.errors, cosh.errors
        for request in server.requests:
            check_history(request["messages"])


scripts = st.lists(steps, min_size=1, max_size=14)
answers = st.lists(st.tuples(st.sampled_from(ANSWERS), st.booleans()), max_size=10)


@given(scripts, answers)
@settings(
    max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
def test_valid_messages_in_any_order(script, answers):
    play(script, list(answers))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@given(scripts, answers)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_valid_messages_in_very_many_orders(script, answers):
    play(script, list(answers))
