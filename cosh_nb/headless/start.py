"""What stdin holds: JSON lines of a client, or the piped text of a person's request."""

from __future__ import annotations

import os
import select
from dataclasses import dataclass
from typing import Literal

import orjson

InputFormat = Literal["auto", "text", "stream-json"]

LONGEST = 32 << 20
"""Bytes of one line, and of a piped request. No model service takes a longer one."""
CHUNK = 1 << 16
PATIENCE = 3.0
"""Seconds without news after which text that is no JSON is not a pipe that ends, but a client that speaks wrongly."""


@dataclass(frozen=True, slots=True)
class Piped:
    """The whole input is a request in plain words."""

    text: str


@dataclass(frozen=True, slots=True)
class JsonLines:
    """The input is JSON lines; `first` was read already."""

    first: bytes


@dataclass(frozen=True, slots=True)
class Neither:
    """It is not JSON, and it is not text that ends."""

    why: str


def look(fd: int, input_format: InputFormat) -> Piped | JsonLines | Neither:
    """Read until it is clear what the input is; nothing is read where that was said."""
    if input_format == "stream-json":
        return JsonLines(b"")
    if input_format == "text":
        return _to_the_end(fd, b"", None)
    data = b""
    while not data.strip():
        chunk = os.read(fd, CHUNK)
        if not chunk:
            return JsonLines(b"")
        data += chunk
        if len(data) > LONGEST:
            return Neither("The input holds nothing but blanks.")
    if not _is_text(data):
        return JsonLines(data)
    # Whoever sees the lines on a terminal typed the pipe; a client would wait for an answer.
    return _to_the_end(fd, data, None if os.isatty(1) else PATIENCE)


def _to_the_end(fd: int, data: bytes, patience: float | None) -> Piped | Neither:
    parts, size = [data], len(data)
    while True:
        if patience is not None and not select.select([fd], [], [], patience)[0]:
            return Neither(
                "The input is not JSON and stays open. Send JSON lines, or close the input after a plain request "
                "(--input-format text waits for its end)."
            )
        chunk = os.read(fd, CHUNK)
        if not chunk:
            break
        parts.append(chunk)
        size += len(chunk)
        if size > LONGEST:
            return Neither(f"The piped text is longer than {LONGEST >> 20} MB. Save it to a file and name that.")
    try:
        return Piped(b"".join(parts).decode("utf-8"))
    except UnicodeDecodeError:
        return Neither("The piped text is not valid UTF-8. Save it to a file and name that.")


def _is_text(data: bytes) -> bool:
    """Whether the start cannot be a message: no brace, no other JSON value on its first line, no binary."""
    start = data.lstrip()
    line = start.split(b"\n", 1)[0]
    if start.startswith(b"{") or b"\0" in start:
        return False
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        pass
    else:
        return False
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.end == len(line) and len(start) == len(line)  # only cut at the end of a chunk
    return True
