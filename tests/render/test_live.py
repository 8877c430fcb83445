"""The display of a turn while it happens: how often, how much, and what is left when it ends."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from cosh_nb import events as e
from cosh_nb.notebook.live import LiveDisplay
from cosh_nb.render.markup import Rendered
from cosh_nb.render.turn import TurnView
from cosh_tools.hosts import Allowed
from looks import scenes
from render.safe_html import words


@dataclass
class CellOutputs:
    """The outputs of a cell, kept as a front end keeps them: in the order shown, replaced by id."""

    bundles: dict[str, dict[str, str]] = field(default_factory=dict)
    sent: list[tuple[float, str, int]] = field(default_factory=list)

    def show(self, bundle, display_id):
        assert display_id not in self.bundles
        self.update(bundle, display_id)

    def update(self, bundle, display_id):
        self.bundles[display_id] = dict(bundle)
        self.sent.append((time.monotonic(), display_id, sum(map(len, bundle.values()))))

    @property
    def text(self):
        return "\n".join(words(bundle["text/html"]) for bundle in self.bundles.values())


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def test_the_first_words_are_shown_at_once():
    cell = CellOutputs()
    live = LiveDisplay(scenes.view(), cell)
    started = time.monotonic()
    for event in scenes.start():
        live.feed(event)

    until(lambda: "Waiting for sonnet" in cell.text)
    assert time.monotonic() - started < 1  # 0.3 s on a free machine
    live.close()


def test_a_fast_stream_is_drawn_eight_times_a_second_at_most():
    cell = CellOutputs()
    live = LiveDisplay(TurnView(), cell)
    live.feed(e.TurnStarted(1, "x", "m"))
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        live.feed(e.TextDelta("word "))
        time.sleep(0.002)
    drawn = {round(when, 2) for when, _, _ in cell.sent}
    live.close()

    assert 3 <= len(drawn) <= 1.5 * 8 + 3


def test_a_flood_is_drawn_less_often_so_that_the_page_keeps_up():
    cell = CellOutputs()
    live = LiveDisplay(TurnView(), cell)
    live.feed(e.TurnStarted(1, "x", "m"))
    text = scenes.long_answer(200_000)
    for at in range(0, len(text), 1_000):
        live.feed(e.TextDelta(text[at : at + 1_000]))
        time.sleep(0.005)
    spent = sum(size for _, _, size in cell.sent)
    live.feed(e.TurnEnded("done", e.Usage(), 1.0))

    assert spent < 600_000
    assert "Part 100" in cell.text


def test_the_last_event_is_shown_before_feed_returns_and_everything_has_plain_text():
    cell = CellOutputs()
    live = LiveDisplay(scenes.view(), cell)
    for event in scenes.finished():
        live.feed(event)

    assert "Done in 14.2 s" in cell.text
    assert all("text/plain" in bundle for bundle in cell.bundles.values())
    assert {kind for bundle in cell.bundles.values() for kind in bundle} == {"text/html", "text/plain"}


def test_a_turn_that_is_cut_without_its_end_leaves_what_it_said():
    cell = CellOutputs()
    live = LiveDisplay(scenes.view(), cell)
    for event in (*scenes.start(), e.TextDelta("Half a sen")):
        live.feed(event)
    live.close()

    assert "Half a sen" in cell.text


def test_while_prose_streams_only_html_goes_out():
    cell = CellOutputs()
    live = LiveDisplay(scenes.view(), cell)
    live.stop()
    for event in (*scenes.start(), e.TextDelta("Hello")):
        live.feed(event)
    live.draw()

    assert "Hello" in cell.text
    assert "text/plain" not in list(cell.bundles.values())[-1]


def test_what_stands_still_has_plain_text_too_so_that_a_killed_kernel_leaves_it():
    cell = CellOutputs()
    live = LiveDisplay(scenes.view(), cell)
    for event in scenes.waiting():
        live.feed(event)

    until(lambda: all("text/plain" in bundle for bundle in cell.bundles.values()) and len(cell.bundles) > 2)
    assert any("Run this command?" in bundle["text/plain"] for bundle in cell.bundles.values())
    live.stop()


def test_no_thread_is_left_when_the_turn_is_over():
    before = threading.active_count()
    for _ in range(20):
        live = LiveDisplay(scenes.view(), CellOutputs())
        for event in scenes.finished():
            live.feed(event)

    until(lambda: threading.active_count() <= before)


def test_the_time_in_the_footer_moves_without_events():
    cell = CellOutputs()
    live = LiveDisplay(TurnView(), cell)
    live.feed(e.TurnStarted(1, "x", "m"))

    until(lambda: " 2 s" in cell.text)
    live.close()


def test_drawings_are_posted_to_the_thread_that_may_show_and_never_pile_up():
    cell, posted = CellOutputs(), []
    live = LiveDisplay(TurnView(), cell, posted.append)
    for event in (*scenes.start(), *scenes.text("word " * 50)):
        live.feed(event)
    until(lambda: posted)
    for _ in range(50):
        live.feed(e.TextDelta("more "))
        time.sleep(0.01)

    assert len(posted) == 1
    assert cell.bundles == {}
    posted.pop()()
    assert "word word" in cell.text
    live.close()
    posted[-1]()
    assert "more more" in cell.text


def test_a_card_gets_the_output_of_its_question_until_it_gives_it_back():
    cell = CellOutputs()
    live = LiveDisplay(scenes.view(), cell)
    for event in scenes.waiting():
        live.feed(event)
    place = live.lend("t4")
    cell.update({"text/html": "<button>Run once</button>", "text/plain": "waiting"}, place)
    live.feed(e.ApprovalAnswered(scenes.ASK_PIP, Allowed()))
    live.feed(e.ToolStarted(scenes.PIP, "run", "pip install -q matplotlib", "you allowed it once"))
    time.sleep(0.3)
    assert "Run once" in cell.bundles[place]["text/html"]  # nothing was drawn over the card

    live.give_back("t4")

    assert "Running pip install -q matplotlib" in words(cell.bundles[place]["text/html"])
    live.close()


def test_a_card_that_is_answered_shows_its_row_at_once():
    cell = CellOutputs()
    live = LiveDisplay(scenes.view(), cell)
    for event in scenes.waiting():
        live.feed(event)
    place = live.lend("t4")

    live.give_back("t4", Rendered("<p>answered</p>", "answered"))

    assert words(cell.bundles[place]["text/html"]) == "answered"
    live.feed(e.ApprovalAnswered(scenes.ASK_PIP, Allowed()))
    until(lambda: "answered" not in words(cell.bundles[place]["text/html"]))
    live.close()


def test_the_end_of_the_turn_takes_a_lent_output_back():
    cell = CellOutputs()
    live = LiveDisplay(scenes.view(), cell)
    for event in scenes.waiting():
        live.feed(event)
    place = live.lend("t4")
    cell.update({"text/html": "<button>Run once</button>"}, place)

    live.feed(e.TurnEnded("interrupted", e.Usage(), 1.0))

    assert "Not run" in words(cell.bundles[place]["text/html"])


def test_a_question_that_stands_nowhere_lends_nothing():
    live = LiveDisplay(scenes.view(), CellOutputs())
    for event in scenes.start():
        live.feed(event)

    assert live.lend("nobody") is None
    live.close()
