"""Kinds of sub-agents: the built-in ones, and those that people wrote in `.claude/agents/*.md`.

Nearer wins: the folder's, then the user's own, then the built-in. A folder that is not trusted contributes none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cosh_nb import frontmatter
from cosh_nb.paths import claude_folder

Access = Literal["full", "read-only", "search-only"]

GENERAL = "general-purpose"
SEARCH = ("Glob", "Grep", "Read", "WebFetch", "WebSearch")


@dataclass(frozen=True, slots=True)
class AgentType:
    """What a kind of agent is for, what it is told, and what it may use at most."""

    name: str
    description: str
    prompt: str = ""
    access: Access = "full"
    tools: tuple[str, ...] | None = None
    """Names or rules of the only tools it may use; None: whatever its access allows."""
    model: str | None = None
    max_turns: int = 10
    source: str = "built-in"


BUILT_IN = {
    kind.name: kind
    for kind in (
        AgentType(GENERAL, "Any work that can be described in one prompt."),
        AgentType("build", "Builds: changes files and runs commands.", max_turns=30),
        AgentType(
            "plan",
            "Looks around and writes a plan; changes nothing.",
            "Look at whatever the plan depends on, then answer with the plan: steps in order, the files that each one "
            "touches, what could go wrong. Change nothing.",
            access="read-only",
            max_turns=20,
        ),
        AgentType(
            "explore",
            "Searches files and the web and reports what it found.",
            "Search widely, read only what matters, and report what you found with file names and line numbers.",
            access="search-only",
            max_turns=15,
        ),
    )
}


def agent_types(workspace: Path, *, trusted: bool) -> tuple[Mapping[str, AgentType], list[str]]:
    """All kinds by name, and a sentence on each file that could not be used."""
    found = dict(BUILT_IN)
    problems: list[str] = []
    folders = [claude_folder() / "agents", *([workspace / ".claude" / "agents"] if trusted else [])]
    for folder in folders:
        for file in sorted(folder.glob("**/*.md")) if folder.is_dir() else ():
            try:
                kind = _read(file)
            except (OSError, ValueError) as error:
                problems.append(f"The agent in {file} cannot be used: {error}")
                continue
            found[kind.name] = kind
    return found, problems


def _read(file: Path) -> AgentType:
    document = frontmatter.read(file)
    if document.problem:
        raise ValueError(document.problem)
    meta = document.meta
    access = str(meta.get("access") or "full")
    if access not in ("full", "read-only", "search-only"):
        raise ValueError(f"access is {access!r}, and it must be full, read-only or search-only")
    turns = meta.get("max_turns", meta.get("maxTurns", 10))
    if not isinstance(turns, int) or isinstance(turns, bool) or not 1 <= turns <= 200:
        raise ValueError(f"max_turns is {turns!r}, and it must be a whole number from 1 to 200")
    name = str(meta.get("name") or file.stem).strip()
    model = str(meta["model"]) if meta.get("model") not in (None, "", "inherit") else None
    return AgentType(
        name=name,
        description=" ".join(str(meta.get("description") or "").split()),
        prompt=document.body,
        access=access,  # type: ignore[arg-type]  # it is one of the three, see above
        tools=frontmatter.names(meta.get("tools")),
        model=model,
        max_turns=turns,
        source=str(file),
    )
