"""Walking a tree without following links, leaving out what the ignore files name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cosh_tools.search.ignore import VCS, Ignores, RuleSet

Entry = os.DirEntry[str]


@dataclass
class Walk:
    """How to walk, and what was left out on the way."""

    ignores: Ignores | None
    """The rules above the root; None to leave nothing out."""
    hidden: bool = True
    override: RuleSet | None = None
    """Globs of the caller: what they name is taken in spite of ignore files, and nothing else is."""
    types: Callable[[str], object] | None = None
    unreadable: list[str] = field(default_factory=list)

    def in_order(self, root: str) -> Iterator[tuple[str, str]]:
        """Path and path from the root of each file, in the order of their names, folder by folder."""
        stack = [self._entries(root, "", self.ignores)]
        while stack:
            prefix, entries, ignores = stack[-1]
            if not entries:
                stack.pop()
                continue
            entry = entries.pop()
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if self._enters(entry.name, path, ignores):
                    stack.append(self._entries(entry.path, path + "/", ignores))
            elif entry.is_file(follow_symlinks=False) and self._takes(entry.name, path, ignores):
                yield entry.path, path

    def _entries(self, folder: str, prefix: str, ignores: Ignores | None) -> tuple[str, list[Entry], Ignores | None]:
        """What is in a folder, last name first, and the rules in force there."""
        try:
            with os.scandir(folder) as found:
                entries = list(found)
        except OSError:
            self.unreadable.append(folder)
            return prefix, [], ignores
        entries.sort(key=_name, reverse=True)
        if ignores is not None:
            ignores = ignores.inside(folder, prefix, [entry.name for entry in entries if entry.name[0] == "."])
        return prefix, entries, ignores

    def _enters(self, name: str, path: str, ignores: Ignores | None) -> bool:
        if name in VCS:
            return False
        if self.override is not None:
            verdict = self.override.verdict(name, path, folder=True)
            if verdict is not None:
                return not verdict
        if not self.hidden and name.startswith("."):
            return False
        return ignores is None or not ignores.hides_any(name, path[: -len(name)], folder=True)

    def _takes(self, name: str, path: str, ignores: Ignores | None) -> bool:
        if name in VCS or (self.types is not None and not self.types(name)):
            return False
        if self.override is not None and self.override.rules:
            verdict = self.override.verdict(name, path, folder=False)
            if verdict is not None:
                return not verdict
            if any(not rule.ignores for rule in self.override.rules):
                return False
        if not self.hidden and name.startswith("."):
            return False
        return ignores is None or not ignores.hides_any(name, path[: -len(name)], folder=False)


def _name(entry: Entry) -> str:
    return entry.name
