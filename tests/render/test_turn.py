"""A turn as outputs of a cell: what is shown, what is sent again, and how it ends."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosh_nb import events as e
from cosh_nb.render.slots import TAIL
from cosh_nb.render.style import framed
from cosh_nb.render.turn import TurnView
from cosh_tools.contract import ToolCall
from cosh_tools.hosts import Allowed, Refused
from cosh_tools.results import Media, ToolResult
from looks import scenes
from render.safe_html import PAYLOADS, Reader, words, wrong

OK = ToolResult.success("fine")


def read(number: int, result: ToolResult = OK) -> list[e.Event]:
    call = ToolCall(f"r{number}", "Read", {"file_path": f"f{number}.txt"})
    return list(scenes.ran(call, "read", f"f{number}.txt", result, 0.01))


def shown(view: TurnView) -> str:
    """The text of all outputs as a person reads them."""
    return "\n".join(words(slot.html) for slot in view.outputs() if slot.id)


def fed(*events: e.Event) -> TurnView:
    view = scenes.view()
    for event in events:
        view.feed(event)
    return view


def rows(view: TurnView) -> list[str]:
    """The first line of each output's pieces, as plain text."""
    return [line for slot in view.outputs() for line in slot.text.splitlines() if line and not line.startswith(" ")]


# -- streaming ---------------------------------------------------------------------------------------------------------


def test_prose_streams_into_one_output_and_is_frozen_block_by_block():
    view = fed(*scenes.start(), e.TextDelta("First block.\n\nSec"))
    first = view.outputs()

    assert [slot.frozen for slot in first] == [True, False]
    assert "First block." in first[1].html
    assert "Sec" in first[1].html
    view.feed(e.TextDelta("ond"))
    assert [slot.id for slot in view.outputs() if slot.changed] == [1]


def test_nothing_is_sent_when_nothing_happened():
    view = fed(*scenes.working())
    view.outputs()

    assert not any(slot.changed for slot in view.outputs())


def test_only_the_last_output_is_sent_again_while_a_long_answer_streams():
    text = ("A paragraph of some length, with `code` and **bold** words in it, as models write them.\n\n" * 400)[
        :30_000
    ]
    view = fed(*scenes.start())
    for at in range(0, len(text), 50):
        view.feed(e.TextDelta(text[at : at + 50]))
        slots = view.outputs()
        live = [slot for slot in slots if slot.changed and not slot.frozen]
        assert [slot.id for slot in live] in ([], [slots[-1].id])
        assert all(len(slot.html) < TAIL * 1.5 for slot in live)


def test_an_answer_of_a_hundred_kilobytes_costs_little_and_stays_under_fifty_outputs():
    text = scenes.long_answer(100_000)
    view = TurnView()
    view.feed(e.TurnStarted(1, "x", "m"))
    sent = 0
    started = time.process_time()
    for number, at in enumerate(range(0, len(text), 20)):
        view.feed(e.TextDelta(text[at : at + 20]))
        if number % 64 == 63:  # eight times a second at 10 KB/s
            sent += sum(len(slot.html) + len(slot.text) * slot.frozen for slot in view.outputs() if slot.changed)
    view.feed(e.TurnEnded("done", e.Usage(1, 1), 10.0))
    slots = view.outputs()
    sent += sum(len(slot.html) + len(slot.text) for slot in slots if slot.changed)
    spent = time.process_time() - started

    assert len(slots) < 50
    assert sent < 600_000  # the budget of 0.4 MB, at the pace of a real display, is measured by the bench
    assert spent < 2
    assert "".join(text.split()) in "".join("".join(slot.text for slot in slots).split())


PIECES = ["word ", "\n", "\n\n", "```\n", "- a\n", "| a | b |\n", "$x$ ", "x" * 700 + " "]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=80), st.integers(1, 9))
def test_however_often_it_is_drawn_the_text_is_all_there_once(parts, every):
    view = fed(*scenes.start())
    for number, part in enumerate(parts):
        view.feed(e.TextDelta(part))
        if number % every == 0:
            view.outputs()
    view.feed(e.MessageDone((), "end_turn", e.Usage()))
    said = "".join(slot.text for slot in view.outputs()).partition("●")[0]

    if "```\n" not in parts and "| a | b |\n" not in parts:  # long fences and tables repeat their heads
        assert "".join(said.split()) == "".join("".join(parts).split())
    assert all(wrong(slot.html) == [] for slot in view.outputs())


