"""Ignore files as git reads them: which names a search leaves out.

Within one file the last rule that matches decides; a deeper file beats one above it; `.rgignore` beats `.ignore` beats
`.gitignore` beats `.git/info/exclude`. Rules begin at the repository's root, or at the searched folder outside one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from cosh_tools.search.globs import BadGlob, expand_braces, segment_regex

FILES = (".rgignore", ".ignore", ".gitignore")
"""Strongest first."""
VCS = frozenset({".git", ".svn", ".hg", ".bzr", ".jj", ".sl"})
_MOST_BYTES = 1 << 20
_ENDING = re.compile(r"\*\.[A-Za-z0-9_-]+")
_WORD = re.compile(r"[^*?\[\]\\{}]+")


@dataclass(frozen=True)
class Rule:
    """One line: `regex` is over the name, or over the path from the file's folder where `by_path`."""

    regex: str
    last: str
    """The pattern of the name itself, the last part of a path."""
    by_path: bool
    folders_only: bool
    ignores: bool

    @cached_property
    def test(self) -> Callable[[str], object]:
        """Whether a name or path is meant."""
        return re.compile(self.regex).fullmatch


class RuleSet:
    """The rules of one file.

    `base` is its folder as seen from the searched root: "" or "a/b/" inside it. For a folder above the root it is what
    lies between the two, with a slash in front: "/b/c/".
    """

    def __init__(self, rules: Iterable[Rule], base: str) -> None:
        self.rules = tuple(rules)
        self.base = base

    def verdict(self, name: str, path: str, *, folder: bool) -> bool | None:
        """True: ignored, False: wanted in spite of weaker rules, None: not spoken of. `path` is from the root."""
        if self.base:
            path = self.base[1:] + path if self.base[0] == "/" else path[len(self.base) :]
        for rule in reversed(self.rules):
            if (folder or not rule.folders_only) and rule.test(path if rule.by_path else name):
                return rule.ignores
        return None


class Hint:
    """Tells quickly of nearly every name that no rule speaks of it."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        words, endings, patterns = set(), set(), []
        for rule in rules:
            if _WORD.fullmatch(rule.last):
                words.add(rule.last)
            elif _ENDING.fullmatch(rule.last):
                endings.add(rule.last[1:])
            else:
                patterns.append(".*" if rule.last == "**" else segment_regex(rule.last))
        self.words, self.endings = frozenset(words), frozenset(endings)
        """Whole names, and endings with their dot, that rules speak of."""
        self.other = re.compile("|".join(patterns), re.DOTALL).fullmatch if patterns else None


@dataclass(frozen=True)
class Ignores:
    """The rules in force in one folder: of each kind of file, deepest first."""

    strongest: tuple[RuleSet, ...] = ()
    strong: tuple[RuleSet, ...] = ()
    git: tuple[RuleSet, ...] = ()

    @cached_property
    def everything(self) -> tuple[RuleSet, ...]:
        """In the order in which they are asked."""
        return (*self.strongest, *self.strong, *self.git)

    @cached_property
    def hides_any(self) -> Callable[..., bool]:
        """`hides` for entries of one folder, asked half a million times a second: (name, prefix, *, folder)."""
        hint = Hint(rule for rules in self.everything for rule in rules.rules)
        words, endings, other, hides = hint.words, hint.endings, hint.other, self.hides

        def ask(name: str, prefix: str, *, folder: bool) -> bool:
            if name in words or name[name.rfind(".") :] in endings or (other is not None and other(name)):
                return hides(name, prefix + name, folder=folder)
            return False

        return ask

    def hides(self, name: str, path: str, *, folder: bool) -> bool:
        """Whether an entry is left out. `path` is from the searched root."""
        for rules in self.everything:
            verdict = rules.verdict(name, path, folder=folder)
            if verdict is not None:
                return verdict
        return False

    def inside(self, folder: str, base: str, names: Iterable[str]) -> Ignores:
        """The rules in a folder that holds these names. `folder` is where to read them."""
        present = set(names)
        found = self
        if ".git" in present and found.git:
            found = replace(found, git=())  # another repository: git's rules from above end here
        if ".gitignore" in present and (rules := load(os.path.join(folder, ".gitignore"), base)):
            found = replace(found, git=(rules, *found.git))
        if ".git" in present and (rules := load(os.path.join(_git_folder(folder), "info", "exclude"), base)):
            found = replace(found, git=(*found.git, rules))
        if ".ignore" in present and (rules := load(os.path.join(folder, ".ignore"), base)):
            found = replace(found, strong=(rules, *found.strong))
        if ".rgignore" in present and (rules := load(os.path.join(folder, ".rgignore"), base)):
            found = replace(found, strongest=(rules, *found.strongest))
        return found


def above(root: str) -> Ignores:
    """The rules that reach `root` from the folders above it, as far as its repository goes."""
    top = repository(root)
    if top is None or top == root:
        return Ignores()
    parts = os.path.relpath(root, top).split(os.sep)
    rules, folder = Ignores(), top
    for at in range(len(parts)):
        # Seen from the root, a rule of a folder above speaks of paths that have the folders between in front.
        between = "/".join(parts[at:]) + "/"
        try:
            names = {*FILES, ".git"} & set(os.listdir(folder))
        except OSError:
            names = set()
        rules = rules.inside(folder, "/" + between, names)
        folder = os.path.join(folder, parts[at])
    return rules


def repository(folder: str) -> str | None:
    """The root of the repository that `folder` lies in, or None."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _git_folder(folder: str) -> str:
    """Where the repository of `folder` keeps its own files; a linked worktree says so in two steps."""
    found = os.path.join(folder, ".git")
    try:
        if os.path.isfile(found):
            found = os.path.join(folder, _line_of(found).removeprefix("gitdir:").strip())
            found = os.path.join(found, _line_of(os.path.join(found, "commondir")))
    except OSError:
        pass  # a submodule has no common folder: its own is the one
    return found


