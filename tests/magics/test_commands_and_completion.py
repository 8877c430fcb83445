"""Every command works in a kernel; Tab completes what can be typed; /fix and /explain see the cell."""

import json

import pytest

from cosh_nb import commands
from support.modelserver import call


def tab(kernel, text):
    """What Tab offers at the end of `text`."""
    message = kernel.ask("complete", {"code": text, "cursor_pos": len(text)})
    reply = kernel.wait(
        lambda: next((r for r in kernel.replies if r["parent_header"]["msg_id"] == message), None), 20, "completions"
    )
    return reply["content"]["matches"]


def test_every_command_answers_or_says_what_is_missing(kernel, model_server):
    for name in sorted(commands.table()):
        ran = kernel.run(f"%cosh /{name}", timeout=60)
        assert ran.status == "ok" or name in {"diff", "export", "fix", "explain", "resume", "replay", "undo"}, (
            name,
            ran.text,
        )
        assert "Traceback" not in ran.text, name
        assert ran.text.strip(), name
        assert name in kernel.run(f"%cosh /help {name}").text
    assert kernel.run("print('alive')").text == "alive"


def test_commands_change_what_they_say(kernel):
    assert "`acceptEdits`" in kernel.run("%cosh /mode acceptEdits").text
    assert "Plan mode" in kernel.run("%cosh /plan").text
    assert "`acceptEdits`" in kernel.run("%cosh /plan off").text
    assert "is now" in kernel.run("%cosh /config model my-model").text
    assert "my-model" in kernel.run("%cosh /config").text
    assert "No grant" in kernel.run("%cosh /permissions forget Nope").text


def test_a_grant_is_listed_and_taken_back(kernel, model_server):
    model_server.script([call("Bash", {"command": "git --version"})], "ok", [call("Bash", {"command": "ls"})], "ok")
    cell = kernel.start("%cosh go")
    kernel.wait(kernel.buttons, 20, "card")
    grant = next(label for label in kernel.buttons() if "all session" in label)
    kernel.click(grant)
    kernel.finish(cell)
    listed = kernel.run("%cosh /permissions").text
    assert "you, on a card" in listed
    rule = listed.split("| allow | `")[1].split("`")[0]
    assert "forgotten" in kernel.run(f"%cosh /permissions forget {rule}").text
    assert "you, on a card" not in kernel.run("%cosh /permissions").text


def test_fix_and_explain_see_the_cell_and_its_error(kernel, model_server):
    model_server.script("I see the division.", "It divides by zero.", "It is one.")
    kernel.run("total = 1 / 0")
    kernel.run("1")
    assert "I see the division." in kernel.run("%cosh /fix").text
    asked = json.dumps(model_server.requests[0]["messages"][-1])
    assert "total = 1 / 0" in asked
    assert "ZeroDivisionError" in asked
    assert "NotebookEdit" in asked
    kernel.run("%cosh /explain 2")
    assert "failed" in json.dumps(model_server.requests[1]["messages"][-1])
    kernel.run("%cosh /explain")
    assert "No cell [99]" in kernel.run("%cosh /fix 99").text


@pytest.mark.parametrize(
    "cases",
    [
        {
            "%cosh /mo": "/mode",
            "%%cosh\n/ses": "",
            "%cosh /mode pl": "plan",
            "%cosh /trust y": "yes",
            "%cosh --mo": "--mode",
            "%%cosh --mode acc": "acceptEdits",
            "%cosh --provider off": "offline",
            "%%cosh\nlook at @sal": "@sales.csv",
            "%%cosh\nlook at @data/de": "@data/deep.txt",
            "%%cosh\nuse {my_fra": "{my_frame}",
            "print(my_fra": "my_frame",
        }
    ],
)
def test_tab_completes_commands_options_files_and_variables(kernel, cases):
    (kernel.cwd / "sales.csv").touch()
    (kernel.cwd / "data").mkdir()
    (kernel.cwd / "data" / "deep.txt").touch()
    kernel.run("my_frame = 1")
    for text, wanted in cases.items():
        found = tab(kernel, text)
        if wanted:
            assert wanted in found, (text, found)
