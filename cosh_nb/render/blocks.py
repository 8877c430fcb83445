"""Markdown as it streams, cut into blocks that are drawn on their own: at blank lines outside fences, at 4 KB at most.

A block that was given out never changes; only the open one does. So a long answer is parsed once, not at every delta.
"""

from __future__ import annotations

import re

LIMIT = 4_000
"""Characters of a block; a longer paragraph, fence, list or table is continued in the next block."""

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})([^\n]*)\n?\Z")
_LIST = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\n|\Z)")
_RULER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*\|?[ \t]*\n?\Z")
_MATH = {"$$": "$$", "\\[": "\\]"}


class Blocks:
    """Takes text piece by piece and gives whole blocks back."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._pieces: list[str] = []
        self._size = 0
        self._rest_size = 0
        self._fence = ""
        self._fence_line = ""
        self._math = ""
        self._blank = False

    def feed(self, text: str) -> list[str]:
        """The blocks that this text completes."""
        self._pieces.append(text)
        self._rest_size += len(text)
        if "\n" not in text and self._rest_size <= LIMIT:
            return []
        done: list[str] = []
        lines = _split("".join(self._pieces))
        rest = lines.pop() if lines and not lines[-1].endswith("\n") else ""
        for line in lines:
            self._line(line, done)
        while len(rest) > LIMIT:
            cut = rest.rfind(" ", LIMIT // 2, LIMIT) + 1 or LIMIT
            self._line(rest[:cut], done)
            self._cut(done)
            rest = rest[cut:]
        self._pieces, self._rest_size = ([rest] if rest else []), len(rest)
        return done

    @property
    def open(self) -> str:
        """The block that may still grow."""
        return "".join(self._lines) + "".join(self._pieces)

    def close(self) -> list[str]:
        """What is left when nothing more comes."""
        done: list[str] = []
        rest = "".join(self._pieces)
        if rest:
            self._line(rest, done)
        if "".join(self._lines).strip():
            done.append("".join(self._lines))
        self.__init__()  # type: ignore[misc]  # (ready for the next text)
        return done

    def _line(self, line: str, done: list[str]) -> None:
        while len(line) > LIMIT:
            self._line_within(line[:LIMIT], done)
            line = line[LIMIT:]
        self._line_within(line, done)

    def _line_within(self, line: str, done: list[str]) -> None:
        if self._size + len(line) > LIMIT and self._lines:
            self._cut(done)
        bare = line.strip()
        if self._fence:
            self._add(line)
            self._maybe_unfence(line, bare, done)
            return
        if self._math:
            self._add(line)
            if bare.endswith(self._math):
                self._math = ""
            return
        if not bare:
            if self._lines:
                self._blank = True
                self._add(line)
            return
        if self._blank and line[0] not in " \t" and not self._goes_on(line):
            self._emit(done)
        self._blank = False
        self._add(line)
        fence = _FENCE.match(line)
        if fence is not None and not (fence[2][0] == "`" and "`" in fence[3]):
            self._fence, self._fence_line = fence[2], line
        elif bare[:2] in _MATH and not (len(bare) > 3 and bare.endswith(_MATH[bare[:2]])):
            self._math = _MATH[bare[:2]]

    def _maybe_unfence(self, line: str, bare: str, done: list[str]) -> None:
        indent = len(self._fence_line) - len(self._fence_line.lstrip(" "))
        if bare.startswith(self._fence) and not bare.strip(self._fence[0]):
            self._fence = ""
            if not indent:
                self._emit(done)
        elif indent >= 2 and bare and line[0] not in " \t":
            self._fence = ""  # the list item that held the fence is over

    def _goes_on(self, line: str) -> bool:
        """A list goes on with its next item, so that its numbers and spacing stay one list's."""
        return bool(_LIST.match(line)) and bool(_LIST.match(self._lines[0])) and self._size < LIMIT // 2

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line)

    def _emit(self, done: list[str]) -> None:
        if self._lines:
            done.append("".join(self._lines))
        self._lines, self._size, self._blank = [], 0, False

    def _cut(self, done: list[str]) -> None:
        """Give out what is there and go on with the same fence or table head."""
        if self._fence:
            again = self._fence_line if self._fence_line.endswith("\n") else self._fence_line + "\n"
            if "".join(self._lines) != again:
                last = self._lines[-1]
                self._lines.append(f"{self._fence}\n" if last.endswith("\n") else f"\n{self._fence}\n")
                self._emit(done)
                self._add(again)
            return
        head = self._lines[:2]
        table = len(head) == 2 and "|" in head[0] and _RULER.match(head[1]) and len(head[0]) + len(head[1]) < LIMIT // 4
        self._emit(done)
        if table:
            for line in head:
                self._add(line)


def split(source: str) -> list[str]:
    """All blocks of a whole text."""
    blocks = Blocks()
    return [*blocks.feed(source), *blocks.close()]


def _split(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one."""
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines
