"""`%%cosh` in a real kernel, against a model server that speaks the wire format."""

import json
import time
from pathlib import Path

import nbformat
import psutil
import pytest

from support.modelserver import call, text, turn


def last_result(model_server, index=-1):
    """The tool result in the last message of a request."""
    return model_server.requests[index]["messages"][-1]["content"][0]


def test_it_streams_asks_runs_and_ends(kernel, model_server):
    model_server.script([text("I run it."), call("Bash", {"command": "printf hello > out.txt"})], "It is **done**.")
    cell = kernel.start("%%cosh\nwrite hello to out.txt")
    after = kernel.start("print(open('out.txt').read())")
    kernel.click("Run once")
    kernel.finish(after)

    assert cell.status == "ok", cell.text
    assert after.text == "hello"
    assert "I run it." in cell.text
    assert "you allowed it once" in cell.text
    assert "<strong>done</strong>" in cell.html
    kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
    assert kinds == {"text/html", "text/plain"}


def test_a_denial_with_a_reason_reaches_the_model_and_the_turn_goes_on(kernel, model_server):
    model_server.script([call("Bash", {"command": "rm -rf build"})], "Then I leave it.")
    cell = kernel.start("%%cosh\nclean up")
    kernel.click("Don’t run")
    kernel.type_into("optional, e.g. use altair", "keep the build folder")
    kernel.finish(cell)

    assert cell.status == "ok"
    result = last_result(model_server)
    assert result["is_error"]
    assert "keep the build folder" in json.dumps(result)
    assert "Then I leave it." in cell.text


def test_python_runs_in_the_users_own_namespace(kernel, model_server):
    model_server.script([call("Python", {"code": "total = sum(values)\nprint('counted')"})], "Done.")
    kernel.run("values = [1, 2, 3]")
    cell = kernel.start("%%cosh\nsum the values")
    kernel.click("Run once")
    kernel.finish(cell)
    assert "counted" in json.dumps(last_result(model_server))
    assert kernel.run("print(total)").text == "6"


def test_a_variable_and_a_file_go_along_and_other_braces_stay(kernel, model_server):
    model_server.script("ok")
    (kernel.cwd / "note.txt").write_text("the note")
    kernel.run("answer = 42")
    kernel.run("%%cosh\nuse {answer} but not {nothing}, nor \\frac{a}{b} or {'k': 1}; look at @note.txt")
    sent = json.dumps(model_server.requests[0]["messages"][0])
    assert "use 42 but not {nothing}, nor \\\\\\\\frac{a}{b}" in json.dumps(sent)
    assert "the note" in sent


def test_a_request_may_end_in_a_question_mark(kernel, model_server):
    model_server.script("It is fine.")
    assert "It is fine." in kernel.run("%cosh is everything fine?").text
    assert model_server.requests[0]["messages"][0]["content"][0]["text"] == "is everything fine?"


def test_the_conversation_goes_on_and_can_be_left_and_resumed(kernel, model_server):
    model_server.script("first answer", "second answer", "third answer")
    kernel.run("%cosh one")
    kernel.run("%cosh two")
    assert len(model_server.requests[1]["messages"]) == 3
    listed = kernel.run("%cosh /sessions").text
    kernel.run("%cosh /new")
    kernel.run("%cosh three")
    assert len(model_server.requests[2]["messages"]) == 1
    resumed = kernel.run("%cosh /resume").text
    assert "2 turns so far" in resumed
    assert "second answer" in resumed
    assert "one" in listed


def test_a_restarted_kernel_does_not_resume_by_itself_but_offers_it(start, model_server):
    model_server.script("first answer", "new answer")
    first = start()
    first.run("%cosh plan the trip")
    first.run("%unload_ext cosh_nb")
    cell = start().run("%cosh hello")
    assert len(model_server.requests[1]["messages"]) == 1
    assert "/resume" in cell.text
    assert "plan the trip" in cell.text


def test_commands_answer(kernel, model_server):
    model_server.script("hi")
    kernel.run("%cosh hi")
    assert "claude" in kernel.run("%cosh /cost").text
    assert "default" in kernel.run("%cosh /mode").text
    assert "now `plan`" in kernel.run("%cosh /mode plan").text
    assert "/resume" in kernel.run("%cosh /help").text
    assert "claude" in kernel.run("%cosh /model").text
    failed = kernel.run("%cosh /modle x")
    assert failed.status == "error"
    assert "/mode" in failed.text


