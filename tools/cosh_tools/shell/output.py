"""What a command writes: beginning and end in memory, the whole on disk once it grew long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Literal

from cosh_tools.terminal import readable

Stream = Literal["stdout", "stderr"]

_BINARY_SAMPLE = 8_192


class HeadTail:
    """The first and the last bytes of something that may never end."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0

    def write(self, data: bytes) -> None:
        """Take in more bytes."""
        self.size += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data[-self._tail_limit :]
            if len(self._tail) > 2 * self._tail_limit:
                del self._tail[: -self._tail_limit]

    @property
    def cut(self) -> bool:
        """Whether bytes between the two ends were dropped."""
        return self.size > self._head_limit + self._tail_limit

    @property
    def binary(self) -> bool:
        """Whether it is no text: NUL bytes, or mostly bytes that are not UTF-8."""
        sample = bytes(self._head[:_BINARY_SAMPLE])
        if not sample:
            return False
        return b"\0" in sample or sample.decode("utf-8", "replace").count("\ufffd") * 10 > len(sample) * 3

    def text(self, where: str = "") -> str:
        """Both ends as plain text, with a line between them that says how much is missing and where the whole is."""
        if not self.cut:
            return readable((self._head + self._tail).decode("utf-8", "replace"))
        tail = self._tail[-self._tail_limit :]
        head = readable(self._head.decode("utf-8", "ignore"))
        end = readable(tail.decode("utf-8", "ignore"))
        missing = self.size - len(self._head) - len(tail)
        return f"{head}\n... ({missing} bytes left out{where}) ...\n{end}"


class Capture:
    """Both streams of one command. `keep` makes a file for the whole; it is called once, when memory will not do.

    `limit` bounds the bytes and `lines` (0: no bound) the lines of each stream that are shown.
    """

    def __init__(self, limit: int, keep: Callable[[], Path | None] = lambda: None, lines: int = 0) -> None:
        self._ends = {"stdout": HeadTail(limit), "stderr": HeadTail(limit)}
        self._early: list[bytes] | None = []
        self._limit = limit
        self._lines = lines
        self._seen = 0
        self._keep = keep
        self._file: BinaryIO | None = None
        self.path: Path | None = None
        self.size = 0

    def write(self, stream: Stream, data: bytes) -> None:
        """Take in what one stream wrote."""
        self._ends[stream].write(data)
        self.size += len(data)
        if self._file is not None:
            self._store([data])
        elif self._early is not None:
            self._early.append(data)
            self._seen += data.count(b"\n")
            if self.size > self._limit or (self._lines and self._seen > self._lines):
                self._spill(self._early)

    def close(self) -> None:
        """Finish the file on disk."""
        if self._file is not None:
            file, self._file = self._file, None
            try:
                file.close()
            except OSError:
                self.path = None

    def text(self, stream: Stream) -> str:
        """One stream as the model reads it."""
        ends = self._ends[stream]
        where = f"; the whole output is in {self.path}" if self.path is not None else ""
        if ends.binary:
            return f"(binary output, {ends.size} bytes{where}; redirect it to a file to use it)"
        return clip_lines(ends.text(where), self._lines, where) if self._lines else ends.text(where)

    def _spill(self, early: list[bytes]) -> None:
        self._early = None  # asked once: without a place on disk the two ends have to do
        self.path = self._keep()
        if self.path is not None:
            try:
                self._file = self.path.open("wb")
            except OSError:
                self.path = None
                return
            self._store(early)

    def _store(self, parts: list[bytes]) -> None:
        """Write on; a disk that is full must not cost the two ends that are shown."""
        try:
            if self._file is not None:
                self._file.writelines(parts)
        except OSError:
            self.close()
            self.path = None


def clip_lines(text: str, most: int, where: str = "") -> str:
    """The first and the last lines, `most` in all, and between them how many are missing."""
    lines = text.splitlines(keepends=True)
    if len(lines) <= most:
        return text
    half = most // 2
    return (
        f"{''.join(lines[:half])}... ({len(lines) - most} lines left out{where}) ...\n{''.join(lines[half - most :])}"
    )
