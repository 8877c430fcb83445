"""Which folders the person trusts, and with which content: a change asks again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cosh_nb.paths import data_folder
from cosh_tools.own_files import write_atomic

CONTRIBUTES = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".mcp.json",
    ".claude/agents",
    ".claude/skills",
    ".claude/commands",
    ".copilot-shell",
)
"""What a folder may bring, relative to it: files, and folders with all they hold."""


@dataclass
class Trust:
    """The trusted folders: real path -> digest of what they contributed when they were trusted."""

    file: Path
    folders: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, file: Path | None = None) -> Trust:
        """The person's own record. One that does not parse trusts nothing."""
        file = file or data_folder() / "trust.json"
        try:
            data = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            data = {}
        return cls(file, {str(key): str(value) for key, value in data.items()} if isinstance(data, dict) else {})

    def covers(self, workspace: Path) -> bool:
        """Whether the folder is trusted with the content it has now."""
        known = self.folders.get(os.path.realpath(workspace))
        return known is not None and known == digest(workspace)  # what nobody trusts is not even looked through

    def changed(self, workspace: Path) -> bool:
        """Whether it was trusted with other content."""
        known = self.folders.get(os.path.realpath(workspace))
        return known is not None and known != digest(workspace)

    def grant(self, workspace: Path) -> None:
        """Trust the folder as it is now. Only a person's own command calls this."""
        self.folders[os.path.realpath(workspace)] = digest(workspace)
        self._save()

    def withdraw(self, workspace: Path) -> bool:
        """Trust it no longer; whether it was trusted."""
        known = self.folders.pop(os.path.realpath(workspace), None) is not None
        self._save()
        return known

    def _save(self) -> None:
        write_atomic(self.file, json.dumps(self.folders, indent=1) + "\n")


def digest(workspace: Path) -> str:
    """SHA-256 over the names and contents of everything that the folder contributes."""
    total = hashlib.sha256()
    for name in CONTRIBUTES:
        start = workspace / name
        for file in sorted(_files(start)) if start.is_dir() else [start]:
            if file.is_file():
                total.update(f"{file.relative_to(workspace)}\0".encode("utf-8", "surrogateescape"))
                total.update(_content(file))
    return total.hexdigest()


def _content(file: Path) -> bytes:
    """The digest of a file; one that cannot be read contributes nothing that could be trusted."""
    try:
        return hashlib.sha256(file.read_bytes()).digest()
    except OSError:
        return b"unreadable"


def _files(start: Path) -> Iterator[Path]:
    """All files below, also behind links to folders: what is read through a link is contributed like any other."""
    seen: set[str] = set()
    for folder, inner, names in os.walk(start, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            inner.clear()  # a link that goes in circles
            continue
        seen.add(real)
        yield from (Path(folder) / name for name in names)
