"""The cosh face of Bash: sh -c, 30 s, nothing kept, and cosh's own result texts."""

from __future__ import annotations

import time

import pytest

from cosh_tools.registry import load
from support.shell_desk import ShellDesk
from support.waiting import alive


async def test_output_is_the_plain_text(desk):
    result = await desk("shell", command="echo hello")
    assert (result.output, result.is_error) == ("hello\n", False)


async def test_stderr_follows_its_mark(desk):
    assert (await desk("shell", command="echo a; echo b >&2")).output == "a\n\n[stderr]\nb\n"


@pytest.mark.parametrize(
    ("command", "text"), [("true", "(exit code: 0)"), ("exit 3", "(exit code: 3)"), ("kill -9 $$", "(exit code: -1)")]
)
async def test_silence_gives_the_exit_code(desk, command, text):
    assert (await desk("shell", command=command)).output == text


async def test_false_is_an_error_and_a_missing_command_too(desk):
    assert (await desk("shell", command="false")).is_error
    missing = await desk("shell", command="no_such_command_here")
    assert missing.is_error
    assert "[stderr]" in missing.output


async def test_nothing_is_kept_between_calls(desk):
    await desk("shell", command="cd /; X=1; export X")
    assert (await desk("shell", command='echo "$PWD $X"')).output == f"{desk.folder} \n"
    assert desk.ctx.working_dir == desk.folder


async def test_a_timeout_is_said_in_cosh_s_words_and_ends_grandchildren(desk):
    started = time.monotonic()
    result = await desk("shell", command="sh -c 'echo $$; exec sleep 300' & wait", timeout_ms=300)
    assert result.output.startswith("Command timed out after 300ms\n")
    assert result.is_error
    assert time.monotonic() - started < 5
    assert not alive(int(result.output.split()[-1]))


async def test_a_flood_is_ended_with_a_hint_first(desk, monkeypatch):
    monkeypatch.setattr("cosh_tools.shell.bash.COSH_MOST", 1 << 20)
    result = await desk("shell", command="yes")
    assert result.output.startswith("The command was ended: it wrote more than 1048576 bytes.")
    assert "tail -c 20000" in result.output
    assert result.is_error


async def test_long_output_fits_the_cosh_limits_and_is_kept_whole(tmp_path):

    folder = tmp_path / "ws"
    folder.mkdir()
    desk = ShellDesk(folder, toolset="cosh")
    result = await desk("shell", command="seq 1 50000")
    assert len(result.output.encode()) <= 25_000
    assert "50000" in result.output
    assert result.metadata["output_file"] in result.output


async def test_binary_output_does_not_grow(desk):
    result = await desk("shell", command="head -c 100000 /dev/urandom")
    assert len(result.output) < 200


def test_its_schema_is_cosh_s():
    schema = load("shell").input_schema()
    assert schema["required"] == ["command"]
    assert schema["properties"]["timeout_ms"]["default"] == 30_000
