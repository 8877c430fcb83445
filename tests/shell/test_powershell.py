"""PowerShell over a script named `pwsh`, the one stand-in: the real one is not at hand where the tests run."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from cosh_tools.context import SessionState, ToolContext
from cosh_tools.policy.powershell import read
from cosh_tools.touches import Opaque, Runs, Writes
from support.waiting import alive, until


@pytest.fixture
def pwsh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the stand-in does is written by each story; the script that it is asked to run is its last word."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "pwsh"
    program.write_text("#!/bin/bash\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return program


async def test_it_is_started_without_profile_and_without_a_prompt(desk, pwsh):
    result = await desk("PowerShell", command="Get-Date")
    assert result.content.splitlines()[:3] == ["-NoProfile", "-NonInteractive", "-Command"]
    assert "try { Get-Date" in result.content


async def test_nothing_of_the_environment_is_in_its_arguments(desk, pwsh, monkeypatch):
    monkeypatch.setenv("SOME_SECRET", "s3cr3t-value")
    assert "s3cr3t-value" not in (await desk("PowerShell", command="Get-Date")).content


async def test_an_exit_code_is_said(desk, pwsh):
    pwsh.write_text("#!/bin/bash\necho out; echo err >&2; exit 5\n")
    result = await desk("PowerShell", command="x")
    assert result.content == "PowerShell exited with code 5\nout\nSTDERR:\nerr"
    assert result.is_error


async def test_the_folder_it_ends_in_is_kept(desk, pwsh):
    (desk.folder / "sub").mkdir()
    pwsh.write_text('#!/bin/bash\nprintf %s "$PWD/sub" > "$COSH_FOLDER"\n')
    await desk("PowerShell", command="cd sub")
    assert desk.ctx.working_dir == desk.folder / "sub"


async def test_a_timeout_keeps_the_output_and_ends_the_tree(desk, pwsh):
    pwsh.write_text("#!/bin/bash\necho $$; sleep 300 & wait\n")
    result = await desk("PowerShell", command="x", timeout=300)
    assert result.content.startswith("PowerShell timed out after 300ms")
    assert not alive(int(result.content.split()[-1]))


async def test_stop_ends_it(desk, pwsh):
    pwsh.write_text("#!/bin/bash\necho $$ > pid; sleep 300 & wait\n")
    call = asyncio.create_task(desk("PowerShell", command="x"))
    await until(lambda: (desk.folder / "pid").exists() and (desk.folder / "pid").read_text().strip())
    started = time.monotonic()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert time.monotonic() - started < 1.5
    assert not alive(int((desk.folder / "pid").read_text()))


async def test_it_runs_in_the_background_too(desk, pwsh):
    result = await desk("PowerShell", command="Get-Date", run_in_background=True)
    assert await desk.jobs.wait(result.metadata["job"], 10)
    assert "Get-Date" in desk.jobs.output(result.metadata["job"])


async def test_powershell_takes_its_place(desk, pwsh):
    pwsh.rename(pwsh.with_name("powershell"))
    assert not (await desk("PowerShell", command="Get-Date")).is_error


async def test_without_either_it_says_so(desk, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = await desk("PowerShell", command="Get-Date")
    assert result.is_error
    assert (
        result.content == "PowerShell is not installed here (neither pwsh nor powershell is on PATH). Use Bash instead."
    )


def said(command: str, folder: Path) -> tuple[list[str], bool]:
    touches = read(command, ToolContext(SessionState(folder, folder)))
    return [touch.text for touch in touches if isinstance(touch, Runs)], any(isinstance(t, Opaque) for t in touches)


def test_one_plain_command_is_read(tmp_path):
    assert said("Get-ChildItem src", tmp_path) == (["Get-ChildItem src"], False)


@pytest.mark.parametrize(
    "command",
    ["rm x", "remove-item x", "REMOVE-ITEM x", "ri x", "ls; rm x", "ls | % { rm x }", "if (1) { del x }", "$(erase x)",
     "ls && 'rm' x", "r`m x", "ls\nrm x"],
)  # fmt: skip
def test_no_part_and_no_alias_escapes_a_rule(command, tmp_path):
    runs, _ = said(command, tmp_path)
    assert "Remove-Item x" in runs


@pytest.mark.parametrize(
    "command", ["ls; ls", "ls | sort", "$x", "& 'x'", "iex $(x)", "ls > x", 'echo "$(x)"', "", "(((", "\0"]
)
def test_more_than_one_plain_command_is_opaque(command, tmp_path):
    assert said(command, tmp_path)[1]


def test_what_it_deletes_and_writes_is_named(tmp_path):
    touches = read("Remove-Item -Recurse old", ToolContext(SessionState(tmp_path, tmp_path)))
    assert [(touch.as_given, touch.deletes) for touch in touches if isinstance(touch, Writes)] == [("old", True)]
    assert [touch.destructive for touch in touches if isinstance(touch, Runs)] == [True]


async def test_a_call_may_ask_for_confirmation(desk, pwsh):
    from cosh_tools.registry import load
    from cosh_tools.touches import Needs
    from cosh_tools.validate import validate

    given, _ = validate(load("PowerShell"), {"command": "ls", "require_confirmation": True})
    assert any(isinstance(touch, Needs) for touch in load("PowerShell").touches(given, desk.ctx))
