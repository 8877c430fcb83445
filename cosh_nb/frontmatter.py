"""Markdown files with YAML front matter, as skills, commands and agents are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LIMIT = 512_000
"""Bytes of one file."""


@dataclass(frozen=True, slots=True)
class Document:
    """Front matter and body. `problem` says why the front matter is not in force."""

    meta: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""
    problem: str = ""


def read(file: Path) -> Document:
    """The file's parts. Raises OSError where it cannot be read, ValueError where it is too long."""
    if file.stat().st_size > LIMIT:
        raise ValueError(f"{file} is longer than {LIMIT:,} bytes.")
    return parse(file.read_text("utf-8", "replace"))


def parse(text: str) -> Document:
    """Split front matter from body; broken YAML is a problem, and the body stays usable."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return Document(body=text.strip())
    head, mark, body = text[4:].partition("\n---")
    if not mark:
        return Document(body=text.strip(), problem="its front matter has no closing ---")
    body = body.partition("\n")[2].strip()
    import yaml  # loaded where a file with front matter is read

    try:
        meta = yaml.safe_load(head)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" in line {where.line + 2}" if where is not None else ""
        return Document(body=body, problem=f"its front matter is not valid YAML{line}")
    if meta is None:
        return Document(body=body)
    if not isinstance(meta, dict):
        return Document(body=body, problem="its front matter is not a list of `name: value` lines")
    return Document({str(key): value for key, value in meta.items()}, body)


def names(value: object) -> tuple[str, ...] | None:
    """A list or a comma text as names; None where nothing is said."""
    from cosh_tools.policy.rules import split_rules  # commas inside parentheses belong to a rule

    match value:
        case None:
            return None
        case str():
            return tuple(split_rules(value))
        case list():
            return tuple(str(item) for item in value)
        case _:
            return ()
