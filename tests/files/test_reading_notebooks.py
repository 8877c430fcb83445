"""Read: a notebook comes as its cells, through the notebook host where there is one."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from cosh_tools.hosts import CellView, NoNotebook, NotebookView
from support.desk import Desk

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 20).decode()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def notebook(*cells: dict) -> str:
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


async def test_cells_come_with_ids_sources_and_outputs_and_images_beside_them(desk: Desk):
    desk.file(
        "a.ipynb",
        notebook(
            {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "text"]},
            {
                "cell_type": "code",
                "id": "plot",
                "metadata": {},
                "execution_count": 3,
                "source": "1 + 1",
                "outputs": [
                    {"output_type": "stream", "name": "stdout", "text": ["hello\n"]},
                    {
                        "output_type": "execute_result",
                        "data": {"text/plain": "2", "text/html": "<b>2</b>"},
                        "metadata": {},
                    },
                    {
                        "output_type": "display_data",
                        "data": {"image/png": PIXEL, "text/plain": "<Figure>"},
                        "metadata": {},
                    },
                    {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE\x1b[0m: v"]},
                ],
            },
        ),
    )
    result = await desk("Read", file_path="a.ipynb")
    assert result.content == (
        "Notebook a.ipynb (as last saved):\n"
        '<cell id="intro" index="0" type="markdown">\n# Title\ntext\n</cell>\n'
        '<cell id="plot" index="1" type="code" execution_count="3">\n1 + 1\n</cell>\n'
        '<output cell="plot">\nhello\n2\n<Figure>\nE: v\n</output>'
    )
    assert [media.media_type for media in result.media] == ["image/png"]
    assert desk.ctx.read_state.seen(desk.folder / "a.ipynb") is not None


async def test_cells_without_ids_are_called_by_their_place(desk: Desk):
    desk.file("a.ipynb", notebook({"cell_type": "code", "source": "x", "outputs": []}))
    assert '<cell id="cell-0"' in (await desk("Read", file_path="a.ipynb")).content


async def test_a_long_notebook_is_paged_by_cells(desk: Desk):
    desk.file(
        "a.ipynb",
        notebook(*({"cell_type": "code", "id": f"c{n}", "source": "y" * 9000, "outputs": []} for n in range(30))),
    )
    first = await desk("Read", file_path="a.ipynb")
    assert len(first.content) < 100_000
    assert first.content.endswith("more cells, 30 total. Use offset/limit to read more.)")
    assert (await desk("Read", file_path="a.ipynb", offset=30)).content.count("<cell ") == 1
    assert (await desk("Read", file_path="a.ipynb", offset=2, limit=3)).content.count("<cell ") == 3
    assert (await desk("Read", file_path="a.ipynb", offset=31)).is_error


async def test_an_output_of_many_lines_is_shortened_in_its_middle(desk: Desk):
    cell = {
        "cell_type": "code",
        "id": "a",
        "source": "x",
        "outputs": [{"output_type": "stream", "text": "l\n" * 20_000}],
    }
    desk.file("a.ipynb", notebook(cell))
    result = await desk("Read", file_path="a.ipynb")
    assert "characters left out" in result.content
    assert len(result.content) < 11_000


@pytest.mark.parametrize("raw", ["", notebook()])
async def test_a_notebook_without_cells_is_said_to_have_none(desk: Desk, raw):
    desk.file("a.ipynb", raw)
    assert (await desk("Read", file_path="a.ipynb")).content == "[Notebook a.ipynb has no cells]"


@pytest.mark.parametrize("raw", ["{", "[]", "{}", '{"cells": 1}', '"text"'])
async def test_what_is_no_notebook_is_an_error(desk: Desk, raw):
    desk.file("a.ipynb", raw)
    result = await desk("Read", file_path="a.ipynb")
    assert (result.is_error, "no readable notebook" in result.content) == (True, True)


async def test_an_open_notebook_is_read_as_it_is_open_not_as_it_is_on_disk(tmp_path: Path):
    class Open(NoNotebook):
        """The document of a page, with typing that was not saved."""

        async def read(self, path: Path) -> NotebookView:
            return NotebookView(path, (CellView(0, "a", "code", "unsaved"),), live=True, as_of="live")

    desk = Desk(tmp_path, notebook=Open())
    desk.file("a.ipynb", notebook({"cell_type": "code", "id": "a", "source": "saved", "outputs": []}))
    result = await desk("Read", file_path="a.ipynb")
    assert "Notebook a.ipynb (live):" in result.content
    assert "unsaved" in result.content
