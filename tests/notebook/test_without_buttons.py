"""`%%cosh` where no page is: papermill, `jupyter execute`, and IPython in a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import nbformat
import pytest

from support.lab import environment
from support.modelserver import call

SCRIPT = ([call("Bash", {"command": "touch made.txt"})], "I could not run it, so I stop here.")


@pytest.fixture
def book(tmp_path, model_server):
    """A notebook with a turn that needs approval, and the environment of a person without settings."""
    for name in ("data", "config", "runtime", "user"):
        (tmp_path / name).mkdir()
    notebook = nbformat.v4.new_notebook()
    cells = ("%load_ext cosh_nb", "%%cosh\nmake made.txt", "print('after')")
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = tmp_path / "book.ipynb"
    nbformat.write(notebook, path)
    model_server.script(*SCRIPT)
    return path, {**environment(tmp_path), **model_server.env()}


@pytest.mark.parametrize("runner", ["papermill", "execute"])
def test_a_run_without_a_person_is_denied_at_once_and_keeps_its_transcript(book, model_server, runner):
    path, env = book
    command = {
        "papermill": [sys.executable, "-m", "papermill", "--no-progress-bar", "book.ipynb", "book.ipynb"],
        "execute": [sys.executable, "-m", "jupyter", "execute", "--inplace", "book.ipynb"],
    }[runner]

    done = subprocess.run(command, cwd=path.parent, env=env, capture_output=True, text=True, timeout=90, check=False)

    assert done.returncode == 0, done.stderr[-2000:]
    cells = nbformat.read(path, as_version=4).cells
    said = "".join("".join(o.data["text/plain"]) for o in cells[1].outputs if "data" in o)
    assert "I could not run it" in said
    assert cells[2].outputs[0].text == "after\n"
    assert {kind for o in cells[1].outputs for kind in o.get("data", {})} <= {"text/html", "text/plain"}
    assert "needs approval" in json.dumps(model_server.requests[1]["messages"][-1])
    assert not (path.parent / "made.txt").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminal; there the prompt is the same input()")
@pytest.mark.parametrize(("typed", "exists"), [("y", True), ("", False), ("use a script", False)])
def test_ipython_in_a_terminal_asks_at_its_prompt(book, model_server, typed, exists):
    import pexpect  # comes with IPython, but not on Windows

    path, env = book
    child = pexpect.spawn(
        sys.executable, ["-m", "IPython", "--simple-prompt", "--colors=NoColor", "--no-banner", "--no-confirm-exit"],
        cwd=str(path.parent), env={**env, "TERM": "dumb"}, encoding="utf-8", timeout=30,
    )  # fmt: skip
    try:
        child.expect(r"In \[1\]:")
        child.sendline("%load_ext cosh_nb")
        child.expect(r"In \[2\]:")
        child.sendline("%cosh make made.txt")
        child.expect("Run this command\\?")
        child.expect("Or say what to do instead:")
        child.sendline(typed)
        child.expect("so I stop here")
        child.expect(r"In \[3\]:")
    finally:
        child.close(force=True)

    assert (path.parent / "made.txt").exists() == exists
    if typed not in ("y", ""):
        assert typed in json.dumps(model_server.requests[1]["messages"][-1])


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminal; there Ctrl-C comes as an event")
def test_ctrl_c_at_the_prompt_of_a_terminal_ends_the_turn(book):
    import pexpect  # comes with IPython, but not on Windows

    path, env = book
    child = pexpect.spawn(
        sys.executable, ["-m", "IPython", "--simple-prompt", "--colors=NoColor", "--no-banner", "--no-confirm-exit"],
        cwd=str(path.parent), env={**env, "TERM": "dumb"}, encoding="utf-8", timeout=30,
    )  # fmt: skip
    try:
        child.expect(r"In \[1\]:")
        child.sendline("%load_ext cosh_nb")
        child.expect(r"In \[2\]:")
        child.sendline("%cosh make made.txt")
        child.expect("Or say what to do instead:")
        child.sendintr()
        child.expect("KeyboardInterrupt")
        child.expect(r"In \[3\]:")
        child.sendline("print(6 * 7)")
        child.expect("42")
    finally:
        child.close(force=True)
