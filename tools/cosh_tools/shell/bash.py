"""Bash, and cosh's shell: one command line, its output, its exit code. Bash keeps the folder that it ended in."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult, Touch
from cosh_tools.policy import shell as grammar
from cosh_tools.policy.shell_places import start_folder
from cosh_tools.shell.folder import Folder
from cosh_tools.shell.result import facts, plain_code, worded
from cosh_tools.shell.run import MOST, Command, Live, capture_for, checked, in_background

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
        capture, live = capture_for(ctx), Live(ctx.progress)
        with Folder() as folder:
            argv = ["bash", "-c", f"trap 'builtin pwd -P >&{folder.fd} 2>/dev/null' EXIT; {call.command}"]
            command = Command(
                argv, cwd, milliseconds / 1000, capture, MOST, pass_fds=(folder.fd,), may_leave="&" in call.command
            )
            ended = await command.run(live.write)
            live.flush()
            moved = folder.read() if ended.why == "exit" else None
        if moved is not None or note:
            ctx.state.working_dir = moved or cwd
        return worded("Command", call.command, ended, capture, milliseconds, note).with_metadata(
            cwd=str(ctx.working_dir)
        )


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
        text = f"{out}\n[stderr]\n{err}" if err else out or f"(exit code: {plain_code(ended)})"
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
        return (result.with_note(note) if note else result).with_metadata(facts(call.command, ended, capture))


def first_line(command: str) -> str:
    """What a row shows of a command."""
    line, _, rest = command.strip().partition("\n")
    return f"{line} ..." if rest else line
