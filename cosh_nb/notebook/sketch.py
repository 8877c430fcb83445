"""What is in a namespace, in a line each: name, type, shape or size, and a bounded look at plain values.

Nothing that a person wrote is called: no `__repr__`, no property, no `__len__` of a class of theirs. Only exact
built-in types and the array types of well-known libraries are looked into.
"""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import pathlib
import types
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

from cosh_nb.notebook.frames import look

_PLAIN = (
    int, float, complex, bool, type(None), dt.date, dt.datetime, dt.timedelta, decimal.Decimal,
    fractions.Fraction, uuid.UUID, pathlib.PosixPath, pathlib.WindowsPath, range,
)  # fmt: skip
_SIZED = (list, tuple, set, frozenset, dict, deque, defaultdict, OrderedDict, Counter)
_KNOWN_SHAPES = ("numpy", "pandas", "polars", "torch", "jax", "jaxlib", "tensorflow", "scipy", "xarray", "pyarrow")
_BORING = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})
_WIDE = 160


def sketch_all(namespace: Mapping[str, Any], names: Sequence[str], limit: int, hidden: Mapping[str, Any]) -> str:
    """One line per variable; for those that are named, a look into them too."""
    snapshot = dict(namespace)
    if names:
        found = [name for name in names if name in snapshot]
        lines = []
        for name in found[:limit]:
            lines.append(f"{name}: {sketch(snapshot[name])}")
            lines += [f"  {line}" for line in look(snapshot[name])]
        lines += [f"{name}: not defined" for name in names if name not in snapshot]
        return "\n".join(lines)
    own = sorted(
        name for name, value in snapshot.items()
        if not name.startswith("_") and name not in _BORING and not _is_hidden(hidden, name, value)
        and type(value) is not types.ModuleType
    )  # fmt: skip
    if not own:
        return "No variables are defined in this kernel yet."
    lines = [f"{name}: {sketch(snapshot[name])}" for name in own[:limit]]
    if len(own) > limit:
        lines.append(f"... and {len(own) - limit} more. Ask for them by name, or with a higher limit.")
    return "\n".join(lines)


def sketch(value: Any) -> str:
    """One variable: its type, and its size or a bounded look where that is safe."""
    kind = type(value)
    if kind is str:
        return f"str of {len(value):,} characters: {_short(repr(value[:_WIDE]))}"
    if kind in (bytes, bytearray):
        return f"{kind.__name__} of {len(value):,} bytes"
    if kind in _PLAIN:
        return _number(value) if kind is int else f"{kind.__name__} {_short(repr(value))}"
    if kind in _SIZED:
        return f"{kind.__name__} of {len(value):,}{_inside(value)}"
    if kind in (types.FunctionType, types.BuiltinFunctionType, types.MethodType):
        return f"function {value.__name__}"
    if isinstance(value, type):
        return f"class {type.__getattribute__(value, '__name__')}"
    return _type_name(kind) + _shape(value, kind)


def _is_hidden(hidden: Mapping[str, Any], name: str, value: Any) -> bool:
    return name in hidden and hidden[name] is value


def _number(value: int) -> str:
    # The text of an int of a million digits takes seconds to make.
    return f"int {value}" if value.bit_length() < 500 else f"int of {value.bit_length():,} bits"


def _inside(value: Any) -> str:
    """The types of the first few elements, and the keys of a dict that are plain text."""
    try:
        if isinstance(value, dict):
            keys = [key for key, _ in zip(value, range(12), strict=False)]
            plain = [repr(key[:40]) for key in keys if type(key) is str]
            return f" with keys {_short(', '.join(plain))}" if plain else ""
        kinds = dict.fromkeys(type(item).__name__ for item, _ in zip(value, range(50), strict=False))
    except RuntimeError:
        return ""  # it changes while we look
    return f" ({_short(', '.join(kinds))})" if kinds else ""


def _shape(value: Any, kind: type) -> str:
    if kind.__module__.partition(".")[0] not in _KNOWN_SHAPES:
        return ""
    if kind.__name__ == "LazyFrame":
        return " (not computed)"
    try:
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
        words = f" of shape {tuple(shape)}" if isinstance(shape, tuple | list) else ""
        if dtype is not None:
            words += f", {dtype}"
        columns = getattr(value, "column_names", None) or getattr(value, "columns", None)
        if columns is not None:
            words += f", columns {_short(', '.join(map(_label, list(columns[:20]))))}"
    except Exception as error:  # noqa: BLE001  (a library's property may raise anything)
        return f" (its shape cannot be read: {type(error).__name__})"
    return words


def _label(name: Any) -> str:
    return str(name)[:40] if type(name) in (str, int, float, bool) else f"a {type(name).__name__}"


def _type_name(kind: type) -> str:
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__qualname__}"


def _short(text: str) -> str:
    return text if len(text) <= _WIDE else f"{text[:_WIDE]}..."
