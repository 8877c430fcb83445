"""Front ends without our extension: an older server, VS Code, Colab, nbclient, papermill.

VS Code and Colab cannot run here: a protocol client answers as they do. The others are real.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import nbclient
import nbformat
import papermill
import pytest
from jupyter_client.kernelspec import KernelSpecManager

from open_notebook.conftest import LOAD, TESTS, said, story
from support.kernel_client import kernel_client

OWN_EDITS = """
say_ = []
for arguments in (
    dict(edit_mode="insert", new_source="below = 1"),
    dict(edit_mode="insert", new_source="second = 1"),
    dict(edit_mode="insert", new_source="# text", cell_type="markdown"),
    dict(cell_id="cell-0", edit_mode="delete"),
):
    result = await edit(**arguments)
    say_.append([result.is_error, result.content])
seen = await read()
say([say_, seen.content[:400]])
"""


def write(path: Path, *cells: str) -> Path:
    book = nbformat.v4.new_notebook()
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbformat.write(book, path)
    return path


@pytest.mark.browser
@pytest.mark.parametrize("app", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])
def test_without_the_extension_one_cell_is_handed_over_and_the_rest_is_shown_to_copy(plain_lab, plain_opens, app):
    page = plain_opens(f"plain_{app}.ipynb", story(OWN_EDITS), "last = 1", app=app)

    page.run(1)

    (first, second, text, delete), seen = said(page, 1)
    assert first[0] is False
    assert "will appear below the running cell when it ends" in first[1]
    assert second[0] is True
    assert "only one cell can be handed over per run" in second[1]
    assert "```\nsecond = 1\n```" in second[1]
    assert "/install-lab" in second[1]
    assert "only a code cell" in text[1] or "only one cell" in text[1]
    assert delete[0] is True
    assert "as last saved" in seen
    assert "so unsaved changes are not seen" in seen
    page.wait_for(lambda: [cell.source for cell in page.cells()][2:] == ["below = 1", "last = 1"], 10, "no new cell")
    page.save()
    assert page.js("return document.querySelectorAll('.jp-Dialog').length;") == 0
    assert [cell.source for cell in plain_lab.saved(f"plain_{app}.ipynb").cells][2:] == ["below = 1", "last = 1"]


HEADLESS = """
other = await edit("other.ipynb", edit_mode="insert", new_source="from_agent = 1")
mine = await edit("running.ipynb", edit_mode="insert", new_source="from_agent = 1")
copy = await edit("out.ipynb", edit_mode="insert", new_source="from_agent = 1")
say([[r.is_error, r.content] for r in (other, mine, copy)])
"""


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    """A folder with two notebooks, and a Python kernel that finds the tests."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    for name in ("JPY_SESSION_NAME", "JPY_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)
    write(tmp_path / "other.ipynb", "o = 1")
    write(tmp_path / "running.ipynb", LOAD, story(HEADLESS))
    assert "python3" in KernelSpecManager().find_kernel_specs()
    return tmp_path


def judge(said_, folder):
    other, mine, copy = json.loads(said_.splitlines()[-1])
    assert other[0] is False
    assert "Written on disk" in other[1]
    assert "from_agent" in (folder / "other.ipynb").read_text()
    assert mine[0] is True
    assert "it is being executed right now without a front end" in mine[1]
    assert copy[0] is True


