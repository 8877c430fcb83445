"""Python: run code in the person's own kernel, with their variables, without a cell."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pydantic import Field

from cosh_tools.contract import PermissionLevel, RunsCode, Tool, ToolContext, ToolInput, ToolKind, ToolResult, Touch
from cosh_tools.hosts import CodeOutcome


class PythonInput(ToolInput):
    """Arguments of Python."""

    code: str = Field(
        min_length=1,
        description="Python code. IPython syntax works: magics, `!command`, top-level await. The value of the last "
        "expression is shown.",
    )
    timeout: float = Field(120, gt=0, le=3600, description="Seconds after which the code is interrupted, at most 3600.")
    dry_run: bool = Field(
        False,
        description="Only try it in a copy of the kernel that can change nothing, and say what it would print and "
        "which variables and files would change.",
    )


class Python(Tool[PythonInput]):
    """Code in the user's namespace, on the kernel's main thread."""

    name = "Python"
    description = (
        "Run Python in the user's live kernel, in their namespace: their variables, imports and data are there, and "
        "what you define stays. Returns stdout, stderr, the value of the last expression, figures as images, and the "
        "traceback. Nothing is added to the notebook: use NotebookEdit and NotebookRun for what the user should keep. "
        "input() and exit() are refused. Look at data with small outputs (shape, head, describe), not whole tables."
    )
    kind, permission_level = ToolKind.SHELL_EXEC, PermissionLevel.EXECUTE
    verb = "run"
    keywords = ("run", "execute", "code", "kernel", "evaluate", "plot", "dataframe")

    def target(self, call: PythonInput, ctx: ToolContext) -> str:
        """The first line that says something."""
        del ctx
        lines = [line.strip() for line in call.code.splitlines()]
        said = [line for line in lines if line and not line.startswith(("#", "%%"))]
        return next((line for line in said if not line.startswith(("import ", "from "))), said[0] if said else "Python")

    def touches(self, call: PythonInput, ctx: ToolContext) -> Sequence[Touch]:
        """Code that nobody can read in advance."""
        del ctx
        return (RunsCode(call.code),)

    async def execute(self, call: PythonInput, ctx: ToolContext) -> ToolResult:
        """Run it, or only try it."""
        if call.dry_run:
            outcome = await ctx.kernel.preview(call.code, call.timeout)
        else:
            outcome = await ctx.kernel.run_code(call.code, call.timeout, ctx.progress)
        return result_of(outcome, _place(ctx))


def result_of(outcome: CodeOutcome, note: str = "") -> ToolResult:
    """What the model reads of an outcome, and what a card shows."""
    notes = [part for part in (_ended(outcome), note) if part]
    text = outcome.text.rstrip("\n")
    if not text and not notes:
        text = "(no output)"
    content = "\n".join([text, *notes] if text else notes)
    return ToolResult(
        content,
        is_error=outcome.status != "ok",
        media=outcome.media,
        metadata={
            "status": outcome.status,
            "outputs": outcome.outputs,
            "summary": _summary(outcome),
            "seconds": outcome.duration,
        },
    )


def _ended(outcome: CodeOutcome) -> str:
    match outcome.status:
        case "ok" | "error":
            return outcome.note
        case "timeout":
            return f"[{outcome.note or 'Stopped: it took longer than its timeout.'}]"
        case "interrupted":
            return f"[{outcome.note or 'The user interrupted it.'}]"


def _place(ctx: ToolContext) -> str:
    """The kernel keeps a folder of its own: said where a relative path would mean something else there."""
    here = ctx.kernel.cwd()
    if here is None or os.path.realpath(here) == os.path.realpath(ctx.working_dir):
        return ""
    return f"[The kernel's working directory is {here}, not {ctx.working_dir}.]"


def _summary(outcome: CodeOutcome) -> str:
    for output in outcome.outputs:
        if output["output_type"] == "error":
            said = f"{output['ename']}: {output['evalue']}".splitlines()
            return said[0][:120] if said else "error"
    if outcome.status != "ok":
        return outcome.status
    lines = outcome.text.count("\n") + (not outcome.text.endswith("\n")) if outcome.text else 0
    figures = len(outcome.media)
    parts = [f"{lines} line{'s' * (lines != 1)}"] if lines else []
    if figures:
        parts.append(f"{figures} figure{'s' * (figures != 1)}")
    return ", ".join(parts) or "no output"
