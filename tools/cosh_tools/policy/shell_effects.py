"""What one simple command does, as far as its words tell, as a value that the reader turns into touches."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cosh_tools.policy.shell_words import Word


@dataclass(frozen=True, slots=True)
class Inner:
    """A command that a command runs: `timeout 5 make` runs `make`. `cwd` is where, `env` what it sets for it."""

    words: tuple[Word, ...]
    cwd: Word | None = None
    env: tuple[tuple[str, Word], ...] = ()


@dataclass(slots=True)
class Effects:
    """What a simple command reads, writes, fetches and runs further."""

    reads: list[Word] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    deletes: list[Word] = field(default_factory=list)
    into: list[tuple[Word, Word]] = field(default_factory=list)
    """Source and target of a copy: a target that is a folder gets a file of the source's name."""
    mentions: list[Word] = field(default_factory=list)
    """Words that may or may not be paths."""
    fetches: list[Word] = field(default_factory=list)
    hosts: list[Word] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)
    inner: list[Inner] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    """Shell scripts given as text: `bash -c "..."`."""
    destructive: bool = False
    text_only: bool = False
    """Whether unknown words do no more than appear in its output."""
    harmless: bool = False
    """Whether it does nothing that needs leave."""


Handler = Callable[[Sequence[Word]], Effects]
"""Given the words after the command's name."""


@dataclass(frozen=True, slots=True)
class Options:
    """The words after a command's name, sorted. `given` pairs each option with its value."""

    given: tuple[tuple[str, Word | None], ...]
    operands: tuple[Word, ...]

    def has(self, *names: str) -> bool:
        """Whether one of the options is there; a long one also where it is shortened (`--compress-prog`)."""
        return any(_names(option, name) for option, _ in self.given for name in names)

    def values(self, *names: str) -> list[Word]:
        """The values of these options."""
        return [value for option, value in self.given for name in names if value is not None and _names(option, name)]


def options(args: Sequence[Word], valued: str = "", *, stop_early: bool = False) -> Options:
    """Sort words into options and operands. `valued` lists the options that take a value (`-n --lines`).

    With `stop_early` the first operand ends the options, as wrappers have it.
    """
    wanted = frozenset(valued.split())
    given: list[tuple[str, Word | None]] = []
    operands: list[Word] = []
    rest = [*args]
    while rest:
        each = rest.pop(0)
        text = each.text
        if text == "--":
            operands.extend(rest)
            break
        if text.startswith("--"):
            name, equals, value = text.partition("=")
            if equals:
                given.append((name, Word(value, each.why)))
            elif any(_names(name, option) for option in wanted) and rest:
                given.append((name, rest.pop(0)))
            else:
                given.append((name, None))
        elif text.startswith("-") and len(text) > 1:
            given.extend(_cluster(each, wanted, rest))
        else:
            operands.append(each)
            if stop_early:
                operands.extend(rest)
                break
    return Options(tuple(given), tuple(operands))


def _cluster(each: Word, wanted: frozenset[str], rest: list[Word]) -> list[tuple[str, Word | None]]:
    """`-rf`, `-n5`, `-n 5`, and the single-dash long ones (`-name x`) that are listed whole."""
    text = each.text
    if text in wanted:
        return [(text, rest.pop(0) if rest else None)]
    found: list[tuple[str, Word | None]] = []
    for index, letter in enumerate(text[1:], start=1):
        option = f"-{letter}"
        if option in wanted:
            tail = text[index + 1 :].removeprefix("=")
            value = Word(tail, each.why) if tail else (rest.pop(0) if rest else None)
            return [*found, (option, value)]
        found.append((option, None))
    return found


def _names(option: str, name: str) -> bool:
    if name.startswith("--") and option.startswith("--") and len(option) > 3:
        return name.startswith(option)
    return option == name


@dataclass(frozen=True, slots=True)
class Form:
    """How a command's words are to be read: which options take values, which of them name files, what operands are."""

    operands: str = "reads"
    """reads, writes, deletes, none, copies, moves, reads_then_writes; after_first (the first is no path, the others are
    read), after_first_writes."""
    values: str = ""
    reads: str = ""
    writes: str = ""
    runs: str = ""
    """Options that run a program or take further arguments from a file."""
    destroys: str = ""
    first_by: str = ""
    """With after_first: options that give the first operand instead, so that all operands are paths."""
    here: bool = False
    """Without operands it looks at the folder it stands in."""
    text_only: bool = False
    harmless: bool = False
    filters: bool = False
    """Without files it only passes on what comes in, so that nothing needs leave."""
    destructive: bool = False

    def __call__(self, args: Sequence[Word]) -> Effects:
        """The effects of one use."""
        valued = f"{self.values} {self.reads} {self.writes} {self.runs} {self.first_by}"
        given = options(args, valued)
        out = Effects(text_only=self.text_only, harmless=self.harmless)
        out.reads.extend(given.values(*self.reads.split()))
        out.writes.extend(given.values(*self.writes.split()))
        if self.runs and given.has(*self.runs.split()):
            out.opaque.append("an option of it runs a program or reads arguments from a file")
        out.destructive = self.destructive or bool(self.destroys and given.has(*self.destroys.split()))
        operands = [*given.operands]
        if self.here and not operands and self.operands == "reads":
            operands = [Word(".")]
        self._place(out, operands, given)
        if self.filters and not (out.reads or out.writes or out.opaque):
            out.harmless = True
        return out

    def _place(self, out: Effects, operands: list[Word], given: Options) -> None:
        match self.operands:
            case "reads":
                out.reads.extend(operands)
            case "writes":
                out.writes.extend(operands)
            case "deletes":
                out.deletes.extend(operands)
            case "after_first" | "after_first_writes":
                skip = 0 if self.first_by and given.has(*self.first_by.split()) else 1
                paths = operands[skip:] or ([Word(".")] if self.here else [])
                (out.reads if self.operands == "after_first" else out.writes).extend(paths)
            case "reads_then_writes":
                out.reads.extend(operands[:1])
                out.writes.extend(operands[1:])
            case "copies" | "moves":
                copy(out, operands, given.values("-t", "--target-directory"), moves=self.operands == "moves")
            case _:
                pass


def copy(out: Effects, operands: Sequence[Word], targets: Sequence[Word], *, moves: bool = False) -> None:
    """Sources are read (or moved away), the target is written."""
    sources = list(operands)
    if not targets and len(sources) > 1:
        targets = [sources.pop()]
    (out.deletes if moves else out.reads).extend(sources)
    for target in targets:
        out.writes.append(target)
        out.into.extend((source, target) for source in sources)


_SQL = re.compile(
    r"\b(?:drop\s+(?:table|database|schema|view|index)|truncate\s+(?:table\s+)?\w|delete\s+from)\b", re.IGNORECASE
)


def destroys_data(words: Sequence[Word]) -> bool:
    """Whether a word carries SQL that loses data."""
    return any(_SQL.search(each.text) for each in words)
