"""What the agent sees of the person's cells, in a real kernel."""

import json
import sys

import pytest

from support.kernel_client import kernel_client
from support.modelserver import call


@pytest.fixture
def kernel(tmp_path, model_server):
    with kernel_client(tmp_path / "home", sys.executable, env=model_server.env()) as kernel:
        kernel.run("%load_ext cosh_nb")
        yield kernel


def ask(kernel, model_server, **given):
    """The evidence tool's answer, as the model gets it."""
    model_server.script([call("cosh_shell_evidence", given)], "seen")
    kernel.run("%cosh look")
    content = model_server.requests[-1]["messages"][-1]["content"][0]["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", part["type"]) for part in content)


def ids(listed):
    return [line.split()[0] for line in listed.splitlines()]


def test_cells_are_listed_newest_first_and_read_as_the_person_saw_them(kernel, model_server):
    kernel.run("!printf 'from the shell\\n'")
    kernel.run("import sys; print('out'); print('err', file=sys.stderr); 6 * 7")
    kernel.run("def broken():\n    return 1 / 0\nbroken()")
    listed = ask(kernel, model_server, action="list_commands")
    assert "failed" in listed.splitlines()[0]
    newest, middle, shell = ids(listed)[:3]
    assert "ZeroDivisionError" in ask(kernel, model_server, action="read_output", output_id=newest)
    seen = ask(kernel, model_server, action="read_output", output_id=middle)
    assert "out" in seen
    assert "err" in seen
    assert "42" in seen
    assert "from the shell" in ask(kernel, model_server, action="read_output", output_id=shell)


def test_a_figure_goes_along_as_an_image_and_what_was_cleared_is_gone(kernel, model_server):
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="
    kernel.run(f"import base64; from IPython.display import Image; Image(base64.b64decode({png!r}))")
    kernel.run("from IPython.display import clear_output; print('before'); clear_output(); print('after')")
    listed = ask(kernel, model_server, action="list_commands")
    cleared, figure = ids(listed)[:2]
    assert "image" in ask(kernel, model_server, action="read_output", output_id=figure)
    seen = ask(kernel, model_server, action="read_output", output_id=cleared)
    assert "after" in seen
    assert "before" not in seen.split("---", 1)[1]


def test_head_and_tail_and_overwritten_lines(kernel, model_server):
    kernel.run("for n in range(500): print('line', n)")
    kernel.run("for n in range(5): print('\\rat', n, end='')")
    bar, long = ids(ask(kernel, model_server, action="list_commands"))[:2]
    head = ask(kernel, model_server, action="read_output", output_id=long, direction="head", lines=3)
    assert "line 2" in head
    assert "line 3\n" not in head
    assert "497 later lines" in head
    assert "line 499" in ask(kernel, model_server, action="read_output", output_id=long)
    assert ask(kernel, model_server, action="read_output", output_id=bar).splitlines()[-1].strip() == "at 4"


def test_a_display_that_was_updated_shows_its_last_state(kernel, model_server):
    kernel.run("h = display('first', display_id=True); h.update('second')")
    newest = ids(ask(kernel, model_server, action="list_commands"))[0]
    seen = ask(kernel, model_server, action="read_output", output_id=newest)
    assert "second" in seen.split("---", 1)[1]
    assert "first" not in seen.split("---", 1)[1]


def test_what_ran_since_the_last_turn_is_told_without_being_asked(kernel, model_server):
    model_server.script("hi", "I see")
    kernel.run("%cosh hi")
    kernel.run("x = 1")
    kernel.run("x / 0")
    kernel.run("%cosh what happened")
    told = json.dumps(model_server.requests[-1])
    assert "x / 0: failed, ZeroDivisionError" in told
    assert "x = 1: ok" in told
    assert "Cells the user ran" not in json.dumps(model_server.requests[0])


@pytest.mark.parametrize("wrong", ["nope", "terminal-output://other/1", "terminal-output://{here}/999"])
def test_an_unknown_output_is_a_sentence(kernel, model_server, wrong):
    kernel.run("1")
    here = ids(ask(kernel, model_server, action="list_commands"))[0].split("/")[2]
    said = ask(kernel, model_server, action="read_output", output_id=wrong.replace("{here}", here))
    assert said.endswith(".")
    assert len(said) < 200
