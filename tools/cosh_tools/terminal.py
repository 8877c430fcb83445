"""Terminal output as words: what is left on the screen in the end."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[()#][0-9A-Za-z]|[@-_])")
_ERASES = re.compile(r"\x1b\[[02]?K")


def readable(text: str) -> str:
    """No colours, nothing that was rubbed out, and of a line that was drawn over and over only its last state.

    Takes time in proportion to the text, whatever a program prints.
    """
    if "\r" in text or "\b" in text:
        text = "\n".join(map(_last_state, text.replace("\r\n", "\n").split("\n")))
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def _last_state(line: str) -> str:
    """From the last drawing back: an earlier one shows only where it was longer, and was not erased."""
    if "\r" not in line:
        return _rubbed_out(line)
    shown = ""
    for drawn in reversed(line.split("\r")):
        shown += _rubbed_out(_ESCAPES.sub("", drawn))[len(shown) :]
        if _ERASES.search(drawn):
            break
    return shown.rstrip()


def _rubbed_out(text: str) -> str:
    if "\b" not in text:
        return text
    kept: list[str] = []
    for char in _ESCAPES.sub("", text):
        if char != "\b":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)
