"""The words of a row: what a call does, is doing and did, in the words of a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Verb(NamedTuple):
    """Forms of one verb: on a card, while it runs, when it is done; `thing` is what it is counted in."""

    do: str
    doing: str
    did: str
    been: str
    thing: str = ""

    @property
    def not_done(self) -> str:
        """What a row says of a call that did not happen: "Not run"."""
        return f"Not {self.been}"


_IRREGULAR = {
    "ask": ("asking", "asked", "asked"),
    "begin": ("beginning", "began", "begun"),
    "do": ("doing", "did", "done"),
    "find": ("finding", "found", "found"),
    "leave": ("leaving", "left", "left"),
    "make": ("making", "made", "made"),
    "plan": ("planning", "planned", "planned"),
    "put": ("putting", "put", "put"),
    "read": ("reading", "read", "read"),
    "run": ("running", "ran", "run"),
    "say": ("saying", "said", "said"),
    "send": ("sending", "sent", "sent"),
    "set": ("setting", "set", "set"),
    "show": ("showing", "showed", "shown"),
    "sleep": ("waiting", "waited", "waited"),
    "stop": ("stopping", "stopped", "stopped"),
    "take": ("taking", "took", "taken"),
    "tell": ("telling", "told", "told"),
    "write": ("writing", "wrote", "written"),
}
_THINGS = {"read": "file", "write": "file", "edit": "file", "run": "command", "fetch": "page", "ask": "question"}
_OF_TOOL = {
    "Bash": "run",
    "PowerShell": "run",
    "Python": "run",
    "NotebookRun": "run",
    "NotebookEdit": "edit",
    "NotebookRead": "read",
    "Read": "read",
    "Write": "write",
    "Edit": "edit",
    "Glob": "find files",
    "Grep": "search",
    "WebFetch": "fetch",
    "WebSearch": "search the web",
    "Task": "hand over",
    "AskUserQuestion": "ask",
}
_TOOL_THINGS = {"NotebookRead": "notebook", "NotebookEdit": "cell", "NotebookRun": "cell", "Python": "piece of code"}


def verb_of(verb: str, tool: str) -> Verb:
    """The forms of a tool's own word for what it does ("run", "add task"); without one, of the tool's name."""
    words = " ".join(verb.split()) if verb and verb != tool else _OF_TOOL.get(tool, "")
    if not words or len(words) > 40 or not words.replace(" ", "").isalpha():
        name = tool_name(tool) if not words or verb == tool else verb
        return Verb(name, name, name, f"done: {name}", "step")
    first, _, rest = words.partition(" ")
    first, rest = first.lower(), f" {rest}" if rest else ""
    doing, did, been = _IRREGULAR.get(first) or _regular(first)
    thing = "time" if rest else _TOOL_THINGS.get(tool) or _THINGS.get(first, "time")
    return Verb(
        f"{first}{rest}".capitalize(),
        f"{doing}{rest}".capitalize(),
        f"{did}{rest}".capitalize(),
        f"{been}{rest}",
        thing,
    )


def tool_name(tool: str) -> str:
    """A tool's name as a person reads it: "github: create_issue" for `mcp__github__create_issue`."""
    if tool.startswith("mcp__") and tool.count("__") >= 2:
        _, server, name = tool.split("__", 2)
        return f"{server}: {name}"
    return tool


def object_of(given: Mapping[str, Any]) -> str:
    """What a call is about, read from its arguments, where the event does not say it."""
    for name in (
        "file_path",
        "path",
        "notebook_path",
        "command",
        "code",
        "pattern",
        "query",
        "url",
        "setting",
        "name",
        "id",
    ):
        value = given.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip().splitlines()[0]
    return ""


def is_code(tool: str, target: str) -> bool:
    """Whether the object of a row is a path, a pattern or code, set in the code font."""
    return not target.startswith(("cell ", "cell-", "cells ", "“", "the ")) and tool not in (
        "Task",
        "WebSearch",
        "AskUserQuestion",
    )


def _regular(word: str) -> tuple[str, str, str]:
    if word.endswith("e"):
        return f"{word[:-1]}ing", f"{word}d", f"{word}d"
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return f"{word}ing", f"{word[:-1]}ied", f"{word[:-1]}ied"
    return f"{word}ing", f"{word}ed", f"{word}ed"
