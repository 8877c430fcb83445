"""Pages that are opened twice, late, again, or not at all; kernels that are restarted; files that are renamed."""

from __future__ import annotations

import json
import time

import pytest

from open_notebook.conftest import said, story

pytestmark = pytest.mark.browser


def sources(page):
    return [cell.source for cell in page.cells()]


def background(code, log):
    body = "\n".join("    " + line for line in code.strip("\n").splitlines())
    return f"async def story():\n{body}\nbackground(story(), {log!r})"


def result(lab, name, seconds=40):
    """What a background story ended with."""
    path, end = lab.root / name, time.monotonic() + seconds
    while not path.exists() or not path.read_text():
        assert time.monotonic() < end, f"{name} was not written within {seconds} s"
        time.sleep(0.05)
    return json.loads(path.read_text())


def test_of_two_tabs_the_one_that_ran_the_cell_is_edited(lab, opens):
    ask = story("""
        pages = await scene.books.bridge.ask_all(patient=True)
        say([len(pages), (await edit(edit_mode="insert", new_source="x = 1")).content])
    """)
    first = opens("two_tabs.ipynb", ask)
    second = lab.open("two_tabs.ipynb", "notebook")
    try:
        second.run(1)

        _, text = said(second, 1)

        assert "is open in Jupyter Notebook" in text
        assert sources(second)[-1] == "x = 1"
        assert "x = 1" not in sources(first)
        first.run(1)
        assert "is open in JupyterLab" in said(first, 1)[1]
        assert sources(second)[2:] == ["x = 1"]
    finally:
        second.close()


def test_a_rename_a_save_and_a_second_notebook_in_the_same_page(lab, opens):
    lab.notebook("other.ipynb", ["o = 1"], "ipykernel7")
    page = opens(
        "before.ipynb",
        story("""
            say([str(await scene.books.finder.current()), scene.name])
        """),
        story("""
            one = await edit("other.ipynb", edit_mode="insert", new_source="o = 2")
            seen = await read("other.ipynb")
            two = await edit(str(await scene.books.finder.current()), edit_mode="insert", new_source="mine = 1")
            say([one.content, seen.content, two.content])
        """),
    )
    page.run(1)
    assert said(page, 1)[0] == str(lab.root / "before.ipynb")

    page.js("await panel.context.rename('after.ipynb');")
    page.run(1)

    assert said(page, 1) == [str(lab.root / "after.ipynb"), str(lab.root / "before.ipynb")]
    page.js(
        "const other = await window.jupyterapp.commands.execute('docmanager:open', {path: 'other.ipynb', "
        "options: {mode: 'split-right', activate: false}}); await other.context.ready;"
    )
    page.run(2)
    one, seen, two = said(page, 2)
    assert "other.ipynb is open in JupyterLab" in one
    assert "(live, with unsaved changes)" in seen
    assert "o = 2" in seen
    assert "after.ipynb is open" in two
    assert [cell.source for cell in lab.saved("other.ipynb").cells] == ["o = 1"]
    page.js("for (const open of window.jupyterapp.shell.widgets('main')) await open.context?.save();")
    assert len(lab.saved("other.ipynb").cells) == 2
    assert [cell.source for cell in lab.saved("after.ipynb").cells][-1] == "mine = 1"
    assert page.js("return document.querySelectorAll('.jp-Dialog').length;") == 0


