"""What the model has seen of a file, so that nothing it does not know is overwritten.

Up to 32 MiB the mark is the SHA-256 of the whole content. Hashing a larger file at every look would cost more than
the look, so its mark is what the file system says of it (device, inode, size, both times to the nanosecond; the change
time cannot be set back) together with the SHA-256 of the part that was shown. Both must still hold when it is edited.
A file that changed within the last tenth of a second could change again without a new time: it is hashed in full.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cosh_tools.files.opening import Identity, Snapshot
from cosh_tools.files.text import digest

if TYPE_CHECKING:
    from cosh_tools.hosts import ReadState

HASHED_IN_FULL = 32 << 20
_STILL_WARM = 100_000_000
_PART = "part"


def mark_whole(state: ReadState, real: Path, data: bytes) -> None:
    """The model has seen this content."""
    state.record(real, digest(data))


def mark_part(state: ReadState, real: Path, handle: int, found: os.stat_result, start: int, shown: bytes) -> None:
    """The model has seen a part of a large file: the bytes `shown` at `start`."""
    if abs(time.time_ns() - found.st_ctime_ns) < _STILL_WARM:
        state.record(real, _hash_file(handle))
        return
    who = Identity.of(found)
    fields = (who.device, who.inode, who.size, who.modified, who.changed, start, len(shown), digest(shown))
    state.record(real, ":".join((_PART, *map(str, fields))))


def unchanged(mark: str, now: Snapshot) -> bool:
    """Whether the content is the one that the mark was made of."""
    if not mark.startswith(_PART + ":"):
        return digest(now.data) == mark
    *numbers, shown = mark.split(":")[1:]
    device, inode, size, modified, changed, start, length = map(int, numbers)
    same = Identity(device, inode, size, modified, changed) == now.identity
    return same and digest(memoryview(now.data)[start : start + length]) == shown


def _hash_file(handle: int) -> str:
    total, offset = hashlib.sha256(), 0
    while part := os.pread(handle, 1 << 20, offset):
        total.update(part)
        offset += len(part)
    return total.hexdigest()
