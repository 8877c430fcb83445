"""What a clause can mean. One frozen value per meaning; `Intent` is the union to match over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Function = Literal["mean", "sum", "max", "min", "median", "count", "standard deviation"]
Chart = Literal["bar", "line", "scatter", "histogram"]
Period = Literal["day", "month", "year"]

IT = "it"
"""Stands for the file or table that an earlier clause named, until the plan is put together."""


@dataclass(frozen=True, slots=True)
class ListFiles:
    """Files by pattern, in a folder ("" is the working directory)."""

    pattern: str = "*"
    folder: str = ""
    what: str = "file"


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file, or its lines `first` to `last` (from 1), or its last `tail` lines."""

    path: str
    first: int | None = None
    last: int | None = None
    tail: int | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """A text (or a regular expression) in a file, a folder, or files of a pattern."""

    text: str
    pattern: bool = False
    glob: str = ""
    path: str = ""
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class CreateFile:
    """A new file. `overwrite` is True only where the person said so."""

    path: str
    content: str
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class Append:
    """A line at the end of a file."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Replace:
    """One text by another in a file, or in every file of a pattern."""

    old: str
    new: str
    path: str = ""
    glob: str = ""


@dataclass(frozen=True, slots=True)
class RunCommand:
    """A shell command, word for word."""

    command: str


@dataclass(frozen=True, slots=True)
class RunScript:
    """A script by the program that its name says."""

    path: str


@dataclass(frozen=True, slots=True)
class RunPython:
    """Code in the person's kernel, word for word."""

    code: str


@dataclass(frozen=True, slots=True)
class InsertCell:
    """A new cell, after cell number `after` (from 1), or at the end."""

    source: str
    markdown: bool = False
    after: int | None = None
    run: bool = False


@dataclass(frozen=True, slots=True)
class InsertCellFor:
    """A new cell with the code of another intent ("a cell that plots ...")."""

    task: Load | Plot | SummariseTable | Statistic
    after: int | None = None


@dataclass(frozen=True, slots=True)
class ChangeCell:
    """Another source for cell `number` (from 1)."""

    number: int
    source: str


@dataclass(frozen=True, slots=True)
class RunCells:
    """Cells `first` to `last` (from 1), all cells, or the one with an id."""

    first: int | None = None
    last: int | None = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class ShowCells:
    """The cells of the open notebook."""


@dataclass(frozen=True, slots=True)
class ListVariables:
    """What exists in the kernel."""


@dataclass(frozen=True, slots=True)
class SummariseVariable:
    """One variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Load:
    """A table file into a variable ("": named after the file)."""

    path: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class SummariseTable:
    """Columns, types and main figures of a table file or of a table that was loaded."""

    source: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The first rows of a table."""

    source: str
    count: int = 5


@dataclass(frozen=True, slots=True)
class Statistic:
    """One figure of a column, or one per group."""

    function: Function
    column: str
    source: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart of a column, per group, against another column, or by row."""

    column: str
    source: str
    by: str = ""
    chart: Chart | None = None
    function: Function = "sum"


@dataclass(frozen=True, slots=True)
class Help:
    """What it can do."""


Intent = (
    ListFiles
    | ReadFile
    | Search
    | CreateFile
    | Append
    | Replace
    | RunCommand
    | RunScript
    | RunPython
    | InsertCell
    | InsertCellFor
    | ChangeCell
    | RunCells
    | ShowCells
    | ListVariables
    | SummariseVariable
    | Load
    | SummariseTable
    | Rows
    | Statistic
    | Plot
    | Help
)
