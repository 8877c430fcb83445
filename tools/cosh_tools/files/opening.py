"""Opening a file for reading so that nothing but a regular file is ever read, and saying what it is otherwise."""

from __future__ import annotations

import difflib
import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cosh_tools.results import ToolError

MOST_AT_ONCE = 1 << 30
"""A file up to 1 GiB may be held in memory (edits)."""

_KINDS = (
    (stat.S_ISFIFO, "a named pipe (FIFO), and reading it could wait for ever"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a file system says of a file: if all of it is the same, the content is the same.

    The change time is in it because, unlike the modification time, nobody can set it back.
    """

    device: int
    inode: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, found: os.stat_result) -> Self:
        """The identity in a stat result."""
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole content of a file and what the file system said of it at that moment."""

    data: bytes
    stat: os.stat_result

    @property
    def identity(self) -> Identity:
        """Its identity, to be compared before it is replaced."""
        return Identity.of(self.stat)


def open_regular(real: Path, given: str) -> tuple[int, os.stat_result]:
    """A descriptor of a regular file, and its stat. The caller closes it. Raises ToolError."""
    try:
        _must_be_regular(real.stat(), given)
        # Non-blocking, so that a pipe put in its place meanwhile cannot hang us.
        handle = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise ToolError(why_not(error, real, given)) from None
    found = os.fstat(handle)
    try:
        _must_be_regular(found, given)
        _must_be_at(handle, real, given)
    except ToolError:
        os.close(handle)
        raise
    return handle, found


def is_at(handle: int, real: Path) -> bool:
    """Whether what was opened lies where it was meant to; True where the system does not tell.

    A path is looked up anew each time it is used, and a link in it may be turned in between.
    """
    try:
        return Path(f"/proc/self/fd/{handle}").readlink() == real
    except OSError:
        return True


def snapshot(real: Path, given: str) -> Snapshot:
    """The whole content at one moment. Raises ToolError."""
    for _attempt in range(3):
        handle, found = open_regular(real, given)
        try:
            if found.st_size > MOST_AT_ONCE:
                raise ToolError(f"{given} has {found.st_size:,} bytes; files over 1 GiB are changed with Bash (sed).")
            data = read_all(handle, found.st_size)
            after = os.fstat(handle)
        except OSError as error:
            raise ToolError(why_not(error, real, given)) from None
        finally:
            os.close(handle)
        if Identity.of(after) == Identity.of(found):
            return Snapshot(data, found)
    raise ToolError(f"{given} keeps changing while it is read. Wait until whatever writes it is done, then try again.")


def read_all(handle: int, size: int, most: int = MOST_AT_ONCE) -> bytes:
    """Everything from the start; also of files that say size 0 and have content (/proc)."""
    parts, offset = [], 0
    while offset < most:
        part = os.pread(handle, min(max(size - offset, 1 << 16), 1 << 30, most - offset), offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def why_not(error: OSError | ValueError, real: Path, given: str) -> str:
    """A failure to open or read, as a sentence with a next step."""
    if isinstance(error, ValueError):
        return f"{given!r} is not a path: {error}."
    match error.errno:
        case errno.ENOENT:
            return f"File not found: {given}{_similar(real)}"
        case errno.ENOTDIR:
            return f"File not found: {given} (a part of the path is a file, not a folder)."
        case errno.EACCES | errno.EPERM:
            return f"The operating system denies access to {given}. Ask the user to change its permissions."
        case errno.ELOOP:
            return f"{given} goes in circles: too many symbolic links."
        case errno.ENAMETOOLONG:
            return f"The path is too long for this file system: {given[:200]}..."
        case _:
            return f"Failed to read file {given}: {error.strerror or error}."


def _must_be_at(handle: int, real: Path, given: str) -> None:
    if not is_at(handle, real):
        raise ToolError(f"{given} was exchanged while it was opened. Try again.")


def _must_be_regular(found: os.stat_result, given: str) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    if stat.S_ISDIR(found.st_mode):
        raise ToolError(f"{given} is a directory, not a file. List it with Bash `ls` or with Glob.")
    what = next((words for test, words in _KINDS if test(found.st_mode)), "not a regular file")
    raise ToolError(f"{given} is {what}. Only regular files are read.")


def _similar(real: Path) -> str:
    """A guess at what was meant: a near name in the folder, or the nearest folder that exists."""
    folder = real.parent
    try:
        names = []
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) == 2000:
                    break
    except OSError:
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        return f". The folder {real.parent} does not exist; {folder} does."
    near = difflib.get_close_matches(real.name, names, 3, 0.6)
    near += [name for name in names if Path(name).stem == real.stem and name not in near][:2]
    return f". Did you mean {' or '.join(near)}?" if near else f". It is not in {folder}."
