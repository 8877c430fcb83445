"""Finding the text that an edit names: exactly, else with the file's line endings, else with its kind of quotes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from cosh_tools.files.diff import Span
from cosh_tools.files.text import TextStyle
from cosh_tools.results import ToolError

_SINGLE = "'\u2018\u2019\u201a\u201b"
_DOUBLE = '"\u201c\u201d\u201e\u201f'
_PLAIN = str.maketrans({**dict.fromkeys(_SINGLE, "'"), **dict.fromkeys(_DOUBLE, '"')})
_COMPARED = 20_000


@dataclass(frozen=True, slots=True)
class Found:
    """Where the text is and what comes in its place. `by_quotes` where only the quotes differed."""

    spans: tuple[Span, ...]
    by_quotes: bool = False


def find(body: bytes, style: TextStyle, old: str, new: str, *, every: bool) -> Found:
    """All places of `old`; the replacements are made for the first, or for all with `every`."""
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if style.is_utf8 and ("\n" not in old or b"\r" not in body):
        wanted = _bytes(old, style)
        places = [(at, at + len(wanted)) for at in _exact(body, wanted)]
        if places or not _has_quotes(old):
            return Found(_spans(body, style, places, new, every))
        if not any(_near(body, style)):
            return Found(())
    text = _decoded(body, style)
    for by_quotes in (False, True):
        matches = list(_pattern(old, style, by_quotes).finditer(text))
        if matches:
            places = list(_places(text, body, style, matches))
            if not by_quotes:
                return Found(_spans(body, style, places, new, every))
            news = [_kept_quotes(match[0].replace("\r\n", "\n"), old, new) for match in matches]
            return Found(_spans(body, style, places, news, every), by_quotes=True)
    return Found(())


def plain_quotes(text: str) -> str:
    """The text with straight quotes."""
    return text.translate(_PLAIN)


def _has_quotes(text: str) -> bool:
    return any(char in _SINGLE or char in _DOUBLE for char in text)


def _near(body: bytes, style: TextStyle) -> Iterator[bool]:
    """Whether the file has any quotes that an edit could have spelt otherwise."""
    yield from (style.encode(char) in body for char in _SINGLE + _DOUBLE)


def _exact(body: bytes, wanted: bytes) -> Iterator[int]:
    at = body.find(wanted)
    while at >= 0:
        yield at
        at = body.find(wanted, at + len(wanted))


def _pattern(old: str, style: TextStyle, by_quotes: bool) -> re.Pattern[str]:
    ending = "\r" if style.newline == "\r" else r"(?:\r\n|\n)"
    out = []
    for char in old:
        if char == "\n":
            out.append(ending)
        elif by_quotes and char in _SINGLE:
            out.append(f"[{_SINGLE}]")
        elif by_quotes and char in _DOUBLE:
            out.append(f"[{_DOUBLE}]")
        else:
            out.append(re.escape(char))
    return re.compile("".join(out))


def _places(text: str, body: bytes, style: TextStyle, matches: list[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """The byte ranges of matches in the text, checked to be those very bytes."""
    at = offset = 0
    for match in matches:
        before, inside = _bytes(text[at : match.start()], style), _bytes(match[0], style)
        start = offset + len(before)
        if body[offset:start] != before or body[start : start + len(inside)] != inside:
            raise ToolError(
                f"This file cannot be edited safely: its bytes do not survive a round trip through {style.encoding}. "
                "Convert it to UTF-8 first (Bash: iconv)."
            )
        at, offset = match.end(), start + len(inside)
        yield start, offset


def _spans(
    body: bytes, style: TextStyle, places: list[tuple[int, int]], new: str | list[str], every: bool
) -> tuple[Span, ...]:
    if len(places) > 1 and not every:
        return tuple(Span(start, end, b"") for start, end in places)
    if isinstance(new, str) and "\n" not in new:
        same = _bytes(new, style)
        return tuple(Span(start, end, same) for start, end in places)
    news = [new] * len(places) if isinstance(new, str) else new
    return tuple(
        Span(start, end, _bytes(text.replace("\n", _ending_near(body, style, start, end)), style))
        for (start, end), text in zip(places, news, strict=True)
    )


def _ending_near(body: bytes, style: TextStyle, start: int, end: int) -> str:
    """The line ending used in the place itself, else after it, else before it."""
    feed, back = style.encode("\n"), style.encode("\r")
    if style.newline == "\r" or back not in body:
        return style.newline
    at = body.find(feed, start)
    if at < 0:
        at = body.rfind(feed, 0, end)
    if at < 0:
        return style.newline
    return "\r\n" if body[at - len(back) : at] == back else "\n"


def _kept_quotes(actual: str, old: str, new: str) -> str:
    """`new`, with the file's own characters wherever it says what `old` said."""
    if len(actual) != len(old):
        return new
    if len(old) + len(new) > _COMPARED:
        return new
    out = []
    for tag, low, high, new_low, new_high in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        out.append(actual[low:high] if tag == "equal" else new[new_low:new_high])
    return "".join(out)


def _decoded(body: bytes, style: TextStyle) -> str:
    return body.decode(style.encoding, "surrogateescape" if style.is_utf8 else "strict")


def _bytes(text: str, style: TextStyle) -> bytes:
    if not style.is_utf8:
        return style.encode(text)
    try:
        return text.encode("utf-8", "surrogateescape" if style.damaged else "strict")
    except UnicodeEncodeError:
        raise ToolError(
            "The text holds half of a surrogate pair, which no file can hold. Send whole characters."
        ) from None
