"""A unified diff as rows a person reads: line numbers, signs, changed words marked. It reads without colours too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cosh_nb.render.markup import attr, count, plain, pre

SHOWN = 400
"""Rows of a change that a tool row shows."""
_WIDE = 1_000
_PAIRS = 200
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")

Kind = Literal["add", "del", "same", "gap", "file", "note"]
_SIGN: dict[Kind, str] = {"add": "+", "del": "-", "same": " ", "gap": "⋯", "file": "", "note": " "}


@dataclass(frozen=True, slots=True)
class Row:
    """One line: its number (old for a deleted line, else new) and which stretches of it changed."""

    kind: Kind
    text: str
    number: int | None = None
    marks: tuple[tuple[int, int], ...] = ()


def summary(diff: str) -> str:
    """How many lines were added and taken away, as a row says it."""
    added = sum(row.kind == "add" for row in _parse(diff))
    taken = sum(row.kind == "del" for row in _parse(diff))
    return f"+{added:,} \N{MINUS SIGN}{taken:,}"


def to_html(diff: str, label: str = "Change", limit: int = SHOWN) -> str:
    """The diff as one `<pre>`; `label` names it for screen readers."""
    shown, left = rows(diff, limit)
    if not shown:
        return ""
    width = len(str(max((row.number or 0) for row in shown)))
    lines = [_row_html(row, width) for row in shown]
    if left:
        lines.append(f'<span class="gap">⋯ {count(left, "more line")}\n</span>')
    body = "".join(lines)
    return f'<pre class="diff" role="group" tabindex="0" aria-label="{attr(label)}">{body}</pre>'


def to_text(diff: str, limit: int = SHOWN) -> str:
    """The diff as lines with numbers and signs."""
    shown, left = rows(diff, limit)
    width = len(str(max((row.number or 0 for row in shown), default=0)))
    lines = [_row_text(row, width) for row in shown]
    return "\n".join([*lines, f"⋯ {count(left, 'more line')}"] if left else lines)


def rows(diff: str, limit: int = SHOWN) -> tuple[list[Row], int]:
    """The first `limit` rows, changed words marked, and how many rows are left out."""
    kept: list[Row] = []
    left = 0
    for row in _parse(diff):
        if len(kept) < limit:
            kept.append(row)
        elif row.kind in ("add", "del"):
            left += 1
    if sum(row.kind == "file" for row in kept) == 1:
        kept = [row for row in kept if row.kind != "file"]
    return _marked(kept), left


def _parse(diff: str) -> Iterator[Row]:
    old = new = 0
    old_left = new_left = 0
    first, lines = True, diff.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    for line in lines:
        body = line[1:]
        if old_left > 0 or new_left > 0:
            if line[:1] == "+":
                yield Row("add", body, new)
                new, new_left = new + 1, new_left - 1
            elif line[:1] == "-":
                yield Row("del", body, old)
                old, old_left = old + 1, old_left - 1
            elif line[:1] == "\\":
                yield Row("note", body.strip())
            else:
                yield Row("same", body, new)
                old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1
        elif hunk := _HUNK.match(line):
            if not first:
                yield Row("gap", "")
            first = False
            old, new = int(hunk[1]), int(hunk[3])
            old_left, new_left = int(hunk[2] or 1), int(hunk[4] or 1)
        elif line.startswith("+++ "):
            first = True
            yield Row("file", line[4:].split("\t")[0].removeprefix("b/"))
        elif line[:1] == "\\":
            yield Row("note", body.strip())


def _marked(kept: list[Row]) -> list[Row]:
    """Pair each run of deleted lines with the added lines after it and mark what differs."""
    out = list(kept)
    index = pairs = 0
    while index < len(out):
        if out[index].kind != "del":
            index += 1
            continue
        middle = next((i for i in range(index, len(out)) if out[i].kind != "del"), len(out))
        end = next((i for i in range(middle, len(out)) if out[i].kind != "add"), len(out))
        if middle - index == end - middle:
            for one, other in zip(range(index, middle), range(middle, end), strict=True):
                pairs += 1
                if pairs <= _PAIRS:
                    out[one], out[other] = _words(out[one], out[other])
        index = end
    return out


def _words(old: Row, new: Row) -> tuple[Row, Row]:
    from difflib import SequenceMatcher

    if max(len(old.text), len(new.text)) > 400:
        return old, new
    before, after = _WORD.findall(old.text), _WORD.findall(new.text)
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    same = sum(len("".join(before[a:b])) for step, a, b, _, _ in steps if step == "equal")
    if same * 2 < min(len(old.text), len(new.text)):
        return old, new  # two different lines: marks would only confuse
    taken = [(a, b) for step, a, b, _, _ in steps if step != "equal" and b > a]
    added = [(c, d) for step, _, _, c, d in steps if step != "equal" and d > c]
    return replace(old, marks=_stretches(before, taken)), replace(new, marks=_stretches(after, added))


def _stretches(words: Sequence[str], ranges: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return tuple((starts[begin], starts[end]) for begin, end in ranges)


def _row_html(row: Row, width: int) -> str:
    if row.kind == "file":
        return f'<span class="file">{pre(row.text)}\n</span>'
    number = f"{row.number or '':>{width}} "
    text, marks = row.text, row.marks
    if len(text) > _WIDE:
        text, marks = f"{text[:_WIDE]}… {len(text) - _WIDE:,} more characters", ()
    body, last = "", 0
    for begin, end in marks:
        body += f"{pre(text[last:begin])}<b>{pre(text[begin:end])}</b>"
        last = end
    body += pre(text[last:])
    return f'<span class="{row.kind}"><span class="ln">{number}</span>{_SIGN[row.kind]} {body}\n</span>'


def _row_text(row: Row, width: int) -> str:
    text = row.text if len(row.text) <= _WIDE else f"{row.text[:_WIDE]}… {len(row.text) - _WIDE:,} more characters"
    if row.kind == "file":
        return plain(text)
    return plain(f"{row.number or '':>{width}} {_SIGN[row.kind]} {text}").rstrip()
