"""Code of the agent in a real kernel: what comes back, what is refused, and that nothing can hang or flood it."""

from __future__ import annotations

import re
import time

import pytest


def outcome(kernel, code, fields="status, text", **options):
    """Run code through LiveKernel in its own cell; the named fields of its outcome, printed."""
    kernel.run(f"probe_code = {code!r}")
    ran = kernel.run("%%probe\ncode probe_code", **options)
    assert ran.status == "ok", ran.text
    if "old thread" not in ran.text:
        assert ran.text == "", "nothing that the code gives may land in the cell by itself"
    shown = ", ".join(f"probe_log[-1].{name.strip()}" for name in fields.split(","))
    printed = kernel.run(f"print(repr(({shown},)))").text
    return eval(printed, {"Media": lambda **k: k, "inf": float("inf")})


def test_code_runs_in_the_users_namespace_and_gives_the_last_value(kernel):
    kernel.run("rows = [1, 2, 3]")

    assert outcome(kernel, "total = sum(rows)\nprint('adding')\ntotal") == ("ok", "adding\n6")
    assert kernel.run("total").text == "6"


def test_the_history_and_the_underscore_stay_the_users(kernel):
    kernel.run("'mine'")
    outcome(kernel, "'the agents'")

    assert kernel.run("print(_)").text == "mine"


def test_stdout_and_stderr_of_subprocesses_and_old_loggers_are_captured(kernel):
    kernel.run("import logging, subprocess, sys; logging.basicConfig(stream=sys.stderr, level='INFO', force=True)")
    code = "logging.info('logged')\nsubprocess.run(['echo', 'from a child'])\nimport os; os.system('echo deep >&2');"

    status, text, outputs = outcome(kernel, code, "status, text, outputs")

    assert status == "ok"
    assert {"INFO:root:logged", "from a child", "deep"} <= set(text.splitlines())
    assert {output["name"] for output in outputs} == {"stdout", "stderr"}


def test_a_thread_that_ran_before_keeps_writing_to_its_own_cell(kernel):
    old = kernel.run(
        "import threading, time\ngo = threading.Event()\ndef work():\n    go.wait(20); print('from the old thread')\n"
        "threading.Thread(target=work, daemon=True).start()"
    )

    _status, text = outcome(kernel, "go.set(); time.sleep(0.3); print('mine')")

    assert text == "mine\n"
    # ipykernel decides which cell an old thread writes to; ours is only that the tool did not swallow it.
    kernel.wait(lambda: any("from the old thread" in ran.text for ran in kernel.ran.values()), 5, "the thread's line")
    assert old.status == "ok"


def test_a_figure_comes_back_as_an_image_and_is_not_shown_live(kernel):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('t')\nprint('drawn')"

    status, text, images = outcome(kernel, code, "status, text, media[0].data[:8]")

    assert status == "ok"
    assert "drawn\n" in text
    assert images == b"\x89PNG\r\n\x1a\n"


def test_a_traceback_names_the_line_of_the_code_and_the_frame_that_called_it(kernel):
    kernel.run("def half(x):\n    return x / 0")

    status, text = outcome(kernel, "value = 3\nhalf(value)")

    assert status == "error"
    assert "ZeroDivisionError: division by zero" in text
    assert "half(value)" in text
    assert "return x / 0" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("input('name? ')", "input() is refused"),
        ("import getpass; getpass.getpass()", "input() is refused"),
        ("exit()", "exit() is refused"),
        ("get_ipython().set_next_input('%%cosh hi')", "set_next_input() is refused"),
        ("def broken(:", "SyntaxError"),
        ("exec('x = ' + repr(chr(0xdce4)) + ' + 1')", "TypeError"),
        ("get_ipython().run_cell_magic('probe', '', 'say hi')", "refused inside a tool call"),
    ],
)
def test_what_only_a_person_may_do_is_refused_with_a_sentence_and_the_kernel_lives(kernel, code, said):
    _status, text = outcome(kernel, code)

    assert said in text
    assert kernel.run("print('alive')").text == "alive"


def test_top_level_await_works_and_its_loop_lasts_from_call_to_call(kernel):
    assert outcome(kernel, "import asyncio\nawait asyncio.sleep(0.01)\nqueue = asyncio.Queue()\n'slept'")[0] == "ok"

    assert outcome(kernel, "await queue.put(1)\nawait queue.get()") == ("ok", "1")


def test_a_hundred_megabytes_stay_bounded_in_text_and_in_memory(kernel):
    code = "line = 'x' * 999 + chr(10)\nfor _ in range(100_000): print(line, end='')"
    before = int(kernel.run("import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)").text)

    kernel.run(f"probe_code = {code!r}")

    ran = kernel.run("%%probe\ncode probe_code", timeout=60)

    assert ran.text == ""
    size, status, live = eval(
        kernel.run("print((len(probe_log[-1].text), probe_log[-1].status, sum(map(len, probe_live))))").text
    )
    assert status == "ok"
    assert size < 1_100_000
    assert live < 500_000
    after = int(kernel.run("print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)").text)
    assert after - before < 60_000  # kilobytes


