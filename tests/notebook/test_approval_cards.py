"""Cards in a real kernel, of both kinds, seen by a client that speaks the protocol."""

from __future__ import annotations

import time


def log(kernel):
    """What the steps of the last cell gave, as text."""
    return kernel.run("print(probe_log)").text


def test_a_click_is_handled_while_the_cell_is_busy_and_later_cells_keep_their_order(kernel):
    first = kernel.start("%%probe\nsay before\nask git status --short\nsay after")
    second = kernel.start("order = ['second']")
    third = kernel.start("order.append('third'); print(order)")
    question = kernel.ask("kernel_info")
    kernel.wait(lambda: "Run once" in kernel.buttons(), 15, "card")
    assert not second.done

    kernel.click("Run once")
    kernel.finish(third)

    assert first.status == "ok"
    assert third.text == "['second', 'third']"
    assert "Allowed(grant=None, input=None, by='you')" in log(kernel)
    kernel.wait(
        lambda: any(r["parent_header"]["msg_id"] == question for r in kernel.replies), 10, "reply to kernel_info"
    )


def test_a_card_says_what_would_run_why_it_asks_and_offers_the_least_first(kernel):
    cell = kernel.start("%%probe\nask git status --short")
    kernel.wait(kernel.buttons, 15, "card")

    assert kernel.buttons() == [
        "Run once",
        "Run git status all session",
        "Always: Bash(git status:*)",
        "Edit",
        "Don’t run",
    ]
    [head] = [state["value"] for _, state in kernel.shown() if state.get("_model_name") == "HTMLModel"]
    assert "Run this command?" in head
    assert "git" in head
    assert "The mode default asks" in head
    assert "No answer yet." in cell.text

    kernel.click("Run git status all session")
    kernel.finish(cell)
    assert "scope='session'" in log(kernel)


def test_every_end_leaves_one_static_row_and_no_widget(kernel):
    cell = kernel.start("%%probe\nask git status")
    kernel.click("Run once")
    kernel.finish(cell)

    [output] = cell.outputs
    assert set(output["data"]) == {"text/html", "text/plain"}
    assert "you allowed it once" in output["data"]["text/plain"]
    assert "<button" not in output["data"]["text/html"]
    assert kernel.models == {}
    assert kernel.run("import ipywidgets; print(len(ipywidgets.widgets.widget._instances))").text == "0"


def test_dont_run_asks_for_a_reason_and_enter_sends_it(kernel):
    cell = kernel.start("%%probe\nask pip install x\nsay the turn goes on")
    kernel.click("Don’t run")
    kernel.type_into("optional, e.g. use altair", "use altair")
    kernel.finish(cell)

    assert "Refused(reason='use altair', stop=False, by='you')" in log(kernel)
    assert "you: “use altair”" in cell.text
    assert "the turn goes on" in cell.text


def test_just_stop_ends_the_turn(kernel):
    cell = kernel.start("%%probe\nask pip install x")
    kernel.click("Don’t run")
    kernel.click("Just stop")
    kernel.finish(cell)

    assert "stop=True" in log(kernel)


def test_a_corrected_command_is_what_is_allowed(kernel):
    cell = kernel.start("%%probe\nask pip install x")
    kernel.click("Edit")
    [area] = kernel.wait(lambda: [c for c, s in kernel.shown() if s.get("_model_name") == "TextareaModel"], 10, "field")
    kernel.set_value(area, "pip install y")
    kernel.click("Run this")
    kernel.finish(cell)

    assert "Allowed(grant=None, input={'command': 'pip install y'}, by='you')" in log(kernel)


def test_back_from_a_correction_asks_the_same_question(kernel):
    cell = kernel.start("%%probe\nask pip install x")
    kernel.click("Edit")
    kernel.click("Back")
    kernel.click("Run once")
    kernel.finish(cell)

    assert "Allowed(grant=None, input=None, by='you')" in log(kernel)


def test_a_destructive_command_shows_the_safe_answer_first_and_no_lasting_grant(kernel):
    cell = kernel.start("%%probe\ndanger rm -r data")
    kernel.wait(kernel.buttons, 15, "card")

    assert kernel.buttons() == ["Don’t run", "Run once"]
    assert not [s for _, s in kernel.shown() if s.get("button_style")]
    kernel.click("Run once")
    kernel.finish(cell)
    assert "Allowed(" in log(kernel)


def test_a_card_pressed_twice_answers_once(kernel):
    cell = kernel.start("%%probe\nask git status\nask git log")
    button = kernel.wait(lambda: kernel.button("Run once"), 15, "card")
    for _ in range(3):
        kernel.comm(button, {"method": "custom", "content": {"event": "click"}})
    kernel.wait(lambda: kernel.button("Run once") not in (None, button), 15, "second card")
    kernel.click("Don’t run")
    kernel.click("Send")
    kernel.finish(cell)

    assert log(kernel).count("Allowed(") == 1


def test_stop_while_a_card_waits_ends_the_cell_and_leaves_no_button(kernel):
    cell = kernel.start("%%probe\nask git status")
    later = kernel.start("print('must not run')")
    kernel.wait(kernel.buttons, 15, "card")

    began = time.monotonic()
    kernel.interrupt()
    kernel.finish(cell, 10)

    assert time.monotonic() - began < 2
    assert cell.error == "KeyboardInterrupt: cosh: interrupted"
    assert cell.reply["content"]["traceback"] == ["KeyboardInterrupt: cosh: interrupted"]
    assert "you stopped the turn" in cell.text
    kernel.wait(lambda: not kernel.models, 5, "end of the widgets")
    kernel.finish(later)
    assert later.status == "aborted"
    assert kernel.run("%%probe\nsay works again").text == "works again"


def test_a_question_is_answered_by_a_choice_by_ticks_or_in_own_words(kernel):
    cell = kernel.start("%%probe\nquestion Which? | red | blue\nmany Which ones? | a | b | c\nwords Why?")
    kernel.click("blue")
    ticks = kernel.wait(lambda: [c for c, s in kernel.shown() if s.get("_model_name") == "CheckboxModel"], 10, "boxes")
    kernel.set_value(ticks[0], True)
    kernel.set_value(ticks[2], True)
    kernel.click("Send")
    kernel.type_into("your answer", "because")
    kernel.finish(cell)

    assert log(kernel) == "[[['blue']], [['a', 'c']], [['because']]]"
    assert "Asked" in cell.text
    assert "a, c" in cell.text


def test_a_skipped_question_is_declined(kernel):
    cell = kernel.start("%%probe\nquestion Which? | red | blue")
    kernel.click("Skip")
    kernel.finish(cell)

    assert log(kernel) == "[None]"


def test_a_client_that_declares_no_stdin_is_denied_at_once(kernel):
    began = time.monotonic()
    cell = kernel.run("%%probe\nask git status", allow_stdin=False)

    assert time.monotonic() - began < 2
    assert "widget" not in str(cell.outputs)
    assert "runs without a person in front of it" in log(kernel)


def test_the_indicator_is_busy_until_the_cell_ends(kernel):
    cell = kernel.start("%%probe\nask git status\nsleep 0.2")
    kernel.statuses.clear()
    kernel.click("Run once")
    kernel.finish(cell)

    handled = [state for state, kind in kernel.statuses if kind in ("comm_msg", "execute_request")]
    for number, state in enumerate(handled[:-1]):
        if state == "idle":
            assert handled[number + 1] == "busy"
    assert handled[-1] == "idle"
