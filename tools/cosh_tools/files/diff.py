"""What a change looks like: a unified diff, made from the places that changed, never from the whole of a large file."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

_CONTEXT = 3
_MOST_LINES = 3000
"""Lines of a diff that are shown."""
_WIDEST = 400
_COMPARED = 4000
"""Lines on either side that are compared line by line; beyond, a block is shown as replaced."""


@dataclass(frozen=True, slots=True)
class Span:
    """One replaced stretch of bytes: `old[start:end]` became `new`."""

    start: int
    end: int
    new: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """A unified diff and how many lines came and went."""

    diff: str
    added: int
    removed: int

    @property
    def summary(self) -> str:
        """Lines added and removed, as a row shows them: `+1 −1`."""
        return f"+{self.added} \N{MINUS SIGN}{self.removed}"


def change_of_spans(old: bytes, spans: Sequence[Span], name: str, decode: Callable[[bytes], str]) -> Change:
    """The diff of replacing `spans` (in order, apart from each other) in `old`."""
    hunks: list[str] = []
    added = removed = line = at = shift = shown = left_out = 0
    for region_start, region_end, inside in _regions(old, spans):
        line += old.count(b"\n", at, region_start)
        at = region_start
        before = _lines(decode(old[region_start:region_end]))
        after = _lines(decode(_replaced(old, region_start, region_end, inside)))
        text, plus, minus = _hunks(before, after, line, line + shift)
        added, removed, shift = added + plus, removed + minus, shift + len(after) - len(before)
        if shown < _MOST_LINES:
            hunks.append(text)
            shown += text.count("\n")
        else:
            left_out += 1
    rest = f"... ({left_out} more changes)\n" if left_out else ""
    return Change(_head(name, old=bool(old)) + "".join(hunks) + rest if hunks else "", added, removed)


def change_of_texts(old: str | None, new: str, name: str) -> Change:
    """The diff between two texts; `old` is None for a new file."""
    before, after = _lines(old or ""), _lines(new)
    start = 0
    shorter = min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    if start == len(before) == len(after):
        return Change("", 0, 0)
    low, back = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
    text, added, removed = _hunks(before[low : len(before) - back], after[low : len(after) - back], low, low)
    return Change(_head(name, old=old is not None) + text, added, removed)


def _regions(old: bytes, spans: Sequence[Span]) -> Iterator[tuple[int, int, list[Span]]]:
    """Whole lines around the spans with their context; spans whose contexts touch share one."""
    start, end = -1, -1
    inside: list[Span] = []
    for span in spans:
        low, high = _back(old, span.start, _CONTEXT), _forth(old, span.end, _CONTEXT)
        if inside and low <= end:
            end = max(end, high)
            inside.append(span)
            continue
        if inside:
            yield start, end, inside
        start, end, inside = low, high, [span]
    if inside:
        yield start, end, inside


def _back(old: bytes, at: int, lines: int) -> int:
    for _ in range(lines + 1):
        at = old.rfind(b"\n", 0, at)
        if at < 0:
            return 0
    return at + 1


def _forth(old: bytes, at: int, lines: int) -> int:
    for _ in range(lines + 1):
        found = old.find(b"\n", at)
        if found < 0:
            return len(old)
        at = found + 1
    return at


def _replaced(old: bytes, start: int, end: int, spans: Iterable[Span]) -> bytes:
    parts, at = [], start
    for span in spans:
        parts += [old[at : span.start], span.new]
        at = span.end
    return b"".join([*parts, old[at:end]])


def _hunks(before: list[str], after: list[str], old_line: int, new_line: int) -> tuple[str, int, int]:
    """The hunks of two stretches that begin after so many lines of their files."""
    if len(before) + len(after) > 2 * _COMPARED:
        groups = [[("replace", 0, len(before), 0, len(after))]]
    else:
        groups = [list(group) for group in difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(_CONTEXT)]
    out: list[str] = []
    added = removed = 0
    for group in groups:
        first, last = group[0], group[-1]
        old_range = _range(old_line + first[1], old_line + last[2])
        new_range = _range(new_line + first[3], new_line + last[4])
        out.append(f"@@ -{old_range} +{new_range} @@\n")
        for tag, low, high, new_low, new_high in group:
            if tag == "equal":
                out += [_line(" ", text) for text in before[low:high]]
                continue
            removed, added = removed + high - low, added + new_high - new_low
            out += [_line("-", text) for text in before[low:high]]
            out += [_line("+", text) for text in after[new_low:new_high]]
    if len(out) > _MOST_LINES:
        out = [*out[:_MOST_LINES], f"... ({len(out) - _MOST_LINES} more lines of this diff)\n"]
    return "".join(out), added, removed


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"


def _lines(text: str) -> list[str]:
    """Lines that keep their endings, split at line feeds only."""
    lines = text.split("\n")
    kept = [line + "\n" for line in lines[:-1]]
    return [*kept, lines[-1]] if lines[-1] else kept


def _line(mark: str, text: str) -> str:
    ends = text.endswith("\n")
    body = text[:-1] if ends else text
    body = body.removesuffix("\r")
    if len(body) > _WIDEST:
        body = f"{body[:_WIDEST]}... [{len(body)} characters]"
    missing = "" if ends else "\\ No newline at end of file\n"
    return f"{mark}{body}\n{missing}"


def _head(name: str, *, old: bool) -> str:
    return f"--- {'a/' + name if old else '/dev/null'}\n+++ b/{name}\n"
