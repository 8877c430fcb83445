"""NotebookRun: run cells of a notebook by id, in its own kernel, outputs into the cells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import AliasChoices, Field, field_validator

from cosh_tools.contract import (
    PermissionLevel,
    RunsCode,
    Tool,
    ToolContext,
    ToolInput,
    ToolKind,
    ToolResult,
    Touch,
)
from cosh_tools.hosts import CodeOutcome
from cosh_tools.notebook.access import host_of, known_source, notebook_path
from cosh_tools.notebook.outputs import clip
from cosh_tools.results import Media, ToolError

_ROOM = 60_000
"""Characters of all outputs in one answer."""


class NotebookRunInput(ToolInput):
    """Which cells, in which order."""

    notebook_path: str = Field(
        validation_alias=AliasChoices("notebook_path", "file_path", "path"),
        description="The notebook (.ipynb), absolute or relative to the working directory. It must be open.",
    )
    cells: list[str] = Field(
        validation_alias=AliasChoices("cells", "cell_ids", "cell_id", "cell"),
        min_length=1,
        description="Ids of the cells to run, in this order. The first error ends the run.",
    )
    timeout: float = Field(300, gt=0, le=3600, description="Seconds for all of them together, at most 3600.")

    @field_validator("cells", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        """One name, or names with commas between them, is a list too; a bare number is a position."""
        if isinstance(value, int | str) and not isinstance(value, bool):
            value = str(value).split(",")
        if isinstance(value, list):
            return [str(name).strip() for name in value if str(name).strip()]
        return value


class NotebookRun(Tool[NotebookRunInput]):
    """Cells of an open notebook, run in order."""

    name = "NotebookRun"
    description = (
        "Run cells of an open notebook by id, in the given order, in the notebook's own kernel. Outputs land in the "
        "cells and come back here, figures as images. The first error ends the run. Use it for code that the user "
        "should keep in the notebook; use Python for a look that leaves no trace."
    )
    kind, permission_level = ToolKind.SHELL_EXEC, PermissionLevel.EXECUTE
    verb = "run"
    keywords = ("notebook", "ipynb", "cell", "execute", "kernel", "jupyter")

    def touches(self, call: NotebookRunInput, ctx: ToolContext) -> Sequence[Touch]:
        """Code: the cells as the model last read them, else their names."""
        path = ctx.resolve_path(call.notebook_path)
        return [RunsCode(known_source(ctx, path, cell) or f"# cell {cell} of {path.name}") for cell in call.cells]

    def target(self, call: NotebookRunInput, ctx: ToolContext) -> str:
        """The notebook's name and the cells."""
        del ctx
        cells = call.cells[0] if len(call.cells) == 1 else f"{len(call.cells)} cells"
        return f"{Path(call.notebook_path).name} {cells}"

    async def execute(self, call: NotebookRunInput, ctx: ToolContext) -> ToolResult:
        """Run through the host and show what each cell gave."""
        path = notebook_path(call.notebook_path, ctx)
        doubles = {cell for cell in call.cells if call.cells.count(cell) > 1}
        if doubles:
            raise ToolError(f"{', '.join(sorted(doubles))} is named twice. Name each cell once.")
        outcomes = await host_of(ctx).run(path, call.cells, call.timeout, ctx)
        return _result(path, call.cells, outcomes)


def _result(path: Path, cells: Sequence[str], outcomes: Sequence[CodeOutcome]) -> ToolResult:
    room = _ROOM // max(len(outcomes), 1)
    parts: list[str] = []
    media: list[Media] = []
    for outcome in outcomes:
        parts.append(_one(outcome, room))
        media += outcome.media
    failed = next((outcome for outcome in outcomes if outcome.status != "ok"), None)
    left = cells[len(outcomes) :]
    if left:
        parts.append(f"Not run: {', '.join(left)}.")
    ran = sum(outcome.status == "ok" for outcome in outcomes)
    summary = f"{ran} of {len(cells)} ran" if failed is not None or len(cells) > 1 else "ran"
    if failed is not None:
        summary = failed.status if len(cells) == 1 else f"{summary}, {failed.status}"
    meta = {
        "path": str(path),
        "summary": summary,
        "cells": [{"cell": o.cell, "status": o.status, "seconds": round(o.duration, 3)} for o in outcomes],
    }
    return ToolResult("\n".join(parts), is_error=failed is not None, metadata=meta, media=tuple(media))


def _one(outcome: CodeOutcome, room: int) -> str:
    head = f"Cell {outcome.cell}: {outcome.status}, {outcome.duration:.1f} s."
    if outcome.note:
        head += f" {outcome.note}"
    return f"{head}\n{clip(outcome.text, room)}" if outcome.text else f"{head} No output."
