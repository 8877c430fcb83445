"""Lines of a file by number, without reading what lies before them twice.

A first look counts the newlines of each block; the counts are kept (a few KB for a file of many MB), so that the next
look goes straight to its block. Nothing but one block at a time is held in memory.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from cosh_tools.files.opening import Identity

BLOCK = 256 * 1024
_KEPT_INDEXES = 32


class Bytes(Protocol):
    """Something that has bytes at offsets."""

    @property
    def size(self) -> int:
        """How many."""
        ...

    def at(self, offset: int, count: int) -> bytes:
        """Up to `count` bytes from `offset`."""
        ...


@dataclass(frozen=True, slots=True)
class InMemory:
    """Bytes that are already here."""

    data: bytes

    @property
    def size(self) -> int:
        """How many."""
        return len(self.data)

    def at(self, offset: int, count: int) -> bytes:
        """Up to `count` bytes from `offset`."""
        return self.data[offset : offset + count]


@dataclass(frozen=True, slots=True)
class OnDisk:
    """Bytes of an open file."""

    handle: int
    size: int

    def at(self, offset: int, count: int) -> bytes:
        """Up to `count` bytes from `offset`."""
        return os.pread(self.handle, count, offset)


@dataclass(frozen=True, slots=True)
class LineIndex:
    """How many newlines come before the end of each block."""

    ends: array[int]
    total: int
    """Lines in all; a last one without a newline counts."""


class Line(NamedTuple):
    """One line without its ending. `length` is its whole length where `text` was cut."""

    number: int
    raw: bytes
    length: int


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines in a row, and the offsets where they begin and end in the file."""

    lines: tuple[Line, ...]
    start: int
    end: int
    total: int


_indexes: OrderedDict[Identity, LineIndex] = OrderedDict()


def index_of(source: Bytes, identity: Identity | None) -> LineIndex:
    """The index of a source: remembered under its identity, else counted."""
    known = _indexes.get(identity) if identity is not None else None
    if known is not None:
        return known
    index = _count(source)
    if identity is not None:
        _indexes[identity] = index
        while len(_indexes) > _KEPT_INDEXES:
            _indexes.popitem(last=False)
    return index


def excerpt(source: Bytes, index: LineIndex, first: int, count: int, widest: int, most: int) -> Excerpt:
    """Up to `count` lines from number `first` (from 1), each cut to `widest` bytes, `most` bytes in all."""
    start = _offset_of(source, index, first)
    lines: list[Line] = []
    offset, spent, base, block = start, 0, start, b""
    while len(lines) < count and offset < source.size and spent < most:
        at = offset - base
        end = block.find(b"\n", at)
        if end < 0:
            base, block, at = offset, source.at(offset, BLOCK), 0
            end = block.find(b"\n")
        if end >= 0:
            head, length, offset = block[at : min(end, at + widest)], end - at, base + end + 1
        else:
            head, after = block[:widest], _end_of_line(source, offset + len(block))
            length, offset = after - offset, after + 1
        lines.append(Line(first + len(lines), head, length))
        spent += len(head) + 8
    return Excerpt(tuple(lines), start, min(offset, source.size), index.total)


def _count(source: Bytes) -> LineIndex:
    ends, seen, offset, last = array("Q"), 0, 0, b"\n"
    if isinstance(source, OnDisk) and hasattr(os, "preadv"):
        buffer = bytearray(BLOCK)
        view = memoryview(buffer)
        while got := os.preadv(source.handle, [buffer], offset):
            seen += buffer.count(b"\n", 0, got)
            ends.append(seen)
            last = bytes(view[got - 1 : got])
            offset += got
            if got < BLOCK:
                break
    else:
        while block := source.at(offset, BLOCK):
            seen += block.count(b"\n")
            ends.append(seen)
            last = block[-1:]
            offset += len(block)
    return LineIndex(ends, seen + (last != b"\n"))


def _offset_of(source: Bytes, index: LineIndex, number: int) -> int:
    """Where a line begins; the size of the source for one past the last."""
    before = number - 1  # so many newlines come before it
    if before <= 0:
        return 0
    block = bisect_left(index.ends, before)
    if block == len(index.ends):
        return source.size
    missing = before - (index.ends[block - 1] if block else 0)
    data, at = source.at(block * BLOCK, BLOCK), -1
    for _ in range(missing):
        at = data.find(b"\n", at + 1)
    return block * BLOCK + at + 1


def _end_of_line(source: Bytes, offset: int) -> int:
    """Where a line ends that has no end before `offset`."""
    while block := source.at(offset, BLOCK):
        found = block.find(b"\n")
        if found >= 0:
            return offset + found
        offset += len(block)
    return offset
