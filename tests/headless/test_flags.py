"""The command line."""

from __future__ import annotations

import pytest
from claude_agent_sdk import ClaudeAgentOptions
from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

from cosh_nb.errors import UsageError
from cosh_nb.headless.flags import parse
from cosh_tools.kinds import PermissionMode


def test_the_defaults_are_the_cosh_tools_with_nothing_said_about_the_mode(tmp_path):
    flags = parse(["--cwd", str(tmp_path)])

    assert (flags.dialect, flags.toolset, flags.mode, flags.prompt) == ("cosh", "cosh", None, None)


def test_the_other_dialect_brings_its_tools_and_its_mode():
    flags = parse(["--headless", "--dialect", "claude"])

    assert (flags.toolset, flags.mode) == ("claude", PermissionMode.DEFAULT)


@pytest.mark.parametrize("flag", ["--approval-mode", "--permission-mode", "--mode"])
@pytest.mark.parametrize("mode", list(PermissionMode))
def test_all_nine_modes_under_all_three_flags(flag, mode):
    assert parse([flag, mode.value]).mode is mode


def test_a_dash_is_the_request_on_stdin():
    flags = parse(["-"])

    assert (flags.prompt, flags.input_format) == (None, "text")


def test_rules_may_hold_commas():
    flags = parse(["--allowed-tools", "shell,Bash(git add a,b)", "--allowedTools", "edit"])

    assert flags.allowed == "shell,Bash(git add a,b),edit"


@pytest.mark.parametrize(
    "wrong",
    [
        ["--aproval-mode", "auto"],
        ["--mode", "loose"],
        ["--max-turns", "0"],
        ["--max-turns", "many"],
        ["one", "two"],
        ["--cwd", "no/such/folder"],
        ["--permission-prompt-tool", "mcp__x__y"],
        ["--system-prompt-file", "no/such/file"],
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(wrong):
    with pytest.raises(UsageError, match=r"\.$"):
        parse(wrong)


def test_a_one_shot_question_waits_for_half_a_minute_and_a_session_for_hours():
    assert parse(["hello"], {}).approval_limit == 30
    assert parse([], {}).approval_limit == 6 * 3600
    assert parse([], {"COSH_CORE_APPROVAL_TIMEOUT_SECS": "5"}).approval_limit == 5
    wrong = parse([], {"COSH_CORE_APPROVAL_TIMEOUT_SECS": "soon"})
    assert wrong.approval_limit == 6 * 3600
    assert wrong.notes


async def _yes(*_):
    raise AssertionError("not asked here")


def test_every_flag_that_the_claude_agent_sdk_can_pass_is_taken(tmp_path):
    options = ClaudeAgentOptions(
        tools=["Read", "Bash"],
        allowed_tools=["Read", "Bash(git add a,b)"],
        disallowed_tools=["WebFetch"],
        system_prompt={"type": "preset", "preset": "claude_code", "append": "Be brief."},
        mcp_servers={"calc": {"type": "stdio", "command": "calc"}},
        strict_mcp_config=True,
        permission_mode="acceptEdits",
        permission_prompt_tool_name="stdio",
        continue_conversation=True,
        resume="abc",
        session_id="def",
        fork_session=True,
        max_turns=3,
        max_budget_usd=1.5,
        model="claude-sonnet-5-5",
        fallback_model="claude-haiku-5-5",
        betas=["context-1m-2025-08-07"],
        cwd=str(tmp_path),
        settings='{"a": 1}',
        add_dirs=[str(tmp_path)],
        extra_args={"replay-user-messages": None, "debug-to-stderr": None, "some-new-flag": "value"},
        include_partial_messages=True,
        include_hook_events=True,
        setting_sources=["user", "project"],
        plugins=[{"type": "local", "path": str(tmp_path)}],
        max_thinking_tokens=2048,
        effort="high",
        output_format={"type": "json_schema", "schema": {"type": "object"}},
        cli_path="cosh-nb",
        task_budget={"total": 9},
        resume_session_at="m1",
        resume_drops_turn="m2",
        thinking={"type": "adaptive", "display": "summarized"},
    )
    command = SubprocessCLITransport(prompt="hello", options=options)._build_command()

    flags = parse([*command[1:], "--headless", "--dialect", "claude"])

    assert flags.prompt is None
    assert flags.tools == ("Read", "Bash")
    assert flags.allowed == "Read,Bash(git add a,b)"
    assert (flags.mode, flags.max_turns, flags.resume, flags.fork) == (PermissionMode.ACCEPT_EDITS, 3, "abc", True)
    assert flags.append_system == "Be brief."
    assert flags.partial
    assert flags.replay
    assert flags.client_asks
    assert flags.sources == ("user", "project")
    assert any("--some-new-flag" in note for note in flags.notes)


def test_an_sdk_that_sets_nothing_gets_the_usual_system_prompt():
    command = SubprocessCLITransport(prompt="hello", options=ClaudeAgentOptions(cli_path="cosh-nb"))._build_command()

    flags = parse([*command[1:], "--dialect", "claude"])

    assert flags.system is None
    assert not flags.client_asks
