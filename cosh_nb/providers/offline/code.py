"""The Python that the data phrases run: short enough to be read on an approval card.

With pandas and matplotlib where the kernel has them; else with the standard library and an inline SVG.
"""

from __future__ import annotations

import json
import keyword
import re
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosh_nb.providers.offline.intents import Chart, Function, Period

_TAKEN = frozenset("list dict set str int float bool input open print sum min max data csv json pd plt np".split())


def variable_for(path: str) -> str:
    """The variable that a table file is loaded into: its name as an identifier."""
    stem = PurePath(path.replace("\\", "/")).stem
    name = re.sub(r"\W+", "_", stem).strip("_") or "table"
    if name[0].isdigit() or keyword.iskeyword(name) or name in _TAKEN:
        name = f"table_{name}"
    return name


def quoted(text: str) -> str:
    """The text as a Python string literal."""
    return json.dumps(text, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Libraries:
    """What the kernel can import."""

    pandas: bool
    matplotlib: bool


@dataclass(frozen=True, slots=True)
class Series:
    """The values of a chart or a figure: a column, grouped or not, of a table in variable `table`.

    `period` is set where `by` is a column of dates that are grouped by day, month or year.
    """

    table: str
    column: str
    by: str = ""
    function: Function = "sum"
    period: Period | None = None
    frame: bool = True
    """The table is a pandas DataFrame; else a list of dicts."""


@dataclass
class Script:
    """Lines of code, with the imports of all its parts once, at the top."""

    imports: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def need(self, *imports: str) -> None:
        """Add imports that are not there yet."""
        self.imports += [line for line in imports if line not in self.imports]

    def add(self, *lines: str) -> None:
        """Add lines."""
        self.lines += lines

    @property
    def text(self) -> str:
        """The whole code."""
        head = sorted(self.imports, key=lambda line: (line.startswith(("import matplotlib", "import pandas")), line))
        return "\n".join([*head, *([""] if head else []), *self.lines])


# -- tables ----------------------------------------------------------------------------------------------------------


def load(script: Script, path: str, name: str, libraries: Libraries, separator: str = ",") -> bool:
    """Read a table file into `name`; whether it becomes a DataFrame. Raises ValueError where that needs pandas."""
    suffix = PurePath(path).suffix.lower()
    if libraries.pandas:
        sep = "" if separator == "," else f", sep={quoted(separator)}"
        reader = {
            ".csv": f"pd.read_csv({quoted(path)}{sep})",
            ".tsv": f"pd.read_csv({quoted(path)}{sep})",
            ".json": f"pd.read_json({quoted(path)})",
            ".parquet": f"pd.read_parquet({quoted(path)})",
            ".xlsx": f"pd.read_excel({quoted(path)})",
        }[suffix]
        script.need("import pandas as pd")
        script.add(f"{name} = {reader}")
        return True
    match suffix:
        case ".csv" | ".tsv":
            script.need("import csv")
            tab = "" if separator == "," else f", delimiter={quoted(separator)}"
            script.add(
                f'with open({quoted(path)}, newline="", encoding="utf-8-sig") as file:',
                f"    {name} = list(csv.DictReader(file{tab}))",
            )
        case ".json":
            script.need("import json")
            script.add(f'with open({quoted(path)}, encoding="utf-8") as file:', f"    {name} = json.load(file)")
        case _:
            raise ValueError(f"Reading {suffix} files takes pandas, which this kernel does not have.")
    return False


def look(script: Script, name: str, frame: bool, rows: int = 5) -> None:
    """Print the size and the first rows of a table."""
    if frame:
        script.add(
            f'print(f"{{len({name})}} rows, {{len({name}.columns)}} columns")',
            f"print({name}.head({rows}).to_string())",
        )
        return
    script.add(
        f'print(f"{{len({name})}} rows, {{len({name}[0]) if {name} else 0}} columns")',
        f"for row in {name}[:{rows}]:",
        "    print(dict(row))",
    )


def describe(script: Script, name: str, frame: bool) -> None:
    """Print columns, types and main figures."""
    if frame:
        script.add(
            f'print(f"{{len({name})}} rows, {{len({name}.columns)}} columns")',
            f"print({name}.dtypes.to_string())",
            f'print({name}.describe(include="all").to_string())',
        )
        return
    script.need("import statistics")
    script.add(
        f'print(f"{{len({name})}} rows, {{len({name}[0]) if {name} else 0}} columns")',
        f"for column in {name}[0] if {name} else []:",
        f'    values = [row[column] for row in {name} if row[column] not in ("", None)]',
        "    try:",
        "        numbers = [float(value) for value in values]",
        "    except ValueError:",
        '        print(f"{column}: {len(values)} texts, {len(set(values))} different")',
        "    else:",
        '        print(f"{column}: {len(numbers)} numbers, min {min(numbers):g}, "',
        '              f"mean {statistics.fmean(numbers):g}, max {max(numbers):g}")',
    )


# -- figures ---------------------------------------------------------------------------------------------------------

_PANDAS: dict[Function, str] = {
    "mean": "mean()", "sum": "sum()", "max": "max()", "min": "min()", "median": "median()", "count": "count()",
    "standard deviation": "std()",
}  # fmt: skip
_PLAIN: dict[Function, str] = {
    "mean": "statistics.fmean(values)", "sum": "sum(values)", "max": "max(values)", "min": "min(values)",
    "median": "statistics.median(values)", "count": "len(values)", "standard deviation": "statistics.stdev(values)",
}  # fmt: skip
_FIRST: dict[Period, int] = {"day": 10, "month": 7, "year": 4}
_FREQUENCY: dict[Period, str] = {"day": "D", "month": "M", "year": "Y"}


def grouped(script: Script, series: Series) -> None:
    """Compute `result`: label -> figure, one per group, in the order in which groups appear (dates in their own)."""
    table, column, by = series.table, quoted(series.column), quoted(series.by)
    if series.frame:
        key = by
        if series.period is not None:
            script.need("import pandas as pd")
            frequency = _FREQUENCY[series.period]
            script.add(f'key = pd.to_datetime({table}[{by}]).dt.to_period("{frequency}").astype(str)')
            key = "key"
        sort = "" if series.period is not None else ", sort=False"
        script.add(f"result = {table}.groupby({key}{sort})[{column}].{_PANDAS[series.function]}.to_dict()")
        return
    if "statistics" in _PLAIN[series.function]:
        script.need("import statistics")
    label = f"row[{by}]" if series.period is None else f"row[{by}][:{_FIRST[series.period]}]"
    value = f"row[{column}]" if series.function == "count" else f"float(row[{column}])"
    order = "groups.items()" if series.period is None else "sorted(groups.items())"
    script.add(
        "groups = {}",
        f"for row in {table}:",
        f'    if row[{column}] not in ("", None):',
        f"        groups.setdefault({label}, []).append({value})",
        f"result = {{label: {_PLAIN[series.function]} for label, values in {order}}}",
    )


def figure(script: Script, series: Series) -> None:
    """Print one figure of a column, or the number of rows where there is no column."""
    table, column = series.table, quoted(series.column)
    if not series.column:
        script.add(f"print(len({table}))")
        return
    if series.frame:
        script.add(f"print({table}[{column}].{_PANDAS[series.function]})")
        return
    if "statistics" in _PLAIN[series.function]:
        script.need("import statistics")
    value = f"row[{column}]" if series.function == "count" else f"float(row[{column}])"
    script.add(
        f'values = [{value} for row in {table} if row[{column}] not in ("", None)]',
        f"print({_PLAIN[series.function]})",
    )


def show_result(script: Script) -> None:
    """Print what `grouped` computed."""
    script.add("for label, value in result.items():", '    print(f"{label}: {value:g}")')


# -- charts ----------------------------------------------------------------------------------------------------------


def chart(script: Script, series: Series, kind: Chart, title: str, libraries: Libraries, save_as: str = "") -> None:
    """Draw it: in the output, or into the file `save_as`."""
    if kind == "scatter":
        _points(script, series)
    elif kind != "histogram" and series.by:
        grouped(script, series)
        show_result(script)
        script.add("labels, values = list(map(str, result)), list(result.values())")
    else:
        _values(script, series)
    if libraries.matplotlib:
        _with_matplotlib(script, series, kind, title, save_as)
    else:
        _with_svg(script, kind, title, save_as)


def _points(script: Script, series: Series) -> None:
    table, x, y = series.table, quoted(series.by), quoted(series.column)
    if series.frame:
        script.add(f"points = {table}[[{x}, {y}]].dropna().astype(float)")
        script.add(f"labels, values = list(points[{x}]), list(points[{y}])")
        return
    script.add(
        f"labels = [float(row[{x}]) for row in {table}]",
        f"values = [float(row[{y}]) for row in {table}]",
    )


def _values(script: Script, series: Series) -> None:
    table, column = series.table, quoted(series.column)
    if series.frame:
        script.add(f"values = {table}[{column}].dropna().astype(float).tolist()")
    else:
        script.add(f'values = [float(row[{column}]) for row in {table} if row[{column}] not in ("", None)]')
    script.add("labels = list(range(1, len(values) + 1))", 'print(f"{len(values)} values")')


def _with_matplotlib(script: Script, series: Series, kind: Chart, title: str, save_as: str) -> None:
    script.need("import matplotlib.pyplot as plt")
    draw = {
        "bar": "axes.bar(labels, values)",
        "line": 'axes.plot(labels, values, marker="o")',
        "scatter": "axes.scatter(labels, values)",
        "histogram": "axes.hist(values, bins=20)",
    }[kind]
    x, y = series.by or "row", series.column
    if kind == "histogram":
        x, y = series.column, "count"
    script.add(
        "figure, axes = plt.subplots()",
        draw,
        f"axes.set(title={quoted(title)}, xlabel={quoted(x)}, ylabel={quoted(y)})",
        "figure.autofmt_xdate()" if kind in ("bar", "line") and series.by else "figure.tight_layout()",
        f"figure.savefig({quoted(save_as)})" if save_as else "plt.show()",
    )


def _with_svg(script: Script, kind: Chart, title: str, save_as: str) -> None:
    """A small SVG by hand: bars from the zero line, or points on a grid of 0..600 by 0..200."""
    script.need("from html import escape")
    if kind == "histogram":
        script.add(
            "low, step = min(values), (max(values) - min(values)) / 20 or 1",
            "counts = [0] * 20",
            "for value in values:",
            "    counts[min(int((value - low) / step), 19)] += 1",
            'labels, values = [f"{low + step * bin:g}" for bin in range(20)], counts',
        )
    marks: tuple[str, ...]
    if kind in ("bar", "histogram"):
        marks = (
            "width = 600 / max(len(values), 1)",
            "low, high = min(0, *values), max(0, *values)",
            "scale = 200 / (high - low or 1)",
            'marks = "".join(',
            '    f\'<rect x="{40 + width * i + width * 0.1:.1f}" y="{30 + (high - max(v, 0)) * scale:.1f}" \'',
            '    f\'width="{width * 0.8:.1f}" height="{abs(v) * scale:.1f}" fill="#1976d2"/>\'',
            '    f\'<text x="{40 + width * (i + 0.5):.1f}" y="246" font-size="10" text-anchor="middle">\'',
            "    f'{escape(str(labels[i])[:14])}</text>'",
            "    for i, v in enumerate(values)",
            ")",
        )
    else:
        place = "[40 + 600 * i / max(len(values) - 1, 1) for i in range(len(values))]"
        if kind == "scatter":
            place = "[40 + 600 * (x - min(labels)) / (max(labels) - min(labels) or 1) for x in labels]"
        marks = (
            "low, high = min(values), max(values)",
            "scale = 200 / (high - low or 1)",
            f"xs = {place}",
            "ys = [30 + (high - v) * scale for v in values]",
            'marks = "".join(f\'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#1976d2"/>\' for x, y in zip(xs, ys))',
        )
        if kind == "line":
            marks = (
                *marks,
                'line = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys))',
                'marks += f\'<polyline points="{line}" fill="none" stroke="#1976d2"/>\'',
            )
    script.add(*marks)
    script.add(
        f"title = {quoted(title)}",
        "svg = (",
        '    \'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 260" width="680" font-family="sans-serif">\'',
        '    f\'<text x="40" y="18" font-size="14">{escape(title)}</text>\'',
        '    f\'<text x="36" y="38" font-size="10" text-anchor="end">{high:g}</text>\'',
        '    f\'<text x="36" y="232" font-size="10" text-anchor="end">{low:g}</text>{marks}</svg>\'',
        ")",
    )
    if save_as:
        script.add(f'with open({quoted(save_as)}, "w", encoding="utf-8") as file:', "    file.write(svg)")
        return
    script.need("from IPython.display import SVG, display")
    script.add("display(SVG(svg))")


def joined(parts: Iterable[str]) -> str:
    """Code of several steps as one program."""
    return "\n\n".join(part for part in parts if part)
