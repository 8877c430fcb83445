"""What a person typed after the magic: options, a command, or a prompt with `{name}` and `@path` in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cosh_nb.errors import UsageError

LIMIT = 1_000_000
"""Characters of one prompt."""
SHOWN = 4_000
"""Characters of one value that takes the place of its `{name}`."""
ATTACHED = 100_000
"""Characters of one attached text file."""

FLAGS: Mapping[str, str] = {
    "--mode": "mode",
    "--permission-mode": "mode",
    "--approval-mode": "mode",
    "--model": "model",
    "--provider": "provider",
    "--allowed-tools": "allowed_tools",
    "--disallowed-tools": "disallowed_tools",
    "--max-turns": "max_turns",
    "--record": "record",
    "--replay": "replay",
}
SWITCHES: Mapping[str, str] = {
    "--new": "new",
    "--replay-tools": "replay_tools",
    "-b": "background",
    "--background": "background",
}

_NAME = re.compile(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})")
_ATTACHED = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S*[\w/]))')
_COMMAND = re.compile(r"/([A-Za-z][\w:.-]*)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Typed:
    """Options by name ("mode": "plan", "background": True), then either a command or a prompt."""

    options: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    arguments: str = ""
    prompt: str = ""


def parse(line: str, cell: str | None) -> Typed:
    """Read the magic's line and, for `%%cosh`, its cell.

    A command stands in the line or alone in the cell. With words in the line and a cell below, the cell is what the
    words are about. Raises UsageError for an unknown option or one without its value.
    """
    options, rest = _options(line)
    body = (cell or "").strip("\n")
    text = rest if cell is None else _joined(rest, body)
    found = _COMMAND.fullmatch(text.strip()) if text.lstrip().startswith("/") else None
    if found is not None and "/" not in found[1]:
        return Typed(options, found[1], (found[2] or "").strip())
    if len(text) > LIMIT:
        raise UsageError(
            f"The prompt has {len(text):,} characters; at most {LIMIT:,} go to a model. "
            "Save it to a file and attach that with @path, or ask about a part."
        )
    if not text.strip():
        raise UsageError(
            "There is nothing to do yet. Write what you want under %%cosh, for example: list the CSV files here. "
            "%cosh /help shows what else there is."
        )
    return Typed(options, prompt=text)


def fill(text: str, names: Mapping[str, Any]) -> str:
    """The prompt with `{name}` replaced where such a variable exists; every other brace stays."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in names:
            return found[0]
        shown = str(names[found[1]])
        return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}… ({len(shown):,} characters in all)"

    return _NAME.sub(value, text)


def attached(text: str, resolve: Callable[[str], Path]) -> list[Path]:
    """The files that `@path` names; words that name no file are left alone."""
    found: list[Path] = []
    for match in _ATTACHED.finditer(text):
        path = resolve(match[1] or match[2])
        try:
            is_file = path.is_file()
        except (OSError, ValueError):
            continue
        if is_file and path not in found:
            found.append(path)
    return found


def _options(line: str) -> tuple[dict[str, Any], str]:
    options: dict[str, Any] = {}
    rest = line.lstrip()
    while rest.startswith("-"):
        word, _, after = rest.partition(" ")
        name, equals, value = word.partition("=")
        if name in SWITCHES and not equals:
            options[SWITCHES[name]] = True
            rest = after.lstrip()
            continue
        if name == "--":
            return options, after
        if name not in FLAGS:
            if not name.startswith("--"):
                break  # a prompt may begin with a dash
            known = ", ".join(sorted({*FLAGS, *SWITCHES}))
            raise UsageError(f"There is no option {name}. The options are {known}.")
        rest = after.lstrip()
        if not equals:
            value, rest = _word(rest)
        if not value:
            raise UsageError(f"{name} needs a value, for example {_EXAMPLES.get(name, name + ' VALUE')}.")
        options[FLAGS[name]] = value.strip("'\"")
    return options, rest


_EXAMPLES = {
    "--mode": "--mode plan",
    "--model": "--model claude-sonnet-5-5",
    "--provider": "--provider offline",
    "--allowed-tools": "--allowed-tools Read,Bash(git status:*)",
    "--max-turns": "--max-turns 10",
}


def _word(text: str) -> tuple[str, str]:
    """The first word, where quotes and parentheses hold spaces together, and what follows it."""
    depth, quote = 0, ""
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char.isspace() and depth <= 0:
            return text[:index], text[index:].lstrip()
    return text, ""


def _joined(words: str, body: str) -> str:
    if not words.strip() or not body.strip():
        return words if words.strip() else body
    return f"{words}\n\n```python\n{body}\n```"


__all__ = ["ATTACHED", "Typed", "attached", "fill", "parse"]
