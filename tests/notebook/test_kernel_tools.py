"""The tools over a kernel: what they ask of their host and what the model reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from cosh_tools.context import SessionState, ToolContext
from cosh_tools.contract import Media, RunsCode, ToolCall, ToolResult
from cosh_tools.gate import Gate
from cosh_tools.hosts import CodeOutcome
from cosh_tools.kinds import PermissionMode
from cosh_tools.registry import ToolRegistry, load
from cosh_tools.runner import Runner


class OneKernel:
    """A kernel that gives one prepared outcome and remembers what it was asked."""

    def __init__(self, outcome, here):
        self.outcome, self.here, self.asked = outcome, here, []

    async def run_code(self, code, timeout, progress):
        self.asked.append((code, timeout))
        progress("live")
        return self.outcome

    async def variables(self, names, limit):
        self.asked.append((names, limit))
        return "x: int 1"

    async def preview(self, code, timeout):
        self.asked.append(("preview", code, timeout))
        return self.outcome

    def cwd(self):
        return self.here


class Recorded:
    """Evidence of one command."""

    def __init__(self, result):
        self.result, self.asked = result, []

    async def list_commands(self, limit, cursor):
        self.asked.append(("list", limit, cursor))
        return self.result

    async def read_output(self, output_id, direction, lines):
        self.asked.append(("read", output_id, direction, lines))
        return self.result


@pytest.fixture
def run(tmp_path):
    """`run(name, input, **hosts)`: the whole path of a call in a session that allows everything."""

    async def go(name, given, **hosts):
        ctx = ToolContext(SessionState(tmp_path, tmp_path, PermissionMode.TRUST), **hosts)
        return await Runner(ToolRegistry([load(name)]), ctx, Gate()).run(ToolCall("1", name, given))

    return go


async def test_python_gives_text_images_and_a_summary(run, tmp_path):
    picture = Media("image/png", b"png")
    outputs = ({"output_type": "stream", "name": "stdout", "text": "a\nb\n"},)
    kernel = OneKernel(CodeOutcome("ok", "a\nb\n", outputs, (picture,), duration=0.2), tmp_path)

    result = await run("Python", {"code": "draw()", "timeout": "7"}, kernel=kernel)

    assert kernel.asked == [("draw()", 7.0)]
    assert (result.content, result.is_error, result.media) == ("a\nb", False, (picture,))
    assert result.metadata["summary"] == "2 lines, 1 figure"


async def test_python_says_so_where_the_kernel_stands_in_another_folder(run):
    result = await run("Python", {"code": "1"}, kernel=OneKernel(CodeOutcome("ok", ""), Path("/")))

    assert "The kernel's working directory is /" in result.content


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (CodeOutcome("timeout", "so far\n", note="Stopped after 3 s."), "so far\n[Stopped after 3 s.]"),
        (CodeOutcome("interrupted", "so far\n"), "so far\n[The user interrupted it.]"),
        (CodeOutcome("error", "Traceback: KeyError"), "Traceback: KeyError"),
    ],
)
async def test_python_that_did_not_end_well_is_an_error_that_keeps_what_was_printed(run, tmp_path, outcome, said):
    result = await run("Python", {"code": "work()"}, kernel=OneKernel(outcome, tmp_path))

    assert result.is_error
    assert result.content == said


async def test_python_without_output_says_so(run, tmp_path):
    assert (
        await run("Python", {"code": "x = 1"}, kernel=OneKernel(CodeOutcome("ok", ""), tmp_path))
    ).content == "(no output)"


async def test_a_dry_run_is_a_preview_and_no_run(run, tmp_path):
    kernel = OneKernel(CodeOutcome("ok", "would print"), tmp_path)

    await run("Python", {"code": "x", "dry_run": True}, kernel=kernel)

    assert kernel.asked == [("preview", "x", 120.0)]


async def test_python_without_a_kernel_names_another_way(run):
    result = await run("Python", {"code": "1"})

    assert result.is_error
    assert "Run Python with Bash instead" in result.content


def test_python_touches_code_that_nobody_can_read_in_advance():
    tool = load("Python")
    call = tool.takes.model_validate({"code": "# note\nimport os"})

    assert tool.touches(call, None) == (RunsCode("# note\nimport os"),)
    assert tool.target(call, None) == "import os"


async def test_variables_are_asked_for_by_name(run, tmp_path):
    kernel = OneKernel(CodeOutcome("ok", ""), tmp_path)

    result = await run("Variables", {"names": '["x"]'}, kernel=kernel)

    assert kernel.asked == [(("x",), 60)]
    assert result.content == "x: int 1"


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"action": "list_commands"}, ("list", 20, None)),
        ({"action": "list_commands", "limit": 1000, "direction": "head"}, ("list", 100, None)),
        ({"action": "list_commands", "limit": 0, "cursor": "c7"}, ("list", 1, "c7")),
        (
            {"action": "read_output", "output_id": "terminal-output://s/c1"},
            ("read", "terminal-output://s/c1", "tail", 120),
        ),
        (
            {
                "action": "read_output",
                "output_id": " x ",
                "direction": "head",
                "lines": 999,
                "bypass_recent_filter": True,
            },
            ("read", "x", "head", 300),
        ),
    ],
)
async def test_evidence_is_asked_for_within_its_limits(run, given, asked):
    evidence = Recorded(ToolResult.success("seen"))

    result = await run("cosh_shell_evidence", given, evidence=evidence)

    assert evidence.asked == [asked]
    assert (result.content, result.is_error) == ("seen", False)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, "action"),
        ({"action": "forget"}, "action"),
        ({"action": "list_commands", "limit": "many"}, "limit"),
        ({"action": "list_commands", "limit": 2.5}, "limit"),
        ({"action": "list_commands", "cursor": 7.5, "output_id": "x"}, "output_id"),
        ({"action": "list_commands", "lines": 3}, "lines"),
        ({"action": "list_commands", "bypass_recent_filter": False}, "bypass_recent_filter"),
        ({"action": "read_output"}, "output_id"),
        ({"action": "read_output", "output_id": "  "}, "output_id"),
        ({"action": "read_output", "output_id": "x", "direction": "middle"}, "direction"),
        ({"action": "read_output", "output_id": "x", "lines": "all"}, "lines"),
        ({"action": "read_output", "output_id": "x", "bypass_recent_filter": "yes"}, "bypass_recent_filter"),
        ({"action": "read_output", "output_id": "x", "limit": 3}, "limit"),
    ],
)
async def test_wrong_evidence_calls_name_the_field_before_anything_is_asked(run, given, names):
    evidence = Recorded(ToolResult.success("seen"))

    result = await run("cosh_shell_evidence", given, evidence=evidence)

    assert result.is_error
    assert names in result.content
    assert evidence.asked == []


@pytest.mark.parametrize(
    ("metadata", "is_error"),
    [
        ({"excerpt_status": "available"}, False),
        ({"excerpt_status": "already_delivered"}, False),
        ({"excerpt_status": "expired"}, True),
        ({"is_error": True}, True),
        ({"status": "unavailable"}, True),
        ({"status": "ok"}, False),
        ({"reason": "redacted_confirmation_required"}, True),
    ],
)
async def test_what_the_host_says_of_its_answer_decides_whether_it_is_an_error(run, metadata, is_error):
    evidence = Recorded(ToolResult.success("text").with_metadata(metadata))

    result = await run("cosh_shell_evidence", {"action": "read_output", "output_id": "x"}, evidence=evidence)

    assert result.is_error == is_error


@pytest.mark.parametrize("mode", list(PermissionMode))
async def test_evidence_never_asks_in_any_mode(tmp_path, mode):
    ctx = ToolContext(SessionState(tmp_path, tmp_path, mode), evidence=Recorded(ToolResult.success("seen")))
    runner = Runner(ToolRegistry([load("cosh_shell_evidence")]), ctx, Gate())

    result = await runner.run(ToolCall("1", "cosh_shell_evidence", {"action": "list_commands"}))

    assert result.content == "seen"
