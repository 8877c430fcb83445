"""Lines out of chunks, what stdin holds, and the one owner of stdout."""

from __future__ import annotations

import asyncio
import os
import random
import threading

import pytest

from cosh_nb.headless.protocol import BadLine
from cosh_nb.headless.reader import Lines
from cosh_nb.headless.start import JsonLines, Neither, Piped, look
from cosh_nb.headless.writer import Writer


@pytest.mark.parametrize("seed", range(20))
def test_lines_are_the_same_however_they_were_cut(seed):
    rng = random.Random(seed)
    wanted = [bytes(rng.choices(b"abc {}\x00\xff\xc3", k=rng.randrange(1, 60))) + b"." for _ in range(50)]
    data = b"".join(line + b"\n" for line in wanted)
    lines, found = Lines(), []

    while data:
        size = rng.randrange(1, 80)
        found += lines.push(data[:size])
        data = data[size:]
    found += lines.end()

    assert found == wanted


def test_the_last_line_needs_no_newline():
    lines = Lines()

    assert [*lines.push(b"one\ntwo"), *lines.end()] == [b"one", b"two"]


def test_a_line_that_is_too_long_is_dropped_as_it_comes_and_reported_once():
    lines = Lines(longest=1000)
    found = list(lines.push(b"first\n"))

    for _ in range(100):
        found += lines.push(b"x" * 500)
        assert len(lines._line) <= 1000
    found += lines.push(b"\nlast\n")

    assert [found[0], found[2]] == [b"first", b"last"]
    assert isinstance(found[1], BadLine)
    assert len(found) == 3


def start_of(data: bytes, *, close: bool = True, input_format: str = "auto"):
    out, into = os.pipe()
    os.write(into, data)
    if close:
        os.close(into)
    try:
        return look(out, input_format)
    finally:
        os.close(out)
        if not close:
            os.close(into)


def test_plain_text_that_ends_is_a_request():
    assert start_of("erkläre\nmir das\n".encode()) == Piped("erkläre\nmir das\n")


@pytest.mark.parametrize("data", [b'{"type":"user"', b'\n\n {"a"', b"[1]\n", b"5\n", b"\xff\xfe\n", b"a\x00b\n", b""])
def test_what_is_no_plain_text_is_taken_as_lines(data):
    assert isinstance(start_of(data), JsonLines)


def test_text_whose_input_stays_open_comes_from_a_client_that_speaks_wrongly():
    found = start_of(b"hello\n", close=False)

    assert isinstance(found, Neither)
    assert "JSON lines" in found.why


def test_whoever_says_what_the_input_is_is_believed():
    assert start_of(b"hello", input_format="stream-json", close=False) == JsonLines(b"")
    assert start_of(b'{"a": 1}', input_format="text") == Piped('{"a": 1}')


async def test_a_slow_reader_gets_everything_in_order_and_stalls_nothing():
    out, into = os.pipe()
    writer = Writer(into, lambda: None)

    for number in range(20_000):
        writer.put(b"%d" % number)  # far more than the pipe holds; put never waits
    reader = asyncio.create_task(asyncio.to_thread(_read_all, out))
    await writer.close()
    os.close(into)

    assert (await reader).split() == [b"%d" % number for number in range(20_000)]


async def test_a_client_that_went_away_is_noticed_without_writing():
    out, into = os.pipe()
    gone = asyncio.Event()
    writer = Writer(into, gone.set)

    os.close(out)
    await asyncio.wait_for(gone.wait(), 5)

    assert writer.gone
    await writer.close()
    os.close(into)


async def test_a_client_that_never_reads_does_not_fill_the_memory():
    out, into = os.pipe()
    gone = asyncio.Event()
    writer = Writer(into, gone.set)

    for _ in range(80):
        writer.put(b"x" * (1 << 20))

    assert gone.is_set()
    os.close(out)
    await writer.close()
    os.close(into)


async def test_a_line_end_inside_a_text_is_no_line_end_for_any_reader():
    out, into = os.pipe()
    writer = Writer(into, lambda: None)

    writer.put('{"a":"x\u2028y\u2029z"}'.encode())
    await writer.close()
    os.close(into)

    assert len(_read_all(out).decode().splitlines()) == 1


def _read_all(fd: int) -> bytes:
    parts = []
    while chunk := os.read(fd, 65536):
        parts.append(chunk)
    os.close(fd)
    return b"".join(parts)


def test_no_thread_of_ours_is_left():
    assert not [thread for thread in threading.enumerate() if thread.name == "cosh-stdout"]
