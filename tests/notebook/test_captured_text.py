"""Bounded text and what a terminal would show of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosh_nb.notebook.capture import ENTRIES, TEXT, BoundedText, Capture
from cosh_tools.terminal import readable


@given(st.lists(st.text("ab\n", max_size=40), max_size=60), st.integers(2, 60))
def test_a_bounded_text_keeps_its_beginning_and_its_end(pieces, limit):
    whole = "".join(pieces)
    bounded = BoundedText(limit)
    for piece in pieces:
        bounded.append(piece)

    shown = str(bounded)

    if len(whole) <= limit:
        assert shown == whole
    assert shown.startswith(whole[: limit // 2])
    assert shown.endswith(whole[max(len(whole) - limit // 2, limit // 2) :] if len(whole) > limit // 2 else "")
    assert bounded.size <= 2 * limit + max(map(len, pieces), default=0)


def test_what_is_left_out_is_counted():
    bounded = BoundedText(10)
    bounded.append("x" * 1000)

    assert str(bounded) == "xxxxx\n[... 990 characters left out ...]\nxxxxx"


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("plain\n", "plain\n"),
        ("\x1b[31mred\x1b[0m\n", "red\n"),
        ("10%\r20%\r100%\n", "100%\n"),
        ("abcdef\rXY\n", "XYcdef\n"),
        ("loading 50%\r\x1b[Kdone\n", "done\n"),
        ("loading\r       \rok\n", "ok\n"),
        ("\x1b]0;a title without end\nthe rest", "\nthe rest"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("ab\bc", "ac"),
        ("\b\bx", "x"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
    ],
)
def test_text_is_read_as_a_terminal_would_show_it(written, seen):
    assert readable(written) == seen


def test_a_line_drawn_over_very_often_is_read_in_one_go():
    bar = "x" * 300_000 + "\ry" * 300_000 + "\b" * 200_000

    assert readable(bar) == "y" + "x" * 299_999


def test_streams_that_alternate_for_ever_stay_bounded_and_lose_no_stream():
    capture = Capture()
    for number in range(ENTRIES * 5):
        capture.write("stdout" if number % 2 else "stderr", f"{number}\n")

    assert len(capture.outputs()) <= ENTRIES + 1
    assert f"{ENTRIES * 5 - 1}\n" in capture.text()
    assert f"{ENTRIES * 5 - 2}\n" in capture.text()


def test_ten_thousand_displays_are_counted_not_kept():
    capture = Capture()
    for number in range(10_000):
        capture.show({"text/plain": str(number)})

    assert len(capture.outputs()) == ENTRIES
    assert f"[{10_000 - ENTRIES} more outputs left out]" in capture.text()


def test_clear_output_that_waits_clears_with_the_next_output():
    capture = Capture()
    capture.write("stdout", "old\n")
    capture.clear(wait=True)
    assert capture.text() == "old\n"
    capture.write("stdout", "new\n")
    assert capture.text() == "new\n"


def test_a_huge_table_and_a_huge_picture_are_cut_before_they_reach_anybody():
    capture = Capture()
    capture.show({"text/html": "<td>" * TEXT * 4, "image/png": "A" * 10_000_000, "text/plain": "small"})

    [output] = capture.outputs()
    assert len(output["data"]["text/html"]) < 2_100_000
    assert "image/png" not in output["data"]
    assert capture.images() == ()
    assert capture.text() == "small"