def test_run_all_keeps_its_order_while_the_agent_edits_between_the_cells(opens):
    page = opens(
        "run_all.ipynb",
        story("""
            await read()
            names = [name for name, _ in await cells()]
            for n in range(5):
                await edit(edit_mode="insert", after=names[2], new_source=f"print('inserted {n}')")
                await edit(cell_id=names[3], new_source="print('changed before it ran')")
                await sleep(0.05)
            await edit(cell_id=names[4], edit_mode="delete")
        """),
        "print('first')",
        "print('second')",
        "print('third')",
        "print('fourth')",
    )

    page.run_all()

    found = [(cell.source[:22], cell.text) for cell in page.cells()[2:]]
    assert found[0] == ("print('first')", "first")
    assert [source for source, _ in found[1:6]] == [f"print('inserted {n}')" for n in (4, 3, 2, 1, 0)]
    # Run All has sent every source before the first cell runs; the changed one shows what ran.
    assert found[-2] == ("print('changed before ", "second")
    assert found[-1] == ("print('fourth')", "fourth")
    assert page.cells()[1].count < page.cells()[2].count < page.cells()[-1].count


def test_a_page_that_is_reloaded_closed_or_opened_late_is_found_or_missed_with_a_clear_end(lab, opens):
    page = opens(
        "reload.ipynb",
        background(
            """
from pathlib import Path
log = []
async def step(n):
    while not Path(f"go{n}").exists():
        await sleep(0.02)
    began = clock()
    found = await edit(edit_mode="insert", new_source=f"n = {n}")
    log.append([found.is_error, found.content, clock() - began])
    Path(f"done{n}").touch()
for n in range(4):
    await step(n)
return log
""",
            "reload.json",
        ),
    )
    page.run(1)

    def step(n):
        (lab.root / f"go{n}").touch()
        end = time.monotonic() + 30
        while not (lab.root / f"done{n}").exists():
            assert time.monotonic() < end
            time.sleep(0.02)

    step(0)
    page.save()
    page.reload()
    step(1)
    assert sources(page)[2:] == ["n = 0", "n = 1"]
    page.save()
    page.close()
    step(2)
    late = lab.open("reload.ipynb")
    step(3)
    log = result(lab, "reload.json")
    assert [error for error, _, _ in log] == [False, False, True, False]
    assert "does not answer any more" in log[2][1] or "no lab extension" in log[2][1] or "no page" in log[2][1]
    assert max(seconds for _, _, seconds in log) < 12
    assert sources(late)[2:] == ["n = 0", "n = 1", "n = 3"]
    assert "n = 2" not in (lab.root / "reload.ipynb").read_text()
    late.close()


def test_after_a_restart_of_the_kernel_the_page_is_found_again(opens):
    page = opens("restart.ipynb", story("say((await edit(edit_mode='insert', new_source='y = 1')).content)"))
    page.run(1)
    assert "Inserted" in said(page, 1)

    page.restart()
    page.run(0)
    page.run(1)

    assert "Inserted" in said(page, 1)
    assert sources(page)[2:] == ["y = 1", "y = 1"]


def test_a_notebook_that_another_program_has_open_is_refused_and_a_closed_one_is_edited_on_disk(lab, opens):
    lab.notebook("closed.ipynb", ["c = 1"], "ipykernel7")
    lab.notebook("elsewhere.ipynb", ["e = 1"], "ipykernel7")
    elsewhere = lab.open("elsewhere.ipynb")
    page = opens(
        "mine.ipynb",
        story("""
            names = ("closed.ipynb", "elsewhere.ipynb")
            results = [await edit(name, edit_mode="insert", new_source="new = 1") for name in names]
            seen = [await read(name) for name in names]
            say([[r.is_error, r.content] for r in results + seen])
        """),
    )
    page.run(1)
    try:
        closed, open_, closed_read, open_read = said(page, 1)

        assert closed[0] is False
        assert "Written on disk; reload if a tab shows it." in closed[1]
        assert open_[0] is True
        assert "open in another page or program" in open_[1]
        assert "/install-lab" in open_[1]
        assert "(as last saved" in closed_read[1]
        assert "unsaved changes are not seen" in open_read[1]
        assert [cell.source for cell in lab.saved("closed.ipynb").cells] == ["c = 1", "new = 1"]
        assert [cell.source for cell in lab.saved("elsewhere.ipynb").cells] == ["e = 1"]
    finally:
        elsewhere.close()
