"""The built-in search, as a process of its own: prints what ripgrep would print for the same query.

It imports little and starts fast. Several of them share a tree: each walks all of it and searches every n-th file.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from cosh_tools.search.dialect import BadPattern
from cosh_tools.search.globs import BadGlob, segment_regex
from cosh_tools.search.ignore import above, override_rules
from cosh_tools.search.linesearch import LineSearch
from cosh_tools.search.walk import Walk

_FLUSH_BYTES = 8192
_FLUSH_SECONDS = 0.05


def main(query_json: str) -> int:
    """Search; the exit code is ripgrep's: 0 found, 1 not found, 2 something could not be done."""
    query = json.loads(query_json)
    try:
        lines = LineSearch(query)
        walk = _walk(query)
    except BadPattern as error:
        sys.stderr.write(f"regex parse error: {error}\n")
        return 2
    except BadGlob as error:
        sys.stderr.write(f"error parsing glob: {error}\n")
        return 2
    out = _Output()
    unreadable: list[str] = []
    for path, shown in _files(query, walk):
        try:
            found = lines.file(path, os.fsencode(shown))
        except OSError:
            unreadable.append(path)
            continue
        out.write(found)
    out.flush()
    for path in [*unreadable, *(walk.unreadable if query["share"] == 0 else [])]:
        sys.stderr.write(f"rg: {os.fsencode(path)!r}: cannot be read (os error 13)\n")
    return 2 if unreadable or walk.unreadable else 0 if out.any else 1


class _Output:
    """stdout, in pieces that are neither tiny nor late."""

    def __init__(self) -> None:
        self.any = False
        self._parts: list[bytes] = []
        self._size = 0
        self._last = time.monotonic()

    def write(self, part: bytes) -> None:
        if part:
            self.any = True
            self._parts.append(part)
            self._size += len(part)
        if self._parts and (self._size >= _FLUSH_BYTES or time.monotonic() - self._last > _FLUSH_SECONDS):
            self.flush()

    def flush(self) -> None:
        rest = memoryview(b"".join(self._parts))
        self._parts, self._size, self._last = [], 0, time.monotonic()
        while rest:
            rest = rest[os.write(1, rest) :]


def _files(query: dict[str, Any], walk: Walk) -> Iterator[tuple[str, str]]:
    root = query["root"]
    if not os.path.isdir(root):
        yield root, root
        return
    share, shares, prefix = query["share"], query["shares"], query["target"].rstrip("/") + "/"
    for index, (path, shown) in enumerate(walk.in_order(root)):
        if index % shares == share:
            yield path, prefix + shown


def _walk(query: dict[str, Any]) -> Walk:
    types: Callable[[str], object] | None = None
    if query["types"] and not query["globs"]:
        types = re.compile("|".join(segment_regex(glob) for glob in query["types"])).fullmatch
    return Walk(
        ignores=None if query["no_ignore"] else above(query["root"]),
        hidden=query["hidden"],
        override=override_rules(query["globs"], _between(query)) if query["globs"] else None,
        types=types,
    )


def _between(query: dict[str, Any]) -> str:
    """What lies between the folder that globs count from and the root."""
    if not query["base"] or query["base"] == query["root"]:
        return ""
    inner = os.path.relpath(query["root"], query["base"])
    return "" if inner.startswith("..") else f"/{inner}/"
