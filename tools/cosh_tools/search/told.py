"""What the model reads of a search: rows as lines, what was left out, and the numbers for whoever draws it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cosh_tools.files.places import printable, short
from cosh_tools.search.engine import Answer, Query, Row
from cosh_tools.search.kept import Kept, begins_binary

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext

WIDEST = 500
"""Characters of a line that are shown."""


def lines_of(rows: Sequence[Row], query: Query, ctx: ToolContext, *, numbers: bool) -> list[str]:
    """The rows as lines: paths, counts, or content with a line of dashes between groups."""
    names: dict[str, str] = {}
    lines: list[str] = []
    last: Row | None = None
    for row in rows:
        name = names.get(row.path)
        if name is None:
            name = names[row.path] = (
                short(Path(query.root) / row.path, ctx) if row.path else short(Path(query.root), ctx)
            )
        match query.mode:
            case "files_with_matches":
                lines.append(name)
            case "count":
                lines.append(f"{name}:{row.number}")
            case "content":
                if query.before + query.after and last is not None and _gap(last, row):
                    lines.append("--")
                lines.append(_content(row, name if row.path else "", numbers=numbers))
        last = row
    return lines


def _gap(last: Row, row: Row) -> bool:
    return last.path != row.path or row.number != last.number + 1


def _content(row: Row, name: str, *, numbers: bool) -> str:
    mark: Literal[":", "-"] = ":" if row.is_match else "-"
    head = f"{name}{mark}" if name else ""
    return f"{head}{row.number}{mark}{cut(row)}" if numbers else f"{head}{cut(row)}"


def cut(row: Row) -> str:
    """The line, shortened around the match where it is long."""
    text = row.text
    if len(text) <= WIDEST:
        return text
    start = 0
    if row.column > WIDEST - 100:
        start = max(0, min(row.column - 101, len(text) - WIDEST))
    shown = text[start : start + WIDEST]
    before = "[...] " if start else ""
    far = f" (match at column {row.column:,})" if row.column > start + WIDEST else ""
    return f"{before}{shown} [... line cut{far}]"


def notes_on(answer: Answer, kept: Kept, query: Query) -> list[str]:
    """Sentences about what is not in the answer."""
    notes = []
    if answer.timed_out:
        notes.append(
            f"(Stopped after {query.patience:g} s: the pattern or the folder is too much. "
            "These are the results until then; narrow the search.)"
        )
    if kept.withheld:
        names = sorted(map(printable, set(kept.withheld)))
        some = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        notes.append(
            f"(Matches in files that may not be read without asking are not shown: {some}. Name one as path to ask.)"
        )
    if answer.unreadable:
        notes.append(f"({answer.unreadable} files or folders could not be read.)")
    if not answer.rows and os.path.isfile(query.root) and begins_binary(query.root):
        notes.append("(The file is binary, and only text is searched. Use Bash `grep -a` for it.)")
    return notes


def facts_of(rows: Sequence[Row], answer: Answer, query: Query, ctx: ToolContext) -> dict[str, object]:
    """The numbers behind the lines."""
    files = [short(Path(query.root, path), ctx) for path in dict.fromkeys(row.path for row in rows)]
    matches = sum(row.number for row in rows) if query.mode == "count" else sum(row.is_match for row in rows)
    many = "" if answer.complete else "+"
    what = "file" if query.mode == "files_with_matches" else "match"
    count = len(files) if what == "file" else matches
    plural = "" if count == 1 and not many else ("s" if what == "file" else "es")
    return {
        "mode": query.mode,
        "numFiles": len(files),
        "filenames": files,
        "numLines": len(rows),
        "numMatches": matches,
        "truncated": not answer.complete,
        "summary": f"{count}{many} {what}{plural}",
    }
