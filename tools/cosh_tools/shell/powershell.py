"""PowerShell, the same as Bash over `pwsh` or `powershell`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from pydantic import AliasChoices, Field

from cosh_tools.contract import (
    Needs,
    PermissionLevel,
    Tool,
    ToolContext,
    ToolError,
    ToolInput,
    ToolKind,
    ToolResult,
    Touch,
)
from cosh_tools.policy.powershell import read
from cosh_tools.policy.shell_places import start_folder
from cosh_tools.shell.bash import first_line
from cosh_tools.shell.folder import FolderFile
from cosh_tools.shell.result import worded
from cosh_tools.shell.run import Command, Live, capture_for, checked, in_background

_AT_THE_END = """
$CoshOk = $? } finally { [IO.File]::WriteAllText($env:COSH_FOLDER, (Get-Location -PSProvider FileSystem).ProviderPath) }
if (-not $CoshOk) { if ($LASTEXITCODE) { exit $LASTEXITCODE } else { exit 1 } }"""
"""Says the folder, and hands on the exit code of a program: PowerShell itself would only say 1."""


class PowerShellInput(ToolInput):
    """Arguments of PowerShell."""

    command: str = Field(description="The PowerShell command to run.")
    description: str = Field("", description="What it does, in five to ten words, for the person who reads along.")
    timeout: int = Field(
        120_000,
        gt=0,
        validation_alias=AliasChoices("timeout", "timeout_ms"),
        description="Milliseconds after which it is ended, at most 600000.",
    )
    run_in_background: bool = Field(False, description="Return at once with a task id; see TaskOutput and TaskStop.")
    require_confirmation: bool = Field(False, description="Have the person confirm this call in any case.")


class PowerShell(Tool[PowerShellInput]):
    """`pwsh -NoProfile -NonInteractive -Command`; only the working directory is kept."""

    name = "PowerShell"
    description = (
        "Run a PowerShell command (pwsh, or powershell on Windows) without profile and without a prompt. The working "
        "directory is kept for the next call; variables are not. Use it only where PowerShell itself is wanted."
    )
    kind, permission_level = ToolKind.SHELL_EXEC, PermissionLevel.EXECUTE
    verb = "run"
    keywords = ("powershell", "pwsh", "windows", "shell", "command")

    def target(self, call: PowerShellInput, ctx: ToolContext) -> str:
        """The first line of the command."""
        del ctx
        return first_line(call.command)

    def touches(self, call: PowerShellInput, ctx: ToolContext) -> Sequence[Touch]:
        """Each part is named for the rules; more than one plain command is opaque beside."""
        needs = [Needs("The call asks for confirmation.")] if call.require_confirmation else []
        return [*read(call.command, ctx), *needs]

    async def execute(self, call: PowerShellInput, ctx: ToolContext) -> ToolResult:
        """Run it to its end, its timeout or its cancellation."""
        checked(call.command)
        program = shutil.which("pwsh") or shutil.which("powershell")
        if program is None:
            raise ToolError(
                "PowerShell is not installed here (neither pwsh nor powershell is on PATH). Use Bash instead."
            )
        cwd, note = start_folder(ctx)
        argv = [program, "-NoProfile", "-NonInteractive", "-Command"]
        if call.run_in_background:
            given = call.timeout / 1000 if "timeout" in call.model_fields_set else None
            ready = Command([*argv, call.command], cwd, given, capture_for(ctx))
            return in_background(ctx, call.command, ready, note)
        milliseconds = min(call.timeout, 600_000)
        capture, live = capture_for(ctx), Live(ctx.progress)
        with FolderFile() as folder:
            script = f"try {{ {call.command}{_AT_THE_END}"
            env = {"COSH_FOLDER": str(folder.path)}
            command = Command([*argv, script], cwd, milliseconds / 1000, capture, may_leave=True, env=env)
            ended = await command.run(live.write)
            live.flush()
            moved = folder.read() if ended.why == "exit" else None
        if moved is not None or note:
            ctx.state.working_dir = moved or cwd
        result = worded("PowerShell", call.command, ended, capture, milliseconds, note)
        return result.with_metadata(cwd=str(ctx.working_dir))
