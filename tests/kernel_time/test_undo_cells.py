"""Cells of an open notebook come back; what a person typed since stays. The open page is played by the file on disk."""

from __future__ import annotations

from dataclasses import replace

import nbformat
import pytest

from cosh_nb.timetravel.turns import Turns
from cosh_nb.timetravel.undo import undo
from cosh_tools.context import SessionState, ToolContext
from cosh_tools.hosts import CellEdit
from cosh_tools.notebook.disk import DiskNotebooks
from cosh_tools.touches import RunsCode


class OpenPage:
    """A real notebook host whose notebooks count as open."""

    def __init__(self):
        self.disk = DiskNotebooks()

    async def read(self, path, outputs=None):
        return replace(await self.disk.read(path, outputs), live=True)

    async def apply(self, path, edits, ctx):
        return await self.disk.apply(path, edits, ctx)

    def current(self):
        return None


@pytest.fixture
def scene(tmp_path, monkeypatch):
    monkeypatch.setenv("COSH_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "work"
    folder.mkdir()
    book = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("# Title", id="title"),
            *(nbformat.v4.new_code_cell(f"x = {n}", id=f"c{n}") for n in range(1, 5)),
        ]
    )
    nbformat.write(book, folder / "book.ipynb")
    ctx = ToolContext(SessionState(folder, folder), notebook=OpenPage())
    return Turns("test"), ctx, folder / "book.ipynb"


async def edit(turns, ctx, path, *edits):
    """One call of NotebookEdit, as the runner goes about it."""
    touches = [ctx.writes(str(path))]
    await turns.before(touches, ctx)
    reports = await ctx.notebook.apply(path, edits, ctx)
    await turns.after(touches, ctx)
    assert [report.status for report in reports] == ["landed"] * len(edits), reports


async def sources(ctx, path):
    return [cell.source for cell in (await ctx.notebook.read(path, ())).cells]


async def test_replaced_inserted_deleted_and_moved_cells_come_back_and_the_undo_can_be_undone(scene):
    turns, ctx, path = scene
    before = await sources(ctx, path)
    turns.begin(1, "change the notebook")
    await edit(turns, ctx, path, CellEdit("replace", cell="c1", source="x = 10"))
    await edit(turns, ctx, path, CellEdit("insert", source="new = 1", type="code", after="c1"))
    await edit(turns, ctx, path, CellEdit("delete", cell="c2"), CellEdit("delete", cell="c3"))
    await edit(turns, ctx, path, CellEdit("move", cell="c4", before="title"))
    await turns.end()
    after = await sources(ctx, path)
    assert after == ["x = 4", "# Title", "x = 10", "new = 1"]

    done = await undo(turns, turns.all[0], ctx)

    assert await sources(ctx, path) == before
    assert (done.since, done.lost) == ([], [])
    assert sum("without its outputs" in cell for cell in done.cells) == 2

    await undo(turns, turns.all[-1], ctx)
    assert sorted(await sources(ctx, path)) == sorted(after)


async def test_a_cell_that_a_person_changed_since_stays_and_the_others_come_back(scene):
    turns, ctx, path = scene
    turns.begin(1, "")
    await edit(turns, ctx, path, *(CellEdit("replace", cell=f"c{n}", source=f"x = {n}0") for n in (1, 2, 3)))
    await turns.end()
    await ctx.notebook.apply(path, [CellEdit("replace", cell="c2", source="mine")], ctx)

    done = await undo(turns, turns.all[0], ctx)

    assert await sources(ctx, path) == ["# Title", "x = 1", "mine", "x = 3", "x = 4"]
    assert done.since == ["book.ipynb c2"]


async def test_what_two_turns_of_two_sessions_wrote_is_kept_apart(scene):
    turns, ctx, path = scene
    other, shared = Turns("other"), path.with_name("shared.txt")
    shared.write_text("first")

    async def write(one, text):
        touches = [ctx.writes(str(shared))]
        one.begin(1, "")
        await one.before(touches, ctx)
        shared.write_text(text)
        await one.after(touches, ctx)
        await one.end()

    await write(turns, "from one")
    await write(other, "from the other")

    done = await undo(turns, turns.all[0], ctx)
    assert (shared.read_text(), done.since, done.any) == ("from the other", ["shared.txt"], False)

    await undo(other, other.all[0], ctx)
    assert shared.read_text() == "from one"
    await undo(turns, turns.all[0], ctx)
    assert shared.read_text() == "first"


async def test_a_link_a_mode_and_a_deleted_folder_come_back(scene):
    turns, ctx, path = scene
    folder = path.parent / "folder"
    (folder / "deep").mkdir(parents=True)
    (path.parent / ".gitignore").write_text("ignored.txt\n")
    (folder / "deep" / "ignored.txt").write_text("not seen by a look at the workspace")
    (folder / "link").symlink_to("deep")
    (folder / "run.sh").write_text("#!")
    (folder / "run.sh").chmod(0o750)
    turns.begin(1, "")
    touches = [ctx.writes(str(folder), deletes=True)]
    await turns.before(touches, ctx)
    (folder / "deep" / "ignored.txt").unlink()
    (folder / "deep").rmdir()
    (folder / "run.sh").unlink()
    (folder / "link").unlink()
    folder.rmdir()
    await turns.after(touches, ctx)
    await turns.end()

    done = await undo(turns, turns.all[0], ctx)

    assert done.lost == []
    assert (folder / "deep" / "ignored.txt").read_text() == "not seen by a look at the workspace"
    assert (folder / "run.sh").stat().st_mode & 0o777 == 0o750
    assert (folder / "link").is_symlink()


async def test_what_is_too_much_to_keep_is_named_and_what_the_agent_writes_itself_still_comes_back(scene):
    turns, ctx, path = scene
    turns._scanner.most_bytes, big = 1_000, path.with_name("big.bin")
    big.write_bytes(b"0" * 2_000)
    small = path.with_name("small.txt")
    small.write_text("s")
    turns.begin(1, "")
    code = [RunsCode("anything()")]
    await turns.before(code, ctx)
    big.write_bytes(b"1")
    small.write_text("t")
    await turns.after(code, ctx)
    await turns.end()

    done = await undo(turns, turns.all[0], ctx)

    assert small.read_text() == "s"
    assert any(said.startswith("big.bin: only 0 MB of contents are kept") for said in done.lost), done.lost
    assert big.read_bytes() == b"1"

    turns._scanner.most_files = 2
    turns.begin(2, "")
    touches = [*code, ctx.writes(str(small))]
    await turns.before(touches, ctx)
    small.write_text("u")
    await turns.after(touches, ctx)
    await turns.end()
    done = await undo(turns, turns.all[-1], ctx)
    assert small.read_text() == "s"
    assert any("More than 2 files are here" in said for said in done.lost)
