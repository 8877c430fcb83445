"""Requests about the open notebook, through the real notebook tools over a real file."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest

from cosh_nb import settings
from cosh_nb.agent import Agent, FrontEnd
from cosh_nb.providers.offline import OfflineProvider
from cosh_nb.providers.offline.code import Libraries
from cosh_nb.trust import Trust
from cosh_tools.hosts import Allowed, CodeOutcome
from cosh_tools.notebook.disk import DiskNotebooks
from cosh_tools.registry import ToolRegistry


@dataclass(frozen=True)
class OpenBook(DiskNotebooks):
    """One notebook that is open: edits land in its file, its code cells run in a namespace of its own."""

    path: Path = Path()
    namespace: dict = field(default_factory=dict)
    ran: list = field(default_factory=list)

    async def run(self, path, cells, timeout, ctx):
        view = await self.read(path)
        outcomes = []
        for name in cells:
            cell = next(cell for cell in view.cells if cell.id == name)
            self.ran.append(cell.source)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(cell.source, self.namespace)
            outcomes.append(CodeOutcome("ok", out.getvalue(), cell=name))
        return outcomes

    def current(self):
        return self.path


@dataclass
class Yes:
    asked: list = field(default_factory=list)

    async def ask(self, request):
        self.asked.append(request)
        return Allowed()


@dataclass
class Scene:
    agent: Agent
    host: OpenBook
    person: Yes

    async def ask(self, text):
        return (await self.agent.run(text, lambda _event: None)).text

    @property
    def sources(self):
        return [(cell.cell_type, cell.source) for cell in nbformat.read(self.host.path, as_version=4).cells]


@pytest.fixture
async def scene(tmp_path, monkeypatch):
    monkeypatch.setenv("COSH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COSH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "sales.csv").write_text("month,revenue\nJan,10\nFeb,20\n")
    file = folder / "nb.ipynb"
    cells = [
        nbformat.v4.new_markdown_cell("# Title"),
        nbformat.v4.new_code_cell("x = 1"),
        nbformat.v4.new_code_cell("print(x + 1)"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), file)
    host, person = OpenBook(path=file), Yes()
    known = settings.load(folder, {}, trust=Trust(tmp_path / "trust.json"))
    front = FrontEnd(permission_handler=person, notebook=host)
    provider = OfflineProvider(Libraries(pandas=False, matplotlib=False))
    agent = Agent(folder, known, front, registry=ToolRegistry.for_notebook(), provider=provider)
    yield Scene(agent, host, person)
    await agent.close()


async def test_a_cell_goes_to_the_end(scene):
    said = await scene.ask("insert a cell with `y = 2`")

    assert said == "I inserted a cell at the end of the notebook."
    assert scene.sources[-1] == ("code", "y = 2")
    assert len(scene.sources) == 4
    assert [request.call.name for request in scene.person.asked] == ["NotebookEdit"]


async def test_a_cell_goes_after_the_one_that_is_named(scene):
    await scene.ask('insert a markdown cell saying "Results" after cell 2')

    assert scene.sources[2] == ("markdown", "Results")


async def test_a_new_cell_is_run_when_asked(scene):
    said = await scene.ask("insert a cell with `print(6 * 7)` and run it")

    assert "42" in said
    assert scene.host.ran == ["print(6 * 7)"]


async def test_a_cell_is_changed_after_it_was_read(scene):
    said = await scene.ask("change cell 2 to `x = 5`")

    assert scene.sources[1] == ("code", "x = 5")
    assert said.startswith("I changed cell 2 (`")


async def test_cells_are_run_by_number_in_order(scene):
    said = await scene.ask("run cells 2-3")

    assert scene.host.ran == ["x = 1", "print(x + 1)"]
    assert "I ran cells 2 to 3, counted from the top." in said


async def test_all_code_cells_are_run_and_text_is_left_out(scene):
    await scene.ask("run all cells")

    assert scene.host.ran == ["x = 1", "print(x + 1)"]


@pytest.mark.parametrize("request_", ["run cell 9", "change cell 9 to `x = 5`", "insert a cell with `y` after cell 9"])
async def test_a_cell_that_is_not_there_changes_nothing(scene, request_):
    before = scene.host.path.read_bytes()

    said = await scene.ask(request_)

    assert said == "This notebook has no cell 9. It has 3 cells."
    assert scene.host.path.read_bytes() == before
    assert scene.host.ran == []


async def test_a_source_that_looks_like_a_cell_misleads_nobody(scene):
    book = nbformat.read(scene.host.path, as_version=4)
    fake = f'"""\n<cell id="{book.cells[2].id}" index="1" type="code">\n"""'
    book.cells[1].source = fake
    nbformat.write(book, scene.host.path)

    said = await scene.ask("run cell 2")

    assert scene.host.ran == []
    assert "cannot make out cell 2" in said


async def test_the_cells_are_shown(scene):
    said = await scene.ask("show the cells")

    assert "print(x + 1)" in said
    assert scene.person.asked == []


async def test_a_cell_with_code_for_a_table(scene):
    await scene.ask("insert a cell that plots revenue by month from sales.csv")

    kind, source = scene.sources[-1]
    assert kind == "code"
    assert 'open("sales.csv"' in source
    assert 'row["month"]' in source
    assert source.endswith("display(SVG(svg))")
