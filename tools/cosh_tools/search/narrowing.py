"""The glob argument of a search: several patterns in one text, and the folder from which they count."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from cosh_tools.search.engine import Query
from cosh_tools.search.globs import expand_braces
from cosh_tools.search.ignore import override_rules


def globs_in(text: str) -> tuple[str, ...]:
    """The patterns of a glob argument: several may stand with commas or spaces between them."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if char == "," and depth <= 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    out = []
    for part in parts:
        words = part.split()
        out += words if len(words) > 1 and all("*" in word for word in words) else [part.strip()]
    globs = tuple(glob.removeprefix("./") for glob in out if glob)
    override_rules(globs)  # a bad one is told before anything runs
    for glob in globs:
        expand_braces(glob)
    return globs


def counted_from(query: Query, here: Path) -> Query:
    """Globs count from the searched folder, unless they name it from the working directory."""
    if not query.globs or not os.path.isdir(query.root):
        return query
    inner = os.path.relpath(query.root, os.path.realpath(here))
    if not inner.startswith(".") and any(glob.lstrip("!/").startswith(inner + "/") for glob in query.globs):
        return replace(query, base=os.path.realpath(here))
    return replace(query, globs=tuple(glob.replace(query.root + "/", "/", 1) for glob in query.globs))
