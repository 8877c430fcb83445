"""Classes of characters as Python's regular expressions write them: POSIX names and Unicode categories."""

from __future__ import annotations

import functools
import sys
import unicodedata
from types import MappingProxyType

POSIX = MappingProxyType(
    {
        "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7f", "blank": r"\t ", "cntrl": r"\x00-\x1f\x7f",
        "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~",
        "space": r"\t\n\x0b\x0c\r ", "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
    }
)  # fmt: skip
"""The inside of a class for each name."""

_LONG_NAMES = {
    "letter": "L", "alphabetic": "L", "lowercase": "Ll", "uppercase": "Lu", "lowercase_letter": "Ll",
    "uppercase_letter": "Lu", "number": "N", "digit": "Nd", "punctuation": "P", "symbol": "S", "separator": "Z",
    "mark": "M",
}  # fmt: skip


@functools.cache
def category(name: str) -> str:
    """The ranges of a Unicode general category, as class syntax; empty for a name that is none."""
    name = _LONG_NAMES.get(name.lower(), name)
    out, start = [], -1
    for number in range(sys.maxunicode + 2):
        inside = number <= sys.maxunicode and unicodedata.category(chr(number)).startswith(name)
        if inside and start < 0:
            start = number
        elif not inside and start >= 0:
            out.append(f"{in_class(chr(start))}-{in_class(chr(number - 1))}")
            start = -1
    return "".join(out)


def in_class(char: str) -> str:
    """One character inside a class."""
    return f"\\{char}" if char in r"\[]^-&~|" else char
