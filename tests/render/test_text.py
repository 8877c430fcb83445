"""A turn in a terminal."""

from __future__ import annotations

from cosh_nb import events as e
from cosh_nb.render.markup import clip, count, seconds, shorten
from cosh_nb.render.text import TextTurn, transcript
from cosh_tools.contract import ToolCall
from cosh_tools.results import ToolResult
from looks import scenes


def test_prose_appears_as_it_arrives_and_rows_stand_on_lines_of_their_own():
    turn = TextTurn()
    call = ToolCall("b", "Bash", {"command": "make"})

    assert turn.feed(e.TextDelta("I’ll ")) == "I’ll "
    assert turn.feed(e.TextDelta("make it.")) == "make it."
    assert turn.feed(e.ToolStarted(call, "run", "make")) == "\n● Running make\n"
    assert (
        turn.feed(e.ToolFinished(call, ToolResult.success("ok"), "run", "make", 2.0)) == "✓ Ran make · 2.0 s\n    ok\n"
    )
    assert turn.feed(e.TextDelta("Done.")) == "\nDone."


def test_a_whole_turn_reads_well():
    text = transcript(list(scenes.finished()), at="13:42")

    assert "✓ Read sales.csv · 3 rows, 2 columns · 12 ms" in text
    assert "1 + df.groupby('month')['rev_eur'].sum().plot(kind='bar')" in text
    assert "✗ Ran cell 3 · ImportError: matplotlib is required for plotting · 0.4 s" in text
    assert text.endswith("Done in 14.2 s · 3.3k tokens · $0.012 · sonnet, 13:42\n")


def test_an_error_is_said_once():
    assert transcript(list(scenes.failed())).count("The model did not answer.") == 1


def test_refusals_say_who_and_why():
    assert "⊘ Not run pip install -q matplotlib · you: “use altair”" in transcript(list(scenes.refused()))


def test_no_escape_of_a_model_reaches_the_terminal():
    turn = TextTurn()
    said = turn.feed(e.TextDelta("\x1b]0;title\x07\x1b[2Jx"))
    call = ToolCall("b", "Bash", {"command": "x"})
    said += turn.feed(e.ToolFinished(call, ToolResult.success("\x1b[2Jy\x07"), "run", "\x1b[31mx", 1.0))

    assert "\x1b" not in said
    assert "\x07" not in said


def test_durations_and_counts_are_in_the_words_of_a_person():
    assert [seconds(value) for value in (0.0004, 0.012, 0.4, 14.23, 59.97, 185, 7_300)] == [
        "0 ms", "12 ms", "0.4 s", "14.2 s", "1 min 00 s", "3 min 05 s", "2 h 01 min"
    ]  # fmt: skip
    assert [count(1, "file"), count(2, "file"), count(1200, "file")] == ["1 file", "2 files", "1,200 files"]


def test_a_long_text_keeps_its_head_and_tail():
    text = "\n".join(f"line {number}" for number in range(10_000))
    short = clip(text, 1_000)

    assert short.startswith("line 0\n")
    assert short.endswith("line 9999")
    assert "KB not shown" in short
    assert len(short) < 1_100
    assert shorten("a\n b" + "c" * 50, 10) == "a bcccccc…"
