"""The calls that recipes make, in the names and arguments of whichever tools are declared."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from cosh_nb.providers.offline.scene import Call

SHELL_SECONDS = 120


class NoTool(Exception):
    """The step needs a tool that is not declared here. The message is a sentence."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The declared tools by what they do. Claude Code's names come first, then cosh's."""

    tools: frozenset[str]
    notebook: str = ""

    def read(self, path: str, first: int | None = None, count: int | None = None) -> Call:
        """A file, or `count` lines of it from line `first` (from 1)."""
        if "Read" in self.tools:
            return Call("Read", _given(file_path=path, offset=first, limit=count))
        self._need("read_file", "reading files")
        return Call("read_file", _given(path=path, offset=None if first is None else first - 1, limit=count))

    def write(self, path: str, content: str) -> Call:
        """A whole file."""
        if "Write" in self.tools:
            return Call("Write", {"file_path": path, "content": content})
        self._need("write_file", "writing files")
        return Call("write_file", {"path": path, "content": content})

    def edit(self, path: str, old: str, new: str, *, everywhere: bool) -> Call:
        """One text by another."""
        rest = {"old_string": old, "new_string": new, **({"replace_all": True} if everywhere else {})}
        if "Edit" in self.tools:
            return Call("Edit", {"file_path": path, **rest})
        self._need("edit", "editing files")
        return Call("edit", {"path": path, **rest})

    def files(self, pattern: str, folder: str) -> Call:
        """Files by pattern: Glob, or `find` where it is not declared."""
        if "Glob" in self.tools:
            return Call("Glob", _given(pattern=pattern, path=folder or None))
        where = shlex.quote(folder or ".")
        if pattern == "*":
            return self.shell(f"ls {where}" if folder else "ls")
        name = shlex.quote(PurePath(pattern).name)
        return self.shell(f"find {where} -type f -name {name} -not -path {shlex.quote('*/.*')}")

    @property
    def can_look_for_files(self) -> bool:
        """Whether a look at which files exist needs no question to the person."""
        return "Glob" in self.tools

    def search(self, expression: str, glob: str, path: str, *, ignore_case: bool) -> Call:
        """Lines that match a regular expression."""
        if "Grep" in self.tools:
            fields = _given(pattern=expression, glob=glob or None, path=path or None, output_mode="content")
            return Call("Grep", {**fields, "-n": True, **({"-i": True} if ignore_case else {})})
        self._need("grep", "searching in files")
        expression = f"(?i){expression}" if ignore_case else expression
        return Call("grep", _given(pattern=expression, include=glob or None, path=path or None))

    def files_with(self, expression: str, glob: str) -> Call:
        """The files in which it matches."""
        if "Grep" in self.tools:
            return Call("Grep", {"pattern": expression, "glob": glob, "output_mode": "files_with_matches"})
        return self.search(expression, glob, "", ignore_case=False)

    def shell(self, command: str) -> Call:
        """One command line."""
        if "Bash" in self.tools:
            return Call("Bash", {"command": command})
        self._need("shell", "running commands")
        return Call("shell", {"command": command, "timeout_ms": SHELL_SECONDS * 1000})

    @property
    def has_kernel(self) -> bool:
        """Whether code can be meant for a kernel at all."""
        return "Python" in self.tools

    def python(self, code: str) -> Call:
        """Code in the person's kernel."""
        self._need("Python", "running code in a kernel")
        return Call("Python", {"code": code})

    def python_outside(self, code: str) -> Call:
        """Code in a Python of its own, where there is no kernel."""
        return self.shell(f"python3 -c {shlex.quote(code)}")

    def variables(self, names: Sequence[str] = ()) -> Call:
        """Variables of the kernel."""
        self._need("Variables", "looking at variables")
        return Call("Variables", {"names": list(names)} if names else {})

    @property
    def can_look_at_variables(self) -> bool:
        """Whether variables can be looked at."""
        return "Variables" in self.tools

    def cells(self, wanted: Sequence[str] = ()) -> Call:
        """Cells of the open notebook; positions count from 0."""
        self._need("NotebookRead", "reading the notebook")
        return Call("NotebookRead", {"notebook_path": self._open(), **({"cells": list(wanted)} if wanted else {})})

    def insert(self, source: str, *, markdown: bool, after: str = "") -> Call:
        """A new cell after the cell `after`, or at the end."""
        self._need("NotebookEdit", "editing the notebook")
        kind = "markdown" if markdown else "code"
        fields = {"edit_mode": "insert", "cell_type": kind, "new_source": source, **({"after": after} if after else {})}
        return Call("NotebookEdit", {"notebook_path": self._open(), **fields})

    def change(self, cell: str, source: str) -> Call:
        """Another source for a cell."""
        self._need("NotebookEdit", "editing the notebook")
        fields = {"cell_id": cell, "new_source": source, "edit_mode": "replace"}
        return Call("NotebookEdit", {"notebook_path": self._open(), **fields})

    def run_cells(self, cells: Sequence[str]) -> Call:
        """Run cells by id."""
        self._need("NotebookRun", "running cells")
        return Call("NotebookRun", {"notebook_path": self._open(), "cells": list(cells)})

    def _open(self) -> str:
        if not self.notebook:
            raise NoTool("I do not see which notebook is open, so I leave cells alone.")
        return self.notebook

    def _need(self, name: str, what: str) -> None:
        if name not in self.tools:
            raise NoTool(f"The tool for {what} ({name}) is not declared in this session.")


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