def test_what_is_printed_is_seen_while_the_code_runs(kernel):
    kernel.run("import time")
    kernel.start("%%probe\npython print('first', flush=True); time.sleep(0.6); print('second')")
    kernel.finish(list(kernel.ran.values())[-1])

    live = eval(kernel.run("print(probe_live)").text)

    assert live[0] == "first\n"
    assert "".join(live) == "first\nsecond\n"


def test_code_that_takes_too_long_is_interrupted_and_says_where_it_was(kernel):
    kernel.run("probe_timeout = 0.4; import time")
    began = time.monotonic()

    status, text, note = outcome(kernel, "print('begun')\ntime.sleep(60)\nprint('never')", "status, text, note")

    assert time.monotonic() - began < 4
    assert status == "timeout"
    assert text.startswith("begun\n")
    assert "time.sleep(60)" in text
    assert "never" not in text.splitlines()
    seconds = re.match(r"Stopped after ([\d.]+) s", note)
    assert seconds is not None, note
    assert 0.4 <= float(seconds[1]) < 4
    kernel.run("probe_timeout = 5")


def test_code_that_ignores_one_interrupt_gets_more(kernel):
    kernel.run("probe_timeout = 0.3")
    code = (
        "for _ in range(2):\n    try:\n        time.sleep(60)\n    except KeyboardInterrupt:\n        print('ignored')"
    )

    status, text = outcome(kernel, "import time\n" + code)

    assert status == "timeout" or text.count("ignored") == 2
    kernel.run("probe_timeout = 5")


def test_stop_interrupts_the_code_and_the_cell(kernel):
    cell = kernel.start("%%probe\npython import pathlib, time; pathlib.Path('begun').touch(); time.sleep(60)")
    kernel.wait((kernel.cwd / "begun").exists, 10, "begin of the code")

    began = time.monotonic()
    kernel.interrupt()
    kernel.finish(cell, 10)

    assert time.monotonic() - began < 2
    assert cell.error == "KeyboardInterrupt: cosh: interrupted"
    assert kernel.run("print('alive')").text == "alive"


def test_native_code_that_does_not_return_is_left_alone_with_a_sentence(kernel):
    kernel.run("import hashlib; probe_timeout = 0.3; probe.kernel.persists = 0.7")

    # Python sees a signal only when this returns, after two seconds or so.
    status, note = outcome(kernel, "hashlib.pbkdf2_hmac('sha256', b'x', b'y', 8_000_000)", "status, note")

    assert status == "timeout"
    assert "waiting for native code" in note
    assert "restart the kernel" in note
    kernel.run("probe_timeout = 5; probe.kernel.persists = 5")
    assert outcome(kernel, "'works again'") == ("ok", "'works again'")


def test_the_display_machinery_is_itself_again_afterwards(kernel):
    outcome(kernel, "from IPython.display import HTML, display, clear_output\ndisplay(HTML('<b>bold</b>'))\n1/0")

    ran = kernel.run("from IPython.display import HTML, display\ndisplay(HTML('<b>x</b>'))\nprint('out')\n'value'")
    assert [output["output_type"] for output in ran.outputs] == ["display_data", "stream", "execute_result"]
    assert kernel.run("1/0").error == "ZeroDivisionError: division by zero"
    cell = kernel.start("input('name? ')")
    kernel.answer = lambda _prompt: "Ada"
    assert kernel.finish(cell).text == "'Ada'"


def test_rich_outputs_are_data_in_order_and_read_as_text(kernel):
    code = (
        "from IPython.display import HTML, Markdown, display, update_display\n"
        "print('one')\ndisplay(HTML('<table><tr><td>a</td><td>b</td></tr></table><script>x</script>'))\n"
        "h = display(Markdown('**old**'), display_id=True)\nh.update(Markdown('**new**'))\nprint('two')"
    )

    _status, text, outputs = outcome(kernel, code, "status, text, outputs")

    assert text.split() == ["one", "a", "b", "**new**", "two"]
    assert [output["output_type"] for output in outputs] == ["stream", "display_data", "display_data", "stream"]


def test_a_progress_bar_is_read_as_its_last_state(kernel):
    _status, text = outcome(kernel, "for n in range(5): print(f'\\r{n}0%', end='')\nprint()")

    assert text == "40%\n"


def test_help_is_output_and_steers_nothing(kernel):
    status, text = outcome(kernel, "len?")

    assert status == "ok"
    assert "Return the number of items" in text


def test_variables_are_sketched_without_calling_what_the_user_wrote(kernel):
    kernel.run(
        "import numpy as np\nclass Trap:\n    def __repr__(self): raise SystemExit\n"
        "    def __len__(self): raise SystemExit\n"
        "trap = Trap(); grid = np.zeros((3, 4)); names = ['a', 'b']; huge = 10**100_000; text = 'x' * 5000"
    )

    ran = kernel.run(
        "import asyncio\nfrom concurrent.futures import Future\n"
        "print(probe.agent.submit(probe.kernel.variables((), 60)).result(5))"
    )

    lines = dict(line.split(": ", 1) for line in ran.text.splitlines())
    assert lines["grid"] == "numpy.ndarray of shape (3, 4), float64"
    assert lines["trap"] == "Trap"
    assert lines["names"] == "list of 2 (str)"
    assert lines["huge"].startswith("int of 332,193 bits")
    assert lines["text"].startswith("str of 5,000 characters")
    assert len(ran.text) < 3000
