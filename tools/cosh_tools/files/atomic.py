"""Replacing a file in one step: whoever looks sees the old content or the new, whatever happens in between.

The new content is written to a nameless or temporary file in the same folder, flushed to the disk, given the mode,
owner and attributes of the old one, and then put in its place. A last look, under a lock on the folder, makes sure
that the old one is still the file that was read.
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
from pathlib import Path

from cosh_tools.files.opening import Identity
from cosh_tools.results import ToolError

try:
    import fcntl
except ImportError:  # Windows: no advisory locks on folders there
    fcntl = None  # type: ignore[assignment]

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
    temporary = real.parent / f"{PREFIX}{secrets.token_hex(8)}"
    done = False
    try:
        _write(temporary, parts, old)
        _put(temporary, real, old, given)
        done = True
        _flush_folder(real.parent)
    except OSError as error:
        raise ToolError(_sentence(error, given)) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if not done:
            _remove(made)


def _write(temporary: Path, parts: Parts, old: os.stat_result | None) -> None:
    mode = 0o666 if old is None else 0o600
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        for part in parts:
            _write_all(handle, part)
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_all(handle: int, part: bytes | memoryview) -> None:
    rest = memoryview(part)
    while rest:
        rest = rest[os.write(handle, rest[: 1 << 30]) :]


def _put(temporary: Path, real: Path, old: os.stat_result | None, given: str) -> None:
    """Give it the old file's attributes and name, if the old file is still the one we know."""
    if old is not None:
        _like(temporary, real, old)
    with _folder_locked(real.parent):
        try:
            now = os.lstat(real)
        except FileNotFoundError:
            now = None
        if old is None:
            if now is not None:
                raise ChangedMeanwhile(f"{given} was created meanwhile. Nothing was written. Read it, then try again.")
            _link_new(temporary, real, given)
        elif now is None or Identity.of(now) != Identity.of(old):
            raise ChangedMeanwhile(
                f"{given} was changed by someone else meanwhile. Nothing was written. Read it again, then try again."
            )
        else:
            temporary.replace(real)


def _link_new(temporary: Path, real: Path, given: str) -> None:
    """A new name that must not replace another. Without hard links, by a rename after the look under the lock."""
    try:
        os.link(temporary, real)
    except FileExistsError:
        raise ChangedMeanwhile(f"{given} was created meanwhile. Nothing was written. Read it first.") from None
    except OSError:
        temporary.replace(real)


def _like(temporary: Path, real: Path, old: os.stat_result) -> None:
    """Mode, owner and extended attributes as before. What the system does not let us keep is left."""
    with contextlib.suppress(OSError, AttributeError):
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            os.chown(temporary, old.st_uid, old.st_gid)
    with contextlib.suppress(OSError, AttributeError):
        for name in os.listxattr(real):
            os.setxattr(temporary, name, os.getxattr(real, name))
    temporary.chmod(stat.S_IMODE(old.st_mode))


@contextlib.contextmanager
def _folder_locked(folder: Path) -> Iterator[None]:
    """Others that write as we do wait; where a file system has no such locks, nobody does."""
    if fcntl is None:
        with _IN_PROCESS:
            yield
        return
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + 5
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES) or time.monotonic() > deadline:
                    break
                time.sleep(0.002)
        yield
    finally:
        os.close(handle)


_IN_PROCESS = threading.Lock()


def _flush_folder(folder: Path) -> None:
    """So that the new name survives a power cut. The file is in place already, whatever comes of this."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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
