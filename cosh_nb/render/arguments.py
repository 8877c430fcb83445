"""Arguments of a call as names and readable values. JSON is the last resort, for what is nested deeper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cosh_nb.render.markup import clip, shorten


def pairs(given: Mapping[str, Any], limit: int = 20_000) -> list[tuple[str, str]]:
    """Name and value of each argument, bounded."""
    found = []
    for name, value in list(given.items())[:40]:
        found.append((shorten(str(name).replace("_", " "), 60), clip(_value(value), limit)))
    if len(given) > 40:
        found.append(("…", f"{len(given) - 40} more"))
    return found


def _value(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case int() | float():
            return str(value)
        case [*items] if all(isinstance(item, str | int | float) for item in items):
            return "\n".join(str(item) for item in items)
        case {**fields} if len(fields) <= 12 and all(isinstance(item, str | int | float) for item in fields.values()):
            return "\n".join(f"{name}: {item}" for name, item in fields.items())
        case _:
            import json

            return json.dumps(value, ensure_ascii=False, indent=1, default=str)