def test_under_nbclient_others_are_edited_on_disk_and_the_running_one_is_refused(at_home):
    book = nbformat.read(at_home / "running.ipynb", as_version=4)

    nbclient.NotebookClient(book, timeout=60, resources={"metadata": {"path": str(at_home)}}).execute()

    text = "".join(output["text"] for output in book.cells[1].outputs if output.output_type == "stream")
    judge(text, at_home)
    assert "from_agent = 1" not in [
        cell["source"][0] for cell in json.loads((at_home / "running.ipynb").read_text())["cells"]
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_under_papermill_neither_the_notebook_nor_its_output_is_touched(at_home):
    book = papermill.execute_notebook(
        str(at_home / "running.ipynb"), str(at_home / "out.ipynb"), cwd=str(at_home), progress_bar=False
    )

    text = "".join("".join(o["text"]) for o in book["cells"][1]["outputs"] if o["output_type"] == "stream")
    judge(text, at_home)
    assert "it is being executed right now" in text.split("out.ipynb", 1)[1]


@pytest.mark.parametrize("kernel", ["ipykernel6", "ipykernel7"])
def test_in_vs_code_the_next_cell_is_handed_over_and_other_files_are_edited_on_disk(tmp_path, kernel_envs, kernel):
    mine = write(tmp_path / "mine.ipynb", "x = 1", "y = 2")
    write(tmp_path / "other.ipynb", "o = 1")
    with kernel_client(tmp_path, kernel_envs[kernel], cwd=tmp_path) as client:
        # VS Code puts the notebook's path into the namespace before the first cell.
        client.run(f"__vsc_ipynb_file__ = {str(mine)!r}")
        client.run(LOAD)

        more = 'other = await edit("other.ipynb", edit_mode="insert", new_source="n = 1")'
        code = OWN_EDITS.replace("say([say_,", f"{more}\nsay([say_ + [[other.is_error, other.content]],")
        ran = client.run(story(code), timeout=60)

        (first, second, _, delete, other), seen = json.loads(ran.text.splitlines()[-1])
        assert [first[0], second[0], delete[0], other[0]] == [False, True, True, False]
        assert "(VS Code)" in first[1]
        assert ran.reply["content"]["payload"] == [{"source": "set_next_input", "text": "below = 1", "replace": False}]
        assert "as last saved" in seen
        assert "n = 1" in (tmp_path / "other.ipynb").read_text()
        assert "below" not in mine.read_text()


def test_the_running_cell_itself_can_be_replaced_in_vs_code(tmp_path, kernel_envs):
    code = story("""
        await read()
        result = await edit(cell_id="cell-1", new_source="better = 1")
        other = await edit(cell_id="cell-0", new_source="no = 1")
        say([[result.is_error, result.content], [other.is_error, other.content]])
    """)
    mine = write(tmp_path / "mine.ipynb", "x = 1", code)
    with kernel_client(tmp_path, kernel_envs["ipykernel7"], cwd=tmp_path) as client:
        client.run(f"__vsc_ipynb_file__ = {str(mine)!r}")
        client.run(LOAD)

        ran = client.run(code, timeout=60)

        result, other = json.loads(ran.text.splitlines()[-1])
        assert result[0] is False
        assert "will replace the running cell" in result[1]
        assert other[0] is True
        assert ran.reply["content"]["payload"] == [{"source": "set_next_input", "text": "better = 1", "replace": True}]


COLAB = """
import sys, types
colab, message = types.ModuleType("google.colab"), types.ModuleType("google.colab._message")
answer = {"ipynb": {"cells": [
    {"cell_type": "code", "metadata": {"id": "a1"}, "source": ["unsaved = 1"], "outputs": [], "execution_count": None},
], "metadata": {"colab": {"name": "Untitled.ipynb"}}, "nbformat": 4, "nbformat_minor": 0}}
message.blocking_request = lambda name, timeout_sec=None: answer if name == "get_ipynb" else None
colab._message = message
google = types.ModuleType("google"); google.colab = colab
sys.modules |= {"google": google, "google.colab": colab, "google.colab._message": message}
"""


def test_in_colab_the_notebook_is_read_through_its_own_request(tmp_path, kernel_envs):
    with kernel_client(tmp_path, kernel_envs["ipykernel7"], cwd=tmp_path) as client:
        client.run(dedent(COLAB))
        client.run(LOAD)

        ran = client.run(
            story("""
                seen = await read("Untitled.ipynb")
                new = await edit("Untitled.ipynb", edit_mode="insert", new_source="next = 1")
                say([seen.content, new.content])
            """),
            timeout=60,
        )

        seen, new = json.loads(ran.text.splitlines()[-1])
        assert "(live (Colab)): 1 cell" in seen
        assert "unsaved = 1" in seen
        assert "will appear below the running cell" in new
        assert ran.reply["content"]["payload"][0]["text"] == "next = 1"


def test_a_terminal_without_a_kernel_edits_files(tmp_path, kernel_envs):
    write(tmp_path / "a.ipynb", "x = 1")
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path[:0] = {[str(TESTS)]!r}\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "import asyncio\n"
        "shell = InteractiveShell.instance()\n"
        "from open_notebook import in_kernel\n"
        "scene = in_kernel.Scene(shell)\n"
        "arguments = dict(edit_mode='insert', new_source='y = 1')\n"
        "print(asyncio.run(scene.call('NotebookEdit', 'a.ipynb', arguments)).content)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert "Written on disk" in done.stdout, done.stderr
    assert "y = 1" in (tmp_path / "a.ipynb").read_text()
