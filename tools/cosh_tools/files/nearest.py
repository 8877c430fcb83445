"""Why an edit's text was not found: the nearest text in the file, its line numbers, and what differs."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from cosh_tools.files.matching import plain_quotes
from cosh_tools.files.text import TextStyle

_LOOKED_AT = 4 << 20
_PATIENCE = 0.5
_MOST_LINES = 12
_WIDEST = 200
_NUMBERED = re.compile(r"\s*\d+(?:\t|\u2192)")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class _Near:
    line: int
    lines: list[str]
    alike: float


def explain_missing(body: bytes, style: TextStyle, old: str) -> str:
    """Sentences for the model: what is nearest, where, and how it differs from what was sent."""
    wanted = old.replace("\r\n", "\n").strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in wanted if line.strip()) and old.strip():
        return "It begins with line numbers: leave out the number and the tab that Read puts before each line."
    text = style.decode(body[:_LOOKED_AT], "replace")
    lines = [line.removesuffix("\r") for line in text.replace("\r\n", "\n").split("\n")]
    if lines[-1] == "":
        lines.pop()
    near = _nearest(lines, wanted)
    if near is None:
        return "Nothing in the file is like it. Read the file again, then send the text as it is there."
    differs = _differences(near.lines, wanted)
    shown = near.lines[:_MOST_LINES]
    listing = "\n".join(f"{number}\t{_visible(line)}" for number, line in enumerate(shown, near.line))
    more = f"\n... ({len(near.lines) - len(shown)} more lines)" if len(near.lines) > len(shown) else ""
    return f"The nearest text begins at line {near.line}{': ' + differs if differs else ''}.\n{listing}{more}"


def _nearest(lines: list[str], wanted: list[str]) -> _Near | None:
    """The stretch of as many lines that is most alike; None where nothing is alike at all."""
    size = len(wanted)
    loose_wanted = [_loose(line) for line in wanted]
    loose = [_loose(line) for line in lines]
    target = "\n".join(loose_wanted)
    best: _Near | None = None
    deadline = time.monotonic() + _PATIENCE
    for start in _candidates(loose, loose_wanted):
        stretch = loose[start : start + size]
        matcher = difflib.SequenceMatcher(None, "\n".join(stretch)[:4000], target[:4000], autojunk=False)
        if best is None or matcher.real_quick_ratio() > best.alike:
            alike = matcher.ratio()
            if best is None or alike > best.alike:
                best = _Near(start + 1, lines[start : start + size], alike)
        if best.alike == 1.0 or time.monotonic() > deadline:
            break
    return best if best is not None and best.alike >= 0.5 else None


def _candidates(loose: list[str], wanted: list[str]) -> Iterator[int]:
    """Starts worth a look: first where lines agree but for spaces and quotes, most agreeing first, then any."""
    places: dict[str, list[int]] = {}
    for at, line in enumerate(loose):
        if line:
            places.setdefault(line, []).append(at)
    votes: dict[int, int] = {}
    for index, line in enumerate(wanted):
        for at in places.get(line, ())[:200]:
            if at >= index:
                votes[at - index] = votes.get(at - index, 0) + 1
    yield from sorted(votes, key=lambda start: (-votes[start], start))[:50]
    anchor = max(wanted, key=len)
    offset = wanted.index(anchor)
    words = set(_words(anchor))
    scored = ((len(words & set(_words(line))), at) for at, line in enumerate(loose) if line)
    ranked = sorted(((score, at) for score, at in scored if score), key=lambda pair: (-pair[0], pair[1]))
    yield from (max(0, at - offset) for _score, at in ranked[:50])
    yield from (max(0, at - offset) for at in range(min(len(loose), 2000)) if loose[at])


def _differences(found: list[str], wanted: list[str]) -> str:
    """In words, where only the spelling of the same thing differs; else which line differs first."""
    pairs = list(zip(found, wanted, strict=False))
    unequal = [(theirs, sent) for theirs, sent in pairs if theirs != sent]
    if not unequal:
        if len(found) != len(wanted):
            return "the file ends there"
        return "the lines agree, so spaces or line breaks before the first or after the last of them differ"
    said = []
    if any(plain_quotes(theirs) == plain_quotes(sent) for theirs, sent in unequal):
        said.append("the quote marks differ")
    if any("\t" in _indent(theirs) + _indent(sent) and _same_words(theirs, sent) for theirs, sent in unequal):
        tabs = any("\t" in _indent(theirs) for theirs, _sent in unequal)
        said.append("the file has tabs where yours has spaces" if tabs else "the file has spaces where yours has tabs")
    elif any(_indent(theirs) != _indent(sent) and _same_words(theirs, sent) for theirs, sent in unequal):
        theirs, sent = next(pair for pair in unequal if _indent(pair[0]) != _indent(pair[1]))
        said.append(f"it is indented by {len(_indent(theirs))} spaces, yours by {len(_indent(sent))}")
    if any(theirs.rstrip() == sent.rstrip() for theirs, sent in unequal):
        said.append("spaces at the end of a line differ")
    if any("\u00a0" in theirs + sent and _same_words(theirs, sent) for theirs, sent in unequal):
        said.append("there is a non-breaking space")
    if not said:
        theirs, sent = unequal[0]
        if _same_words(theirs, sent):
            said.append("spaces within a line differ")
        else:
            at = next(
                (at for at, pair in enumerate(zip(theirs, sent, strict=False)) if pair[0] != pair[1]),
                min(map(len, unequal[0])),
            )
            said.append(f"the file has {theirs[at : at + 20]!r} where yours has {sent[at : at + 20]!r}")
    return ", and ".join(said)


def _loose(line: str) -> str:
    return _SPACE.sub(" ", plain_quotes(line)).strip()


def _same_words(one: str, other: str) -> bool:
    return _SPACE.sub("", plain_quotes(one)) == _SPACE.sub("", plain_quotes(other))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _words(line: str) -> list[str]:
    return re.findall(r"\w+", line)


def _visible(line: str) -> str:
    """The line with what cannot be seen made visible: tabs as arrows, spaces at the end as dots."""
    cut = line[:_WIDEST] + ("..." if len(line) > _WIDEST else "")
    bare = cut.rstrip(" ")
    return bare.replace("\t", "\u2192") + "\u00b7" * (len(cut) - len(bare))
