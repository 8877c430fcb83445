"""Replacing a file in one step: whoever looks sees the old content or the new, whatever happens in between.

The new content is written to a temporary file in the same folder, flushed to the disk, given the mode, owner and
attributes of the old one, and then put in its place. A last look, under a lock on the folder, makes sure that the old
one is still the file that was read. The folder is opened once and everything is done in it, so that a link turned
meanwhile leads nowhere else.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from cosh_tools.files.opening import Identity, is_at
from cosh_tools.results import ToolError

try:
    import fcntl
except ImportError:  # Windows: no advisory locks on folders there
    fcntl = None  # type: ignore[assignment]  # (asked for where it is used)

PREFIX = ".cosh-tmp-"
Parts = Sequence[bytes | memoryview]


class ChangedMeanwhile(ToolError):
    """The file is no longer the one that was read. Nothing was written."""


def replace(real: Path, parts: Parts, old: os.stat_result | None, given: str) -> None:
    """Put the parts in the place of `real`, which must still be as `old` says (None: must not exist).

    Raises ChangedMeanwhile, or ToolError with what the system said.
    """
    if old is not None and not os.access(real, os.W_OK):
        raise ToolError(f"{given} is read-only for this user. Nothing was written.")
    made = _make_parents(real.parent, given)
    done = False
    try:
        with _opened(real.parent, given) as folder:
            done = _replace(folder, real.name, parts, old, given)
            folder.flush()
    except OSError as error:
        raise ToolError(_sentence(error, given)) from None
    finally:
        if not done:
            _remove(made)


class _At(TypedDict, total=False):
    dir_fd: int


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder in which files are made and renamed: by its descriptor, or by its path where a system has none."""

    path: Path
    handle: int | None

    def name(self, name: str) -> str:
        """How a file in it is named to the system."""
        return name if self.handle is not None else str(self.path / name)

    @property
    def at(self) -> _At:
        """The argument that says that names are in this folder."""
        return {} if self.handle is None else {"dir_fd": self.handle}

    def rename(self, one: str, other: str) -> None:
        """Give `one` the name `other`, whatever had it."""
        if self.handle is None:
            (self.path / one).replace(self.path / other)
        else:
            os.rename(one, other, src_dir_fd=self.handle, dst_dir_fd=self.handle)

    def link(self, one: str, other: str) -> None:
        """Give `one` a second name that nothing may have yet."""
        if self.handle is None:
            (self.path / other).hardlink_to(self.path / one)
        else:
            os.link(one, other, src_dir_fd=self.handle, dst_dir_fd=self.handle)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Others that write as we do wait; where a file system has no such locks, nobody does."""
        if fcntl is None or self.handle is None:
            with _IN_PROCESS:
                yield
            return
        # A lock belongs to one opening of the folder, so that threads of one process wait for each other too.
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            try:
                fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    break
                time.sleep(0.002)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                fcntl.flock(self.handle, fcntl.LOCK_UN)

    def flush(self) -> None:
        """So that a new name survives a power cut. The file is in place already, whatever comes of this."""
        if self.handle is not None:
            with contextlib.suppress(OSError):
                os.fsync(self.handle)


_IN_PROCESS = threading.Lock()


@contextlib.contextmanager
def _opened(path: Path, given: str) -> Iterator[_Folder]:
    if os.rename not in os.supports_dir_fd or not hasattr(os, "O_DIRECTORY"):
        yield _Folder(path, None)
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not is_at(handle, path):
            raise ToolError(f"The way to {given} was changed meanwhile. Nothing was written. Try again.")
        yield _Folder(path, handle)
    finally:
        os.close(handle)


def _replace(folder: _Folder, name: str, parts: Parts, old: os.stat_result | None, given: str) -> bool:
    temporary = f"{PREFIX}{secrets.token_hex(8)}"
    try:
        _write(folder, temporary, parts, old, name)
        _put(folder, temporary, name, old, given)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(folder.name(temporary), **folder.at)
    return True


def _write(folder: _Folder, temporary: str, parts: Parts, old: os.stat_result | None, name: str) -> None:
    mode = 0o666 if old is None else 0o600
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    handle = os.open(folder.name(temporary), flags, mode, **folder.at)
    try:
        for part in parts:
            _write_all(handle, part)
        if old is not None:
            _make_like(handle, folder.path / name, old)
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_all(handle: int, part: bytes | memoryview) -> None:
    rest = memoryview(part)
    while rest:
        rest = rest[os.write(handle, rest[: 1 << 30]) :]


def _make_like(handle: int, real: Path, old: os.stat_result) -> None:
    """Mode, owner and extended attributes as before. What the system does not let us keep is left."""
    with contextlib.suppress(OSError, AttributeError):
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(handle, old.st_uid, old.st_gid)
    with contextlib.suppress(OSError, AttributeError):
        for name in os.listxattr(real):
            os.setxattr(handle, name, os.getxattr(real, name))
    with contextlib.suppress(AttributeError):
        os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _put(folder: _Folder, temporary: str, name: str, old: os.stat_result | None, given: str) -> None:
    """Give it its name, if the old file is still the one we know."""
    with folder.locked():
        try:
            now = os.lstat(folder.name(name), **folder.at)
        except FileNotFoundError:
            now = None
        if old is None:
            if now is not None:
                raise ChangedMeanwhile(f"{given} was created meanwhile. Nothing was written. Read it, then try again.")
            _link_new(folder, temporary, name, given)
        elif now is None or Identity.of(now) != Identity.of(old):
            raise ChangedMeanwhile(
                f"{given} was changed by someone else meanwhile. Nothing was written. Read it again, then try again."
            )
        else:
            folder.rename(temporary, name)


def _link_new(folder: _Folder, temporary: str, name: str, given: str) -> None:
    """A new name that must not replace another. Without hard links, by a rename after the look under the lock."""
    try:
        folder.link(temporary, name)
    except FileExistsError:
        raise ChangedMeanwhile(f"{given} was created meanwhile. Nothing was written. Read it first.") from None
    except OSError:
        folder.rename(temporary, name)


def _make_parents(folder: Path, given: str) -> list[Path]:
    """The folders that had to be made, innermost last."""
    missing = []
    while not os.path.lexists(folder) and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    made: list[Path] = []
    try:
        for each in reversed(missing):
            try:
                each.mkdir()
                made.append(each)
            except FileExistsError:
                pass  # someone made it in the same moment
    except OSError as error:
        _remove(made)
        raise ToolError(f"Failed to create directory {each} for {given}: {error.strerror}.") from None
    return made


def _remove(made: list[Path]) -> None:
    for folder in reversed(made):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _sentence(error: OSError, given: str) -> str:
    kept = "The file is as it was"
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return f"The disk is full, so {given} was not written. {kept}. Free some space, then try again."
        case errno.EACCES | errno.EPERM:
            return (
                f"The operating system denies writing in the folder of {given}. {kept}. "
                "Ask the user to change its permissions."
            )
        case errno.EROFS:
            return f"{given} is on a read-only file system. {kept}."
        case errno.ENAMETOOLONG:
            return f"The name of {given[:200]} is too long for this file system. Choose a shorter one."
        case errno.ENOTDIR:
            return f"A part of the path {given} is a file, not a folder. {kept}."
        case errno.EISDIR:
            return f"{given} is a directory. {kept}."
        case errno.ELOOP:
            return f"{given} goes in circles: too many symbolic links. {kept}."
        case _:
            return f"Failed to write file {given}: {error.strerror or error}. {kept}."