# -- steps -------------------------------------------------------------------------------------------------------------


def test_a_row_says_verb_object_result_and_time():
    result = OK.with_metadata(summary="3 rows, 2 columns")
    view = fed(*scenes.start(), *read(1, result))

    assert "✓ Read f1.txt · 3 rows, 2 columns · 10 ms" in shown(view)


def test_no_check_mark_stands_before_the_end():
    call = ToolCall("b", "Bash", {"command": "sleep 9"})
    view = fed(*scenes.start(), *scenes.declared(call), e.ToolStarted(call, "run", "sleep 9"))

    assert "● Running sleep 9" in shown(view)
    assert "✓" not in shown(view)


def test_a_running_command_shows_its_last_lines():
    call = ToolCall("b", "Bash", {"command": "make"})
    view = fed(*scenes.start(), *scenes.declared(call), e.ToolStarted(call, "run", "make"))
    for number in range(500):
        view.feed(e.ToolProgress("b", f"line {number}\n"))

    assert "line 499" in shown(view)
    assert "line 480" not in shown(view)
    assert all(len(slot.html) < 3_000 for slot in view.outputs() if slot.id)


def test_a_call_whose_arguments_arrive_says_how_much_there_is():
    view = fed(*scenes.start(), e.ToolUseBegin("w", "Write"))
    for _ in range(100):
        view.feed(e.ToolUseDelta("w", "x" * 100))

    assert "● Preparing to write · 10.0 KB so far" in shown(view)


def test_a_failed_row_carries_its_error_line():
    trace = ToolResult.error("Traceback (most recent call last):\n  File x\nValueError: no such column")
    command = ToolResult.error("Command exited with code 2\nmake: *** No rule")
    view = fed(*scenes.start(), *read(1, trace), *read(2, command))

    assert "✗ Read f1.txt · ValueError: no such column" in shown(view)
    assert "✗ Read f2.txt · exit 2: make: *** No rule" in shown(view)


def test_a_row_opens_to_the_code_and_its_output():
    call = ToolCall("p", "Python", {"code": "for i in range(2):\n    print(i)"})
    view = fed(
        *scenes.start(),
        *scenes.ran(call, "run", "for i in range(2): ...", ToolResult.success("\x1b[31m0\x1b[0m\n1"), 0.1),
    )
    html = view.outputs()[1].html

    assert "<summary" in html
    assert "class=hk" in html
    assert '<span class="a1">0</span>\n1' in html
    assert "{" not in words(html)


def test_a_picture_is_shown_and_a_huge_one_is_named():
    png = b"\x89PNG\r\n\x1a\n" + b"x" * 100
    small = ToolResult("ok", media=(Media("image/png", png, "plot"),))
    huge = ToolResult("ok", media=(Media("image/png", png + b"x" * 50_000_000, "plot"),))
    odd = ToolResult("ok", media=(Media("image/svg+xml", b"<svg onload=alert(1)>"), Media("image/png", b"<svg>")))
    view = fed(*scenes.start(), *read(1, small), *read(2, huge), *read(3, odd))
    html = "".join(slot.html for slot in view.outputs() if slot.id)

    assert html.count("<img") == 1
    assert "plot: image/png, 50.0 MB, too large to show here" in words(html)
    assert "image/svg+xml" in words(html)
    assert wrong(html) == []


def test_output_of_fifty_megabytes_is_bounded():
    view = fed(*scenes.start(), *read(1, ToolResult.success("x" * 50_000_000)))

    assert sum(len(slot.html) for slot in view.outputs()) < 60_000


def test_an_edit_is_open_while_the_turn_goes_on_and_closed_in_the_end():
    view = fed(*scenes.working())
    edit = next(slot for slot in view.outputs() if "diff" in slot.html and slot.id)
    assert "<details open>" in edit.html.partition("Edited")[0].rpartition("<details")[1] + "<details open>" + edit.html

    view = fed(*scenes.finished())
    closed = "".join(slot.html for slot in view.outputs() if slot.id)
    assert "diff" in closed
    assert "<details open>" not in closed


