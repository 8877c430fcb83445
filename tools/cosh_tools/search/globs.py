"""Glob patterns, matched folder by folder, so that a walk never enters a folder in which nothing can match.

`*` and `?` stay within one name, `**` is any number of folders, `[...]` one character, `{a,b}` either, and a
backslash takes the next character as it is. Hidden names match like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from operator import methodcaller

from cosh_tools.results import ToolError

_MOST_ALTERNATIVES = 512
_MAGIC = re.compile(r"[*?\[{\\]")
_PLAIN_SUFFIX = re.compile(r"\*(\.[\w.-]+)")

States = frozenset[tuple[int, int]]
"""Which segments of which alternatives may come next."""


class BadGlob(ToolError):
    """A pattern that means nothing. Its message quotes it and says why."""


class Glob:
    """A compiled pattern: begin with `start`, `enter` folders, and ask `takes` for the names in them."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._alternatives = [_segments(each) for each in expand_braces(pattern)]
        self._names: dict[States, Callable[[str], bool]] = {}
        self._compiled = [
            [None if segment == "**" else re.compile(segment_regex(segment, pattern)) for segment in segments]
            for segments in self._alternatives
        ]
        self.start = self._closed({(index, 0) for index in range(len(self._alternatives))})

    def enter(self, states: States, folder: str) -> States:
        """The states inside a folder; empty where nothing in it can match."""
        after: set[tuple[int, int]] = set()
        for alternative, at in states:
            segment = self._compiled[alternative][at]
            if segment is None:
                after.add((alternative, at))
            elif at + 1 < len(self._compiled[alternative]) and (
                segment.fullmatch(folder) or folder == self._alternatives[alternative][at]
            ):
                # A folder may be called [id] or (x): its own name always means it.
                after.add((alternative, at + 1))
        return self._closed(after) if after != states else states

    def takes(self, states: States) -> Callable[[str], bool]:
        """Whether a file of this name, in a folder with these states, matches."""
        known = self._names.get(states)
        if known is None:
            known = self._names[states] = self._name_test(states)
        return known

    def _closed(self, states: set[tuple[int, int]]) -> States:
        """`**` may also stand for no folder at all."""
        todo = list(states)
        while todo:
            alternative, at = todo.pop()
            segments = self._compiled[alternative]
            after = (alternative, at + 1)
            if segments[at] is None and at + 1 < len(segments) and after not in states:
                states.add(after)
                todo.append(after)
        return frozenset(states)

    def _name_test(self, states: States) -> Callable[[str], bool]:
        last = [self._alternatives[a][at] for a, at in states if at == len(self._alternatives[a]) - 1]
        if not last:
            return _nothing
        if any(segment in ("**", "*") for segment in last):
            return _anything
        suffixes = [found[1] for segment in last if (found := _PLAIN_SUFFIX.fullmatch(segment))]
        if len(suffixes) == len(last):
            ends = tuple(suffixes)
            return methodcaller("endswith", ends)
        test = re.compile("|".join(f"(?:{segment_regex(segment, self.pattern)})" for segment in last)).fullmatch
        literal = frozenset(last)
        return lambda name: test(name) is not None or name in literal


def has_magic(text: str) -> bool:
    """Whether a text is a pattern rather than a plain path."""
    return _MAGIC.search(text) is not None


def expand_braces(pattern: str) -> list[str]:
    """The patterns that `{a,b}` stands for; a brace that is never closed, or holds no comma, is itself."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        text = todo.pop()
        found = _first_brace(text)
        if found is None:
            done.append(text)
        else:
            start, end, parts = found
            todo += [text[:start] + part + text[end:] for part in reversed(parts)]
        if len(done) + len(todo) > _MOST_ALTERNATIVES:
            raise BadGlob(f"Invalid glob pattern: {pattern!r} has more than {_MOST_ALTERNATIVES} alternatives.")
    return done


@cache
def segment_regex(segment: str, pattern: str = "") -> str:
    """A regex for one name. Raises BadGlob."""
    out, at = [], 0
    while at < len(segment):
        char = segment[at]
        at += 1
        if char == "*":
            while segment[at : at + 1] == "*":
                at += 1
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "\\" and at < len(segment):
            out.append(re.escape(segment[at]))
            at += 1
        elif char == "[":
            inside, at = _class(segment, at, pattern or segment)
            out.append(inside)
        else:
            out.append(re.escape(char))
    return "(?s:" + "".join(out) + ")"


def _class(segment: str, at: int, pattern: str) -> tuple[str, int]:
    """The regex of a `[...]` whose inside begins at `at`, and where it ends."""
    start = at
    negated = segment[at : at + 1] in ("!", "^")
    at += negated
    end = segment.find("]", at + 1)
    if end < 0:
        raise BadGlob(
            f"Invalid glob pattern: {pattern!r} opens a [ that is never closed. Write [[] for the sign itself."
        )
    if segment.startswith("[:", at):
        close = segment.find(":]", at)
        end = segment.find("]", close + 2) if close >= 0 else end
    inside = segment[at:end]
    for name, letters in _POSIX.items():
        inside = inside.replace(f"[:{name}:]", letters)
    inside = re.sub(r"([\[&~|^])", r"\\\1", inside.replace("\\", "\\\\")) if "\\" not in inside else inside
    regex = f"[{'^/' if negated else ''}{inside}]"
    try:
        re.compile(regex)
    except re.error as error:
        raise BadGlob(f"Invalid glob pattern: {pattern!r}: [{segment[start:end]}]: {error}.") from None
    return (regex if negated else f"(?!/){regex}"), end + 1


_POSIX = {
    "alpha": "A-Za-z", "digit": "0-9", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "xdigit": "0-9A-Fa-f", "punct": r"!-/:-@\[-`{-~", "word": r"\w",
}  # fmt: skip


def _segments(pattern: str) -> list[str]:
    segments = [part for part in pattern.split("/") if part not in ("", ".")]
    if ".." in segments:
        raise BadGlob(f"Invalid glob pattern: {pattern!r} goes up after a wildcard. Give the folder as path instead.")
    merged: list[str] = []
    for segment in segments:
        if segment != "**" or not merged or merged[-1] != "**":
            merged.append(segment)
    return merged or ["**"]


def _first_brace(text: str) -> tuple[int, int, list[str]] | None:
    """Start, end and parts of the first brace group that has a comma."""
    at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == "[":
            close = text.find("]", at + 2)
            at = close + 1 if close > 0 else at + 1
            continue
        if text[at] == "{" and (found := _group(text, at)) is not None:
            return found
        at += 1
    return None


def _group(text: str, start: int) -> tuple[int, int, list[str]] | None:
    depth, parts, begin, at = 0, [], start + 1, start
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if char == "{":
            depth += 1
        elif char == "," and depth == 1:
            parts.append(text[begin:at])
            begin = at + 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                parts.append(text[begin:at])
                return (start, at + 1, parts) if len(parts) > 1 else None
        at += 1
    return None


def _anything(name: str) -> bool:
    del name
    return True


def _nothing(name: str) -> bool:
    del name
    return False
