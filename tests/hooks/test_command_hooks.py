"""Real hook commands through the runner."""

import asyncio
import json
import time

import psutil
import pytest
from pydantic import Field

from cosh_nb.command_hooks import CommandHooks, configured
from cosh_tools.context import SessionState
from cosh_tools.contract import PermissionLevel, Tool, ToolCall, ToolContext, ToolInput, ToolKind, ToolResult
from cosh_tools.gate import Gate
from cosh_tools.kinds import PermissionMode
from cosh_tools.policy.rules import Rules, parse_rule
from cosh_tools.registry import ToolRegistry
from cosh_tools.runner import NotRun, Runner


class SayInput(ToolInput):
    text: str = Field(description="What")


class Say(Tool[SayInput]):
    name = "Say"
    description = "Says it"
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE

    def touches(self, call, ctx):
        return [ctx.writes(call.text)] if call.text.startswith("/") else []

    async def execute(self, call, ctx):
        if call.text == "fail":
            return ToolResult.error("it failed")
        return ToolResult.success(f"said {call.text}")


@pytest.fixture
def scene(tmp_path):
    def make(event, command, **entry):
        told = []
        hooks, problems = configured(
            {
                event: [
                    {"matcher": entry.pop("matcher", ""), "hooks": [{"type": "command", "command": command, **entry}]}
                ]
            },
            "settings",
        )
        assert not problems
        host = CommandHooks(hooks, tmp_path, "s1", tell=told.append)
        ctx = ToolContext(SessionState(tmp_path, tmp_path, PermissionMode.BYPASS), hooks=host)
        return Runner(ToolRegistry([Say()]), ctx, Gate()), host, told

    return make


def say(text="hi"):
    return ToolCall("t1", "Say", {"text": text})


async def test_a_hook_gets_the_documented_fields(scene, tmp_path):
    runner, _, _ = scene("PreToolUse", f"cat > {tmp_path}/seen.json")
    await runner.run(say())
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen == {
        "session_id": "s1",
        "transcript_path": "",
        "cwd": str(tmp_path),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Say",
        "tool_input": {"text": "hi"},
        "tool_use_id": "t1",
    }


async def test_exit_2_blocks_with_its_reason(scene):
    runner, _, _ = scene("PreToolUse", "echo not today >&2; exit 2")
    assert "Blocked by hook: not today" in (await runner.run(say())).content


@pytest.mark.parametrize(
    ("command", "how"),
    [("exit 1", "code 1"), ("echo '{\"decision\":'", "does not parse"), ("kill -9 $$", "signal 9"),
     ("echo '{\"decision\": \"maybe\"}'", "maybe"), ("yes | head -c 3000000", "1,000,000 bytes")],
)  # fmt: skip
async def test_a_hook_that_fails_blocks_and_says_so_unless_it_fails_open(scene, command, how):
    runner, _, told = scene("PreToolUse", command)
    assert (await runner.run(say())).is_error
    assert how in told[0].text

    runner, _, told = scene("PreToolUse", command, fail_open=True)
    assert (await runner.run(say())).content == "said hi"
    assert "passed over" in told[0].text


async def test_a_hook_that_hangs_is_ended_with_its_children(scene, tmp_path):
    runner, _, _ = scene("PreToolUse", f"sleep 300 & echo $! > {tmp_path}/pid; sleep 300", timeout=0.4)
    started = time.monotonic()
    assert (await runner.run(say())).is_error
    assert time.monotonic() - started < 5
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the hook's child still runs")


async def test_an_allow_does_not_lift_the_policy(scene):
    answer = json.dumps({"hookSpecificOutput": {"permissionDecision": "allow"}})
    runner, _, _ = scene("PreToolUse", f"echo '{answer}'")
    runner.ctx.state.permission_mode = PermissionMode.PLAN
    assert isinstance(await runner.prepare(say("/etc/x")), NotRun)


async def test_an_ask_asks_even_under_bypass(scene):
    runner, _, _ = scene("PreToolUse", """echo '{"decision": "ask", "reason": "look first"}'""")
    prepared = await runner.prepare(say())
    assert isinstance(prepared, NotRun)
    assert "approval" in prepared.result.content


