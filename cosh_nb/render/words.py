"""The words of a row: what a call does, is doing and did, in the words of a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Verb(NamedTuple):
    """Forms of one verb: on a card, while it runs, when it is done; `thing` is what it is counted in."""

    do: str
    doing: str
    did: str
    thing: str = ""
    been: str = ""

    @property
    def not_done(self) -> str:
        """What a row says of a call that did not happen: "Not run"."""
        return f"Not {self.been or self.did.lower()}"


_VERBS = {
    verb.do.lower(): verb
    for verb in (
        Verb("Read", "Reading", "Read", "file"),
        Verb("Write", "Writing", "Wrote", "file", "written"),
        Verb("Create", "Creating", "Created", "file"),
        Verb("Edit", "Editing", "Edited", "file"),
        Verb("Change", "Changing", "Changed", "file"),
        Verb("Delete", "Deleting", "Deleted", "file"),
        Verb("Run", "Running", "Ran", "command", "run"),
        Verb("Search", "Searching", "Searched", "time"),
        Verb("Find", "Finding", "Looked for", "pattern", "looked for"),
        Verb("List", "Listing", "Listed", "list"),
        Verb("Fetch", "Fetching", "Fetched", "page"),
        Verb("Ask", "Asking", "Asked", "question"),
        Verb("Look at", "Looking at", "Looked at", "variable"),
        Verb("Inspect", "Inspecting", "Inspected", "variable"),
        Verb("Plan", "Planning", "Planned", "plan"),
        Verb("Use", "Using", "Used", "tool"),
        Verb("Start", "Starting", "Started", "job"),
        Verb("Stop", "Stopping", "Stopped", "job"),
        Verb("Send", "Sending", "Sent", "message"),
        Verb("Set", "Setting", "Set", "setting"),
        Verb("Wait", "Waiting", "Waited", "wait"),
        Verb("Sleep", "Waiting", "Waited", "wait"),
        Verb("Enter", "Entering", "Entered", "step"),
        Verb("Leave", "Leaving", "Left", "step"),
        Verb("Show", "Showing", "Showed", "step", "shown"),
        Verb("Schedule", "Scheduling", "Scheduled", "job"),
        Verb("Update", "Updating", "Updated", "task"),
        Verb("Call", "Calling", "Called", "tool"),
        Verb("Delegate", "Delegating", "Delegated", "agent"),
    )
}

_OF_TOOL = {
    "Read": "read",
    "NotebookRead": "read",
    "Write": "write",
    "Edit": "edit",
    "NotebookEdit": "edit",
    "Bash": "run",
    "PowerShell": "run",
    "Python": "run",
    "NotebookRun": "run",
    "Glob": "find",
    "Grep": "search",
    "WebFetch": "fetch",
    "WebSearch": "search",
    "Variables": "look at",
    "Task": "delegate",
    "AskUserQuestion": "ask",
    "Sleep": "wait",
    "Skill": "use",
}
_THINGS = {"NotebookRead": "notebook", "NotebookEdit": "cell", "NotebookRun": "cell", "Python": "piece of code"}


def verb_of(verb: str, tool: str) -> Verb:
    """The forms of a tool's own word for what it does; a word we do not know stands as it is."""
    known = _VERBS.get(verb.lower().strip()) or _VERBS.get(_OF_TOOL.get(tool, ""))
    if known is None:
        name = tool_name(tool) if not verb or verb == tool else verb[:1].upper() + verb[1:]
        return Verb(name, name, name, "step")
    return known._replace(thing=_THINGS.get(tool, known.thing))


def tool_name(tool: str) -> str:
    """A tool's name as a person reads it: "github: create_issue" for `mcp__github__create_issue`."""
    if tool.startswith("mcp__") and tool.count("__") >= 2:
        _, server, name = tool.split("__", 2)
        return f"{server}: {name}"
    return tool


def object_of(given: Mapping[str, Any]) -> str:
    """What a call is about, read from its arguments, where the event does not say it."""
    for name in ("file_path", "path", "notebook_path", "command", "code", "pattern", "query", "url", "name", "id"):
        value = given.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip().splitlines()[0]
    return ""


def is_code(tool: str, target: str) -> bool:
    """Whether the object of a row is a path, a pattern or code, set in the code font."""
    return not target.startswith(("cell ", "cells ", "“", "the ")) and tool not in (
        "Task",
        "WebSearch",
        "AskUserQuestion",
    )
