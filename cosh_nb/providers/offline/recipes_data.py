"""What is done for the phrases about tables: look at the columns first, then run code that names them exactly."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import PurePath

from cosh_nb.providers.offline import answers, code
from cosh_nb.providers.offline.code import Libraries, Script, Series, variable_for
from cosh_nb.providers.offline.intents import (
    Chart,
    InsertCell,
    InsertCellFor,
    Load,
    Period,
    Plot,
    Rows,
    Statistic,
    SummariseTable,
)
from cosh_nb.providers.offline.recipes_notebook import insert_cell, python
from cosh_nb.providers.offline.scene import Call, Outcome
from cosh_nb.providers.offline.steps import Kit, Recipe, Steps, Stop, Table, must

PLAIN = Libraries(pandas=False, matplotlib=False)
"""The standard library only."""

Body = Callable[[Script, bool, Libraries, str], None]
"""Writes what comes after the table is there: script, whether it is a DataFrame, libraries, file to draw into."""

_TABLE_FILE = re.compile(r".+\.(?:csv|tsv|json|parquet|xlsx)", re.IGNORECASE)
_SIZE = re.compile(r"(\d+) rows, (\d+) columns")
_COLUMNS = re.compile(r", columns (.+)$", re.MULTILINE)
_COLUMNS = re.compile(r", columns (.+)$", re.MULTILINE)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def load(kit: Kit, wish: Load) -> Recipe:
    """The table in a variable, and its first rows."""
    table = yield from _look(kit, wish.path)
    table = replace(table, name=wish.name or table.name)
    outcome = yield from _run(
        kit,
        table,
        lambda script, frame, _libraries, _save: code.look(script, table.name, frame),
        f"Loading {wish.path}",
    )
    kit.tables[table.name] = replace(table, frame=_framed(kit, table), loaded=True)
    where = "" if kit.kernel else " There is no kernel here, so it lasts for this request only."
    return f"I loaded {answers.code(wish.path)} into `{table.name}`{_size(outcome)}.{where}\n\n{_printed(outcome)}"


def summarise_table(kit: Kit, wish: SummariseTable) -> Recipe:
    """Columns, types, main figures."""
    table = yield from _look(kit, wish.source)
    outcome = yield from _run(
        kit,
        table,
        lambda script, frame, _libraries, _save: code.describe(script, table.name, frame),
        f"Summarising {wish.source}",
    )
    return f"{answers.code(wish.source)}{_size(outcome)}:\n\n{_printed(outcome)}"


def rows(kit: Kit, wish: Rows) -> Recipe:
    """The first rows."""
    table = yield from _look(kit, wish.source)
    outcome = yield from _run(
        kit,
        table,
        lambda script, frame, _libraries, _save: code.look(script, table.name, frame, wish.count),
        f"Looking at {wish.source}",
    )
    return f"The first rows of {answers.code(wish.source)}{_size(outcome)}:\n\n{_printed(outcome)}"


def statistic(kit: Kit, wish: Statistic) -> Recipe:
    """One figure, or one per group."""
    table = yield from _look(kit, wish.source)
    what = _figure(table, wish)
    outcome = yield from _run(kit, table, what.body, f"Computing the {what.words}")
    lines = answers.output_lines(outcome.text)
    if not wish.by and len(lines) == 1:
        return f"The {what.words} is {answers.code(lines[0])}."
    return f"The {what.words}:\n\n{answers.block(lines)}"


def plot(kit: Kit, wish: Plot) -> Recipe:
    """A chart, in the output or, without a kernel, in a file."""
    table = yield from _look(kit, wish.source)
    what = _chart(table, wish)
    outcome = yield from _run(kit, table, what.body, f"Plotting {what.words}", f"{_file_name(what.words)}.svg")
    drawn = "with matplotlib" if kit.libraries.matplotlib else "as an SVG"
    where = f"drawn {drawn}" if kit.kernel else f"drawn into {answers.code(_file_name(what.words) + '.svg')}"
    figures = [line for line in answers.output_lines(outcome.text) if re.search(r": -?[\d.]", line)]
    return f"Here is {what.words}, {where}." + (f"\n\n{answers.block(figures)}" if figures else "")


def insert_cell_for(kit: Kit, wish: InsertCellFor) -> Recipe:
    """A cell with the code that the phrase would have run."""
    task = wish.task
    table = yield from _look(kit, task.path if isinstance(task, Load) else task.source)
    match task:
        case Load(name=name):
            table = replace(table, name=name or table.name)
            body: Body = lambda script, frame, _libraries, _save: code.look(script, table.name, frame)  # noqa: E731 (one of four bodies)
        case SummariseTable():
            body = lambda script, frame, _libraries, _save: code.describe(script, table.name, frame)  # noqa: E731 (the same)
        case Statistic():
            body = _figure(table, task).body
        case Plot():
            body = _chart(table, task).body
    source = _program(table, body, kit.libraries, "")
    return (yield from insert_cell(kit, InsertCell(source, after=wish.after)))


# -- what is computed --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _What:
    words: str
    body: Body


def _figure(table: Table, wish: Statistic) -> _What:
    column = _column(table, wish.column) if wish.column else ""
    words = f"{wish.function} of {column}" if column else f"number of rows of {wish.source}"
    if not wish.by:
        series = Series(table.name, column, function=wish.function)

        def body(script: Script, frame: bool, _libraries: Libraries, _save: str) -> None:
            code.figure(script, replace(series, frame=frame))

        return _What(words, body)
    by, period = _group(table, wish.by)
    groups = Series(table.name, column, by, wish.function, period)

    def grouped(script: Script, frame: bool, _libraries: Libraries, _save: str) -> None:
        code.grouped(script, replace(groups, frame=frame))
        code.show_result(script)

    return _What(f"{words} by {wish.by}", grouped)


def _chart(table: Table, wish: Plot) -> _What:
    column = _column(table, wish.column)
    kind: Chart = wish.chart or ("bar" if wish.by else "line")
    by, period = (_column(table, wish.by), None) if kind == "scatter" else _group(table, wish.by)
    words = column if wish.function == "sum" else f"{wish.function} {column}"
    if wish.by:
        words += f" {'against' if kind == 'scatter' else 'by'} {wish.by}"
    series = Series(table.name, column, by, wish.function, period)

    def body(script: Script, frame: bool, libraries: Libraries, save: str) -> None:
        code.chart(script, replace(series, frame=frame), kind, words, libraries, save)

    return _What(words, body)


def _column(table: Table, name: str) -> str:
    """The column as the table spells it. Raises Stop with the columns that there are."""
    if not table.columns or name in table.columns:
        return name
    same = [column for column in table.columns if _plain(column) == _plain(name)]
    if len(same) == 1:
        return same[0]
    shown = ", ".join(answers.code(column) for column in table.columns)
    raise Stop(f"There is no column {answers.code(name)} in {answers.code(table.path or table.name)}. It has {shown}.")


def _group(table: Table, by: str) -> tuple[str, Period | None]:
    """The column to group by; for "by month" without such a column, the column of dates and the period."""
    if not by:
        return "", None
    period: Period | None = {"day": "day", "date": "day", "month": "month", "year": "year"}.get(by.lower())  # type: ignore[assignment]  # (a dict of literals is a dict of str)
    known = {_plain(column) for column in table.columns}
    if period is not None and table.columns and _plain(by) not in known:
        dated = [name for name, value in zip(table.columns, table.sample, strict=False) if _ISO_DATE.match(value)]
        if len(dated) == 1:
            return dated[0], period
    return _column(table, by), None


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


# -- tables and runs ---------------------------------------------------------------------------------------------------

Looked = Generator[Call, Outcome, Table]


def _look(kit: Kit, source: str) -> Looked:
    """The table that a file or a variable is, with its columns where they can be seen without running code."""
    if source in kit.tables:
        return kit.tables[source]
    if not _TABLE_FILE.fullmatch(source):
        return (yield from _look_at_variable(kit, source))
    table = Table(variable_for(source), source)
    if PurePath(source).suffix.lower() not in (".csv", ".tsv"):
        return table
    outcome = yield from must(kit.tools.read(source, 1, 3), f"Reading {source}")
    lines, _ = answers.file_lines(outcome.text)
    if not lines:
        raise Stop(f"{answers.code(source)} is empty.")
    head = lines[0].removeprefix("\ufeff")
    separator = "\t" if source.lower().endswith(".tsv") else ";" if ";" in head and "," not in head else ","
    columns, *sample = csv.reader(lines, delimiter=separator)
    columns[0] = columns[0].removeprefix("\ufeff")
    return replace(table, columns=tuple(columns), sample=tuple(sample[0]) if sample else (), separator=separator)


def _look_at_variable(kit: Kit, name: str) -> Looked:
    if not kit.tools.can_look_at_variables:
        return Table(name, frame=kit.libraries.pandas, loaded=True)
    outcome = yield from must(kit.tools.variables([name]), f"Looking at {name}")
    _, _, sketch = outcome.text.partition(f"{name}: ")
    if sketch.startswith("not defined"):
        raise Stop(f"There is no variable {answers.code(name)} in your kernel. `what variables are there` lists them.")
    frame = sketch.startswith("pandas.") and "DataFrame" in sketch
    if not frame and not re.match(r"list of [\d,]+ \(dict\)", sketch):
        raise Stop(f"{answers.code(name)} is no table that I know: {sketch.strip()}")
    columns = _COLUMNS.search(sketch)
    known = tuple(columns[1].split(", ")) if columns is not None and not columns[1].endswith("...") else ()
    return Table(name, frame=frame, columns=known, loaded=True)


def _run(kit: Kit, table: Table, body: Body, doing: str, save_as: str = "") -> Steps:
    """Run it in the kernel; again with the standard library where an import failed; elsewhere without a kernel."""
    outside = _program(replace(table, loaded=False), body, PLAIN, save_as) if table.path else None
    try:
        return (yield from python(kit, _program(table, body, kit.libraries, ""), doing, outside))
    except Stop as stop:
        missing = re.search(r"(?:ModuleNotFoundError|ImportError)\b", str(stop))
        if missing is None or kit.libraries == PLAIN or not table.path or table.loaded:
            raise
    kit.libraries = PLAIN
    return (yield from python(kit, _program(table, body, PLAIN, ""), doing, outside))


def _program(table: Table, body: Body, libraries: Libraries, save_as: str) -> str:
    script = Script()
    frame = table.frame
    if table.path and not table.loaded:
        try:
            frame = code.load(script, table.path, table.name, libraries, table.separator)
        except ValueError as error:
            raise Stop(str(error)) from None
    body(script, frame, libraries, save_as)
    return script.text


def _framed(kit: Kit, table: Table) -> bool:
    return kit.libraries.pandas if table.path else table.frame


def _size(outcome: Outcome) -> str:
    found = _SIZE.search(outcome.text)
    if found is None:
        return ""
    return f" ({answers.count(int(found[1]), 'row')}, {answers.count(int(found[2]), 'column')})"


def _printed(outcome: Outcome) -> str:
    lines = [line for line in answers.output_lines(outcome.text) if not _SIZE.fullmatch(line.strip())]
    return answers.block(lines)


def _file_name(words: str) -> str:
    return re.sub(r"\W+", "_", words).strip("_").lower()
