"""Notebooks for an agent without a kernel (headless, in an editor): files, unless a Jupyter server has them open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cosh_nb.notebook.own_path import same
from cosh_nb.notebook.servers import sessions
from cosh_tools.hosts import CellEdit, CellReport, CodeOutcome, NotebookView
from cosh_tools.notebook.disk import DiskNotebooks
from cosh_tools.notebook.steps import refused
from cosh_tools.results import ToolError

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext


class ClosedNotebooks:
    """Implements NotebookHost over files."""

    def __init__(self) -> None:
        self._disk = DiskNotebooks()

    async def read(self, path: Path, outputs: Sequence[str] | None = None) -> NotebookView:
        """The cells as last saved."""
        view = await self._disk.read(path, outputs)
        url = await _open_at(path)
        return replace(view, as_of=f"{view.as_of}; open on {url}, so unsaved changes are not seen") if url else view

    async def apply(self, path: Path, edits: Sequence[CellEdit], ctx: ToolContext) -> Sequence[CellReport]:
        """Change the file, unless somebody would lose unsaved work by it."""
        if url := await _open_at(path):
            why = (
                f"{path.name} was not changed: it is open on {url}, and unsaved work there could be lost. Ask the user "
                "to close it, or to use `%%cosh` in that notebook."
            )
            return [refused(edit, why) for edit in edits]
        return await self._disk.apply(path, edits, ctx)

    async def run(self, path: Path, cells: Sequence[str], timeout: float, ctx: ToolContext) -> Sequence[CodeOutcome]:
        """Say that there is no kernel here."""
        if url := await _open_at(path):
            raise ToolError(
                f"{path.name} is open on {url}, and its kernel cannot be reached from here. Ask the user to run the "
                "cells, or to use `%%cosh` in that notebook."
            )
        return await self._disk.run(path, cells, timeout, ctx)

    def current(self) -> Path | None:
        """None: no notebook is ours."""
        return None


async def _open_at(path: Path) -> str:
    """The server that has a session for the file; empty where none has."""
    return next((session.url for session in await sessions() if same(session.path, path)), "")
