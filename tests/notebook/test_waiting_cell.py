"""A cell that waits: nothing that arrives meanwhile is lost, doubled or out of order, and Stop always ends it."""

from __future__ import annotations

import random
import time
from types import SimpleNamespace

import pytest

from cosh_nb.notebook.pump import missing


def threads(kernel):
    """The names of the kernel's threads."""
    return sorted(eval(kernel.run("import threading; print([t.name for t in threading.enumerate()])").text))


def test_the_users_own_widgets_work_while_the_cell_waits(kernel):
    kernel.run(
        "import ipywidgets as w\nslider = w.IntSlider(); seen = []\n"
        "slider.observe(lambda c: seen.append(c.new), 'value')"
    )
    kernel.run("display(slider)")
    [slider] = [c for c, s in kernel.shown() if s.get("_model_name") == "IntSliderModel"]
    cell = kernel.start("%%probe\nask git status")
    kernel.wait(kernel.buttons, 15, "card")

    for value in (1, 2, 3):
        kernel.set_value(slider, value)
    kernel.click("Run once")
    kernel.finish(cell)

    assert kernel.run("print(seen)").text == "[1, 2, 3]"
    kernel.run("w.Widget.close_all()")


def test_requests_for_the_kernel_wait_as_in_any_busy_cell_and_are_all_answered(kernel):
    kernel.run("%config IPCompleter.use_jedi = False")
    cell = kernel.start("%%probe\nask git status")
    asked = [
        kernel.ask("complete", {"code": "pri", "cursor_pos": 3}),
        kernel.ask("inspect", {"code": "print", "cursor_pos": 5, "detail_level": 0}),
        kernel.ask("kernel_info"),
    ]
    kernel.click("Run once")
    kernel.finish(cell)

    def answered():
        return [i for i in (reply["parent_header"]["msg_id"] for reply in kernel.replies) if i in asked]

    kernel.wait(lambda: len(answered()) >= 3, 30, "replies")
    assert answered() == asked


def test_a_click_at_the_very_end_of_a_cell_is_not_lost(kernel):
    kernel.run(
        "import ipywidgets as w\nbutton = w.Button(description='count'); pressed = []\nbutton.on_click(pressed.append)"
    )
    kernel.run("display(button)")
    button = kernel.wait(lambda: kernel.button("count"), 10, "button")
    sent, rng = 0, random.Random(7)

    for _ in range(12):
        cell = kernel.start("%%probe\nsleep 0.03")
        until = time.monotonic() + 0.02 + rng.random() * 0.06
        while time.monotonic() < until:
            kernel.comm(button, {"method": "custom", "content": {"event": "click"}})
            sent += 1
            time.sleep(rng.random() * 0.005)
        kernel.finish(cell)

    assert sent > 50
    assert kernel.run("print(len(pressed))").text == str(sent)
    kernel.run("w.Widget.close_all()")


def test_a_handler_of_the_user_that_fails_or_prints_does_not_end_the_cell(kernel):
    kernel.run(
        "import ipywidgets as w\nbad = w.Button(description='bad')\n"
        "def press(_):\n    print('from the handler')\n    raise ValueError('mine')\nbad.on_click(press)\ndisplay(bad)"
    )
    cell = kernel.start("%%probe\nask git status\nsay after")
    kernel.click("bad")
    kernel.click("Run once")
    kernel.finish(cell)

    assert cell.status == "ok"
    assert "after" in cell.text
    kernel.run("w.Widget.close_all()")


def test_a_turn_started_from_a_widget_while_a_cell_waits_runs_inside_it(kernel):
    kernel.run(
        "import ipywidgets as w\ninner = w.Button(description='inner')\n"
        "inner.on_click(lambda _: get_ipython().run_cell_magic('probe', '', 'sleep 0.05\\nsay inside'))\ndisplay(inner)"
    )
    cell = kernel.start("%%probe\nask git status\nsay after")
    kernel.click("inner")
    kernel.click("Run once")
    kernel.finish(cell)

    assert cell.status == "ok"
    assert kernel.run("%%probe\nsay next").text == "next"
    kernel.run("w.Widget.close_all()")


def test_stop_at_any_moment_ends_the_cell_within_a_second_and_leaves_the_kernel_whole(kernel):
    rng = random.Random(11)
    before = threads(kernel)
    for turn in range(10):
        cell = kernel.start("%%probe\nsay one\nsleep 0.05\npython import time; time.sleep(0.1)\nask git status")
        kernel.wait(lambda cell=cell: cell.outputs, 10, "beginning")
        until = time.monotonic() + rng.random() * 0.5
        kernel.wait(lambda until=until: time.monotonic() > until, 5, "moment")
        began = time.monotonic()
        kernel.interrupt()
        kernel.finish(cell, 10)
        assert time.monotonic() - began < 1.5, turn
        assert cell.error.startswith("KeyboardInterrupt"), cell.text
        kernel.wait(lambda: not kernel.models, 5, "end of the card")

    assert kernel.run("%%probe\nsay whole").text == "whole"
    assert kernel.run("import signal; print(signal.getsignal(signal.SIGINT))").text.count("default_int_handler") == 1
    assert threads(kernel) == before


def test_a_turn_that_does_not_end_is_left_after_a_second_and_it_is_said(kernel):
    cell = kernel.start("%%probe\nsay begun\nignore 2.5")
    kernel.wait(lambda: cell.outputs, 10, "beginning")

    began = time.monotonic()
    kernel.interrupt()
    kernel.finish(cell, 10)

    assert 0.9 < time.monotonic() - began < 2
    assert "did not end within 1 s" in cell.error
    assert kernel.run("print('alive')").text == "alive"