def _line_of(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.readline(4096).strip()


def load(path: str, base: str) -> RuleSet | None:
    """The rules of a file; None where there are none or it cannot be read."""
    try:
        with open(path, "rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8", "replace").removeprefix("\ufeff")
    except OSError:
        return None
    rules = [rule for line in text.split("\n") if (rule := parse(line.removesuffix("\r"))) is not None]
    return RuleSet(rules, base) if rules else None


def parse(line: str) -> Rule | None:
    """The rule of one line; None for comments, blank lines and patterns that mean nothing."""
    text = _without_trailing_spaces(line)
    if not text or text.startswith("#"):
        return None
    ignores = not text.startswith("!")
    text = text if ignores else text[1:]
    folders_only = text.endswith("/") and not text.endswith("\\/")
    text = text.rstrip("/") if folders_only else text
    if not text.strip("/"):
        return None
    by_path = "/" in text
    try:
        regex = path_regex(text.lstrip("/")) if by_path else segment_regex(text)
    except BadGlob:
        return None
    return Rule(regex, text.rpartition("/")[2], by_path, folders_only, ignores)


def path_regex(pattern: str) -> str:
    """A regex over a whole relative path. Raises BadGlob."""
    parts = pattern.split("/")
    out = ""
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        if part == "**":
            out += ".+" if last else "(?:[^/]+/)*"
        else:
            out += segment_regex(part, pattern) + ("" if last else "/")
    return "(?s:" + out + ")"


def override_rules(globs: Iterable[str], base: str = "") -> RuleSet:
    """Globs that a caller gave, as rules: a plain one is wanted, one with `!` is left out. Raises BadGlob."""
    rules = []
    for glob in globs:
        wanted = not glob.startswith("!")
        for pattern in expand_braces(glob if wanted else glob[1:]):
            text = pattern.rstrip("/")
            by_path = "/" in text
            regex = path_regex(text.lstrip("/")) if by_path else segment_regex(text, glob)
            rules.append(Rule(regex, text.rpartition("/")[2], by_path, pattern.endswith("/"), not wanted))
    return RuleSet(rules, base)


def _without_trailing_spaces(line: str) -> str:
    text = line.rstrip(" \t")
    if text.endswith("\\") and len(text) < len(line):
        text += line[len(text)]
    return text
