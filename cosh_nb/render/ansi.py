"""Terminal output made readable: colours become classes, rewritten lines show their last state, the rest is dropped."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from cosh_nb.render.markup import clip, pre

SHOWN = 20_000
"""Characters of one output that a card shows."""
_SPANS = 2_000
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)(?P<sgr>[\d;:]*)m"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_BACK = re.compile(r"[^\n\x08]\x08")
_NAMES = {1: "ab", 2: "ad", 3: "ai", 4: "au", 7: "av"}
_OFF = {22: (1, 2), 23: (3,), 24: (4,), 27: (7,)}


@dataclass(frozen=True, slots=True)
class _Pen:
    fore: int | None = None
    back: int | None = None
    marks: frozenset[int] = frozenset()

    @property
    def classes(self) -> str:
        names = [_NAMES[mark] for mark in sorted(self.marks)]
        names += [f"a{self.fore}"] if self.fore is not None else []
        names += [f"b{self.back}"] if self.back is not None else []
        return " ".join(names)


def to_html(text: str, limit: int = SHOWN) -> str:
    """The text as safe HTML for the inside of `<pre>`, at most about `limit` characters of it."""
    text = _settle(_bounded(text, limit))
    out: list[str] = []
    pen, last, spans = _Pen(), 0, 0
    for found in _ESCAPE.finditer(text):
        _put(out, text[last : found.start()], pen)
        last = found.end()
        if found["sgr"] is not None and spans < _SPANS:
            pen = _turn(pen, found["sgr"])
            spans += 1
        elif spans >= _SPANS:
            pen = _Pen()
    _put(out, text[last:], pen)
    return "".join(out)


def strip(text: str, limit: int = SHOWN) -> str:
    """The same words without colours."""
    from cosh_nb.render.markup import plain

    return plain(_ESCAPE.sub("", _settle(_bounded(text, limit))))


def _bounded(text: str, limit: int) -> str:
    """Cut first by raw size, so that a bomb of escapes costs no more than a page, then by what is left to read."""
    text = text if len(text) <= limit * 4 else clip(text, limit * 4)
    return text if len(text) <= limit else clip(text, limit)


def _settle(text: str) -> str:
    """Lines as a terminal would leave them: after the last carriage return, backspaces done."""
    if "\r" in text:
        lines = text.replace("\r\n", "\n").split("\n")
        text = "\n".join(_last_state(line) if "\r" in line else line for line in lines)
    for _ in range(100):
        if "\x08" not in text:
            break
        shorter = _BACK.sub("", text)
        if shorter == text:
            break
        text = shorter
    return text


def _last_state(line: str) -> str:
    """What stands after the last carriage return; the colours set before it stay set."""
    states = [part for part in line.split("\r") if _ESCAPE.sub("", part).strip()]
    return states[-1] if states else ""


def _put(out: list[str], text: str, pen: _Pen) -> None:
    if text:
        classes = pen.classes
        out.append(f'<span class="{classes}">{pre(text)}</span>' if classes else pre(text))


def _turn(pen: _Pen, codes: str) -> _Pen:
    numbers = [int(code[:4] or 0) for code in codes.replace(":", ";").split(";")[:64]]
    index = 0
    while index < len(numbers):
        code = numbers[index]
        if code == 0:
            pen = _Pen()
        elif code in _NAMES:
            pen = replace(pen, marks=pen.marks | {code})
        elif code in _OFF:
            pen = replace(pen, marks=pen.marks.difference(_OFF[code]))
        elif code in (38, 48):
            colour, used = _extended(numbers[index + 1 :])
            index += used
            pen = replace(pen, fore=colour) if code == 38 else replace(pen, back=colour)
        elif code == 39:
            pen = replace(pen, fore=None)
        elif code == 49:
            pen = replace(pen, back=None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            pen = replace(pen, fore=code - 30 if code < 90 else code - 82)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            pen = replace(pen, back=code - 40 if code < 100 else code - 92)
        index += 1
    return pen


def _extended(rest: list[int]) -> tuple[int | None, int]:
    """The nearest of the sixteen colours, and how many numbers named it."""
    if len(rest) >= 2 and rest[0] == 5:
        code = rest[1]
        if code < 16:
            return code, 2
        if code < 232:
            cube = code - 16
            return _nearest(cube // 36 * 51, cube // 6 % 6 * 51, cube % 6 * 51), 2
        grey = min((code - 232) * 10 + 8, 255)
        return _nearest(grey, grey, grey), 2
    if len(rest) >= 4 and rest[0] == 2:
        return _nearest(*rest[1:4]), 4
    return None, len(rest)


def _nearest(red: int, green: int, blue: int) -> int:
    top = max(red, green, blue)
    if max(top - red, top - green, top - blue) < 40:  # a grey
        return 0 if top < 64 else 8 if top < 150 else 7 if top < 220 else 15
    half = top * 0.6
    colour = (red > half) + 2 * (green > half) + 4 * (blue > half)
    return colour + 8 * (top > 200)
