"""What a card may offer beside "once", and where given grants are kept.

A grant covers exactly what its button says. Session grants live in memory; lasting ones in a file of the user's,
keyed by workspace, outside every notebook and folder that an agent may write without asking.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, assert_never

from cosh_tools.hosts import Grant
from cosh_tools.kinds import PermissionMode
from cosh_tools.own_files import write_atomic
from cosh_tools.policy.decide import Ask, Subject, to_cover
from cosh_tools.policy.modes import scopes
from cosh_tools.policy.rules import BadRule, Rule, parse_rule
from cosh_tools.touches import Fetches, Needs, Opaque, Reads, Runs, RunsCode, Touch, Uses, Writes

_TWO_WORDS = frozenset(
    "apt apt-get brew cargo conda docker gh git go jupyter kubectl make mamba "
    "npm pip pip3 pnpm poetry systemctl uv yarn".split()
)
_NEVER_PREFIX = frozenset("bash sh zsh fish dash ksh ash sudo su doas env xargs eval busybox toybox".split())
_RUNS_A_FILE = re.compile(
    r"(?:i?python|pypy|perl|ruby|lua|luajit|php|tclsh)[\d.]*|node|nodejs|deno|bun|R|Rscript|julia|osascript|xonsh|java"
)
"""Interpreters: the word behind is the program, so a prefix would allow every program in that language."""


def offers(call: Subject, touches: Sequence[Touch], reason: Ask, mode: PermissionMode, root: Path) -> tuple[Grant, ...]:
    """The lasting grants for this call, least first; none where only this one call may be allowed."""
    if not reason.lasting or any(_loses(touch) for touch in touches):
        return ()
    rules, what = _rules(call, to_cover(touches), root)
    if not rules:
        return ()
    return tuple(_grant(what, rules, scope) for scope in scopes(mode))


class GrantStore:
    """The allow rules that a person gave: this session's, and the lasting ones of this workspace."""

    def __init__(self, file: Path | None, workspace: Path) -> None:
        self._file = file
        self._key = str(Path(os.path.realpath(workspace)))
        self._root = workspace
        self._session: list[Rule] = []
        self._always = self._load()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All of them."""
        return (*self._session, *self._always)

    def add(self, grant: Grant) -> None:
        """Keep a grant for as long as it says. Raises OSError when a lasting one cannot be written."""
        if grant.scope == "session" or self._file is None:
            self._session.extend(rule for rule in grant.rules if rule not in self._session)
            return
        self._always.extend(rule for rule in grant.rules if rule not in self._always)
        texts = [rule.text for rule in grant.rules]
        self._save(self._file, lambda kept: [*kept, *(text for text in texts if text not in kept)])

    def forget(self, text: str) -> bool:
        """Take back every grant with this rule text; whether there was one."""
        before = len(self.rules)
        self._session = [rule for rule in self._session if rule.text != text]
        self._always = [rule for rule in self._always if rule.text != text]
        if self._file is not None and before != len(self.rules):
            self._save(self._file, lambda kept: [one for one in kept if one != text])
        return before != len(self.rules)

    def _load(self) -> list[Rule]:
        found = []
        for text in self._read_all().get(self._key, []):
            try:
                found.append(parse_rule(str(text), self._root))
            except BadRule:
                continue  # a line that is not a rule grants nothing
        return found

    def _read_all(self) -> dict[str, Any]:
        if self._file is None:
            return {}
        try:
            data = json.loads(self._file.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}

    def _save(self, file: Path, change: Callable[[list[str]], list[str]]) -> None:
        """Change what the file holds now: another kernel may have forgotten or added a grant since we read it."""
        from filelock import FileLock  # loaded where a grant is written, not where one is read

        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(f"{file}.lock", timeout=5):
            everything = self._read_all()
            kept = everything.get(self._key)
            everything[self._key] = change([str(text) for text in kept] if isinstance(kept, list) else [])
            write_atomic(file, json.dumps(everything, indent=1))


def _rules(call: Subject, touches: Sequence[Touch], root: Path) -> tuple[tuple[Rule, ...], str]:
    """Rules that cover the touches, and the words for them; nothing where a touch cannot be covered."""
    if not touches:
        return (Rule(call.tool, None, root),), f"use {call.name}"
    rules: dict[str, Rule] = {}
    words: list[str] = []
    for touch in touches:
        match touch:
            case Runs():
                prefix = command_prefix(touch)
                if not prefix and "*" in touch.text:
                    return (), ""  # a rule could not say this text without meaning more
                spec = f"{prefix}:*" if prefix else touch.text
                rules[spec], word = Rule(touch.shell, spec, root), f"run `{prefix or touch.text}`"
            case Writes(deletes=True) | Opaque() | Needs():
                return (), ""
            case Reads() | Writes():
                tool = "Read" if isinstance(touch, Reads) else "Edit"
                spec = "/" + re.sub(r"([\[*?])", r"[\1]", str(touch.real))
                rules[tool + spec] = Rule(tool, spec, root)
                word = f"{tool.lower()} {Path(touch.as_given).name}"
            case Fetches():
                spec = f"domain:{touch.host}"
                rules[spec], word = Rule("WebFetch", spec, root), f"fetch from {touch.host}"
            case RunsCode():
                rules[call.tool], word = Rule(call.tool, None, root), f"run {touch.language}"
            case Uses():
                rules[touch.name], word = Rule(touch.tool, touch.name, root), f"use {touch.name}"
            case _:
                assert_never(touch)
        if word not in words:
            words.append(word)
    return tuple(rules.values()), " and ".join(words)


def command_prefix(touch: Runs) -> str:
    """The words a lasting grant may generalise to; empty where only the exact text is safe."""
    words = touch.words
    if not words or words[0] in _NEVER_PREFIX or "/" in words[0] or " ".join(words) != touch.text:
        return ""
    if _RUNS_A_FILE.fullmatch(words[0]):
        return ""
    if words[0] in _TWO_WORDS:
        return " ".join(words[:2]) if len(words) > 1 and not words[1].startswith("-") else ""
    return words[0]


def _loses(touch: Touch) -> bool:
    match touch:
        case Runs(destructive=destroys) | Writes(deletes=destroys):
            return destroys
        case _:
            return False


def _grant(what: str, rules: tuple[Rule, ...], scope: Literal["session", "always"]) -> Grant:
    label = f"{what[:1].upper()}{what[1:]} all session"
    if scope == "always":
        label = f"Always: {', '.join(rule.text for rule in rules)}"
    return Grant(label, rules, scope)
