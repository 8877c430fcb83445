"""A look into one table, array or dict: schema, first rows, missing values; bounded in bytes and time.

Only the libraries' own types are looked into, and of what they hold only plain values are shown: an object of a class
that a person wrote is named by its type and never asked for its text.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterable, Sequence
from typing import Any

MOST = 1_800
"""Characters of one look."""
_COLUMNS = 24
_ROWS = 3
_LOOKED_AT = 10_000
"""Rows in which missing values are counted."""
_PLAIN = (
    int,
    float,
    complex,
    bool,
    str,
    bytes,
    type(None),
    dt.date,
    dt.datetime,
    dt.time,
    dt.timedelta,
    decimal.Decimal,
)
_LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")


def look(value: Any) -> list[str]:
    """Lines about what is in a value; none where nothing may be looked at."""
    kind = type(value)
    library, name = kind.__module__.partition(".")[0], kind.__name__
    try:
        match library, name:
            case "pandas", "DataFrame":
                lines = _pandas(value)
            case "pandas", "Series":
                lines = [_missing(value), f"head: {_row(value.iloc[:6].tolist())}"]
            case "polars", "DataFrame":
                lines = _polars(value)
            case "polars", "Series":
                lines = [f"head: {_row(value.head(6).to_list())}"]
            case "pyarrow", ("Table" | "RecordBatch"):
                lines = [_schema(zip(value.schema.names, value.schema.types, strict=False), value.num_columns)]
            case "numpy", ("ndarray" | "matrix" | "memmap"):
                lines = [f"head: {_row(value.flat[:8].tolist())}"] if value.size else []
            case "builtins", "dict":
                lines = _dict(value, 0, {id(value)})
            case "builtins", ("list" | "tuple"):
                lines = [f"first: {_row(value[:6])}"] if value else []
            case _:
                lines = []
    except Exception as error:  # noqa: BLE001  (a library may raise anything over broken data)
        return [f"(it cannot be looked into: {type(error).__name__})"]
    return _bounded([line for line in lines if line])


def _pandas(frame: Any) -> list[str]:
    count = frame.shape[1]
    shown = range(min(count, _COLUMNS))
    names = [frame.columns[at] for at in shown]
    columns = [frame.iloc[:_LOOKED_AT, at] for at in shown]
    gaps = [int(column.isna().sum()) for column in columns]
    lines = [_schema(zip(names, (column.dtype for column in columns), strict=True), count)]
    if any(gaps):
        where = f" in the first {_LOOKED_AT:,} rows" if frame.shape[0] > _LOOKED_AT else ""
        missing = [f"{_label(name)} {gap:,}" for name, gap in zip(names, gaps, strict=True) if gap]
        lines.append(f"missing{where}: {', '.join(missing)}")
    rows = [[column.iloc[at] for column in columns[:12]] for at in range(min(_ROWS, frame.shape[0]))]
    return [*lines, *(f"row {at}: {_row(row)}" for at, row in enumerate(rows))]


def _polars(frame: Any) -> list[str]:
    schema = list(frame.schema.items())
    part = frame[:, :_COLUMNS].head(_LOOKED_AT)
    lines = [_schema(schema[:_COLUMNS], len(schema))]
    gaps = {name: part[name].null_count() for name in part.columns}
    if any(gaps.values()):
        where = f" in the first {_LOOKED_AT:,} rows" if frame.height > _LOOKED_AT else ""
        lines.append(f"missing{where}: " + ", ".join(f"{name} {gap:,}" for name, gap in gaps.items() if gap))
    return [*lines, *(f"row {at}: {_row(row)}" for at, row in enumerate(part[:, :12].head(_ROWS).rows()))]


def _dict(value: dict[Any, Any], depth: int, seen: set[int]) -> list[str]:
    lines = []
    for key, item in list(value.items())[:12]:
        inner = ""
        if type(item) is dict:
            inner = "dict, itself again" if id(item) in seen else f"dict of {len(item):,}"
        lines.append(f"{'  ' * depth}{_value(key)}: {inner or _value(item)}")
        if inner.startswith("dict of") and depth < 2:
            lines += _dict(item, depth + 1, seen | {id(item)})
    return lines + ([f"{'  ' * depth}... {len(value) - 12:,} more"] if len(value) > 12 else [])


def _missing(series: Any) -> str:
    gaps = int(series.iloc[:_LOOKED_AT].isna().sum())
    where = f" in the first {_LOOKED_AT:,}" if series.shape[0] > _LOOKED_AT else ""
    return f"missing{where}: {gaps:,}" if gaps else ""


def _schema(columns: Iterable[tuple[Any, Any]], count: int) -> str:
    shown = [f"{_label(name)} {str(kind)[:40]}" for name, kind in list(columns)[:_COLUMNS]]
    more = f", ... {count - len(shown):,} more" if count > len(shown) else ""
    return f"columns: {', '.join(shown)}{more}"


def _row(values: Sequence[Any]) -> str:
    return ", ".join(_value(value) for value in values)


def _value(value: Any) -> str:
    """A plain value as text; anything else by its type."""
    kind = type(value)
    if kind is str or kind is bytes:
        return repr(value[:40]) + ("..." if len(value) > 40 else "")
    if kind is int:
        return str(value) if value.bit_length() < 200 else "a large int"
    if kind in _PLAIN or (kind.__module__.partition(".")[0] in _LIBRARIES and getattr(value, "shape", ()) == ()):
        return str(value)[:40]
    if kind in (list, tuple, dict, set, frozenset):
        return f"{kind.__name__} of {len(value):,}"
    return f"<{kind.__name__}>"


def _label(name: Any) -> str:
    return str(name)[:40] if type(name) in (str, int, float, bool) else f"<{type(name).__name__}>"


def _bounded(lines: list[str]) -> list[str]:
    found: list[str] = []
    room = MOST
    for line in lines:
        part = line if len(line) <= 600 else f"{line[:600]}..."
        room -= len(part.encode("utf-8", "replace")) + 3
        if room < 0:
            return [*found, "..."]
        found.append(part)
    return found
