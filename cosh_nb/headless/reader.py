"""The one reader of stdin: it reads at all times, keeps memory bounded, and hands over messages in order.

A thread reads, so that any stdin works (pipe, socket, file, terminal) and parsing a large line stalls nothing.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from cosh_nb.headless.protocol import BadLine
from cosh_nb.headless.start import CHUNK, LONGEST, InputFormat, JsonLines, Neither, Piped, look

M = TypeVar("M")


@dataclass
class Lines:
    """Lines out of chunks. A line that is too long is dropped as it arrives and reported once, at its end."""

    longest: int = LONGEST
    _line: bytearray = field(default_factory=bytearray)
    _dropping: bool = False

    def push(self, chunk: bytes) -> Iterator[bytes | BadLine]:
        """The lines that this chunk completes, without blank ones."""
        *whole, tail = chunk.split(b"\n")
        for piece in whole:
            self._keep(piece)
            line = self._take()
            if isinstance(line, BadLine) or line.strip():
                yield line
        self._keep(tail)

    def end(self) -> Iterator[bytes | BadLine]:
        """A last line without its newline."""
        if self._line or self._dropping:
            line = self._take()
            if isinstance(line, BadLine) or line.strip():
                yield line

    def _keep(self, piece: bytes) -> None:
        if self._dropping:
            return
        if len(self._line) + len(piece) > self.longest:
            self._dropping = True
            self._line = bytearray()
            return
        self._line += piece

    def _take(self) -> bytes | BadLine:
        line, dropped = bytes(self._line), self._dropping
        self._line, self._dropping = bytearray(), False
        if dropped:
            return BadLine(f"The line is longer than {self.longest >> 20} MB. Send a path instead of the content.")
        return line


class Reader(Generic[M]):
    """Feeds `take` (on the loop) with messages, then `end` once. It never reads ahead of a `take` that is running."""

    def __init__(
        self,
        fd: int,
        take: Callable[[Sequence[M | BadLine]], None],
        end: Callable[[], None],
        parse: Callable[[bytes], M | BadLine],
    ) -> None:
        self._fd = fd
        self._take = take
        self._end = end
        self._parse = parse
        self._loop = asyncio.get_running_loop()

    def start(self, input_format: InputFormat, piped: Callable[[str], None]) -> None:
        """Read from now on. Where the input is a request in plain words, `piped` gets all of it."""
        threading.Thread(target=self._run, args=(input_format, piped), name="cosh-stdin", daemon=True).start()

    def _run(self, input_format: InputFormat, piped: Callable[[str], None]) -> None:
        chunk = b""
        try:
            match look(self._fd, input_format):
                case Piped(text=text):
                    self._on_loop(lambda: piped(text))
                case Neither(why=why):
                    self._hand_over([BadLine(why)])
                    return
                case JsonLines(first=chunk):
                    pass
        except OSError:
            pass  # a closed descriptor is an end like any other
        self._read(chunk)

    def _read(self, chunk: bytes) -> None:
        lines = Lines()
        while True:
            if chunk and not self._hand_over([self._message(line) for line in lines.push(chunk)]):
                return
            try:
                chunk = os.read(self._fd, CHUNK)
            except OSError:
                chunk = b""  # a closed descriptor is an end like any other
            if not chunk:
                break
        if self._hand_over([self._message(line) for line in lines.end()]):
            self._on_loop(self._end)

    def _hand_over(self, batch: Sequence[M | BadLine]) -> bool:
        return not batch or self._on_loop(lambda: self._take(batch))

    def _on_loop(self, work: Callable[[], None]) -> bool:
        """Run on the loop and wait for it, so that what is read never piles up; False when the loop is gone."""
        done = threading.Event()

        def run() -> None:
            try:
                work()
            finally:
                done.set()

        try:
            self._loop.call_soon_threadsafe(run)
        except RuntimeError:
            return False
        while not done.wait(1):
            if self._loop.is_closed():
                return False
        return True

    def _message(self, line: bytes | BadLine) -> M | BadLine:
        return line if isinstance(line, BadLine) else self._parse(line)
