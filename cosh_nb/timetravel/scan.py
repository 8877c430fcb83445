"""Which files of a workspace code changed that nobody could read in advance: a look before it, a look after it."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cosh_nb.timetravel.snapshots import ABSENT, FileState, Store
from cosh_tools.search.ignore import Ignores, above
from cosh_tools.search.walk import Walk

MOST_FILES = 20_000
MOST_BYTES = 64_000_000
"""Contents that are kept before opaque code runs, small files first."""

Signature = tuple[int, int, int, int, int]
"""Time, size, inode, time of change, mode: another one is another content, as far as a look can tell."""


@dataclass
class Look:
    """The files of a workspace at one moment."""

    files: dict[Path, Signature] = field(default_factory=dict)
    folders: set[Path] = field(default_factory=set)
    problem: str = ""


@dataclass
class Scanner:
    """Looks at the same folders again and again; contents that were kept once are not read again."""

    store: Store
    most_files: int = MOST_FILES
    most_bytes: int = MOST_BYTES
    too_many: str = ""
    """Set where there were too many files: no second try until somebody takes it away."""
    _known: dict[Path, tuple[Signature, FileState]] = field(default_factory=dict)

    def look(self, roots: Iterable[Path], *, keep: bool) -> Look:
        """All files that no ignore file leaves out; with `keep` their contents are kept as far as they fit."""
        if self.too_many:
            return Look(problem=self.too_many)
        found = Look()
        for root in roots:
            walk = _Walk(above(str(root)) or Ignores())
            for path, _ in walk.in_order(str(root)):
                if len(found.files) >= self.most_files:
                    self.too_many = (
                        f"More than {self.most_files:,} files are here, so what commands and code change in them "
                        "is not tracked; what the agent writes itself is."
                    )
                    return Look(problem=self.too_many)
                file = Path(path)
                if file.is_relative_to(self.store.folder.parent):
                    continue
                with contextlib.suppress(OSError):
                    info = os.lstat(path)
                    if stat.S_ISREG(info.st_mode):
                        found.files[file] = _signature(info)
            found.folders |= {Path(folder) for folder in walk.folders}
        if keep:
            self._keep(found)
        return found

    def changes(self, before: Look, after: Look) -> dict[Path, tuple[FileState, FileState]]:
        """What differs between two looks, as it was and as it is."""
        if before.problem or after.problem:
            return {}
        found: dict[Path, tuple[FileState, FileState]] = {}
        for path in before.files.keys() | after.files.keys():
            was, now = before.files.get(path), after.files.get(path)
            if was == now:
                continue
            old = ABSENT if was is None else self._was(path, was)
            new = self.store.state(path, keep=False)
            if not (old.digest and old.same(new)):
                found[path] = (old, new)
        return found

    def _was(self, path: Path, signature: Signature) -> FileState:
        known = self._known.get(path)
        if known is not None and known[0] == signature:
            return known[1]
        return FileState("file", mode=signature[4], size=signature[1], why="its content was not kept")

    def _keep(self, found: Look) -> None:
        room = self.most_bytes
        for path, signature in sorted(found.files.items(), key=lambda item: item[1][1]):
            room -= signature[1]
            if room < 0:
                why = f"only {self.most_bytes / 1e6:.0f} MB of contents are kept before commands and code run"
                state = FileState("file", mode=signature[4], size=signature[1], why=why)
                self._known[path] = (signature, state)
                continue
            known = self._known.get(path)
            if known is None or known[0] != signature or not self.store.has(known[1].digest):
                self._known[path] = (signature, self.store.state(path))


class _Walk(Walk):
    """Remembers the folders it entered."""

    def __init__(self, ignores: Ignores) -> None:
        super().__init__(ignores)
        self.folders: list[str] = []

    def _entries(
        self, folder: str, prefix: str, ignores: Ignores | None
    ) -> tuple[str, list[os.DirEntry[str]], Ignores | None]:
        self.folders.append(folder)
        return super()._entries(folder, prefix, ignores)


def _signature(info: os.stat_result) -> Signature:
    return info.st_mtime_ns, info.st_size, info.st_ino, info.st_ctime_ns, stat.S_IMODE(info.st_mode)
