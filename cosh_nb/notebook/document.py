"""The one model behind every look at a notebook and every change of one: live in its page, or the closed file.

The ladder, best first: a page that has the notebook answers; a front end without our extension takes one cell at the
end of the running one; a file that nobody has open is edited on disk; an open one that cannot be asked is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from cosh_nb.notebook import page_edits
from cosh_nb.notebook.bridge import DEADLINE, Bridge, NoAnswer, PageRefused
from cosh_nb.notebook.cell_runs import run_here, run_there
from cosh_nb.notebook.next_cell import INSTALL, NextCell
from cosh_nb.notebook.own_path import in_colab
from cosh_nb.notebook.where import Closed, ElsewhereOpen, Finder, InFrontEnd, InPage
from cosh_tools.hosts import CellEdit, CellReport, CodeOutcome, NotebookView
from cosh_tools.notebook.disk import DiskNotebooks
from cosh_tools.notebook.steps import Refusal, refused
from cosh_tools.results import ToolError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from cosh_nb.notebook.mailbox import Mailbox
    from cosh_tools.context import ToolContext

_PATIENCE = 2.0
"""Seconds without an answer after which it is asked whether the page is still there."""


class OpenNotebooks:
    """Implements NotebookHost for a kernel with a front end. Lives on the agent's loop.

    `mark` gives the provenance of cells that the agent writes; `wrote` is told of each source that it wrote.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        mailbox: Mailbox,
        mark: Callable[[], Mapping[str, Any]] = dict,
        wrote: Callable[[str], None] = lambda _source: None,
    ) -> None:
        self._mailbox = mailbox
        self._mark = mark
        self._wrote = wrote
        self._disk = DiskNotebooks(mark)
        self._next = NextCell(shell, mailbox)
        self.bridge = Bridge(getattr(shell, "kernel", None))
        self.finder = Finder(shell, self.bridge)

    def in_cell(self, client: str) -> None:
        """A turn starts in a cell that this front end runs (`Place.client`)."""
        self.finder.in_cell(client)

    def current(self) -> Path | None:
        """The notebook of this kernel, as far as it is known now; `finder.current()` asks."""
        return self.finder.own.path if self.finder.own is not None else None

    def close(self) -> None:
        """Stop to listen for answers."""
        self.bridge.close()

    # -- NotebookHost ------------------------------------------------------------------------------------------------

    async def read(self, path: Path, outputs: Sequence[str] | None = None) -> NotebookView:
        """The live cells, or those last saved, and which of the two they are."""
        where = await self.finder.where(path)
        match where:
            case InPage():
                asked = True if outputs is None else list(outputs)
                return page_edits.view_of(path, await self._ask(path, where, "read", {"outputs": asked}))
            case InFrontEnd(why=why) | ElsewhereOpen(why=why):
                if in_colab():
                    from cosh_nb.notebook.colab import colab_view

                    if (view := await colab_view(path, self._mailbox)) is not None:
                        return view
                view = await self._disk.read(path)
                return replace(view, as_of=f"{view.as_of}; {why}, so unsaved changes are not seen")
            case Closed():
                return await self._disk.read(path, outputs)
        assert_never(where)

    async def apply(self, path: Path, edits: Sequence[CellEdit], ctx: ToolContext) -> Sequence[CellReport]:
        """Apply the steps where the notebook is, and report each as it was read back."""
        reports = await self._apply(path, edits, ctx)
        for report in reports:
            if report.status == "landed" and report.mode in {"insert", "replace"}:
                self._wrote(report.new_source)
        return reports

    async def run(self, path: Path, cells: Sequence[str], timeout: float, ctx: ToolContext) -> Sequence[CodeOutcome]:
        """Run cells in order, in the notebook's own kernel; outputs land in the cells."""
        where = await self.finder.where(path)
        match where:
            case InPage(own_kernel=True):
                view = await self.read(path, ())
                return await run_here(view, cells, timeout, ctx, lambda given, _: self._put(path, given))
            case InPage():
                view = await self.read(path, ())
                return await run_there(view, cells, timeout, lambda given, wait: self._run_cell(path, given, wait))
            case InFrontEnd(why=why):
                found = await run_here(await self.read(path, ()), cells, timeout, ctx, None)
                note = f"The outputs are not in the notebook: {why}. {INSTALL}"
                return [replace(outcome, note=f"{outcome.note} {note}".strip()) for outcome in found]
            case ElsewhereOpen(why=why):
                raise ToolError(f"Cells of {path.name} cannot be run: {why}. {INSTALL}")
            case Closed():
                return await self._disk.run(path, cells, timeout, ctx)
        assert_never(where)

    # -- how ---------------------------------------------------------------------------------------------------------

    async def _apply(self, path: Path, edits: Sequence[CellEdit], ctx: ToolContext) -> Sequence[CellReport]:
        where = await self.finder.where(path)
        match where:
            case InPage():
                return await self._apply_live(path, where, edits, ctx)
            case InFrontEnd(why=why):
                return await self._next.propose(path, edits, why)
            case ElsewhereOpen(why=why):
                return [refused(edit, f"{path.name} was not changed: {why}. {INSTALL}") for edit in edits]
            case Closed():
                return await self._disk.apply(path, edits, ctx)
        assert_never(where)

    async def _apply_live(
        self, path: Path, where: InPage, edits: Sequence[CellEdit], ctx: ToolContext
    ) -> Sequence[CellReport]:
        if any(edit.expect is None and edit.expect_digest is not None for edit in edits):
            steps = page_edits.expecting(edits, await self.read(path, ()))
        else:
            steps = edits
        reports: list[CellReport | None] = []
        sent: list[tuple[CellEdit, Mapping[str, Any]]] = []
        for edit in steps:
            if isinstance(edit, CellReport):
                reports.append(edit)
                continue
            try:
                sent.append((edit, page_edits.arguments(edit, ctx.config, self._mark())))
                reports.append(None)
            except Refusal as refusal:
                reports.append(refused(edit, str(refusal)))
        done: list[CellReport] = []
        if sent:
            answer = await self._ask(path, where, "edit", {"steps": [step for _, step in sent]})
            done = [
                page_edits.report(edit, said, answer["ids"], ctx.config)
                for (edit, _), said in zip(sent, answer["reports"], strict=True)
            ]
        told = iter(done)
        merged = [report if report is not None else next(told) for report in reports]
        return _noted(merged, f" {path.name} is open in {where.page.app}: live. {self.bridge.stale(where.page)}")

    async def _ask(self, path: Path, where: InPage, op: str, given: Mapping[str, Any]) -> Any:
        """Ask the page; where it is gone or has closed the notebook, look once more."""
        for last in (False, True):
            try:
                return await self._call(where, op, given)
            except (NoAnswer, PageRefused) as error:
                if isinstance(error, PageRefused) and error.reason != "not-open":
                    raise ToolError(page_edits.said(path.name, error.reason, error.more)) from None
                self.finder.forget(path)
                again = None if last else await self.finder.where(path)
                if not isinstance(again, InPage):
                    unsure = "" if op == "read" else ", so it is not known whether the change was made"
                    gone = f"The page with {path.name} does not answer any more{unsure}."
                    raise ToolError(f"{gone} Read the notebook before you go on.") from None
                where = again
        raise AssertionError("the second try returns or raises")

    async def _call(self, where: InPage, op: str, given: Mapping[str, Any], timeout: float = DEADLINE) -> Any:
        """Ask, and while there is no answer, ask whether the page is still there."""
        call = self.bridge.call(where.page.client, op, {**given, "path": where.path}, timeout)
        request = asyncio.ensure_future(call)
        try:
            await asyncio.wait({request}, timeout=_PATIENCE)
            while not request.done():
                pages = await self.bridge.ask_all(patient=True)
                if not request.done() and all(page.client != where.page.client for page in pages):
                    raise NoAnswer("The page is gone.")
                await asyncio.wait({request}, timeout=_PATIENCE)
            return request.result()
        finally:
            request.cancel()

    async def _put(self, path: Path, given: Mapping[str, Any]) -> None:
        """Write outputs into a cell, wherever the notebook is by now."""
        where = await self.finder.where(path)
        if not isinstance(where, InPage):
            raise ToolError(f"{path.name} is no longer open in a page that answers.")
        await self._ask(path, where, "outputs", given)

    async def _run_cell(self, path: Path, given: Mapping[str, Any], timeout: float) -> Any:
        where = await self.finder.where(path)
        if not isinstance(where, InPage):
            raise ToolError(f"{path.name} is no longer open in a page that answers.")
        try:
            return await self._call(where, "run", given, timeout)
        except PageRefused as error:
            raise ToolError(page_edits.said(path.name, error.reason, error.more)) from None


def _noted(reports: Sequence[CellReport], note: str) -> Sequence[CellReport]:
    """The note once, with the last step that landed."""
    made = list(reports)
    for at in range(len(made) - 1, -1, -1):
        if made[at].status == "landed":
            made[at] = replace(made[at], text=made[at].text + note.rstrip())
            break
    return made
