"""Output of a terminal: its colours as classes, its tricks undone, its floods bounded."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosh_nb.render.ansi import strip, to_html
from render.safe_html import PAYLOADS, wrong


def test_colours_become_classes():
    html = to_html("\x1b[31mred\x1b[0m \x1b[1;4;92mok\x1b[m plain")

    assert html == '<span class="a1">red</span> <span class="ab au a10">ok</span> plain'


def test_many_colours_become_the_nearest_of_sixteen():
    assert 'class="a1"' in to_html("\x1b[38;2;190;20;20mx")
    assert 'class="a10"' in to_html("\x1b[38;5;46mx")
    assert 'class="b4"' in to_html("\x1b[48;2;10;10;180mx")


def test_a_progress_bar_shows_its_last_state():
    assert to_html("10%\r50%\r\x1b[K100%\ndone\r\n") == "100%\ndone\n"


def test_overstrikes_of_old_manuals_are_read():
    assert strip("N\x08NA\x08AM\x08ME\x08E _\x08f_\x08i_\x08l_\x08e") == "NAME file"


def test_titles_links_and_cursor_moves_are_dropped():
    text = "\x1b]0;title\x07a\x1b]8;;https://x.org\x1b\\b\x1b]8;;\x1b\\\x1b[2J\x1b[10;5Hc\x1b(Bd\x9b1me\x07\x00"

    assert strip(text) == "abcde"


def test_an_escape_that_never_ends_eats_nothing_before_it():
    assert strip("before \x1b]0;never ends").startswith("before ")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_that_acts_survives(payload):
    assert wrong(to_html(f"\x1b[31m{payload}\x1b[0m\r{payload}")) == []


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="a<&\x1b[]0;1m\r\n\x08\x07\x9b\x9d38:5", max_size=200))
def test_any_mixture_of_escapes_gives_whole_tags(text):
    assert wrong(to_html(text)) == []
    assert "\x1b" not in to_html(text) + strip(text)


@pytest.mark.parametrize(
    "bomb",
    [
        "\x1b[31mx" * 1_000_000,
        "\x1b[" * 2_500_000,
        "a\r" * 2_000_000,
        "\x08" * 5_000_000,
        "x" * 50_000_000,
        "x\n" * 3_000_000,
        "\x1b]" * 2_000_000,
        "\x1b[" + "1;" * 2_000_000 + "m",
    ],
)
def test_bombs_are_bounded(bomb):
    started = time.process_time()
    html = to_html(bomb)

    assert len(html) < 200_000
    assert html.count("<span") < 3_000
    assert time.process_time() - started < 2
