"""Forty notebooks: an edit of one cell changes that cell's bytes and no other."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cosh_tools.hosts import CellEdit
from cosh_tools.notebook.disk import edit_file
from cosh_tools.notebook.scan import _by_lines, _by_values, scan
from notebook_disk.corpus import TARGET, Sample, papermill, samples

SAMPLES = list(samples())
NEW = "changed = 'ü'\nprint(target)\n"


def parsed(data: bytes) -> dict[str, Any]:
    return dict(json.loads(data.removeprefix(b"\xef\xbb\xbf")))


def span(data: bytes) -> tuple[int, int]:
    """Where the target cell stands, found by trying to decode a cell at every brace before its text."""
    latin = data.decode("latin-1")
    marker = latin.index("target = ")
    decoder = json.JSONDecoder()
    for start in range(marker, -1, -1):
        if latin[start] == "{":
            try:
                cell, end = decoder.raw_decode(latin, start)
            except ValueError:
                continue
            if "cell_type" in cell and end > marker:
                return start, end
    raise AssertionError("no target cell")


def changed(old: bytes, new: bytes) -> tuple[int, int]:
    """The smallest region of `old` that differs from `new`."""
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    same = next((i for i, (a, b) in enumerate(zip(old[:first:-1], new[:first:-1], strict=False)) if a != b), None)
    return first, len(old) - (min(len(old), len(new)) - first - 1 if same is None else same)


def index(cells: list[Any]) -> int:
    return next(i for i, cell in enumerate(cells) if "target = " in "".join(cell["source"]))


def test_there_are_forty_shapes():
    assert len({sample.name for sample in SAMPLES}) == len(SAMPLES) >= 40


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_a_replaced_cell_is_the_only_thing_that_changes(sample: Sample, tmp_path: Path):
    path = tmp_path / "a.ipynb"
    path.write_bytes(sample.data)
    cells = parsed(sample.data)["cells"]
    at = index(cells)

    report = edit_file(path, [CellEdit("replace", f"cell-{at}", NEW)], {}, {})[0]

    assert report.status == "landed"
    new = path.read_bytes()
    start, end = span(sample.data)
    first, last = changed(sample.data, new)
    assert start < first <= last < end
    after = parsed(new)
    cell = after["cells"][at]
    source = NEW.replace("\n", "\r\n") if sample.name == "crlf-in-sources" else NEW
    assert "".join(cell["source"]) == source
    assert isinstance(cell["source"], type(cells[at]["source"]))
    assert cell["outputs"] == []
    assert cell["execution_count"] is None
    assert cell.get("id") == cells[at].get("id")
    assert list(cell) == list(cells[at])
    if sample.name.startswith("escaped"):
        assert new.isascii()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_a_cell_that_is_inserted_and_deleted_again_leaves_every_byte_as_it_was(sample: Sample, tmp_path: Path):
    path = tmp_path / "a.ipynb"
    path.write_bytes(sample.data)
    before = parsed(sample.data)

    edit_file(path, [CellEdit("insert", source="x = 'ü'\ny", after="cell-1")], {}, {})

    grown = parsed(path.read_bytes())
    new = grown["cells"][2]
    assert "".join(new["source"]) == "x = 'ü'\ny"
    assert ("id" in new) == (before["nbformat_minor"] >= 5)
    assert grown["cells"][:2] + grown["cells"][3:] == before["cells"] or "nan" in sample.name
    edit_file(path, [CellEdit("delete", "cell-2")], {}, {})
    assert path.read_bytes() == sample.data


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_cells_that_are_moved_keep_their_bytes(sample: Sample, tmp_path: Path):
    path = tmp_path / "a.ipynb"
    path.write_bytes(sample.data)
    start, end = span(sample.data)

    edit_file(path, [CellEdit("move", f"cell-{index(parsed(sample.data)['cells'])}", before="cell-0")], {}, {})

    new = path.read_bytes()
    assert sample.data[start:end] in new
    assert len(new) == len(sample.data) or sample.name == "uneven-layout"
    moved = parsed(new)["cells"]
    assert index(moved) == 0
    key = repr
    assert sorted(moved, key=key) == sorted(parsed(sample.data)["cells"], key=key) or "nan" in sample.name


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_both_ways_to_find_the_cells_find_the_same(sample: Sample):
    slow = _by_values(sample.data, sample.name)
    fast = _by_lines(sample.data)

    if fast is not None:
        assert [(c.start, c.end, c.id, c.type, c.source) for c in fast.cells] == [
            (c.start, c.end, c.id, c.type, c.source) for c in slow.cells
        ]
        assert repr([list(c.outputs) for c in fast.cells]) == repr([list(c.outputs) for c in slow.cells])
        assert (fast.head, fast.tail, fast.top) == (slow.head, slow.tail, slow.top)
    assert [cell.source for cell in scan(sample.data, "x").cells] == [cell.source for cell in slow.cells]


def test_what_jupyter_itself_writes_is_found_the_fast_way():
    pretty = [s for s in SAMPLES if s.name.startswith(("nbformat-4", "huge-outputs", "tricky", "widgets", "crlf"))]
    found = {sample.name: _by_lines(sample.data) is not None for sample in pretty}
    assert {name for name, fast in found.items() if not fast} <= {"huge-outputs-one-line"}


def test_git_shows_the_edited_cell_alone(tmp_path: Path):
    old, new = tmp_path / "old", tmp_path / "new"
    real = {path.name: path.read_bytes() for path in papermill() if b'"source"' in path.read_bytes()}
    assert len(real) > 20
    for folder in (old, new):
        folder.mkdir()
        for name, data in real.items():
            (folder / name).write_bytes(data)
    edited = 0
    for name, data in real.items():
        if not parsed(data)["cells"]:
            continue
        edited += edit_file(new / name, [CellEdit("replace", "cell-0", "changed\n")], {}, {})[0].status == "landed"

    shown = subprocess.run(
        ["git", "diff", "--no-index", "-U0", "--no-color", str(old), str(new)],
        capture_output=True,
        text=True,
        check=False,
    ).stdout

    assert edited > 20
    files = shown.split("diff --git ")[1:]
    assert len(files) == edited
    for file in files:
        name = file.split("\n", 1)[0].rsplit("/", 1)[1]
        above = real[name][: real[name].index(b'"cells"')].count(b"\n") + 1
        first = json.dumps(json.loads(real[name])["cells"][0], indent=1)
        hunks = [line for line in file.splitlines() if line.startswith("@@")]
        last = max(int(hunk.split()[1][1:].split(",")[0]) for hunk in hunks)
        assert above < last <= above + first.count("\n") + 1, f"{name}: {hunks}"


def test_a_changed_type_changes_the_fields_that_belong_to_it(tmp_path: Path):
    sample = next(s for s in SAMPLES if s.name == "attachments")
    path = tmp_path / "a.ipynb"
    path.write_bytes(sample.data)

    edit_file(
        path,
        [CellEdit("replace", "a1b2c3d4", type="code"), CellEdit("replace", "target_cell", type="markdown"),
         CellEdit("replace", "the-end", "# now text", type="markdown")],
        {}, {},
    )  # fmt: skip

    cells = parsed(path.read_bytes())["cells"]
    assert cells[0] == {"cell_type": "code", "execution_count": None, "id": "a1b2c3d4", "metadata": {}, "outputs": [],
                        "source": ["![x](attachment:x.png)"]}  # fmt: skip
    assert cells[2] == {"cell_type": "markdown", "id": "target_cell", "metadata": {}, "source": TARGET.splitlines(True)}
    assert cells[4]["cell_type"] == "markdown"
    assert list(cells[0]) == sorted(cells[0])


def test_new_cells_look_like_their_neighbours(tmp_path: Path):
    sample = next(s for s in SAMPLES if s.name == "nbformat-4.5")
    path = tmp_path / "a.ipynb"
    path.write_bytes(sample.data)

    edit_file(
        path,
        [CellEdit("insert", source="a\nb", type="code"), CellEdit("insert", source="# é", type="markdown")],
        {},
        {},
    )

    new = path.read_bytes()
    assert new == json.dumps(parsed(new), indent=1, ensure_ascii=False).encode() + b"\n"
    ids = [cell["id"] for cell in parsed(new)["cells"]]
    assert len(set(ids)) == 7
    assert all(len(name) == 8 for name in ids[-2:])


@pytest.mark.parametrize("minor", [4, 5])
def test_the_first_cell_of_an_empty_notebook(tmp_path: Path, minor: int):
    path = tmp_path / "a.ipynb"
    empty = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": minor}
    path.write_text(json.dumps(empty, indent=1) + "\n")

    report = edit_file(path, [CellEdit("insert", source="first")], {}, {})[0]

    assert (report.index, report.before, report.after) == (0, None, None)
    new = path.read_bytes()
    assert new == json.dumps(parsed(new), indent=1).encode() + b"\n"
    edit_file(path, [CellEdit("delete", "cell-0")], {}, {})
    assert parsed(path.read_bytes()) == empty
