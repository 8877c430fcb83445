"""The arguments of a tool call, from the text that a model wrote."""

from __future__ import annotations

import json
from typing import Any

import orjson

from cosh_nb.providers.sse import scrubbed

_NAMES = {list: "array", str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def read(text: str) -> tuple[dict[str, Any] | None, str]:
    """The arguments and "", or None and what is wrong with them. The problem never quotes them."""
    if not text or text.isspace():
        return {}, ""
    try:
        value: Any = orjson.loads(text)
    except ValueError:
        try:
            value = scrubbed(json.loads(text))
        except (ValueError, RecursionError):
            return None, "invalid_json"
    if isinstance(value, dict):
        return value, ""
    return None, f"arguments_not_object ({_NAMES[type(value)]})"