def test_a_background_turn_returns_at_once_and_streams_into_its_own_cell(kernel, model_server):
    slow = turn(text("slowly " * 20), call("Bash", {"command": "touch x"}), pause=0.02)
    model_server.script(slow, "All done.")
    cell = kernel.run("%%cosh -b\ngo")
    assert "All done." not in cell.html, "the turn needs a click, so the cell has ended before it"
    kernel.wait(lambda: "slowly" in cell.html, 10, "prose in the first cell")
    other = kernel.run("print('other work')")
    assert other.text == "other work"
    kernel.click("Run once")
    kernel.wait(lambda: "All done." in cell.text, 15, "the end of the turn")


def test_two_background_turns_queue_and_stop_ends_the_running_one(kernel, model_server):
    model_server.script(turn(text("never ends"), stall_after=3), "the second answer")
    first = kernel.run("%%cosh -b\nfirst")
    kernel.wait(lambda: len(model_server.requests) == 1, 10, "request")
    second = kernel.run("%%cosh -b\nsecond")
    kernel.wait(lambda: "waits for its end" in second.html, 10, "word that it waits")
    assert "stopped" in kernel.run("%cosh /stop").text
    kernel.wait(lambda: "the second answer" in second.text, 10, "second answer")
    assert "you stopped the turn" in first.text or "Stopped" in first.text


def test_a_card_of_a_background_turn_is_answered(kernel, model_server):
    model_server.script([call("Bash", {"command": "printf b > b.txt"})], "Written.")
    cell = kernel.run("%%cosh -b\ngo")
    kernel.click("Run once")
    kernel.wait(lambda: "Written." in cell.text, 15, "the end of the turn")
    assert (kernel.cwd / "b.txt").read_text() == "b"


def stop_time(kernel):
    """Seconds from Stop to the end of a cell that only sleeps: what this machine needs at least."""
    sleeping = kernel.start("import time; print('asleep'); time.sleep(60)")
    kernel.wait(lambda: "asleep" in sleeping.text, 15, "sleep")
    started = time.monotonic()
    kernel.interrupt()
    kernel.finish(sleeping, 10)
    return time.monotonic() - started


@pytest.mark.parametrize("stage", ["streaming", "waiting", "running"])
def test_stop_ends_the_cell_within_a_second_and_leaves_nothing_behind(kernel, model_server, stage):
    script = {
        "streaming": turn(text("so far so good"), stall_after=5),
        "waiting": [call("Bash", {"command": "echo hi"})],
        "running": [call("Bash", {"command": "sleep 100 & sleep 100"})],
    }[stage]
    model_server.script(script, "next answer")
    options = " --allowed-tools Bash" if stage == "running" else ""
    floor = stop_time(kernel)
    cell = kernel.start(f"%%cosh{options}\ngo")
    queued = kernel.start("print('queued')")
    kernel_process = psutil.Process(kernel.manager.provisioner.pid)
    ready = {
        "streaming": lambda: "so far" in cell.html,
        "waiting": kernel.buttons,
        "running": lambda: any("sleep" in " ".join(p.cmdline()) for p in kernel_process.children(recursive=True)),
    }[stage]
    kernel.wait(ready, 15, stage)

    started = time.monotonic()
    kernel.interrupt()
    kernel.finish(cell, 5)

    assert time.monotonic() - started < 1.0 + 3 * floor
    assert cell.error.startswith("KeyboardInterrupt")
    assert not kernel.buttons()
    kernel.finish(queued, 5)
    assert queued.status in ("aborted", "error")
    kernel.wait(lambda: not kernel_process.children(recursive=True), 2, "end of all children")
    again = kernel.run("%%cosh\nand now")
    assert "next answer" in again.text
    assert [m["role"] for m in model_server.requests[-1]["messages"]][-1] == "user"


def test_nobody_to_ask_denies_at_once_and_the_turn_goes_on(kernel, model_server):
    model_server.script([call("Bash", {"command": "touch x"})], "I could not.")
    cell = kernel.run("%%cosh\ngo", allow_stdin=False)
    assert cell.status == "ok"
    assert "needs approval" in json.dumps(last_result(model_server))
    assert not (kernel.cwd / "x").exists()


def test_a_notebook_without_a_person_completes_and_keeps_its_transcript(tmp_path, model_server, monkeypatch):
    from nbclient import NotebookClient

    for name, value in {**model_server.env(), "HOME": str(tmp_path), "COSH_DATA_DIR": str(tmp_path / "data")}.items():
        monkeypatch.setenv(name, value)
    model_server.script([call("Bash", {"command": "touch x"})], "I could not run it.")
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(code) for code in ("%load_ext cosh_nb", "%%cosh\ngo", "print('after')")]
    NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert "I could not run it." in nbformat.writes(notebook)
    assert notebook.cells[2].outputs[0].text == "after\n"
    assert not Path(tmp_path / "x").exists()
