"""NotebookRead and NotebookEdit on notebooks that nobody has open, through the real path."""

from __future__ import annotations

import json
import random
from pathlib import Path

from notebook_disk.corpus import PNG, book, code, dump, plain_cells, stream, text
from notebook_disk.scene import Desk

OLD = dump(book(plain_cells()))


async def test_a_read_shows_cells_with_ids_and_says_how_old_they_are(tmp_path: Path):
    desk = Desk.at(tmp_path)
    desk.put("a.ipynb", OLD)

    result = await desk.read("a.ipynb")

    assert "(as last saved, 0 s old): 5 cells" in result.content
    assert '<cell id="target_cell" index="2" type="code" execution_count="3">\ntarget = ' in result.content
    assert "[stdout]\nthis one" in result.content
    assert result.metadata["summary"] == "5 cells"


async def test_an_edit_after_a_read_lands_and_says_where(tmp_path: Path):
    desk = Desk.at(tmp_path)
    desk.put("a.ipynb", OLD)
    await desk.read("a.ipynb")

    result = await desk.edit("a.ipynb", cell_id="target_cell", new_source="x = 2")

    assert result.content == (
        "Replaced code cell target_cell at index 2 of 5 cells; before it: first-code, after it: after-it. "
        "Its old outputs were cleared. Written on disk; reload if a tab shows it."
    )
    assert result.metadata["summary"] == "+1 −2"
    assert "+x = 2" in result.metadata["diff"]
    again = await desk.edit("a.ipynb", cell_id="target_cell", new_source="x = 3")
    assert not again.is_error


async def test_only_the_cells_that_were_shown_count_as_read(tmp_path: Path):
    desk = Desk.at(tmp_path)
    desk.put("a.ipynb", OLD)
    await desk.read("a.ipynb", cells=["target_cell..after-it"])

    shown = await desk.edit("a.ipynb", cell_id="cell-3", new_source="x")
    hidden = await desk.edit("a.ipynb", cell_id="first-code", new_source="x")

    assert not shown.is_error
    assert "was not read in this session" in hidden.content


async def test_a_cell_changed_since_it_was_read_is_a_conflict_that_shows_both_texts(tmp_path: Path):
    desk = Desk.at(tmp_path)
    path = desk.put("a.ipynb", OLD)
    await desk.read("a.ipynb")
    theirs = OLD.replace(b"this one'", b"edited by a person'")
    path.write_bytes(theirs)

    result = await desk.edit("a.ipynb", cell_id="target_cell", new_source="mine")

    assert result.is_error
    assert result.metadata["summary"] == "conflict"
    assert "target = 'this one'" in result.content
    assert "target = 'edited by a person'" in result.content
    assert path.read_bytes() == theirs
    informed = await desk.edit("a.ipynb", cell_id="target_cell", new_source="mine")
    assert not informed.is_error


async def test_several_edits_in_one_call_are_each_reported_and_written_at_once(tmp_path: Path):
    desk = Desk.at(tmp_path)
    desk.put("a.ipynb", OLD)
    await desk.read("a.ipynb")

    result = await desk.edit(
        "a.ipynb",
        edits=[
            {"edit_mode": "insert", "after": "first-code", "new_source": "one"},
            {"edit_mode": "insert", "after": "first-code", "new_source": "two"},
            {"edit_mode": "insert", "before": "a1b2c3d4", "new_source": "top", "cell_type": "markdown"},
            {"edit_mode": "delete", "cell_id": "after-it"},
            {"edit_mode": "delete", "cell_id": "nowhere"},
            {"edit_mode": "move", "cell_id": "target_cell"},
            {"edit_mode": "insert", "after": "after-it", "new_source": "x"},
            {"cell_id": "cell-0", "source": ["a\n", "b"]},
        ],
    )

    assert "6 of 8 edits landed" in result.content
    assert "5. refused: Cell nowhere was not read" in result.content
    assert "7. refused: An earlier edit of this call deleted the anchor after-it" in result.content
    assert ["".join(cell["source"])[:7] for cell in desk.cells("a.ipynb")] == [
        "top", "a\nb", "import ", "one", "two", "the end", "target ",
    ]  # fmt: skip


async def test_in_a_notebook_without_ids_positions_follow_the_cells(tmp_path: Path):
    desk = Desk.at(tmp_path)
    desk.put("a.ipynb", dump(book(plain_cells(ids=False), 4)))
    await desk.read("a.ipynb")

    await desk.edit("a.ipynb", edit_mode="insert", after="cell-0", new_source="new")
    result = await desk.edit("a.ipynb", cell_id="cell-3", new_source="x = 3")

    assert result.content.startswith("Replaced code cell cell-3 at index 3")
    assert [("id" in cell) for cell in desk.cells("a.ipynb")] == [False] * 6
    assert desk.cells("a.ipynb")[3]["source"] == ["x = 3"]


