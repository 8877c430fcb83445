"""Running cells of an open notebook: in this kernel, or in the notebook's own as if its page had been used."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosh_nb.notebook.bridge import NoAnswer
from cosh_tools.hosts import CellView, CodeOutcome, NotebookView
from cosh_tools.notebook.outputs import render
from cosh_tools.notebook.steps import Names, Refusal
from cosh_tools.results import ToolError

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext

_SHOWN = 10_000
"""Characters of each output that the model sees of a cell that ran elsewhere."""

Ask = Callable[[Mapping[str, Any], float], Awaitable[Any]]
"""Puts one request to the page that has the notebook, with a deadline."""


async def run_here(
    view: NotebookView, refs: Sequence[str], timeout: float, ctx: ToolContext, put: Ask | None
) -> Sequence[CodeOutcome]:
    """In this process: a cell that waited for the running one to end would never start. `put` writes the outputs."""
    outcomes: list[CodeOutcome] = []
    end = time.monotonic() + timeout
    for cell in chosen(view, refs):
        name = cell.id or f"cell-{cell.index}"
        if cell.type != "code":
            outcomes.append(_nothing(cell, name))
            continue
        began = time.monotonic()
        outcome = await ctx.kernel.run_code(cell.source, max(end - began, 0.1), ctx.progress)
        outcome = replace(outcome, cell=name, duration=time.monotonic() - began)
        if put is not None:
            outputs = [dict(output) for output in outcome.outputs]
            try:
                await put({"cell": name, "outputs": outputs, "count": outcome.execution_count}, 15.0)
            except ToolError as error:
                outcome = replace(outcome, note=f"It ran, but its outputs are not in the notebook: {error}")
        outcomes.append(outcome)
        if outcome.status != "ok":
            break
    return outcomes


async def run_there(view: NotebookView, refs: Sequence[str], timeout: float, run: Ask) -> Sequence[CodeOutcome]:
    """In another kernel, as if the person had run the cells in the page."""
    outcomes: list[CodeOutcome] = []
    end = time.monotonic() + timeout
    for cell in chosen(view, refs):
        if cell.type != "code":
            outcomes.append(_nothing(cell, cell.id))
            continue
        began = time.monotonic()
        try:
            answer = await run({"cell": cell.id}, max(end - began, 0.1))
        except NoAnswer:
            note = "It may still run in its own kernel; read the cell later for its outputs."
            outcomes.append(CodeOutcome("timeout", "", cell=cell.id, duration=time.monotonic() - began, note=note))
            break
        made = tuple(answer["outputs"])
        text, media = render(made, _SHOWN)
        took = time.monotonic() - began
        if answer["ok"]:
            outcomes.append(CodeOutcome("ok", text, made, media, answer["count"], cell.id, took))
            continue
        outcomes.append(CodeOutcome("error", text, made, media, answer["count"], cell.id, took))
        break
    return outcomes


def chosen(view: NotebookView, refs: Sequence[str]) -> Sequence[CellView]:
    """The cells in the order of their names. Raises ToolError for one that is not there."""
    names = Names([cell.id for cell in view.cells])
    try:
        return [view.cells[names.index(ref)] for ref in refs]
    except Refusal as refusal:
        raise ToolError(str(refusal)) from None


def _nothing(cell: CellView, name: str) -> CodeOutcome:
    return CodeOutcome("ok", "", cell=name, note=f"A {cell.type} cell: nothing to run.")
