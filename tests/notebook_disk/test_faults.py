"""Whatever goes wrong, the file is whole and the answer is a sentence."""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cosh_tools.hosts import CellEdit
from cosh_tools.notebook.disk import edit_file
from cosh_tools.results import ToolError
from notebook_disk.corpus import book, code, dump, plain_cells
from notebook_disk.scene import Desk

OLD = dump(book(plain_cells()))


def child(work: Any) -> int:
    """Run `work()` in a forked process; its process id. It ends with 0, or 1 where it raised."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001  (a forked child never returns into pytest)
            os._exit(1)
        os._exit(0)
    return pid


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is an empty file"),
        (b"\n \n", "is an empty file"),
        (b"[]", "does not hold a JSON object"),
        (b"{}", "has no nbformat number"),
        (b'"text"', "does not hold a JSON object"),
        (b'{"nbformat": 4}', "has no list of cells"),
        (b'{"cells": {}, "nbformat": 4}', "has no list of cells"),
        (b'{"cells": [3], "nbformat": 4}', "has no cell_type and source"),
        (b'{"cells": [], "nbformat": "4"}', "has no nbformat number"),
        (b'{"cells": [], "nbformat": 5}', "is in notebook format 5"),
        (b'{"worksheets": [{"cells": []}], "nbformat": 3, "nbformat_minor": 0}', "is in the old notebook format 3"),
        (b"\x89PNG\r\n\x1a\n", "does not parse as JSON"),
        (OLD[:-40], "does not parse as JSON"),
        (OLD + b"}", "does not parse as JSON"),
        (OLD.replace(b'"two\\n"', b'"two'), "does not parse as JSON"),
        (OLD.replace(b'"source": [', b'<<<<<<< HEAD\n   "source": [', 1), "does not parse as JSON"),
        (OLD.decode().encode("utf-16"), "does not parse as JSON"),
        (OLD.replace("í".encode(), b"\xff"), "does not parse as JSON"),
    ],
)  # fmt: skip
async def test_what_is_no_notebook_is_refused_and_left_as_it_is(tmp_path: Path, data: bytes, says: str):
    desk = Desk.at(tmp_path)
    path = desk.put("a.ipynb", data)
    os.utime(path, (1, 1))

    result = await desk.edit("a.ipynb", edit_mode="insert", new_source="x")

    assert result.is_error
    assert says in result.content
    assert path.read_bytes() == data
    assert left(tmp_path) == ["a.ipynb"]


async def test_broken_outputs_of_another_cell_are_noticed_before_anything_is_written(tmp_path: Path):
    desk = Desk.at(tmp_path)
    path = desk.put("a.ipynb", OLD.replace(b'"two\\n"', b'"two\\n" "three"'))

    result = await desk.edit("a.ipynb", edit_mode="insert", new_source="x")

    assert "does not parse as JSON" in result.content
    assert b"three" in path.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"cell_id": "target_cel", "edit_mode": "move"}, "The nearest ids: target_cell"),
        ({"cell_id": "zzz", "edit_mode": "move"}, "The nearest ids: a1b2c3d4, first-code, target_cell, after-it"),
        ({"cell_id": "cell-99", "edit_mode": "move"}, "cell-99 is out of range: the notebook has 5 cells, cell-0 to"),
        ({"cell_id": 99, "edit_mode": "move"}, "cell-99 is out of range"),
        ({"edit_mode": "insert", "new_source": "x", "after": "a1b2c3d4", "before": "the-end"}, "Name one anchor"),
        ({"edit_mode": "insert", "new_source": "x", "cell_id": "a1b2c3d4", "before": "the-end"}, "Name only one"),
        ({"edit_mode": "insert"}, "An insert needs `new_source`"),
        ({"edit_mode": "insert", "new_source": "x", "after": "gone"}, "There is no cell 'gone'"),
        ({"edit_mode": "delete"}, "A delete needs `cell_id`"),
        ({"new_source": "x"}, "A replace needs `cell_id`"),
        ({"cell_id": "the-end", "new_source": "x"}, "was not read in this session"),
        ({"cell_id": "the-end", "edit_mode": "delete"}, "was not read in this session"),
        ({"cell_id": "the-end", "edit_mode": "move", "after": "the-end"}, "cannot be its own anchor"),
        ({"edits": []}, "`edits` is empty"),
        ({"edits": [{"edit_mode": "insert", "new_source": "x"}], "cell_id": "the-end"}, "not both"),
        ({"edits": [{"edit_mode": "swap"}]}, "Invalid input for NotebookEdit: edits.0.edit_mode"),
        ({"edit_mode": "insert", "new_source": "x", "cell_type": "sql"}, "Send one of code, markdown, raw"),
        ({"edit_mode": "insert", "new_source": "%%cosh\ndo it"}, "would call the agent itself"),
        ({"edit_mode": "insert", "new_source": "x = %cosh do it"}, "would call the agent itself"),
        ({"edit_mode": "insert", "new_source": "get_ipython().run_cell_magic('cosh', '', 'hi')"}, "would call"),
    ],
)  # fmt: skip
async def test_a_wrong_edit_is_answered_with_what_to_do_instead(tmp_path: Path, arguments: dict[str, Any], says: str):
    desk = Desk.at(tmp_path)
    path = desk.put("a.ipynb", OLD)

    result = await desk.edit("a.ipynb", **arguments)

    assert result.is_error
    assert says in result.content
    assert path.read_bytes() == OLD


async def test_a_replace_in_an_empty_notebook_says_that_it_has_no_cells(tmp_path: Path):
    desk = Desk.at(tmp_path)
    desk.put("a.ipynb", dump(book([])))

    result = await desk.edit("a.ipynb", cell_id="x", edit_mode="move")

    assert "the notebook has no cells" in result.content
    assert "It has no cells" in (await desk.read("a.ipynb")).content


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a.py", "must end with .ipynb"),
        ("gone.ipynb", "There is no file"),
        ("folder.ipynb", "is a folder"),
        ("", "must end with"),
    ],
)
async def test_a_path_that_is_no_notebook(tmp_path: Path, name: str, says: str):
    (tmp_path / "folder.ipynb").mkdir()
    (tmp_path / "a.py").write_text("x")
    desk = Desk.at(tmp_path)

    for result in (await desk.edit(name, edit_mode="insert", new_source="x"), await desk.read(name)):
        assert result.is_error
        assert says in result.content


async def test_a_magic_in_a_text_cell_is_only_text_and_one_that_was_asked_for_is_written(tmp_path: Path):
    desk = Desk.at(tmp_path)
    desk.put("a.ipynb", OLD)
    assert not (await desk.edit("a.ipynb", edit_mode="insert", cell_type="markdown", new_source="%%cosh\nhi")).is_error

    asked = Desk.at(tmp_path, config={"allow_cosh_cells": True})

    assert not (await asked.edit("a.ipynb", edit_mode="insert", new_source="%%cosh\nhi")).is_error


async def test_an_id_that_two_cells_share_must_be_named_by_position(tmp_path: Path):
    desk = Desk.at(tmp_path)
    cells = plain_cells()
    cells[3]["id"] = "target_cell"
    desk.put("a.ipynb", dump(book(cells)))
    shown = await desk.read("a.ipynb")

    refused = await desk.edit("a.ipynb", cell_id="target_cell", new_source="x")
    by_position = await desk.edit("a.ipynb", cell_id="cell-3", new_source="x")

    assert "Several cells share an id (target_cell)" in shown.content
    assert "2 cells have the id target_cell" in refused.content
    assert "cell-2 or cell-3" in refused.content
    assert not by_position.is_error
    assert desk.cells("a.ipynb")[3]["source"] == ["x"]
    assert desk.cells("a.ipynb")[2] == cells[2]


def test_a_read_only_file_stays_as_it_is(tmp_path: Path):
    tmp_path.chmod(0o777)
    path = tmp_path / "a.ipynb"
    path.write_bytes(OLD)
    path.chmod(0o444)
    says = tmp_path / "says"
    says.write_text("")
    says.chmod(0o666)

    def work() -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        try:
            edit_file(path, [CellEdit("insert", source="x")], {}, {})
        except ToolError as error:
            says.write_text(str(error))

    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and "pytest" in folder.name:
            folder.chmod(folder.stat().st_mode | 0o755)
    os.waitpid(child(work), 0)

    assert "is read-only" in says.read_text()
    assert path.read_bytes() == OLD
    assert left(tmp_path) == ["a.ipynb", "says"]


@pytest.mark.skipif(shutil.which("unshare") is None, reason="a mount namespace needs unshare")
def test_a_full_disk_leaves_the_file_whole(tmp_path: Path):
    disk = tmp_path / "disk"
    disk.mkdir()
    script = tmp_path / "edit.py"
    script.write_text(
        "import sys, json, os\n"
        f"sys.path[:0] = {sys.path!r}\n"
        "from pathlib import Path\n"
        "from cosh_tools.hosts import CellEdit\n"
        "from cosh_tools.notebook.disk import edit_file\n"
        "folder = Path(sys.argv[1])\n"
        "cells = [{'cell_type': 'raw', 'metadata': {}, 'source': ['x' * 600_000]}]\n"
        "data = json.dumps({'cells': cells, 'metadata': {}, 'nbformat': 4, 'nbformat_minor': 4}).encode()\n"
        "(folder / 'a.ipynb').write_bytes(data)\n"
        "try: edit_file(folder / 'a.ipynb', [CellEdit('insert', source='y')], {}, {}); print('written')\n"
        "except Exception as error: print(error)\n"
        "print((folder / 'a.ipynb').read_bytes() == data, os.listdir(folder))\n"
    )
    flags = ["--mount"] if os.getuid() == 0 else ["--mount", "--map-root-user"]
    run = f'mount -t tmpfs -o size=1m tmpfs "{disk}" && exec "{sys.executable}" "{script}" "{disk}"'

    done = subprocess.run(["unshare", *flags, "sh", "-c", run], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert "a.ipynb was not changed: it cannot be written (No space left on device)" in done.stdout
    assert "True ['a.ipynb']" in done.stdout


def test_a_process_killed_at_any_moment_leaves_the_old_or_the_new_file(tmp_path: Path):
    path = tmp_path / "a.ipynb"
    big = code("x", "big", [{"name": "stdout", "output_type": "stream", "text": ["y" * 3_000_000]}])
    path.write_bytes(dump(book([*plain_cells(), big])))
    luck = random.Random(7)

    heard, told = os.pipe()

    def work() -> None:
        for count in range(10_000):
            edit_file(path, [CellEdit("replace", "target_cell", f"count = {count}\n")], {}, {})
            os.write(told, b".")

    for _ in range(15):
        pid = child(work)
        assert select.select([heard], [], [], 30)[0], "the child wrote nothing"
        os.read(heard, 1 << 16)
        time.sleep(luck.uniform(0, 0.05))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        found = json.loads(path.read_bytes())
        assert len(found["cells"]) == 6
        assert len(found["cells"][5]["outputs"][0]["text"][0]) == 3_000_000

    assert found["cells"][2]["source"][0].startswith("count = ")
    os.close(heard)
    os.close(told)


def test_two_processes_that_edit_one_file_lose_nothing(tmp_path: Path):
    path = tmp_path / "a.ipynb"
    path.write_bytes(OLD)

    def edits(cell: str) -> None:
        for count in range(60):
            edit_file(path, [CellEdit("replace", cell, f"{cell} = {count}")], {}, {})

    pids = [child(lambda name=name: edits(name)) for name in ("target_cell", "after-it")]

    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0]
    cells = json.loads(path.read_bytes())["cells"]
    assert [cells[2]["source"], cells[3]["source"]] == [["target_cell = 59"], ["after-it = 59"]]
    assert left(tmp_path) == ["a.ipynb"]


def test_a_file_that_a_server_is_just_saving_is_read_when_it_is_whole(tmp_path: Path):
    path = tmp_path / "a.ipynb"
    path.write_bytes(b"")

    def work() -> None:
        time.sleep(0.1)
        path.write_bytes(OLD)

    pid = child(work)
    report = edit_file(path, [CellEdit("insert", source="x")], {}, {})[0]
    os.waitpid(pid, 0)

    assert report.status == "landed"
    assert len(json.loads(path.read_bytes())["cells"]) == 6


def test_mode_and_link_of_a_file_are_kept(tmp_path: Path):
    real, link = tmp_path / "real.ipynb", tmp_path / "link.ipynb"
    real.write_bytes(OLD)
    real.chmod(0o640)
    link.symlink_to(real)

    edit_file(link, [CellEdit("insert", source="x")], {}, {})

    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert len(json.loads(real.read_bytes())["cells"]) == 6