def test_steps_that_were_the_way_fold_and_edits_keep_their_rows():
    edit = ToolResult.success("ok").with_metadata(diff=scenes.DIFF)
    call = ToolCall("e", "Edit", {"file_path": "a.py"})
    view = fed(
        *scenes.start(),
        *read(1),
        *read(2),
        *scenes.ran(call, "edit", "a.py", edit, 0.1),
        *read(3),
        e.TextDelta("Done."),
        e.MessageDone((), "end_turn", e.Usage()),
        e.TurnEnded("done", e.Usage(), 1.0),
    )

    assert [row.split(" · ")[0] for row in rows(view)] == ["✓ 3 steps", "✓ Edited a.py", "Done.", "Done in 1.0 s"]
    assert "read 3 files" in shown(view)
    assert "f2.txt" in shown(view)  # inside


def test_two_steps_do_not_fold():
    view = fed(*scenes.start(), *read(1), *read(2), e.TurnEnded("done", e.Usage(), 1.0))

    assert "steps" not in shown(view)


def test_the_plan_is_one_row_that_changes_in_place():
    first = scenes.ran(
        ToolCall("t1", "TodoWrite", {}), "plan", "", scenes.todos("in_progress", "pending", "pending"), 0.0
    )
    second = scenes.ran(
        ToolCall("t2", "TodoWrite", {}), "plan", "", scenes.todos("completed", "in_progress", "pending"), 0.0
    )
    view = fed(*scenes.start(), *first, *read(1))
    view.outputs()
    for event in second:
        view.feed(event)

    assert shown(view).count("Plan") == 1
    assert "Plan · 1 of 3 done" in shown(view)
    assert "Planned" not in shown(view)


def test_the_plan_stands_where_the_model_made_it():
    todo, look = ToolCall("t1", "TodoWrite", {}), ToolCall("r1", "Read", {"file_path": "f1.txt"})
    view = fed(*scenes.start(), *scenes.declared(todo), *scenes.declared(look))
    view.outputs()
    view.feed(e.ToolFinished(look, OK, "read", "f1.txt", 0.1))
    view.feed(e.ToolFinished(todo, scenes.todos("pending", "pending", "pending"), "plan", "", 0.1))

    assert shown(view).index("Plan") < shown(view).index("Read f1.txt")
    assert shown(view).count("Plan") == 1


def test_a_failed_row_is_the_errors_and_who_allowed_it_stands_inside():
    call = ToolCall("b", "Bash", {"command": "make"})
    result = ToolResult.error("Command exited with code 2\nno rule")
    view = fed(*scenes.start(), *scenes.ran(call, "run", "make", result, 1.0, "you allowed it once"))

    assert "✗ Ran make · exit 2: no rule · 1.0 s" in shown(view)
    assert '<div class="lab">you allowed it once</div>' in "".join(slot.html for slot in view.outputs())


def test_an_id_that_a_model_uses_twice_makes_two_rows():
    call = ToolCall("same", "Read", {"file_path": "a"})
    view = fed(*scenes.start(), *scenes.ran(call, "read", "a", OK, 0.1), *scenes.ran(call, "read", "a", OK, 0.1))

    assert shown(view).count("Read a") == 2


def test_two_hundred_steps_stay_under_fifty_outputs_and_each_is_there():
    view = fed(*scenes.start())
    for number in range(200):
        for event in read(number):
            view.feed(event)
            slots = view.outputs()
        assert len(slots) < 50
    text = shown(view)
    assert all(f"f{number}.txt" in text for number in range(200))
    view.feed(e.TurnEnded("done", e.Usage(), 9.0))
    assert "200 steps" in shown(view)
    assert len(view.outputs()) < 50


def test_a_row_that_a_person_may_have_opened_is_not_sent_again_for_the_time_in_the_footer():
    clock = scenes.Clock()
    view = scenes.view(clock)
    for event in (*scenes.start(), *read(1)):
        view.feed(event)
    view.outputs()
    clock.now += 5
    again = [slot for slot in view.outputs() if slot.changed]

    assert again
    assert not any("<details" in slot.html for slot in again)


