"""The names under which one tool is known. Rules, hooks, allow lists and model calls accept every one of them."""

from __future__ import annotations

from types import MappingProxyType

ALIASES = MappingProxyType(
    {
        "read_file": "Read",
        "write_file": "Write",
        "edit": "Edit",
        "MultiEdit": "Edit",
        "glob": "Glob",
        "grep": "Grep",
        "grep_search": "Grep",
        "shell": "Bash",
        "run_shell_command": "Bash",
        "todo": "TodoWrite",
        "todo_write": "TodoWrite",
        "ask_user_question": "AskUserQuestion",
        "skill": "Skill",
        "Agent": "Task",
        "web_fetch": "WebFetch",
        "web_search": "WebSearch",
        "KillShell": "TaskStop",
        "BashOutput": "TaskOutput",
        "SendUserMessage": "Brief",
        "ListMcpResourcesTool": "ListMcpResources",
        "ReadMcpResourceTool": "ReadMcpResource",
    }
)
"""Alias -> the canonical name of cc-tools (sources: both seeds, and Claude Code's later names)."""


def canonical(name: str) -> str:
    """The canonical name of a tool, whichever of its names is given."""
    return ALIASES.get(name, name)
