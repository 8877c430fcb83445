"""NotebookEdit: change cells of a notebook, the open one live, a closed one on disk."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult, Touch
from cosh_tools.hosts import CellEdit, CellReport, CellView, NotebookView
from cosh_tools.notebook.access import (
    host_of,
    known_digest,
    known_source,
    mark_read,
    mark_source,
    name_of,
    notebook_path,
)
from cosh_tools.notebook.steps import Names, Refusal, check_magic, check_shape, digest
from cosh_tools.results import ToolError

Mode = Literal["replace", "insert", "delete", "move"]
CellType = Literal["code", "markdown", "raw"]

_CELL = AliasChoices("cell_id", "cell", "cell_number", "cell_index")
_SOURCE = AliasChoices("new_source", "source")
_MODE = AliasChoices("edit_mode", "mode")


class _Step(BaseModel):
    """What one edit says."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    cell_id: str | None = Field(
        None, validation_alias=_CELL,
        description="The cell to replace, delete or move, by its id (`cell-N`, counted from 0, where it has none). "
        "For an insert: the cell after which the new one goes.",
    )  # fmt: skip
    new_source: str | None = Field(None, validation_alias=_SOURCE, description="The whole new source of the cell.")
    cell_type: CellType | None = Field(
        None, description="code, markdown or raw. Left out, a cell keeps its type and a new one is code."
    )
    edit_mode: Mode = Field("replace", validation_alias=_MODE, description="replace, insert, delete or move.")
    after: str | None = Field(None, description="Insert or move after this cell. Without an anchor: at the end.")
    before: str | None = Field(None, description="Insert or move before this cell.")

    @field_validator("cell_id", "after", "before", mode="before")
    @classmethod
    def _name(cls, value: Any) -> Any:
        """A bare number is a position; an empty text is no name."""
        if isinstance(value, int) and not isinstance(value, bool):
            return f"cell-{value}"
        return value.strip() or None if isinstance(value, str) else value

    @field_validator("new_source", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        """A list of lines, as notebooks write it, is the text they make."""
        whole = isinstance(value, list) and all(isinstance(line, str) for line in value)
        return "".join(value) if whole else value


class NotebookEditInput(_Step, ToolInput):
    """One edit, or several in `edits`."""

    notebook_path: str = Field(
        validation_alias=AliasChoices("notebook_path", "file_path", "path"),
        description="The notebook (.ipynb), absolute or relative to the working directory.",
    )
    edits: list[_Step] | None = Field(
        None,
        description="Several edits in one call, applied in this order, each with the fields of a single one. "
        "Names mean the cells as they were before the call; several inserts after one cell keep their order.",
    )


class NotebookEdit(Tool[NotebookEditInput]):
    """Replace, insert, delete, move and retype cells, each verified."""

    name = "NotebookEdit"
    description = (
        "Change cells of a Jupyter notebook (.ipynb). An open notebook is edited live, with the user's unsaved typing "
        "kept; a closed one on disk. edit_mode replace (new_source), insert (after or before a cell; without an anchor "
        "at the end), delete, or move (after or before a cell). Cells are named by id. Read a cell (NotebookRead) "
        "before you replace, delete or retype it: if the user changed it since, the edit is reported as a conflict "
        "and nothing is overwritten. The result says for each edit whether it landed, and where."
    )
    kind, permission_level = ToolKind.FILE_EDIT, PermissionLevel.WRITE
    verb = "edit"
    keywords = ("notebook", "ipynb", "cell", "jupyter", "insert", "markdown")

    def touches(self, call: NotebookEditInput, ctx: ToolContext) -> Sequence[Touch]:
        """It writes the notebook. Where nothing would come of it, a person is not asked at all."""
        path = notebook_path(call.notebook_path, ctx)
        problems = [_hopeless(step, path, ctx) for step in _steps(call)]
        if all(problems):
            raise ToolError("\n".join(dict.fromkeys(problems)))
        return (ctx.writes(call.notebook_path),)

    def target(self, call: NotebookEditInput, ctx: ToolContext) -> str:
        """The notebook's name and the cell, or how many edits."""
        steps = _steps(call)
        name = Path(call.notebook_path).name
        del ctx
        if len(steps) > 1:
            return f"{name}, {len(steps)} edits"
        step = steps[0]
        return f"{name} {step.cell_id}" if step.cell_id and step.edit_mode != "insert" else name

    async def diff(self, call: NotebookEditInput, ctx: ToolContext) -> str:
        """What the edits would change, cell by cell."""
        path = notebook_path(call.notebook_path, ctx)
        view = await host_of(ctx).read(path, ())
        return await asyncio.to_thread(_planned, view, _steps(call))

    async def execute(self, call: NotebookEditInput, ctx: ToolContext) -> ToolResult:
        """Guard each step by what was read, hand all to the host, and say what became of them."""
        path = notebook_path(call.notebook_path, ctx)
        steps = _steps(call)
        host = host_of(ctx)
        edits = [_guarded(step, path, ctx) for step in steps]
        unread = {at: edit for at, edit in enumerate(edits) if isinstance(edit, CellReport)}
        reports = iter(await host.apply(path, [edit for edit in edits if isinstance(edit, CellEdit)], ctx))
        found = [unread[at] if at in unread else next(reports) for at in range(len(edits))]
        _remember(ctx, path, steps, found)
        if any(report.status == "landed" and report.cell.startswith("cell-") for report in found):
            await _renumber(ctx, path)
        return _result(path, found)


def _steps(call: NotebookEditInput) -> Sequence[_Step]:
    if call.edits is None:
        return (call,)
    if call.cell_id or call.new_source is not None or call.after or call.before:
        raise ToolError("Send either one edit or `edits`, not both.")
    if not call.edits:
        raise ToolError("`edits` is empty. Send at least one edit.")
    return call.edits


def _hopeless(step: _Step, path: Path, ctx: ToolContext) -> str:
    """Why a step cannot land, as far as it is known without the notebook; empty where it may."""
    edit = _guarded(step, path, ctx)
    if isinstance(edit, CellReport):
        return edit.text
    try:
        check_shape(edit)
        if edit.mode == "insert":
            check_magic(edit.type or "code", edit.source or "", ctx.config)
    except Refusal as refusal:
        return str(refusal)
    return ""


def _guarded(step: _Step, path: Path, ctx: ToolContext) -> CellEdit | CellReport:
    """The step with the digest of what was read; a refusal where the model never read the cell."""
    cell, after, before = step.cell_id, step.after, step.before
    if step.edit_mode == "insert" and cell:
        if after or before:
            why = "An insert has one anchor: `cell_id` (after it), `after` or `before`. Name only one."
            return CellReport("refused", "insert", cell, None, None, None, why)
        cell, after = None, cell
    changes = step.edit_mode in {"replace", "delete"}
    seen = known_digest(ctx, path, cell) if changes and cell else None
    if changes and cell and seen is None:
        why = (
            f"Cell {cell} was not read in this session, so it was not changed. "
            f'Read it first: NotebookRead with cells=["{cell}"].'
        )
        return CellReport("refused", step.edit_mode, cell, None, None, None, why)
    read = known_source(ctx, path, cell) if changes and cell else None
    return CellEdit(step.edit_mode, cell, step.new_source, step.cell_type, after, before, read, seen)


def _remember(ctx: ToolContext, path: Path, steps: Sequence[_Step], reports: Sequence[CellReport]) -> None:
    """What the model wrote, it knows; what a conflict showed it, too."""
    for step, report in zip(steps, reports, strict=True):
        if report.status == "landed" and step.edit_mode in {"insert", "replace"}:
            mark_source(ctx, path, report.cell, report.new_source)
        elif report.status == "conflicted":
            for name in {report.cell, step.cell_id or report.cell}:
                mark_source(ctx, path, name, report.new_source)


async def _renumber(ctx: ToolContext, path: Path) -> None:
    """Cells without ids are known by position, and positions have moved: keep what is known under the new ones."""
    view = await host_of(ctx).read(path, ())
    known = {known_digest(ctx, path, f"cell-{at}") for at in range(len(view.cells) + 1)}
    mark_read(ctx, path, [cell for cell in view.cells if not cell.id and digest(cell.source) in known])


def _result(path: Path, reports: Sequence[CellReport]) -> ToolResult:
    done = [report for report in reports if report.status == "landed"]
    if len(reports) == 1:
        text = reports[0].text
    else:
        rows = [f"{at}. {report.status}: {report.text}" for at, report in enumerate(reports, 1)]
        text = f"{len(done)} of {len(reports)} edits landed.\n" + "\n".join(rows)
    diff = "\n".join(filter(None, (_diff_of(path.name, report) for report in done)))
    meta = {
        "path": str(path),
        "diff": diff,
        "summary": _summary(reports, diff),
        "cells": [{"status": r.status, "mode": r.mode, "cell": r.cell, "index": r.index} for r in reports],
    }
    return ToolResult(text, is_error=len(done) < len(reports), metadata=meta)


def _summary(reports: Sequence[CellReport], diff: str) -> str:
    failed = [report.status for report in reports if report.status != "landed"]
    lines = diff.splitlines()
    plus = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    minus = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    changed = f"+{plus} \N{MINUS SIGN}{minus}" if plus or minus else ""
    if not failed:
        return changed or ("moved" if reports[0].mode == "move" else "done")
    whole = "conflict" if failed[0] == "conflicted" else failed[0]
    return whole if len(reports) == 1 else f"{len(reports) - len(failed)} of {len(reports)} landed {changed}".strip()


def _diff_of(name: str, report: CellReport) -> str:
    old = "" if report.mode == "insert" else report.old_source
    new = "" if report.mode == "delete" else report.new_source
    return unified(name, report.cell, report.index, old, new)


def unified(name: str, cell: str, index: int | None, old: str, new: str) -> str:
    """The change of one cell as a unified diff."""
    label = f"{name} cell {cell}" if index is None else f"{name} cell {index} ({cell})"
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), label, label, lineterm="")
    return "\n".join(lines)


def _planned(view: NotebookView, steps: Sequence[_Step]) -> str:
    """The diff of steps that have not been applied; one that cannot be is left out."""
    names = Names([cell.id for cell in view.cells])
    parts = []
    for step in steps:
        if step.edit_mode == "insert":
            parts.append(unified(view.path.name, "new", None, "", step.new_source or ""))
            continue
        try:
            cell = view.cells[names.index(step.cell_id or "")]
        except Refusal:
            continue
        parts.append(_planned_step(view.path.name, cell, step))
    return "\n".join(filter(None, parts))


def _planned_step(name: str, cell: CellView, step: _Step) -> str:
    match step.edit_mode:
        case "delete":
            return unified(name, name_of(cell), cell.index, cell.source, "")
        case "replace":
            new = step.new_source if step.new_source is not None else cell.source
            return unified(name, name_of(cell), cell.index, cell.source, new)
        case "move" | "insert":
            return ""
