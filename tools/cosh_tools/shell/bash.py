"""Bash, and cosh's shell: one command line, its output, its exit code. Bash keeps the folder that it ended in."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult, Touch
from cosh_tools.policy import shell as grammar
from cosh_tools.policy.shell_places import start_folder
from cosh_tools.shell.meaning import not_an_error
from cosh_tools.shell.output import Capture
from cosh_tools.shell.process import Ended
from cosh_tools.shell.run import (
    Command,
    Live,
    capture_for,
    checked,
    exit_words,
    in_background,
    left_words,
)

COSH_MOST = 32 << 20


class BashInput(ToolInput):
    """Arguments of Bash."""

    command: str = Field(description="The command line to run.")
    description: str = Field("", description="What it does, in five to ten words, for the person who reads along.")
    timeout: int = Field(
        120_000,
        gt=0,
        validation_alias=AliasChoices("timeout", "timeout_ms"),
        description="Milliseconds after which it is ended, at most 600000.",
    )
    run_in_background: bool = Field(
        False, description="Return at once with a task id; TaskOutput reads what it writes, TaskStop ends it."
    )


class Bash(Tool[BashInput]):
    """`bash -c`, in a process group of its own, with nothing on stdin."""

    name = "Bash"
    description = (
        "Run a command with bash. The working directory is kept for the next call; variables, functions and options "
        "are not. stdin is empty, so nothing can be asked interactively. Output longer than 30000 characters is shown "
        "with its beginning and end, and kept whole in a file. Use Read, Edit, Write, Glob and Grep for files: they "
        "are safer than cat, sed, find and grep. Quote paths with spaces. Start servers and other long work with "
        "run_in_background instead of `&`."
    )
    kind, permission_level = ToolKind.SHELL_EXEC, PermissionLevel.EXECUTE
    verb = "run"
    keywords = ("shell", "run", "command", "exec", "terminal")

    def target(self, call: BashInput, ctx: ToolContext) -> str:
        """The first line of the command."""
        del ctx
        return first_line(call.command)

    def touches(self, call: BashInput, ctx: ToolContext) -> Sequence[Touch]:
        """What the command line says that it runs, reads, writes and fetches."""
        return grammar.read(call.command, ctx)

    async def execute(self, call: BashInput, ctx: ToolContext) -> ToolResult:
        """Run it to its end, its timeout or its cancellation."""
        checked(call.command)
        cwd, note = start_folder(ctx)
        if call.run_in_background:
            given = call.timeout / 1000 if "timeout" in call.model_fields_set else None
            ready = Command(["bash", "-c", call.command], cwd, given, capture_for(ctx))
            return in_background(ctx, call.command, ready, note)
        milliseconds = min(call.timeout, 600_000)
        capture = capture_for(ctx)
        live = Live(ctx.progress)
        with _Folder() as folder:
            argv = ["bash", "-c", f"trap 'builtin pwd -P >&{folder.fd} 2>/dev/null' EXIT; {call.command}"]
            command = Command(
                argv, cwd, milliseconds / 1000, capture, pass_fds=(folder.fd,), may_leave="&" in call.command
            )
            ended = await command.run(live.write)
            live.flush()
            moved = folder.read() if ended.why == "exit" else None
        if moved is not None or note:
            ctx.state.working_dir = moved or cwd
        return _result(call.command, ended, capture, milliseconds, note).with_metadata(cwd=str(ctx.working_dir))


class ShellInput(ToolInput):
    """Arguments of cosh's shell."""

    command: str = Field(description="The command line to run with sh -c.")
    timeout_ms: int = Field(
        30_000,
        gt=0,
        validation_alias=AliasChoices("timeout_ms", "timeout"),
        description="Milliseconds after which it is ended.",
    )


