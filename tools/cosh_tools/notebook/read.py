"""NotebookRead: the cells of a notebook with their outputs, live where it is open."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from pydantic import AliasChoices, Field, field_validator

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult, Touch
from cosh_tools.notebook.access import host_of, mark_read, notebook_path
from cosh_tools.notebook.format import Detail, pick, show


class NotebookReadInput(ToolInput):
    """Which notebook, which cells, how much of their outputs."""

    notebook_path: str = Field(
        validation_alias=AliasChoices("notebook_path", "file_path", "path"),
        description="The notebook (.ipynb), absolute or relative to the working directory.",
    )
    cells: list[str] | None = Field(
        None,
        validation_alias=AliasChoices("cells", "cell_ids", "cell_id"),
        description='Cells to show: ids, ranges "from..to" of ids, positions "3" or "3-7" counted from 0. '
        "Left out: the whole notebook, or its outline when it is long.",
    )
    outputs: Detail = Field("short", description="How much of each output: short (1,500 characters), full or none.")

    @field_validator("cells", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        """One name, or names with commas between them, is a list too."""
        if isinstance(value, int | str) and not isinstance(value, bool):
            value = str(value).split(",")
        if isinstance(value, list):
            return [str(name).strip() for name in value if str(name).strip()] or None
        return value


class NotebookRead(Tool[NotebookReadInput]):
    """Show cells, sources first."""

    name = "NotebookRead"
    description = (
        "Read a Jupyter notebook (.ipynb): cells with id, index, type, source and outputs; images are attached. The "
        "open notebook is read live, unsaved typing included; the answer says whether it is live or as last saved. "
        "A long notebook comes as an outline first; ask for cells by id or range then."
    )
    kind, permission_level = ToolKind.READ_ONLY, PermissionLevel.READ_ONLY
    concurrency_safe = True
    verb = "read"
    keywords = ("notebook", "ipynb", "cell", "jupyter", "outputs", "outline")

    def touches(self, call: NotebookReadInput, ctx: ToolContext) -> Sequence[Touch]:
        """It reads the notebook."""
        return (ctx.reads(call.notebook_path),)

    def target(self, call: NotebookReadInput, ctx: ToolContext) -> str:
        """The notebook's name."""
        del ctx
        return Path(call.notebook_path).name

    async def execute(self, call: NotebookReadInput, ctx: ToolContext) -> ToolResult:
        """Read through the host, show, and remember what was shown whole."""
        return await read_notebook(notebook_path(call.notebook_path, ctx), ctx, call.cells or (), call.outputs)


async def read_notebook(
    path: Path, ctx: ToolContext, cells: Sequence[str] = (), detail: Detail = "short"
) -> ToolResult:
    """A notebook for the model, whoever asks; cells that are shown whole count as read."""
    host = host_of(ctx)
    view = await host.read(path, ())
    if detail != "none" and any(cell.output_bytes for cell in view.cells):
        # An open notebook sends outputs only when they are asked for.
        wanted = {cell.id for cell in (pick(view.cells, cells) if cells else view.cells) if cell.output_bytes}
        if cells or len(show(view, (), "none").cells) == len(view.cells):
            view = await host.read(path, sorted(wanted))
    shown = await asyncio.to_thread(show, view, cells, detail)
    mark_read(ctx, path, shown.cells)
    count = len(view.cells)
    summary = f"{count} cell{'s' * (count != 1)}" if not cells else f"{len(shown.cells)} of {count} cells"
    meta = {"path": str(path), "summary": summary, "live": view.live, "as_of": view.as_of}
    return ToolResult(shown.text, metadata=meta, media=shown.media)
