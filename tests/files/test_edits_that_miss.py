"""Edit: when the text is not there, the model learns what is, where, and what differs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from support.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def missed(desk: Desk, text: str, old: str) -> str:
    desk.file("a.py", text)
    await desk("Read", file_path="a.py")
    result = await desk("Edit", file_path="a.py", old_string=old, new_string="something else entirely")
    assert result.is_error
    assert result.content.startswith("old_string not found in a.py. Make sure the string matches exactly. ")
    return result.content.removeprefix("old_string not found in a.py. Make sure the string matches exactly. ")


async def test_spaces_for_tabs_are_named_and_tabs_made_visible(desk: Desk):
    said = await missed(desk, "def f():\n\tif x:\n\t\treturn 1\n", "    if x:\n        return 1")
    assert said == (
        "The nearest text begins at line 2: the file has tabs where yours has spaces.\n"
        "2\t\N{RIGHTWARDS ARROW}if x:\n3\t\N{RIGHTWARDS ARROW}\N{RIGHTWARDS ARROW}return 1"
    )


async def test_tabs_for_spaces_are_named(desk: Desk):
    assert "the file has spaces where yours has tabs" in await missed(desk, "def f():\n    return 1\n", "\treturn 1")


async def test_another_indent_is_counted(desk: Desk):
    said = await missed(desk, "class A:\n    def f(self):\n        return 1\n", "  def f(self):\n    return 1")
    assert "it is indented by 4 spaces, yours by 2" in said


async def test_spaces_at_the_end_of_a_line_are_shown_as_dots(desk: Desk):
    said = await missed(desk, "value = 1  \nother = 2\n", "value = 1\nother = 2")
    assert "spaces at the end of a line differ" in said
    assert "1\tvalue = 1\N{MIDDLE DOT}\N{MIDDLE DOT}\n" in said


async def test_quotes_that_cannot_be_meant_are_named(desk: Desk):
    said = await missed(desk, "print(“a”,  b)\n", 'print("a", b)')
    assert "the quote marks differ" in said or "spaces within a line differ" in said


async def test_a_non_breaking_space_is_named(desk: Desk):
    assert "non-breaking space" in await missed(desk, "a\N{NO-BREAK SPACE}= 1\n", "a = 1")


async def test_another_word_is_quoted_from_both(desk: Desk):
    said = await missed(desk, "def load(path):\n    return open(path).read()\n", "    return open(name).read()")
    assert "line 2: the file has 'path).read()' where yours has 'name).read()'" in said


async def test_line_numbers_that_were_copied_along_are_noticed(desk: Desk):
    said = await missed(desk, "one\ntwo\n", "1\tone\n2\ttwo")
    assert said.startswith("It begins with line numbers")


async def test_text_like_nothing_in_the_file_is_said_to_be_so(desk: Desk):
    assert "Nothing in the file is like it." in await missed(desk, "alpha\nbeta\n", "zzzzzzzz qqqqqqqq")


async def test_the_best_of_several_places_is_found(desk: Desk):
    text = "".join(f"def f{n}():\n    return {n}\n\n" for n in range(200))
    said = await missed(desk, text, "def f150():\n     return 150\n")
    assert "begins at line 451" in said


async def test_a_text_beyond_the_end_is_noticed(desk: Desk):
    assert "the file ends there" in await missed(desk, "a = 1\nb = 2\n", "a = 1\nb = 2\nc = 3\nd = 4")


async def test_an_explanation_of_a_large_file_takes_no_long_time(desk: Desk):
    text = "".join(f"value_{n} = compute(alpha, beta, {n})\n" for n in range(60_000))
    started = time.monotonic()
    said = await missed(desk, text, "value_59999  =  compute(alpha, beta, 59999)")
    assert "line 60000" in said
    assert time.monotonic() - started < 15
