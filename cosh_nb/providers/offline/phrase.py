"""One line of the grammar: an example, what it does, the patterns that mean it, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from cosh_nb.providers.offline.intents import Intent
from cosh_nb.providers.offline.words import LITERAL, Clause


class Unclear(Exception):
    """A clause that nearly says something. The message is a sentence that says what to add."""


@dataclass(frozen=True, slots=True)
class Found:
    """The slots of a pattern that matched, with their literals put back."""

    match: re.Match[str]
    clause: Clause

    def __call__(self, slot: str) -> str:
        """What stands in the slot; "" where the pattern left it out or has none."""
        value = self.match.groupdict().get(slot)
        return "" if value is None else self.clause.sentence.restore(value).strip("\n")

    def number(self, slot: str) -> int | None:
        """The slot as a number."""
        value = self.match.groupdict().get(slot)
        return None if value is None else int(value)

    def quoted(self, slot: str) -> bool:
        """Whether the slot holds one literal and nothing else."""
        value = self.match.groupdict().get(slot)
        return value is not None and re.fullmatch(LITERAL, value) is not None


Meaning = Callable[[Found], Intent | None]
"""What a match means; None where it turns out to mean something else. Raises Unclear."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A thing that can be said. `example` and `what` are shown to people; an empty example is not shown."""

    example: str
    what: str
    patterns: tuple[str, ...]
    means: Meaning


_VAGUE = frozenset(
    "the a an all each every my your our its some any these those this that what which how current today's random "
    "numbers number first last something anything whatever following it them".split()
)


def plain(found: Found, slot: str, most: int, what: str) -> str:
    """A text given without quotes: only a few words that cannot be a description of something else.

    Raises Unclear: "prints the date" may mean the words or the date, and guessing is not for this provider.
    """
    text = found(slot)
    if found.quoted(slot):
        return text
    words = text.split()
    if len(words) > most or any(word.lower() in _VAGUE for word in words) or LITERAL_INSIDE.search(found.match[slot]):
        raise Unclear(f"Put {what} in quotes, so that I take it word for word.")
    return text


LITERAL_INSIDE = re.compile(LITERAL)