async def test_patched_input_is_validated_and_judged_again(scene):
    answer = json.dumps({"hookSpecificOutput": {"updatedInput": {"text": "/etc/passwd"}}})
    runner, _, _ = scene("PreToolUse", f"echo '{answer}'")
    runner.gate.rules = Rules(deny=(parse_rule("Edit(//etc/**)"),))
    assert "denies" in (await runner.run(say())).content

    runner, _, _ = scene("PreToolUse", """echo '{"hookSpecificOutput": {"updatedInput": {"nope": 1}}}'""")
    assert "text is missing" in (await runner.run(say())).content

    runner, _, _ = scene("PreToolUse", """echo '{"hookSpecificOutput": {"tool_input": {"text": "patched"}}}'""")
    assert (await runner.run(say())).content == "said patched"


async def test_continue_false_ends_the_turn(scene):
    runner, _, _ = scene("PreToolUse", """echo '{"continue": false, "stopReason": "enough"}'""")
    prepared = await runner.prepare(say())
    assert prepared.ends_turn
    assert "enough" in prepared.result.content


@pytest.mark.parametrize(("text", "event"), [("hi", "PostToolUse"), ("fail", "PostToolUseFailure")])
async def test_what_comes_after_a_call_is_seen_and_may_add_context(scene, tmp_path, text, event):
    answer = json.dumps({"hookSpecificOutput": {"additionalContext": "mind the gap"}})
    runner, _, _ = scene(event, f"cat > {tmp_path}/seen; echo '{answer}'")
    result = await runner.run(say(text))
    assert result.content.endswith("[Hook context] mind the gap")
    assert json.loads((tmp_path / "seen").read_text())["hook_event_name"] == event


async def test_a_post_hook_that_blocks_replaces_the_result(scene):
    runner, _, _ = scene("PostToolUse", "echo secret found >&2; exit 2")
    result = await runner.run(say())
    assert (result.is_error, result.content) == (True, "Blocked by hook: secret found")


async def test_a_prompt_hook_blocks_or_adds_context(scene):
    _, host, _ = scene("UserPromptSubmit", "echo no secrets >&2; exit 2")
    assert await host.prompt("x") == ("no secrets", "")
    _, host, _ = scene("UserPromptSubmit", "echo remember the milk")
    assert await host.prompt("x") == ("", "remember the milk")


async def test_the_session_starts_once(scene, tmp_path):
    _, host, _ = scene("SessionStart", f"echo started >> {tmp_path}/log; echo context")
    assert await host.prompt("a") == ("", "context")
    assert await host.prompt("b") == ("", "")
    assert (tmp_path / "log").read_text() == "started\n"


async def test_a_stop_hook_sends_the_model_on_and_knows_that_it_did(scene, tmp_path):
    _, host, _ = scene("Stop", f"cat >> {tmp_path}/log; echo >> {tmp_path}/log; echo tests missing >&2; exit 2")
    assert await host.stop("done") == "tests missing"
    assert await host.stop("done") == "tests missing"
    seen = [json.loads(line)["stop_hook_active"] for line in (tmp_path / "log").read_text().splitlines()]
    assert seen == [False, True]


@pytest.mark.parametrize(
    ("matcher", "fires"), [("Say", True), ("Sa", False), ("S.*|X", True), ("*", True), ("[", False)]
)
async def test_matchers_are_whole_names_or_patterns(scene, matcher, fires):
    runner, _, _ = scene("PreToolUse", "exit 2", matcher=matcher)
    assert (await runner.run(say())).is_error is fires


def test_coshs_names_match_the_same_tools():
    (hook,), _ = configured({"PreToolUse": [{"matcher": "run_shell_command", "hooks": [{"command": "x"}]}]}, "x")
    assert hook.matches("Bash")
    assert hook.matches("shell")


def test_entries_that_cannot_be_used_are_sentences():
    hooks, problems = configured({"Nope": [], "Stop": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}, "here")
    assert not hooks
    assert len(problems) == 2