class Shell(Tool[ShellInput]):
    """Bash under cosh's name: `sh -c`, 30 s, nothing kept between calls."""

    name = "shell"
    description = (
        "Execute a shell command with sh -c in the working directory. stdin is empty; nothing is kept between calls. "
        "Returns stdout, and stderr after a [stderr] line."
    )
    kind, permission_level = ToolKind.SHELL_EXEC, PermissionLevel.EXECUTE
    verb = "run"
    keywords = Bash.keywords

    def target(self, call: ShellInput, ctx: ToolContext) -> str:
        """The first line of the command."""
        del ctx
        return first_line(call.command)

    def touches(self, call: ShellInput, ctx: ToolContext) -> Sequence[Touch]:
        """What the command line says that it runs, reads, writes and fetches."""
        return grammar.read(call.command, ctx)

    async def execute(self, call: ShellInput, ctx: ToolContext) -> ToolResult:
        """Run it to its end, its timeout or its cancellation."""
        checked(call.command)
        cwd, note = start_folder(ctx)
        capture = capture_for(ctx)
        live = Live(ctx.progress)
        command = Command(["sh", "-c", call.command], cwd, call.timeout_ms / 1000, capture, COSH_MOST)
        ended = await command.run(live.write)
        live.flush()
        out, err = capture.text("stdout"), capture.text("stderr")
        text = f"{out}\n[stderr]\n{err}" if err else out or f"(exit code: {_cosh_code(ended)})"
        match ended.why:
            case "timeout":
                text = f"Command timed out after {call.timeout_ms}ms" + (f"\n{text}" if out or err else "")
            case "flood":
                text = (
                    f"The command was ended: it wrote more than {COSH_MOST} bytes. Use a narrower filter, "
                    f"`tail -c 20000`, or redirect the output to a file.\n{text}"
                )
            case "exit":
                pass
        result = ToolResult(text, is_error=ended.why != "exit" or ended.code != 0)
        return (result.with_note(note) if note else result).with_metadata(_facts(call.command, ended, capture))


def first_line(command: str) -> str:
    """What a row shows of a command."""
    line, _, rest = command.strip().partition("\n")
    return f"{line} ..." if rest else line


def _result(command: str, ended: Ended, capture: Capture, milliseconds: int, note: str) -> ToolResult:
    out, err = capture.text("stdout").rstrip("\n"), capture.text("stderr").rstrip("\n")
    body = "\n".join(part for part in (out, f"STDERR:\n{err}" if err else "") if part)
    fine = ""
    match ended.why:
        case "timeout":
            text = f"Command timed out after {milliseconds}ms and was ended with everything it started."
            text += f" This is what it wrote until then:\n{body}" if body else " It had written nothing."
        case "flood":
            text = f"Command ended: it wrote more than {capture.size >> 20} MiB. Redirect its output to a file.\n{body}"
        case "exit" if ended.code == 0:
            text = f"{body}\n(exit code 0)" if body else "(no output, exit code 0)"
        case "exit" if fine := not_an_error(command, ended.code):
            text = f"{body}\n(exit code {ended.code}: {fine})" if body else f"(exit code {ended.code}: {fine})"
        case "exit" if ended.code > 0:
            text = f"Command exited with code {ended.code}\n{body or '(no output)'}"
        case "exit":
            text = f"Command {exit_words(ended.code)}\n{body or '(no output)'}"
    result = ToolResult(text, is_error=ended.why != "exit" or (ended.code != 0 and not fine))
    for line in (left_words(ended), note):
        result = result.with_note(line) if line else result
    return result.with_metadata(_facts(command, ended, capture))


def _facts(command: str, ended: Ended, capture: Capture) -> dict[str, Any]:
    """What a card shows."""
    words = {"exit": exit_words(ended.code), "timeout": "timed out", "flood": "too much output"}[ended.why]
    facts: dict[str, Any] = {
        "command": command,
        "exit_code": _cosh_code(ended),
        "ended": ended.why,
        "seconds": round(ended.seconds, 3),
        "stdout": capture.text("stdout"),
        "stderr": capture.text("stderr"),
        "summary": "" if words == "exit code 0" else words.replace("exit code", "exit"),
    }
    if capture.path is not None:
        facts["output_file"] = str(capture.path)
    if ended.left:
        facts["left"] = [member.pid for member in ended.left]
    return facts


def _cosh_code(ended: Ended) -> int:
    return ended.code if ended.code >= 0 else -1


class _Folder:
    """A pipe by which the shell says, at its end, in which folder it stood: nothing of it shows in its output."""

    def __enter__(self) -> Self:
        self._read, self.fd = os.pipe()
        os.set_blocking(self._read, False)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._read)
        os.close(self.fd)

    def read(self) -> Path | None:
        """That folder, if it still is one."""
        said = b""
        with contextlib.suppress(BlockingIOError):
            said = os.read(self._read, 65_536)
        folder = Path(os.fsdecode(said.removesuffix(b"\n")))
        return folder if folder.is_absolute() and folder.is_dir() else None
