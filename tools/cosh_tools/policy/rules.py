"""Rules in Claude Code's grammar, and what each of them matches.

Bash                      the whole tool            Read(./secrets/**)    paths, gitignore style
Bash(git status)          one exact command         Edit(/src/**)         from the project's root
Bash(git status:*)        commands that begin so    Read(~/.ssh/**)       from home; //x is absolute
Bash(npm run *)           a pattern over the text   WebFetch(domain:x.org)
mcp__server, mcp__server__*                         Skill(name), Task(name)
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from cosh_tools.names import canonical
from cosh_tools.touches import Fetches, Needs, Opaque, Reads, Runs, RunsCode, Touch, Uses, Writes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_GRAMMAR = re.compile(r"\s*(?P<tool>[^\s()]+)\s*(?:\((?P<spec>.*)\))?\s*", re.DOTALL)
_PATH_TOOLS = {"Read": Reads, "Glob": Reads, "Grep": Reads, "NotebookRead": Reads,
               "Edit": Writes, "Write": Writes, "NotebookEdit": Writes}  # fmt: skip
_FAMILIES = {"Edit": frozenset({"Write", "NotebookEdit"}), "Read": frozenset({"Glob", "Grep", "NotebookRead"})}


class BadRule(ValueError):
    """A rule that cannot be read. Its message quotes it and shows the form that works."""


@dataclass(frozen=True)
class Rule:
    """One rule. `root` is where a leading `/` starts, the folder of the settings that hold the rule."""

    tool: str
    spec: str | None = None
    root: Path = Path("/")

    @property
    def text(self) -> str:
        """The rule as people write it."""
        return self.tool if self.spec is None else f"{self.tool}({self.spec})"

    def names(self, tool: str) -> bool:
        """Whether the rule speaks of the whole tool `tool` (a canonical name)."""
        if self.spec is not None:
            return False
        if self.tool.startswith("mcp__"):
            pattern = self.tool if self.tool.count("__") > 1 else f"{self.tool}__*"
            return tool == self.tool or _wildcard(pattern).fullmatch(tool) is not None
        return self.tool in (tool, "*")

    def names_family(self, tool: str) -> bool:
        """As `names`, where Edit also stands for every editing tool and Read for every reading one (deny, ask)."""
        return self.names(tool) or (self.spec is None and tool in _FAMILIES.get(self.tool, ()))

    def matches(self, touch: Touch) -> bool:
        """Whether the rule's text in parentheses speaks of this touch."""
        if self.spec is None:
            return False
        match touch:
            case Runs():
                return self.tool == touch.shell and self._command.fullmatch(touch.text) is not None
            case Reads() | Writes():
                return _PATH_TOOLS.get(self.tool) is type(touch) and self._covers_path(str(touch.real))
            case Fetches():
                return self.tool == "WebFetch" and self._covers_host(touch.host)
            case Uses():
                return self.tool == touch.tool and _wildcard(self.spec).fullmatch(touch.name) is not None
            case RunsCode() | Opaque() | Needs():
                return False
        assert_never(touch)

    @cached_property
    def _command(self) -> re.Pattern[str]:
        spec = (self.spec or "").strip()
        if spec.endswith(":*"):
            return re.compile(re.escape(spec[:-2]) + r"(?:\s.*)?", re.DOTALL)
        if spec.endswith(" *"):
            return re.compile(_wildcard(spec[:-2]).pattern + r"(?:\s.*)?", re.DOTALL)
        return _wildcard(spec)

    def _covers_host(self, host: str) -> bool:
        kind, _, wanted = (self.spec or "").partition(":")
        if kind != "domain":
            return False
        return _wildcard(wanted.strip().lower()).fullmatch(host.lower()) is not None

    def _covers_path(self, real: str) -> bool:
        return any(pattern.fullmatch(real) is not None for pattern in self._paths)

    @cached_property
    def _paths(self) -> tuple[re.Pattern[str], ...]:
        """The pattern as written and with the links of its fixed beginning resolved."""
        base, pattern = _anchor((self.spec or "").strip(), self.root)
        fixed, rest = _split_fixed(pattern)
        lexical = os.path.normpath(base / fixed)
        return tuple(
            re.compile(re.escape(folder.rstrip("/")) + rest)
            for folder in dict.fromkeys((lexical, os.path.realpath(lexical)))
        )