# -- questions ---------------------------------------------------------------------------------------------------------


def test_a_question_stands_in_an_output_of_its_own():
    view = fed(*scenes.waiting())
    card = next(slot for slot in view.outputs() if slot.card)

    assert card.card == "t4"
    assert "Run this command?" in words(card.html)
    assert "matplotlib to draw" not in words(card.html)
    assert view.waiting
    assert view.doing == "Waiting for you"


def test_the_answer_turns_the_question_into_a_row_in_the_same_place():
    view = fed(*scenes.waiting())
    place = next(slot.id for slot in view.outputs() if slot.card)
    view.feed(e.ApprovalAnswered(scenes.ASK_PIP, Refused("use altair")))
    view.feed(
        e.ToolFinished(
            scenes.PIP,
            ToolResult.error("Tool call denied"),
            "run",
            "pip install -q matplotlib",
            0.0,
            False,
            "you: use altair",
        )
    )
    there = next(slot for slot in view.outputs() if slot.id == place)

    assert "⊘ Not run pip install -q matplotlib · you: “use altair”, 13:42" in words(there.html)
    assert not any(slot.card for slot in view.outputs())


def test_a_step_that_a_person_allowed_says_so():
    assert "you allowed it once, 13:42" in shown(fed(*scenes.finished()))


def test_a_question_of_a_running_tool_leaves_a_row_only_when_refused():
    call = ToolCall("late", "WebFetch", {"url": "https://x.org"})
    asked = scenes.request(call, "fetch", why="The page redirects to x.org.")
    for answer, left in ((Allowed(), False), (Refused("no"), True)):
        view = fed(*scenes.start(), e.ApprovalAsked(asked))
        assert view.waiting
        view.feed(e.ApprovalAnswered(asked, answer))
        assert not view.waiting
        assert ("⊘ Not fetched https://x.org" in shown(view)) is left


def test_a_question_of_a_sub_agent_is_put_like_any_other():
    call = ToolCall("a", "Task", {"description": "look"})
    view = fed(
        *scenes.start(),
        *scenes.declared(call),
        e.ToolStarted(call, "delegate", "look"),
        e.AgentEvent("a", "explore", e.ApprovalAsked(scenes.ASK_PIP)),
    )

    assert next(slot.card for slot in view.outputs() if slot.card) == "t4"


def test_a_stop_leaves_no_open_question_and_no_running_row():
    call = ToolCall("b", "Bash", {"command": "sleep 9"})
    view = fed(
        *scenes.waiting(),
        *scenes.declared(call),
        e.ToolStarted(call, "run", "sleep 9"),
        e.TurnEnded("interrupted", e.Usage(), 3.0),
    )

    assert not view.waiting
    assert not any(slot.card for slot in view.outputs())
    assert "⊘ Not run pip install -q matplotlib · you stopped the turn" in shown(view)
    assert "⊘ Stopped sleep 9 · you stopped the turn" in shown(view)
    assert "●" not in shown(view)
    assert "Stopped by you after 3.0 s" in shown(view)


# -- ends --------------------------------------------------------------------------------------------------------------


def test_every_output_is_frozen_with_its_text_when_the_turn_is_over():
    view = fed(*scenes.finished())

    assert all(slot.frozen for slot in view.outputs())
    assert "Done in 14.2 s · 3.3k tokens · $0.012 · sonnet, 2026-11-30 13:42" in rows(view)[-1]


def test_an_error_is_said_once_with_its_detail():
    view = fed(*scenes.failed())

    assert shown(view).count("The model did not answer.") == 1
    assert "ConnectError" in shown(view)
    assert 'role="alert"' in "".join(slot.html for slot in view.outputs())


def test_an_error_that_no_notice_told_is_told_in_the_end():
    view = fed(*scenes.start(), e.TurnEnded("error", e.Usage(), 0.1, error="It broke."))

    assert "It broke." in shown(view)


def test_waiting_says_for_what():
    view = fed(*scenes.start(), e.Waiting("rate limited", 8.0, 2))

    assert "Waiting: rate limited, next try in 8.0 s (attempt 2)" in shown(view)