def test_a_second_stop_ends_the_waiting(kernel):
    cell = kernel.start("%%probe\nsay begun\nignore 2.5")
    kernel.wait(lambda: cell.outputs, 10, "beginning")

    kernel.interrupt()
    time.sleep(0.2)
    kernel.interrupt()
    kernel.finish(cell, 10)

    assert "You did not wait" in cell.error


def test_an_answer_on_the_control_channel_does_not_leave_the_indicator_idle(kernel):
    cell = kernel.start("%%probe\nask git status")
    kernel.wait(kernel.buttons, 15, "card")
    kernel.client.control_channel.send(kernel.client.session.msg("kernel_info_request", {}))
    kernel.client.get_control_msg(timeout=10)

    kernel.wait(lambda: ("idle", "kernel_info_request") in kernel.statuses, 5, "status of the control channel")
    kernel.wait(lambda: kernel.statuses[-1] == ("busy", "execute_request"), 5, "word that the cell runs")

    kernel.click("Run once")
    kernel.finish(cell)


def test_the_error_of_a_turn_is_the_error_of_the_cell(kernel):
    assert kernel.run("%%probe\nnonsense").error == "ValueError: There is no step 'nonsense'."


def test_a_background_turn_shows_in_its_own_cell_while_others_run_and_its_card_answers(kernel):
    cell = kernel.start("%%probe -b\nsay begun\nsleep 0.3\nask git status\npython len('four')\nsay ended")
    kernel.finish(cell, 5)
    other = kernel.run("import time; time.sleep(0.5); print('other')")

    kernel.click("Run once")
    kernel.wait(lambda: "ended" in cell.text, 10, f"end of the turn: {cell.text}")

    assert other.text == "other"
    assert "you allowed it once" in cell.text
    assert kernel.run("print(probe_log[-2].text)").text == "4"
    kernel.wait(lambda: kernel.statuses[-1][0] == "idle", 5, "idle")


def test_no_prompt_is_shown_for_a_background_turn(kernel):
    kernel.draws = False
    kernel.run("probe.asking.grace = 0.3; probe.asking._draws.clear()")
    cell = kernel.start("%%probe -b\nask git status")
    kernel.finish(cell)
    kernel.wait(lambda: not kernel.buttons() and len(cell.outputs) == 1, 10, "end of the card")

    kernel.wait(lambda: "no buttons" in kernel.run("print(probe_log)").text, 10, "answer")
    assert kernel.prompts == []


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", "Allowed(grant=None, input=None, by='you')"),
        ("", "Refused(reason='', stop=False, by='you')"),
        ("sure, why not", "Refused(reason='sure, why not', stop=False, by='you')"),
        ("stop", "stop=True"),
        ("1", "scope='session'"),
        ("2", "scope='always'"),
        ("3", "Refused(reason='3', stop=False, by='you')"),
    ],
)
def test_a_front_end_that_draws_no_buttons_is_asked_at_a_prompt(kernel, typed, answer):
    kernel.draws = False
    kernel.answer = lambda _prompt: typed
    kernel.run("probe.asking.grace = 0.3; probe.asking._draws.clear()")

    cell = kernel.run("%%probe\nask git status")

    assert cell.status == "ok"
    [prompt] = kernel.prompts
    assert "Run this command?" in prompt
    assert "git status" in prompt
    assert "y: Run once" in prompt
    assert answer in kernel.run("print(probe_log)").text
    assert kernel.models == {}


def test_stop_at_the_prompt_ends_the_cell(kernel):
    kernel.draws = False
    kernel.run("probe.asking.grace = 0.2; probe.asking._draws.clear()")
    cell = kernel.start("%%probe\nask git status")
    kernel.wait(lambda: kernel.prompts, 10, "prompt")

    kernel.interrupt()
    kernel.finish(cell, 10)

    assert cell.error == "KeyboardInterrupt: cosh: interrupted"
    assert kernel.run("print('alive')").text == "alive"


def test_a_front_end_that_drew_one_card_keeps_every_later_one(kernel):
    kernel.run("probe.asking.grace = 0.2; probe.asking._draws.clear()")
    first = kernel.start("%%probe\nask git status")
    kernel.click("Run once")
    kernel.finish(first)
    kernel.draws = False  # a machine so slow that it has not drawn the next one yet
    second = kernel.start("%%probe\nask git log")

    kernel.wait(kernel.buttons, 10, "card")
    time.sleep(0.5)

    assert kernel.prompts == []
    kernel.click("Run once")
    kernel.finish(second)


def test_without_ipykernels_private_names_it_asks_at_a_prompt(kernel):
    kernel.answer = lambda _prompt: "y"
    kernel.run(
        "import cosh_nb.notebook.asking as a; kept = a.missing; a.missing = lambda _: ['Kernel._publish_status']"
    )

    cell = kernel.run("%%probe\nask git status")

    kernel.run("a.missing = kept")
    assert cell.status == "ok"
    assert len(kernel.prompts) == 1


def test_missing_names_are_listed():
    bare = SimpleNamespace(shell_stream=SimpleNamespace(), session=None)

    assert "ZMQStream._recv_callback" in missing(bare)
    assert "Session.unpack" in missing(bare)


def test_this_kernel_has_every_name(kernel):
    assert kernel.run("from cosh_nb.notebook.pump import missing; print(missing(get_ipython().kernel))").text == "[]"


def test_a_forked_child_can_start_its_own_agent_thread(kernel):
    code = (
        "import os\nread, write = os.pipe()\nchild = os.fork()\nif child == 0:\n    async def seven(): return 7\n"
        "    os.write(write, str(probe.agent.submit(seven()).result(5)).encode()); os._exit(0)\n"
        "os.waitpid(child, 0); print(os.read(read, 10))"
    )
    kernel.run("%%probe\nsay warm")

    assert kernel.run(code).text == "b'7'"
