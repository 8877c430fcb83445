"""Arguments of a call: coerced where the meaning is plain, then checked against the schema, before anything runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from cosh_tools.contract import Tool, ToolInput
from cosh_tools.results import InvalidInput

_WHOLE = re.compile(r"[+-]?\d{1,18}(?:\.0)?")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_JSON_TYPES = {"array": list, "object": dict}


def validate(tool: Tool[Any], raw: Mapping[str, Any]) -> tuple[ToolInput, tuple[str, ...]]:
    """The input of `tool` and the names of fields it does not know.

    Raises InvalidInput with one line per wrong field: which one, what is wrong, what to send instead.
    """
    properties = tool.input_schema()["properties"]
    try:
        call = tool.parse(_coerced(raw, properties))
    except ValidationError as error:
        raise InvalidInput(_explain(tool, error, properties)) from None
    if tool.takes.model_config.get("extra") == "allow":
        return call, ()
    known = {*properties, *_aliases(tool.takes)}
    return call, tuple(str(name) for name in raw if name not in known)


def _coerced(raw: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """JSON text for an array or object becomes that array or object; null for an optional field is left out."""
    out: dict[str, Any] = {}
    for name, value in raw.items():
        if value is None:
            continue
        expected = _JSON_TYPES.get(properties.get(name, {}).get("type", ""))
        if expected is not None and isinstance(value, str):
            try:
                parsed = json.loads(value)
            except ValueError:
                parsed = None
            if isinstance(parsed, expected):
                out[name] = parsed
                continue
        out[name] = _number(value, properties.get(name, {}).get("type"))
    return out


def _number(value: Any, expected: str | None) -> Any:
    """A number as text for a number, "true" for true, and a number for a text, are what was meant."""
    if expected == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        return value
    text = value.strip()
    match expected:
        case "integer" if _WHOLE.fullmatch(text):
            return int(text.removesuffix(".0"))
        case "number" if _NUMBER.fullmatch(text):
            return float(text)
        case "boolean" if text.lower() in ("true", "false"):
            return text.lower() == "true"
        case _:
            return value


def _aliases(model: type[ToolInput]) -> set[str]:
    """Every spelling a field accepts: its name and its validation aliases."""
    names: set[str] = set()
    for name, field in model.model_fields.items():
        names.add(name)
        alias = field.validation_alias
        if isinstance(alias, str):
            names.add(alias)
        elif alias is not None and hasattr(alias, "choices"):
            names.update(choice for choice in alias.choices if isinstance(choice, str))
    return names


def _explain(tool: Tool[Any], error: ValidationError, properties: Mapping[str, Any]) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        place = ".".join(str(part) for part in problem["loc"]) or "the arguments"
        top = str(problem["loc"][0]) if problem["loc"] else ""
        about = properties.get(top, {})
        wanted = _wanted(about)
        match problem["type"]:
            case "missing":
                lines.append(f"{place} is missing. Send {wanted}.")
            case "value_error":
                lines.append(f"{place}: {problem['msg'].removeprefix('Value error, ')}")
            case _:
                lines.append(f"{place}: {problem['msg'][:1].lower()}{problem['msg'][1:]}. Send {wanted}.")
    return f"Invalid input for {tool.name}: " + " ".join(lines)


def _wanted(about: Mapping[str, Any]) -> str:
    if "enum" in about:
        return "one of " + ", ".join(map(str, about["enum"]))
    kind = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "array": "a list",
            "object": "an object", "string": "a text"}.get(about.get("type", ""), "a value")  # fmt: skip
    return f"{kind} ({about['description']})" if about.get("description") else kind
