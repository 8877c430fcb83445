"""Contents of files as they were, by digest: in the cache folder of the session, never in the workspace.

A folder may be deleted at any time; what is gone then cannot be put back, and is named.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Literal

from cosh_nb.paths import cache_folder

LIMIT = 1_000_000_000
"""Bytes that all sessions together keep."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class FileState:
    """What stands at a path: nothing, a file, a link. `kept` tells whether a file's content can be put back."""

    kind: Literal["absent", "file", "link", "folder", "other"]
    digest: str = ""
    mode: int = 0
    size: int = 0
    target: str = ""
    why: str = ""
    """Why its content was not kept or read; empty where it was."""

    def same(self, other: FileState) -> bool:
        """Whether both are the same to whoever reads the file."""
        mine = (self.kind, self.digest, self.mode, self.target)
        return mine == (other.kind, other.digest, other.mode, other.target) and bool(self.digest or self.kind != "file")


ABSENT = FileState("absent")


class Store:
    """The contents that one session keeps. Works in threads."""

    def __init__(self, session_id: str, limit: int = LIMIT) -> None:
        self.folder = cache_folder() / "snapshots" / session_id
        self.limit = limit
        self.written = 0
        """Bytes written since the last look at the limit."""

    def state(self, path: Path, *, keep: bool = True, most: int = LIMIT) -> FileState:
        """What stands there now; the content of a file is kept where `keep`, up to `most` bytes. Raises nothing."""
        try:
            found = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT
        except OSError as error:
            return FileState("other", why=f"it cannot be read ({error.strerror})")
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISLNK(found.st_mode):
            with contextlib.suppress(OSError):
                return FileState("link", target=os.readlink(path))  # noqa: PTH115  (the text of the link, as it stands)
        if stat.S_ISDIR(found.st_mode):
            return FileState("folder")
        if not stat.S_ISREG(found.st_mode):
            return FileState("other", mode=mode, why="it is no ordinary file")
        if keep and found.st_size > most:
            why = f"it was larger than what is kept ({_mb(most)})"
            return FileState("file", mode=mode, size=found.st_size, why=why)
        try:
            digest, size, why = self._read(path, keep=keep)
        except OSError as error:
            return FileState("file", mode=mode, size=found.st_size, why=f"it cannot be read ({error.strerror})")
        return FileState("file", digest, mode, size, why=why)

    def has(self, digest: str) -> bool:
        """Whether that content can still be had."""
        return bool(digest) and (self.folder / digest).exists()

    def content(self, digest: str) -> bytes:
        """It. Raises OSError where it is gone or damaged."""
        data = (self.folder / digest).read_bytes()
        if hashlib.sha256(data).hexdigest() != digest:
            raise OSError(f"The kept content {digest[:12]} is damaged.")
        return data

    def prune(self) -> None:
        """Delete the oldest contents of all sessions until the rest fits."""
        if not self.written:
            return
        self.written = 0
        files = sorted(_all(self.folder.parent), key=lambda item: item[0])
        total = sum(size for _, size, _ in files)
        for _, size, file in files:
            if total <= self.limit:
                break
            with contextlib.suppress(OSError):
                file.unlink()
                total -= size
        for folder in {file.parent for _, _, file in files}:
            with contextlib.suppress(OSError):
                folder.rmdir()  # only where it is empty

    def _read(self, path: Path, *, keep: bool) -> tuple[str, int, str]:
        """Digest, size, and why the content could not be kept."""
        hashed, size, why = hashlib.sha256(), 0, ""
        with contextlib.ExitStack() as stack:
            source = stack.enter_context(path.open("rb"))
            temporary, out = None, None
            if keep:
                try:
                    self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                    temporary = self.folder / f".{secrets.token_hex(8)}"
                    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                    out = stack.enter_context(os.fdopen(handle, "wb", buffering=0))
                except OSError as error:
                    why = _not_kept(error)
            try:
                while chunk := source.read(_CHUNK):
                    hashed.update(chunk)
                    size += len(chunk)
                    if out is not None and not why:
                        why = _put(out, chunk)
                digest = hashed.hexdigest()
                if temporary is not None and out is not None and not why:
                    temporary.replace(self.folder / digest)
                    temporary = None
                    self.written += size
                return digest, size, why
            finally:
                if temporary is not None:
                    with contextlib.suppress(OSError):
                        temporary.unlink()


def _put(out: FileIO, chunk: bytes) -> str:
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[out.write(rest) :]
    except OSError as error:
        return _not_kept(error)
    return ""


def _not_kept(error: OSError) -> str:
    return f"it could not be kept ({error.strerror or error})"


def _all(root: Path) -> Iterator[tuple[float, int, Path]]:
    with contextlib.suppress(OSError):
        for file in root.glob("*/*"):
            with contextlib.suppress(OSError):
                info = file.stat()
                yield info.st_mtime, info.st_size, file


def _mb(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
