"""One pattern, looked for in one file after the other, with Python's `re`."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator
from typing import Any

from cosh_tools.search.dialect import BadPattern, Translated, translate

_HEAD = 1 << 16
_PIECE = 64 << 20
_WIDEST_SEEN = 4096


class LineSearch:
    """One pattern, ready to be looked for in one file after the other."""

    def __init__(self, query: dict[str, Any]) -> None:
        self._query = query
        words, self.in_buffer, self.in_line = self._compiled(damaged=False)
        self.mode: str = query["mode"]
        self.multiline: bool = query["multiline"]
        self.before, self.after = query["before"], query["after"]
        self.per_file: int | None = query["per_file"]
        self.lowered = words.ignore_case
        self.needed = _needed(words.needed, lowered=words.ignore_case)
        # A match in a line needs such a text in that line, and finding one is cheap and never catastrophic.
        literals = "|".join(map(re.escape, words.needed))
        self.candidate = re.compile(literals, re.IGNORECASE if words.ignore_case else 0) if literals else None
        self._kinds = {False: (self.in_buffer, self.in_line)}

    def _compiled(self, *, damaged: bool) -> tuple[Translated, re.Pattern[str], re.Pattern[str]]:
        query = self._query
        words = translate(
            query["pattern"], ignore_case=query["ignore_case"], multiline=query["multiline"], damaged=damaged
        )
        flags = re.IGNORECASE if query["ignore_case"] else 0
        try:
            return words, re.compile(words.in_buffer, flags), re.compile(words.in_line, flags)
        except (re.error, OverflowError, RecursionError) as error:
            raise BadPattern(str(error)) from None

    def file(self, path: str, shown: bytes) -> bytes:
        """The output for one file. Raises OSError where it cannot be read."""
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            head = os.read(handle, _HEAD)
            encoding = _wide(head)
            if not encoding and b"\0" in head:
                return b""
            if len(head) < _HEAD:
                return self._data(head, encoding, shown)
            return self._long(handle, head, encoding, shown)
        finally:
            os.close(handle)

    def _long(self, handle: int, head: bytes, encoding: str, shown: bytes) -> bytes:
        """A file that does not fit into the first read: whole, or in pieces where that makes no difference."""
        size = os.fstat(handle).st_size
        whole = encoding or self.multiline or self.mode != "content" or self.before or self.after or size <= _PIECE
        rest, out, line = head, [], 1
        while True:
            piece = rest + _read(handle, -1 if whole else _PIECE)
            done = whole or len(piece) == len(rest)
            cut = len(piece) if done else piece.rfind(b"\n") + 1
            piece, rest = piece[:cut], piece[cut:]
            if not encoding and b"\0" in piece:
                return b""
            out.append(self._data(piece, encoding, shown, line))
            if done:
                return b"".join(out)
            line += piece.count(b"\n")

    def _data(self, data: bytes, encoding: str, shown: bytes, first_line: int = 1) -> bytes:
        if encoding:
            text = data.decode(encoding, "replace").removeprefix("\ufeff")
        else:
            if self.needed and not self._may_match(data):
                return b""
            if data.startswith(codecs.BOM_UTF8):
                data = data[3:]
            text = self._decoded(data)
        if self.mode == "files_with_matches":
            return shown + b"\0" if next(self._matches(text), None) is not None else b""
        if self.mode == "count":
            count = sum(1 for _match in (self._spans(text) if self.multiline else self._matches(text)))
            return b"%s\0%d\n" % (shown, count) if count else b""
        return self._content(text, shown, first_line)

    def _decoded(self, data: bytes) -> str:
        """The text; bytes that are no UTF-8 become lone surrogates, which no class or dot may match."""
        try:
            text, damaged = data.decode(), False
        except UnicodeDecodeError:
            text, damaged = data.decode("utf-8", "surrogateescape"), True
        if damaged not in self._kinds:
            self._kinds[damaged] = self._compiled(damaged=damaged)[1:]
        self.in_buffer, self.in_line = self._kinds[damaged]
        return text

    def _may_match(self, data: bytes) -> bool:
        haystack = data.lower() if self.lowered else data
        return any(each in haystack for each in self.needed)

    def _matches(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Start of each matching line, its end, and where the match begins."""
        if self.multiline:
            for start, _end in self._spans(text):
                line = text.rfind("\n", 0, start) + 1
                yield line, _line_end(text, start), start
            return
        at, size, find = 0, len(text), (self.candidate or self.in_buffer).search
        while at < size:
            match = find(text, at)
            if match is None or (match.start() >= size and text.endswith("\n")):
                return  # behind the last line's end there is no line
            line = text.rfind("\n", 0, match.start()) + 1
            end = _line_end(text, match.start())
            # A match in the buffer may have used the line's end; the line alone decides.
            inner = self.in_line.search(text[line:end].removesuffix("\r"))
            if inner is not None:
                yield line, end, line + inner.start()
            at = end + 1

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        reached = -1
        for match in self.in_buffer.finditer(text):
            start, stop = match.span()
            if start == stop == reached or (start == len(text) and (not text or text.endswith("\n"))):
                continue  # nothing, right behind the last match or behind the last line
            reached = stop
            yield start, stop

    def _content(self, text: str, shown: bytes, first_line: int) -> bytes:
        rows: dict[int, tuple[int, int, int]] = {}
        number, at = first_line, 0
        spans = self._spans(text) if self.multiline else ((start, start) for _line, _end, start in self._matches(text))
        for start, stop in spans:
            line = text.rfind("\n", 0, start) + 1
            line = max(line, at)
            number += text.count("\n", at, line)
            at = line
            last, column, offset, here = max(start, stop - 1), start - line, line, number
            while True:
                end = _line_end(text, offset)
                if here not in rows:
                    rows[here] = (offset, end, len(_bytes(text[line : line + column])) + 1 if offset == line else 1)
                if end >= last or end >= len(text) or offset > last:
                    break
                offset, here = end + 1, here + 1
            if self.per_file is not None and len(rows) >= self.per_file:
                break
        return self._with_context(text, rows, shown) if rows else b""

    def _with_context(self, text: str, rows: dict[int, tuple[int, int, int]], shown: bytes) -> bytes:
        out: list[bytes] = []
        printed = 0
        for number in sorted(rows):
            start, end, column = rows[number]
            before = []
            cursor, low = start, number - self.before
            for earlier in range(number - 1, max(low, printed + 1, 1) - 1, -1):
                begin = text.rfind("\n", 0, cursor - 1) + 1
                before.append((earlier, begin, cursor - 1))
                cursor = begin
            for earlier, begin, stop in reversed(before):
                if earlier not in rows:
                    out.append(_line(shown, b"%d-" % earlier, text[begin:stop]))
            nothing_at_all = end == len(text) and column > len(_bytes(text[start:end]))
            # ripgrep names no column for a match of nothing at the very end, nor where matches cross lines.
            mark = b"%d:" % number if self.multiline or nothing_at_all else b"%d:%d:" % (number, column)
            out.append(_line(shown, mark, text[start:end]))
            printed = number
            cursor = end + 1
            for later in range(number + 1, number + self.after + 1):
                if later in rows or cursor >= len(text):
                    break
                stop = _line_end(text, cursor)
                out.append(_line(shown, b"%d-" % later, text[cursor:stop]))
                printed, cursor = later, stop + 1
        return b"".join(out)