async def test_a_long_notebook_comes_as_an_outline_and_cells_come_on_request(tmp_path: Path):
    desk = Desk.at(tmp_path)
    cells = [code(f"# step {n}\n" + "x = 1\n" * 30, f"c{n:03}", [stream("out\n" * 500)]) for n in range(300)]
    desk.put("a.ipynb", dump(book(cells)))

    outline = await desk.read("a.ipynb")
    some = await desk.read("a.ipynb", cells="c010..c012,20")
    unread = await desk.edit("a.ipynb", cell_id="c000", new_source="x")

    assert len(outline.content) < 40_000
    assert " 299 c299 code[3] 32 lines: # step 299  -> " in outline.content
    assert [line.split('"')[1] for line in some.content.splitlines() if line.startswith("<cell")] == [
        "c010", "c011", "c012", "c020",
    ]  # fmt: skip
    assert "(1,001 characters" in some.content or "characters, " in some.content
    assert "was not read" in unread.content


async def test_outputs_are_folded_and_images_are_attached(tmp_path: Path):
    desk = Desk.at(tmp_path)
    outputs = [
        stream("\x1b[32m10%\x1b[0m\r", "50%\r", "100% done\n"),
        {"data": {"image/png": PNG, "text/plain": ["<Figure size 1x1>"]}, "metadata": {},
         "output_type": "display_data"},
        {"data": {"text/html": ["<b>7</b> rows"], "text/plain": ["<IPython.core.display.HTML object>"]}, "metadata": {},
         "output_type": "display_data"},
        {"ename": "KeyError", "evalue": "'x'", "output_type": "error", "traceback": ["\x1b[31mKeyError\x1b[0m: 'x'"]},
    ]  # fmt: skip
    desk.put("a.ipynb", dump(book([code("x", "c", outputs), text("t", "m")])))

    result = await desk.read("a.ipynb")

    assert "[stdout]\n100% done" in result.content
    assert "10%" not in result.content
    assert "[image/png, 10.2 KB: the image is attached]" in result.content
    assert "7 rows" in result.content
    assert "[error] KeyError: 'x'" in result.content
    assert "\x1b" not in result.content
    assert [media.media_type for media in result.media] == ["image/png"]
    assert "the image" not in (await desk.read("a.ipynb", outputs="none")).content


async def test_the_card_shows_the_change_before_it_is_made(tmp_path: Path):
    desk = Desk.at(tmp_path)
    desk.put("a.ipynb", OLD)
    tool = desk.runner.registry.find("NotebookEdit")
    assert tool is not None
    edits = [{"cell_id": "target_cell", "new_source": "x"}, {"cell_id": "after-it", "edit_mode": "delete"}]
    call = tool.takes.model_validate({"notebook_path": "a.ipynb", "edits": edits})

    diff = await tool.diff(call, desk.runner.ctx)  # type: ignore[attr-defined]

    assert "--- a.ipynb cell 2 (target_cell)" in diff
    assert "-target = 'this one'\n-print(target)\n+x" in diff
    assert "-# } ] , { [" in diff
    assert (tmp_path / "a.ipynb").read_bytes() == OLD


async def test_two_hundred_random_edits_give_the_notebook_that_the_reports_say(tmp_path: Path):
    desk = Desk.at(tmp_path)
    desk.put("a.ipynb", OLD)
    await desk.read("a.ipynb")
    luck = random.Random(20)
    model = [(cell["id"], "".join(cell["source"])) for cell in desk.cells("a.ipynb")]

    for step in range(200):
        ids = [name for name, _ in model]
        mode = luck.choice(["replace", "insert", "insert", "move", "delete"] if len(model) > 2 else ["insert"])
        cell, anchor = luck.choice(ids), luck.choice(ids)
        where = luck.choice(["after", "before"])
        source = f"step = {step}\n" * luck.randrange(3)
        arguments = {"replace": {"cell_id": cell, "new_source": source}, "delete": {"cell_id": cell},
                     "insert": {where: anchor, "new_source": source}, "move": {"cell_id": cell, where: anchor}}[
            mode
        ]  # fmt: skip
        result = await desk.edit("a.ipynb", edit_mode=mode, **arguments)
        if mode == "move" and cell == anchor:
            assert result.is_error
            continue
        assert not result.is_error, result.content
        report = result.metadata["cells"][0]
        if mode in {"move", "delete"}:
            kept = model.pop(ids.index(cell))
        if mode == "replace":
            model[ids.index(cell)] = (cell, source)
        elif mode != "delete":
            at = [name for name, _ in model].index(anchor) + (where == "after")
            model.insert(at, kept if mode == "move" else (report["cell"], source))
            assert report["index"] == at

    assert [(cell["id"], "".join(cell["source"])) for cell in desk.cells("a.ipynb")] == model
    data = (tmp_path / "a.ipynb").read_bytes()
    assert data == json.dumps(json.loads(data), indent=1, ensure_ascii=False).encode() + b"\n"
