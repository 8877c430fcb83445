"""From a request as typed to clauses that patterns can match: literals set aside, politeness dropped, parts found.

Text in quotes, backticks or a fence is a literal: it is taken as it is and never searched for words. After a word
such as "containing:", "python:" or "command:" everything up to the end of the request is one literal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_REQUEST = 200_000
"""Characters of a request, literals counted, beyond which it is not for the grammar."""

LONGEST = 2_000
"""Characters of plain words (literals not counted) beyond which a request is not for the grammar."""

MOST_PARTS = 8
"""Connecting words beyond which a request is not for the grammar."""

LITERAL = r"\x00\d+\x00"
"""What stands for a literal in a clause."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A request with its literals set aside."""

    text: str
    literals: tuple[str, ...]

    def restore(self, piece: str) -> str:
        """A piece of the text with its literals put back."""
        return re.sub(r"\x00(\d+)\x00", lambda found: self.literals[int(found[1])], piece)


@dataclass(frozen=True, slots=True)
class Clause:
    """One part of a request, ready for the patterns: no politeness, single spaces, no end mark."""

    text: str
    sentence: Sentence


def sentence(request: str) -> Sentence:
    """The request with its literals set aside, in the order they stand."""
    source = request.replace("\x00", " ").replace("\r\n", "\n").strip()
    out: list[str] = []
    literals: list[str] = []

    def keep(literal: str) -> None:
        out.append(f"\x00{len(literals)}\x00")
        literals.append(literal)

    at = 0
    while at < len(source):
        char = source[at]
        if char in _OPENS and (found := _literal(source, at)) is not None:
            keep(found["body"])
            at = found.end()
        elif char == ":" and _BACKTICK.match(source, at + 1):
            out.append(" ")  # what follows says itself where it ends
            at += 1
        elif char == ":" and at + 1 < len(source) and _INTRODUCES.search(before := source[max(0, at - 60) : at]):
            out.append(" ")
            keep(_unquoted(source[at + 1 :].strip(), before))
            break
        else:
            out.append(char)
            at += 1
    return Sentence("".join(out), tuple(literals))


def readings(said: Sentence) -> Iterator[list[Clause]]:
    """Ways to cut the sentence into clauses, the finest first. Empty for a sentence that is too long."""
    if len(said.text) > LONGEST:
        return
    cuts = [(found.start(), found.end()) for found in _CONNECTOR.finditer(said.text)]
    if len(cuts) > MOST_PARTS:
        return
    ways = sorted(range(1 << len(cuts)), key=lambda chosen: (-chosen.bit_count(), chosen))
    for chosen in ways:
        parts, start = [], 0
        for index, (left, right) in enumerate(cuts):
            if chosen >> index & 1:
                parts.append(said.text[start:left])
                start = right
        parts.append(said.text[start:])
        clauses = [Clause(cleaned, said) for part in parts if (cleaned := clean(part))]
        if clauses:
            yield clauses


def clean(part: str) -> str:
    """One part without politeness, bullets, doubled spaces and its end mark."""
    text = re.sub(r"\s+", " ", part).strip()
    text = re.sub(r"^(?:[-*\u2022]|\d+[.)])\s+", "", text)
    before = None
    while text != before:
        before = text
        text = _POLITE_START.sub("", text)
        text = _POLITE_END.sub("", text)
        text = re.sub(r"(?<=[^\s.])[.!?,;]+$|\s+[!?,;]+$", "", text).strip()
    return text


def _literal(source: str, at: int) -> re.Match[str] | None:
    return next((found for opening in _OPENINGS if (found := opening.match(source, at)) is not None), None)


def _unquoted(rest: str, before: str) -> str:
    """A text wholly in quotes without them; code and commands keep theirs."""
    if re.search(r"(?:python|code|command|shell|bash|run|cell)\s*$", before, re.IGNORECASE):
        return rest
    for opening in _OPENINGS:
        if (found := opening.fullmatch(rest)) is not None and '"' not in found["body"]:
            return found["body"]
    return rest


_OPENINGS = (
    re.compile(r"```[\w+-]*[ \t]*\n(?P<body>.*?)\n?[ \t]*```", re.DOTALL),
    re.compile(r"``(?P<body>[^\n]+?)``"),
    re.compile(r"`(?P<body>[^`\n]+)`"),
    re.compile(r'"(?P<body>[^"\n]*)"'),
    re.compile(r"\u201c(?P<body>[^\u201d\n]*)\u201d"),
    re.compile(r"\u00ab\s?(?P<body>[^\u00bb\n]*?)\s?\u00bb"),
    re.compile(r"(?<![\w'])'(?P<body>[^'\n]*(?:'(?=\w)[^'\n]*)*)'(?!\w)"),
    re.compile(r"\u2018(?P<body>[^\n]*?)\u2019(?!\w)"),
)
"""Fence, backticks, quotes of several kinds. An apostrophe inside a word opens nothing."""

_OPENS = frozenset("`\"'\u201c\u2018\u00ab")
_BACKTICK = re.compile(r"\s*`")

_INTRODUCES = re.compile(
    r"\b(?:python|code|command|shell|bash|containing|contains|with|contents?|text|saying|says|reads|cell|lines?|run|"
    r"following|this|note)\s*$",
    re.IGNORECASE,
)

_CONNECTOR = re.compile(
    r"(?:\s*[,;.]?\s+(?:and\s+then|and\s+also|and\s+finally|and|then|after\s+that|afterwards|next|finally)\b\s*,?\s+)"
    r"|\s*;\s+|,\s+|(?<=[^\s.])\.\s+|\s*\n+\s*",
    re.IGNORECASE,
)

_POLITE_START = re.compile(
    r"^(?:(?:please|pls|kindly|hey|hi|hello|ok|okay|now|first|then|next|finally|also|and|just|simply|so|well|cosh)"
    r"\b[,!:]?\s+(?=\S)"
    r"|(?:can|could|would|will)\s+you(?:\s+(?:please|kindly|just|also))?\s+"
    r"|(?:i(?:'d|\s+would)?\s+(?:like|want|need))\s+(?:you\s+)?to\s+"
    r"|(?:go\s+ahead\s+and|help\s+me(?:\s+to)?|let\s+us|let's|try\s+to|be\s+so\s+kind\s+(?:as\s+to|and))\s+)",
    re.IGNORECASE,
)

_POLITE_END = re.compile(
    r"(?:[\s,]+(?:please|pls|for\s+me|thanks|thank\s+you|thx|now|if\s+you\s+can|if\s+possible|would\s+you))+[.!?]*$",
    re.IGNORECASE,
)