@dataclass(frozen=True)
class Rules:
    """All rules in force: deny beats ask beats allow. Grants of a person are allow rules."""

    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()

    def plus_allow(self, more: Iterable[Rule]) -> Rules:
        """The same rules and these allow rules."""
        return Rules(self.deny, self.ask, (*self.allow, *more))

    def also_at(self, folder: Path, twin: Path) -> Rules:
        """The same rules, those about paths below `folder` also for a copy of it (a worktree)."""
        return _also_at(self, folder, twin)


@lru_cache(maxsize=64)
def _also_at(rules: Rules, folder: Path, twin: Path) -> Rules:
    def both(some: tuple[Rule, ...]) -> tuple[Rule, ...]:
        more = [
            Rule(rule.tool, rule.spec, twin / rule.root.relative_to(folder))
            for rule in some
            if rule.spec is not None and rule.tool in _PATH_TOOLS and rule.root.is_relative_to(folder)
        ]
        return (*some, *more)

    return Rules(both(rules.deny), both(rules.ask), both(rules.allow))


def parse_rule(text: str, root: Path | None = None) -> Rule:
    """The rule that `text` says; aliases of tool names are accepted. Raises BadRule."""
    found = _GRAMMAR.fullmatch(text)
    if found is None or (found["spec"] is not None and not found["spec"].strip()):
        raise BadRule(f"{text!r} is not a rule. Write Tool or Tool(what), for example Bash(git status:*).")
    return Rule(canonical(found["tool"]), found["spec"], root or Path.cwd())


def split_rules(text: str) -> list[str]:
    """Parts of a comma list; a comma inside parentheses does not split."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "," and depth <= 0:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def first_match(rules: Sequence[Rule], tool: str, touches: Sequence[Touch]) -> Rule | None:
    """The first rule that speaks of the tool (or its family) or of any of the touches."""
    for rule in rules:
        if rule.names_family(tool) or any(rule.matches(touch) for touch in touches):
            return rule
    return None


def _anchor(spec: str, root: Path) -> tuple[Path, str]:
    if spec.startswith("//"):
        return Path("/"), spec[2:]
    if spec.startswith("~/") or spec == "~":
        return Path.home(), spec[2:]
    if spec.startswith("/"):
        return root, spec[1:]
    if spec.startswith("./"):
        return root, spec[2:]
    if "/" in spec.rstrip("/"):
        return root, spec
    return root, f"**/{spec}"


def _split_fixed(pattern: str) -> tuple[str, str]:
    """The literal folders at the start, and a regex for what follows them."""
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    count = 0
    while count < len(parts) and not re.search(r"[*?\[]", parts[count]):
        count += 1
    fixed, rest = "/".join(parts[:count]), parts[count:]
    regex, any_depth = "", False
    for part in rest:
        if part == "**":
            any_depth = True
            continue
        regex += ("(?:/[^/]+)*/" if any_depth else "/") + _segment(part)
        any_depth = False
    return fixed, regex + ("/.*" if any_depth and rest else "(?:/.*)?")


def _segment(part: str) -> str:
    out, index = "", 0
    while index < len(part):
        char = part[index]
        end = part.find("]", index + 2) if char == "[" else -1
        if char == "*":
            out += "[^/]*"
        elif char == "?":
            out += "[^/]"
        elif end > 0:
            inner = part[index + 1 : end].replace("\\", r"\\").replace("[", r"\[")
            out += "[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]"
            index = end
        else:
            out += re.escape(char)
        index += 1
    return out


def _wildcard(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)
