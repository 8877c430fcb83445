"""A front end without our extension: one cell can be handed to it with the end of the running one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_tools.fences import fenced
from cosh_tools.hosts import CellEdit, CellReport
from cosh_tools.notebook.steps import refused

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from cosh_nb.notebook.mailbox import Mailbox

INSTALL = (
    "To edit it live, install cosh_nb's lab extension where the Jupyter server runs (`%cosh /install-lab`) and reload "
    "the page."
)


class NextCell:
    """Hands over the next cell, once per run of a cell; everything else is shown to copy."""

    def __init__(self, shell: InteractiveShell, mailbox: Mailbox) -> None:
        self._shell = shell
        self._kernel: Any = getattr(shell, "kernel", None)
        self._mailbox = mailbox
        self._given = ""
        """The cell run in which a next cell was already handed over."""

    async def propose(self, path: Path, edits: Sequence[CellEdit], why: str) -> list[CellReport]:
        """What became of each step, where `why` says why the notebook cannot be edited."""
        if not getattr(self._kernel, "_allow_stdin", True):
            return [
                refused(edit, f"{path.name} was not changed: it is being executed right now without a front end, and "
                "whatever executes it would overwrite the change. Edit another notebook, or ask the user to edit this "
                "one when it is not running.")
                for edit in edits
            ]  # fmt: skip
        reports = []
        for edit in edits:
            problem = self._not_next(edit)
            if problem:
                shown = f" Show the user the cell to copy:\n{fenced(edit.source)}" if edit.source else ""
                reports.append(refused(edit, f"{path.name} was not changed: {why}, and {problem}.{shown} {INSTALL}"))
                continue
            parent = self._running()
            self._given = str(parent.get("header", {}).get("msg_id", ""))
            replaces = edit.mode == "replace"
            call = self._mailbox.call(self._shell.set_next_input, edit.source or "", replace=replaces)
            await asyncio.wrap_future(call)
            place = "replace the running cell" if replaces else "appear below the running cell"
            reports.append(
                CellReport("landed", edit.mode, edit.cell or "(next)", None, None, None,
                           f"The cell will {place} when it ends; this front end takes no other change ({why}).",
                           "", edit.source or "")
            )  # fmt: skip
        return reports

    def _not_next(self, edit: CellEdit) -> str:
        """Why this step cannot be handed over as the next cell; empty where it can."""
        parent = self._running()
        if not self._mailbox.blocked or not parent:
            return "no cell is running that could hand it over"
        if self._given == str(parent.get("header", {}).get("msg_id", "")):
            return "only one cell can be handed over per run"
        if edit.type not in {None, "code"}:
            return "only a code cell can be handed over"
        if edit.mode == "insert" and not edit.before and edit.source is not None:
            return ""
        code = str(parent.get("content", {}).get("code", ""))
        if edit.mode == "replace" and edit.source is not None and edit.expect == code:
            return ""
        return "there only a new cell below the running one can be added, or the running one be replaced"

    def _running(self) -> Mapping[str, Any]:
        try:
            parent = self._kernel.get_parent("shell")
        except AttributeError:
            return {}
        return parent if isinstance(parent, Mapping) else {}