def _needed(texts: tuple[str, ...], *, lowered: bool) -> tuple[bytes, ...]:
    """The texts as bytes to look for first; none where one of them is too vague to rule anything out."""
    if not lowered:
        return tuple(text.encode("utf-8", "surrogateescape") for text in texts)
    found = []
    for text in texts:
        # Other letters fold to k and s (the Kelvin sign, the long s), and beyond ASCII folding is not bytes.lower().
        runs = re.findall(r"[^kKsS\x80-\U0010ffff]+", text)
        if not runs:
            return ()
        found.append(max(runs, key=len).lower().encode())
    return tuple(found)


def _wide(head: bytes) -> str:
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    return "utf-16-be" if head.startswith(codecs.BOM_UTF16_BE) else ""


def _read(handle: int, most: int) -> bytes:
    """Up to `most` more bytes; all of them for -1."""
    parts, left = [], most
    while left:
        part = os.read(handle, _PIECE if left < 0 else left)
        if not part:
            break
        parts.append(part)
        left -= len(part) if left > 0 else 0
    return b"".join(parts)


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end >= 0 else len(text)


def _line(shown: bytes, mark: bytes, text: str) -> bytes:
    return b"%s\0%s%s\n" % (shown, mark, _bytes(text.removesuffix("\r")[: _WIDEST_SEEN + 1]))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
