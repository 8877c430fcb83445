"""The classes by which a tool call is judged: its kind (cosh), its level (Claude Code) and the nine modes."""

from __future__ import annotations

from enum import StrEnum


class ToolKind(StrEnum):
    """What a tool does to the system. A cosh mode decides by it (source: cosh-core, tool classification)."""

    READ_ONLY = "ReadOnly"
    FILE_EDIT = "FileEdit"
    SHELL_EXEC = "ShellExec"
    SHELL_EVIDENCE = "ShellEvidence"
    OTHER = "Other"


class PermissionLevel(StrEnum):
    """What a tool needs to be allowed. A Claude mode decides by it (source: cc-tools, PermissionLevel)."""

    NONE = "None"
    READ_ONLY = "ReadOnly"
    WRITE = "Write"
    EXECUTE = "Execute"
    DANGEROUS = "Dangerous"


class PermissionMode(StrEnum):
    """How much is allowed without a question: five cosh modes, then four Claude modes."""

    TRUST = "trust"
    AUTO = "auto"
    BALANCED = "balanced"
    SUGGEST = "suggest"
    STRICT = "strict"
    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    BYPASS = "bypassPermissions"
    PLAN = "plan"

    @classmethod
    def parse(cls, text: str) -> PermissionMode:
        """The mode named `text`, whatever its case, dashes or underscores.

        Raises ValueError with the names that exist.
        """
        wanted = text.strip().replace("-", "").replace("_", "").lower()
        for mode in cls:
            if mode.value.lower() == wanted:
                return mode
        raise ValueError(f"There is no mode {text!r}. Choose one of: {', '.join(cls)}.")
