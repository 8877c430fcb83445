"""One simple command of a command line: a Runs with its words, and what its words say beside."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from cosh_tools.policy.shell_commands import effects
from cosh_tools.policy.shell_effects import Effects, Inner
from cosh_tools.policy.shell_flow import Findings, Flow
from cosh_tools.policy.shell_places import Folders, Places
from cosh_tools.policy.shell_values import Values
from cosh_tools.policy.shell_words import Word
from cosh_tools.touches import Runs

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext

_MATCHES = 100
_WRAPPED = 20
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_SYSTEM_BIN = re.compile(r"(?:/usr(?:/local)?)?/s?bin/")


class SimpleCommands:
    """Reads simple commands. `nested` reads a script that one of them is given as text."""

    def __init__(
        self, ctx: ToolContext, found: Findings, values: Values, nested: Callable[[str, Folders], Flow]
    ) -> None:
        self._ctx = ctx
        self._found = found
        self._values = values
        self._nested = nested
        self.places = Places(ctx, found.add, found.doubt)
        self._wrapped = 0
        self._acted = False
        """Whether a command before may have changed which folders exist."""

    def run(self, words: Sequence[Word], sets: Sequence[tuple[str, Word]], folders: Folders) -> Flow:
        """One simple command: a Runs, and what its words say beside."""
        while len(words) > 1 and words[0] == Word("!"):
            words = words[1:]
        if len(words) > 1 and _ASSIGNMENT.match(words[0].text):
            # After `!` and `time` the tree takes an assignment for a command's name.
            self._found.add(Runs(" ".join(each.text for each in words), tuple(each.text for each in words)))
            name, _, value = words[0].text.partition("=")
            return self.run(words[1:], [*sets, (name, Word(value, words[0].why))], folders)
        if not words:
            for name, _ in sets:
                self._values.sets(name)
            return Flow(folders, folders)
        text = " ".join(each.text for each in words)
        name = words[0].text
        self._values.given(name, sets)
        literal = tuple(each.text for each in words)
        if not words[0].known or not name or re.search(r"\s", name):
            self._found.add(Runs(text, literal))
            self._found.doubt(text, words[0].why or "which command runs is only known when it runs")
            return Flow(folders, folders)
        expanded = [words[0], *(match for each in words[1:] for match in self._matches(each, folders))]
        if name in ("cd", "pushd", "popd"):
            return self._cd(text, literal, expanded, folders)
        found = effects(expanded)
        for match in expanded[1:]:
            # A file named like an option becomes one where a pattern finds it.
            if match not in words and match.text.startswith("-"):
                found.opaque.append(f"the file {match.text} would be taken for an option")
        unknown = self._unknown(expanded, found)
        harmless = found.harmless and not unknown and not found.opaque
        self._found.add(Runs(text, literal, destructive=found.destructive, harmless=harmless))
        if hit := _SYSTEM_BIN.match(name):
            plain = name[hit.end() :]
            self._found.add(
                Runs(text[hit.end() :], (plain, *literal[1:]), destructive=found.destructive, harmless=harmless)
            )
        self._acted = self._acted or not (harmless or found.inner or found.scripts)
        if name == "eval":
            return self._eval(text, expanded[1:], folders)
        for why in dict.fromkeys([*found.opaque, *([unknown] if unknown and not found.text_only else [])]):
            self._found.doubt(text, why)
        self._effects(text, found, folders)
        return Flow(folders, folders)

    def _unknown(self, words: Sequence[Word], found: Effects) -> str:
        """Why a word of the command's own is not known; words of a command that it runs are judged there."""
        inside = {each for inner in found.inner for each in inner.words}
        return next((each.why for each in words if not each.known and each not in inside), "")

    def _effects(self, text: str, found: Effects, folders: Folders) -> None:
        """What the command's words lead to; of unknown words it was said already."""
        for each in found.reads:
            if each.known:
                self.places.read(each, folders)
        for each in found.deletes:
            if each.known:
                self.places.delete(each, folders, text)
        for each in found.writes:
            if each.known:
                self.places.write(each, folders, text)
        for source, target in found.into:
            self.places.write_into(source, target, folders, text)
        for each in found.mentions:
            self.places.mention(each, folders)
        for each in found.fetches:
            self.places.fetch(each)
        for each in found.hosts:
            self.places.host(each)
        for inner in found.inner:
            self._inner(inner, folders)
        for script in found.scripts:
            self._nested(script, folders)

    def _inner(self, inner: Inner, folders: Folders) -> None:
        if inner.cwd is not None:
            folders = self._from(inner.cwd, folders)
        self._wrapped += 1
        if self._wrapped > _WRAPPED:
            self._found.doubt(inner.words[0].text, "It is nested too deeply.")
        elif inner.words:
            self.run(inner.words, inner.env, folders)
        self._wrapped -= 1

    def _eval(self, text: str, words: Sequence[Word], folders: Folders) -> Flow:
        if any(not each.known for each in words):
            self._found.doubt(text, "what it runs is only known when it runs")
            return Flow(None, None)
        return self._nested(" ".join(each.text for each in words), folders)

    def _cd(self, text: str, literal: tuple[str, ...], words: Sequence[Word], folders: Folders) -> Flow:
        operands = [each for each in words[1:] if not re.fullmatch(r"-[LPe@]+|--", each.text)]
        target = operands[0] if operands else Word(str(Path.home()))
        plain = words[0].text == "cd" and len(operands) <= 1 and target.known and target.text != "-"
        if not plain or ("CDPATH" in os.environ and not target.text.startswith(("/", "."))):
            self._found.add(Runs(text, literal))
            return Flow(None, folders)
        ok = self._from(target, folders)
        inside = ok is not None and all(self._ctx.is_inside(Path(os.path.realpath(folder))) for folder in ok)
        sure = ok is not None and not self._acted and all(folder.is_dir() for folder in ok)
        self._found.add(Runs(text, literal, harmless=inside))
        self.places.read(target, folders)
        return Flow(ok, folders, sure)

    def _from(self, target: Word, folders: Folders) -> Folders:
        """The folders that `target` means, each from where the shell stands."""
        if not target.known:
            return None
        if os.path.isabs(target.text):
            return frozenset({Path(os.path.normpath(target.text))})
        if folders is None:
            return None
        return frozenset(Path(os.path.normpath(folder / target.text)) for folder in folders)

    def _matches(self, each: Word, folders: Folders) -> list[Word]:
        """A pattern becomes the names that it matches now, as the shell would put them."""
        if not each.pattern:
            return [each]
        if folders is None and not os.path.isabs(each.pattern):
            return [Word(each.text, f"what {each.text} matches is only known when it runs")]
        found: dict[str, None] = {}
        for folder in sorted(folders or {Path("/")}):
            names = list(islice(glob.iglob(each.pattern, root_dir=folder), _MATCHES + 1))
            if len(names) > _MATCHES:
                return [Word(each.text, f"{each.text} matches more than {_MATCHES} names")]
            found |= dict.fromkeys(sorted(names) or [each.text])
        return [Word(name) for name in found]
