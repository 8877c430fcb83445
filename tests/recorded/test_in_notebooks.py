"""A lesson: recorded in a notebook by its author, run under nbclient and papermill, where nobody can be asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import nbformat
import pytest

from cosh_nb import demo

EXECUTE = ("nbconvert", "--to", "notebook", "--execute", "--inplace")
"""nbclient, as most people call it."""
REQUEST = 'create hello.py that prints "hi there" and run it'
ALLOWED = "Write,Bash(python3 hello.py)"


@pytest.fixture
def run(tmp_path):
    """A command on a machine with an empty HOME and a kernel that is this Python."""
    (tmp_path / "home").mkdir()
    spec = tmp_path / "jupyter" / "kernels" / "python3"
    spec.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=40"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "3", "language": "python"}))
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    always = {**kept, "HOME": str(tmp_path / "home"), "JUPYTER_PATH": str(tmp_path / "jupyter")}

    def run(*command, cwd, **env):
        done = subprocess.run(
            [sys.executable, "-m", *command], capture_output=True, text=True, timeout=100, check=False, cwd=cwd,
            env={**always, **env},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    return run


def write_book(file, *cells):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "3", "language": "python"}
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(book, file)


def test_a_lesson_is_recorded_once_and_runs_the_same_everywhere(run, tmp_path):
    author, student = tmp_path / "author", tmp_path / "student"
    recording = f"%%cosh --record hello --allowed-tools {ALLOWED}\n{REQUEST}"
    write_book(author / "lesson.ipynb", "%load_ext cosh_nb", recording)
    run(*EXECUTE, "lesson.ipynb", cwd=author, COSH_PROVIDER="offline")

    # The student has another folder and no working model, types no rights, and nobody can be asked.
    shutil.copytree(author / "cosh.cosh", student / "lesson.cosh")
    write_book(
        student / "lesson.ipynb",
        "%load_ext cosh_nb",
        f"%%cosh --replay hello\n{REQUEST}",
        "%%cosh --replay hello\ncreate bye.py",
    )
    run(*EXECUTE, "--allow-errors", "lesson.ipynb", cwd=student, COSH_PROVIDER="anthropic")

    done = nbformat.read(student / "lesson.ipynb", as_version=4)
    said, refused = demo.transcript(done.cells[1]), demo.transcript(done.cells[2])
    assert (student / "hello.py").read_text() == 'print("hi there")\n'
    assert "I ran `python3 hello.py`. It printed:" in said
    assert "recording hello" in said
    assert "is not in the recording hello" in refused
    assert "+ create bye.py" in refused
    assert not (student / "bye.py").exists()


def test_papermill_runs_a_lesson(run, tmp_path):
    folder = tmp_path / "student"
    head = {"kind": "recording", "version": 1, "model": "a model", "declared": {"allow": ["Write"]}}
    write = {"type": "tool_use", "id": "1", "name": "Write", "input": {"file_path": "a.txt", "content": "x\n"}}
    answers = [
        {"blocks": [write], "stop_reason": "tool_use"},
        {
            "blocks": [{"type": "text", "text": "It is written."}],
            "stop_reason": "end_turn",
            "results": [{"is_error": False, "content": "Created"}],
        },
    ]
    lines = [head, {"kind": "turn", "prompt": "write it", "answers": answers}]
    write_book(folder / "lesson.ipynb", "%load_ext cosh_nb", "%%cosh --replay r\nwrite it")
    (folder / "lesson.cosh").mkdir()
    (folder / "lesson.cosh" / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    run("papermill", "lesson.ipynb", "out.ipynb", "--no-progress-bar", cwd=folder)

    assert (folder / "a.txt").read_text() == "x\n"
    done = nbformat.read(folder / "out.ipynb", as_version=4)
    assert "It is written." in demo.transcript(done.cells[1])
