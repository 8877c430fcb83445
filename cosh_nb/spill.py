"""Where the whole of a trimmed output is kept: the user's cache folder, one folder a session, 0600, pruned at 1 GB."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from cosh_nb.paths import cache_folder
from cosh_tools.own_files import write_atomic

LIMIT = 1_000_000_000
"""Bytes that all sessions together may keep."""


@dataclass
class Spill:
    """Keeps long outputs of one session (hosts.SpillHost)."""

    session_id: str

    def keep(self, text: str, name: str) -> Path | None:
        """The file that holds `text`, or None where the disk does not take it."""
        file = cache_folder() / "spill" / self.session_id / (re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:80] + ".txt")
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomic(file, text.encode("utf-8", "replace").decode("utf-8"))
        except OSError:
            return None
        return file


def prune(limit: int = LIMIT) -> None:
    """Delete the oldest sessions' outputs until all fit into `limit` bytes."""
    root = cache_folder() / "spill"
    if not root.is_dir():
        return
    folders = []
    for folder in root.iterdir():
        files = [file.stat() for file in folder.rglob("*") if file.is_file()]
        folders.append(
            (max((info.st_mtime for info in files), default=0.0), sum(info.st_size for info in files), folder)
        )
    total = sum(size for _, size, _ in folders)
    for _, size, folder in sorted(folders, key=lambda item: item[0]):
        if total <= limit:
            return
        shutil.rmtree(folder, ignore_errors=True)
        total -= size
