"""A change as rows."""

from __future__ import annotations

from difflib import unified_diff

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosh_nb.render.diff import rows, summary, to_html, to_text
from render.safe_html import PAYLOADS, words, wrong

ONE = """--- a/x.py
+++ b/x.py
@@ -1,2 +1,3 @@
 import x
-total = df["revenue"].sum()
+total = df["rev_eur"].sum()
+print(total)
"""


def diff(before: str, after: str) -> str:
    return "".join(unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), "a/x", "b/x"))


def test_the_summary_counts_lines():
    assert summary(ONE) == "+2 −1"


def test_rows_have_signs_and_numbers_without_any_style():
    assert to_text(ONE).splitlines() == [
        "1   import x",
        '2 - total = df["revenue"].sum()',
        '2 + total = df["rev_eur"].sum()',
        "3 + print(total)",
    ]
    assert words(to_html(ONE)).splitlines()[1] == '2 - total = df["revenue"].sum()'


def test_the_changed_words_are_marked():
    changed = diff('total = df["revenue"].sum()\n', 'total = df["rev_eur"].sum()\n')

    assert "<b>revenue</b>" in to_html(changed)
    assert "<b>rev_eur</b>" in to_html(changed)


def test_two_lines_that_have_nothing_in_common_are_not_marked():
    assert "<b>" not in to_html(diff("alpha beta\n", "x = 1 + 2\n"))


def test_lines_that_look_like_heads_are_content():
    shown = to_text(diff("-- old\n", "++ new\n"))

    assert shown.splitlines() == ["1 - -- old", "1 + ++ new"]


def test_a_missing_line_end_is_said():
    assert "No newline at end of file" in to_text(
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"
    )


def test_several_files_are_named():
    two = ONE + ONE.replace("x.py", "y.py")

    assert [row.text for row in rows(two)[0] if row.kind == "file"] == ["x.py", "y.py"]


def test_a_gap_between_hunks_is_shown():
    before = "".join(f"line {i}\n" for i in range(60))
    after = before.replace("line 3\n", "line three\n").replace("line 50\n", "line fifty\n")

    assert sum(row.kind == "gap" for row in rows(diff(before, after))[0]) == 1


def test_a_change_of_a_million_lines_shows_its_start_and_says_how_much_is_left():
    huge = "--- a/x\n+++ b/x\n@@ -0,0 +1,300000 @@\n" + "+x\n" * 300_000
    html = to_html(huge)

    assert html.count("<span") < 1_000
    assert "299,601 more lines" in words(html)


def test_a_line_of_a_million_characters_is_cut():
    assert len(to_html(diff("a" * 1_000_000 + "\n", "b" * 1_000_000 + "\n"))) < 5_000


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_that_acts_survives(payload):
    assert wrong(to_html(diff(f"{payload}\nsame", f"{payload} changed\nsame"), label=payload)) == []


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab<\n -+@", max_size=80), st.text(alphabet="ab<\n -+@", max_size=80))
def test_every_added_and_deleted_line_is_shown_once(before, after):
    made = diff(before, after)
    expected = [line for line in made.split("\n")[2:] if line[:1] in ("+", "-")]
    shown = [("+" if row.kind == "add" else "-") + row.text for row in rows(made)[0] if row.kind in ("add", "del")]

    assert shown == expected
    assert wrong(to_html(made)) == []
