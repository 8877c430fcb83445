"""JSON Schema draft-07 out of a pydantic model, as small as the model service needs it.

Titles go, `$defs` are inlined, "or null" of an optional field goes (leaving it out says the same).
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


def draft07(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of `model` as a draft-07 object with no references."""
    raw = model.model_json_schema(by_alias=True)
    definitions = raw.pop("$defs", {})
    plain: dict[str, Any] = _plain(raw, definitions)
    plain.pop("description", None)
    plain.setdefault("type", "object")
    plain.setdefault("properties", {})
    plain["additionalProperties"] = False
    return plain


def _plain(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _plain({**target, **rest}, definitions)
    out: dict[str, Any] = {}
    for key, value in node.items():
        if key == "title" and isinstance(value, str):
            continue
        if key == "properties":
            out[key] = {name: _plain(field, definitions) for name, field in value.items()}
        else:
            out[key] = _plain(value, definitions)
    return _without_null(out)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    choices = node.get("anyOf")
    if not isinstance(choices, list) or {"type": "null"} not in choices:
        return node
    left = [choice for choice in choices if choice != {"type": "null"}]
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    if rest.get("default", ...) is None:
        del rest["default"]
    return {**left[0], **rest} if len(left) == 1 else {"anyOf": left, **rest}
