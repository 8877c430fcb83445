"""The agent edits the notebook that a person has open, while a cell runs and the person works on."""

from __future__ import annotations

import pytest

from open_notebook.conftest import said, story

pytestmark = pytest.mark.browser

TYPED = "the quick brown fox jumps over the lazy dog 0123456789 abcde"

EVERYWHERE = pytest.mark.parametrize(
    ("app", "kernel"),
    [
        ("lab", "ipykernel7"),
        ("notebook", "ipykernel6"),
        pytest.param("lab", "ipykernel6", marks=pytest.mark.slow),
        pytest.param("notebook", "ipykernel7", marks=pytest.mark.slow),
    ],
)


def sources(page):
    return [cell.source for cell in page.cells()]


def dialogs(page):
    return page.js("return document.querySelectorAll('.jp-Dialog').length;")


def type_in_cell(page, index, text, delay=12):
    """Click into the editor of a cell and type at its end."""

    def work(browser_page):
        editor = browser_page.locator(".jp-Notebook .jp-Cell").nth(index).locator(".cm-content")
        editor.click()
        browser_page.keyboard.press("Control+End")
        browser_page.keyboard.type(text, delay=delay)

    page.do(work)


@EVERYWHERE
def test_a_person_types_sixty_characters_while_the_agent_edits_other_cells(opens, app, kernel):
    assert len(TYPED) == 60
    page = opens(
        f"typing_{app}_{kernel}.ipynb",
        story("""
            await read()
            all_ = [name for name, _ in await cells()]
            mine, a, b, c, d = all_[2], *all_[3:]
            while (await cells())[2][1] == "mine = 1  # ":
                await sleep(0.02)
            done = []
            for n in range(6):
                done.append(await edit(edit_mode="insert", before=mine, new_source=f"above {n}"))
                done.append(await edit(cell_id=a, new_source=f"a = {n}"))
                done.append(await edit(cell_id=b, edit_mode="move", before=all_[1] if n % 2 else d))
                done.append(await edit(edit_mode="insert", new_source=f"# text {n}", cell_type="markdown"))
                await sleep(0.05)
            done.append(await edit(cell_id=c, edit_mode="delete"))
            say({"problems": [r.content for r in done if r.is_error], "cells": await cells()})
        """),
        "mine = 1  # ",
        "a = 'old'",
        "b = 'old'",
        "c = 'old'",
        "d = 'old'",
        app=app,
        kernel=kernel,
    )
    page.run(1, wait=False)

    type_in_cell(page, 2, TYPED, delay=25)
    page.wait_done()

    told = said(page, next(i for i, s in enumerate(sources(page)) if s.startswith("async def")))
    assert told["problems"] == []
    assert dialogs(page) == 0
    found = sources(page)
    assert [s for s in found if s.startswith("mine")] == [f"mine = 1  # {TYPED}"]
    assert [s for s in found if s.startswith("above")] == [f"above {n}" for n in range(6)]
    assert [s for s in found if s.startswith("# text")] == [f"# text {n}" for n in range(6)]
    assert "a = 5" in found
    assert "c = 'old'" not in found
    assert [i for i, _ in told["cells"]] == page.js("return panel.context.model.toJSON().cells.map(c => c.id);")


def test_undo_in_the_cell_takes_back_typing_and_undo_of_cells_takes_back_the_agents_insert(opens):
    page = opens(
        "undo.ipynb",
        story("""
            await read()
            names = [name for name, _ in await cells()]
            await edit(edit_mode="insert", after=names[1], new_source="inserted = 1")
            await edit(cell_id=names[2], new_source="mine = 2")
        """),
        "mine = 1",
    )
    type_in_cell(page, 2, " # typed")
    page.run(1)
    assert sources(page)[2:] == ["inserted = 1", "mine = 2"]

    page.do(lambda p: p.locator(".jp-Notebook .jp-Cell").nth(3).locator(".cm-content").click())
    page.do(lambda p: p.keyboard.press("Control+z"))
    page.wait_for(lambda: sources(page)[3] == "mine = 1 # typed", 5, "Ctrl+Z did not bring back what was typed")
    page.command("notebook:undo-cell-action")

    page.wait_for(lambda: "inserted = 1" not in sources(page), 5, "the insert was not undone")


@pytest.mark.parametrize("kernel", ["ipykernel6", pytest.param("ipykernel7", marks=pytest.mark.slow)])
def test_a_cell_that_the_person_changed_since_it_was_read_is_a_conflict(opens, kernel):
    page = opens(
        f"conflict_{kernel}.ipynb",
        story("""
            await read()
            name, _ = (await cells())[2]
            while (await cells())[2][1] == "x = 1":
                await sleep(0.05)
            result = await edit(cell_id=name, new_source="x = 'agent'")
            say([result.is_error, result.content])
        """),
        "x = 1",
        kernel=kernel,
    )
    page.run(1, wait=False)
    page.wait_for(lambda: page.status() == "busy", 10, "the story did not start")
    type_in_cell(page, 2, "000", delay=0)
    page.wait_done()

    error, text = said(page, 1)
    assert error
    assert "was changed since you read it" in text
    assert "x = 1\n```" in text
    assert "x = 1000" in text or "x = 100" in text or "x = 10" in text
    assert sources(page)[2] == "x = 1000"