def test_thoughts_are_folded_and_whole():
    view = fed(*scenes.start(), e.ThinkingDelta("First "), e.ThinkingDelta("second."), e.TextDelta("Answer."))

    assert "∴ Thought" in shown(view)
    assert "First second." in shown(view)


def test_a_sub_agent_is_shown_under_its_call():
    view = fed(*scenes.nested())
    call = ToolCall("a1", "Task", {})
    assert "● Delegating Find callers of load()" in shown(view)
    assert "Searched load( · 2 files" in shown(view)
    view.feed(e.ToolFinished(call, ToolResult.success("Two callers."), "delegate", "Find callers of load()", 3.0))

    assert "✓ Delegated Find callers of load() · 3.0 s" in shown(view)
    assert "Two callers." in shown(view)


def test_the_outputs_together_are_the_whole():
    for scene in scenes.SCENES.values():
        view = fed(*scene())
        parts = "".join(
            slot.html.removeprefix('<div class="cn">').removesuffix("</div>") for slot in view.outputs() if slot.id
        )
        assert framed(view.whole().html) == framed(parts)


def test_every_scene_is_whole_html_and_every_control_is_named():
    for scene in scenes.SCENES.values():
        for slot in fed(*scene()).outputs():
            assert wrong(slot.html) == []
            assert slot.html.count("<summary") == slot.html.count('<summary data-lm-suppress-shortcuts="true"')


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_that_acts_survives_in_any_part_of_a_turn(payload):
    call = ToolCall(payload, payload, {payload: payload, "command": payload, "code": payload})
    result = ToolResult(
        payload, metadata={"summary": payload, "target": payload, "todos": None}, media=(Media(payload, b"x", payload),)
    )
    view = fed(
        e.TurnStarted(1, payload, payload, payload),
        e.ThinkingDelta(payload),
        e.TextDelta(payload),
        e.Waiting(payload, 1.0),
        *scenes.declared(call),
        e.ToolStarted(call, payload, payload, payload),
        e.ToolProgress(payload, payload),
    )
    live = "".join(slot.html for slot in view.outputs())
    plan = ToolResult.success("").with_metadata(todos=[{"content": payload, "status": payload}])
    for event in (
        e.ToolFinished(call, result, payload, payload, 0.1, True, payload),
        e.ToolFinished(call, ToolResult.error(payload), payload, payload, 0.1, False, payload),
        *scenes.ran(ToolCall("t", "TodoWrite", {}), "plan", "", plan, 0.0),
        e.AgentEvent(payload, payload, e.TextDelta(payload)),
        e.Notice("error", payload, payload),
        e.Notice("warning", payload, payload),
        e.Notice("info", payload, payload),
        e.TurnEnded("error", e.Usage(), 1.0, None, payload, payload, payload),
    ):
        view.feed(event)
    done = "".join(slot.html for slot in view.outputs())

    assert wrong(live) == []
    assert wrong(done) == []
    assert all(link.startswith(("http", "mailto:", "#")) for link in Reader(done).links)


def test_dollars_in_rows_are_not_formulas():
    call = ToolCall("b", "Bash", {"command": "echo $HOME $PATH"})
    view = fed(
        *scenes.start(),
        *scenes.ran(
            call, "run", "echo $HOME $PATH", ToolResult.success("$1 $2").with_metadata(summary="cost $3 $4"), 0.1
        ),
    )
    html = "".join(slot.html for slot in view.outputs() if slot.id)

    assert "cost <span>$</span>3 <span>$</span>4" in html
    assert '<code class="o">echo $HOME $PATH</code>' in html  # MathJax leaves code alone


@pytest.mark.parametrize(("tool", "offered"), [("Write", True), ("Bash", True), ("Read", False)])
def test_a_turn_that_changed_something_says_how_to_take_it_back(tool, offered):
    view = TurnView(undo="Undo: %cosh /undo")
    call = ToolCall("c1", tool, {"file_path": "a"})
    view.feed(e.ToolStarted(call, "do", "a"))
    view.feed(e.ToolFinished(call, ToolResult.success("ok"), "do", "a", 0.1))
    view.feed(e.TurnEnded("done", e.Usage(), 1.0))
    assert ("%cosh /undo" in view.whole().text) is offered
