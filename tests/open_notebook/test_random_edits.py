"""The agent and a person edit one notebook at random; nothing is lost, doubled or out of place."""

from __future__ import annotations

import random
import re
import time

import pytest

from open_notebook.conftest import said, story

pytestmark = pytest.mark.browser

AGENT = """
import random
luck = random.Random({seed})
await read()
all_ = await cells()
ours = {{all_[0][0], all_[1][0]}}
log = []
for n in range({count}):
    await read()
    now = [(name, source) for name, source in await cells() if name not in ours]
    mode = luck.choice(["replace", "replace", "insert", "move", "delete"]) if len(now) > 4 else "insert"
    names = [name for name, _ in now] or [all_[1][0]]
    cell, anchor, where = luck.choice(names), luck.choice(names), luck.choice(["after", "before"])
    token = f"agent{{n:03}}"
    if mode == "insert":
        result = await edit(edit_mode="insert", new_source=f"# {{token}}", **{{where: anchor}})
    elif mode == "replace":
        text = dict(now)[cell] + f" {{token}}"
        result = await edit(cell_id=cell, new_source=text)
    elif mode == "move":
        if cell == anchor:
            continue
        result = await edit(cell_id=cell, edit_mode="move", **{{where: anchor}})
    else:
        result = await edit(cell_id=cell, edit_mode="delete")
    report = result.metadata.get("cells", [{{"status": "failed", "cell": ""}}])[0]
    log.append([mode, report["status"], report["cell"] or cell, token, result.content[:300]])
    await sleep({pause})
say([log, await cells()])
"""


def person(page, luck, number):
    """One thing that a person may do, through the application itself; what it was."""
    deed = luck.choice(["type", "type", "type", "move", "delete", "insert", "run"])
    token = f"person{number:03}"
    return page.js(
        """
        const [deed, token, pick] = arg, notebook = panel.content, model = notebook.model.sharedModel;
        const free = notebook.widgets.map((w, i) => i).slice(2);
        if (!free.length || (deed === 'delete' && free.length < 5)) return null;
        const at = free[pick % free.length], cell = model.cells[at];
        notebook.deselectAll(); notebook.activeCellIndex = at;
        const commands = window.jupyterapp.commands, id = cell.id;
        if (deed === 'type') {
          const editor = notebook.widgets[at].editor;
          if (!editor) return null;
          const view = editor.editor, end = view.state.doc.length;
          view.dispatch({changes: {from: end, insert: ' ' + token}, userEvent: 'input.type'});
        } else if (deed === 'move') {
          await commands.execute(`notebook:move-cell-${pick % 2 && at > 2 ? 'up' : 'down'}`);
        } else if (deed === 'delete') await commands.execute('notebook:delete-cell');
        else if (deed === 'insert') {
          await commands.execute('notebook:insert-cell-below');
          notebook.activeCell.model.sharedModel.setSource('# ' + token);
          return [deed, notebook.activeCell.model.id, token];
        } else void commands.execute('notebook:run-cell');
        return [deed, id, token];
        """,
        [deed, token, luck.randrange(1000)],
    )


def battle(page, seed):
    luck, deeds, number = random.Random(seed), [], 0
    page.run(1, wait=False)
    end = time.monotonic() + 240
    while page.js("return window.coshTestRun;") != "done":
        assert time.monotonic() < end, "the agent did not end"
        if (deed := person(page, luck, number)) is not None:
            deeds.append(deed)
        number += 1
        time.sleep(luck.uniform(0.02, 0.15))
    page.wait_idle()
    log, last = said(page, 1)
    return log, last, deeds


def judge(page, log, last, deeds):
    cells = [(c["id"], "".join(c["source"])) for c in page.js("return panel.context.model.toJSON().cells;")]
    ids = [name for name, _ in cells]
    assert len(set(ids)) == len(ids)
    landed = [entry for entry in log if entry[1] == "landed"]
    assert {entry[1] for entry in log} <= {"landed", "conflicted", "refused"}, [e for e in log if e[1] == "failed"]
    gone = {cell for mode, _, cell, _, _ in landed if mode == "delete"} | {
        c for deed, c, _ in deeds if deed == "delete"
    }
    assert not gone & set(ids)
    # What landed or was typed stands in its cell exactly once, unless that cell was deleted.
    whole = "\n".join(source for _, source in cells)
    kept = dict(cells)
    for mode, _, cell, token, _ in landed:
        if mode in {"insert", "replace"} and cell not in gone:
            assert kept[cell].count(token) == 1, (mode, cell, token)
    for deed, cell, token in deeds:
        if deed in {"type", "insert"} and cell not in gone:
            assert kept[cell].count(token) == 1, (deed, cell, token)
    tokens = re.findall(r"(?:agent|person)\d{3}", whole.replace(cells[1][1], ""))
    assert len(set(tokens)) == len(tokens)
    # What did not land left no trace, and what the agent was told last is what the page holds.
    for _, status, _, token, _ in log:
        if status != "landed":
            assert token not in tokens
    touched = {cell for _, cell, _ in deeds}
    assert [c for c in map(tuple, last) if c[0] not in touched | gone] == [c for c in cells if c[0] not in touched]
    assert page.js("return document.querySelectorAll('.jp-Dialog').length;") == 0


def play(opens, name, kernel, seed, count, pause):
    page = opens(
        name,
        story(AGENT.format(seed=seed, count=count, pause=pause)),
        *(f"x{n} = {n}" for n in range(6)),
        kernel=kernel,
    )
    log, last, deeds = battle(page, seed)
    judge(page, log, last, deeds)
    page.save()
    return page, log, deeds


def test_twenty_random_edits_against_a_persons(lab, opens):
    page, log, deeds = play(opens, "random20.ipynb", "ipykernel7", 5, 20, 0.1)

    assert len(log) > 15
    assert len(deeds) > 5
    saved = [cell.source for cell in lab.saved("random20.ipynb").cells]
    assert saved == [cell.source for cell in page.cells()]


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("kernel", ["ipykernel7", "ipykernel6"])
@pytest.mark.parametrize("seed", [1, 2])
def test_two_hundred_random_edits_against_a_persons(opens, kernel, seed):
    _, log, deeds = play(opens, f"random200_{kernel}_{seed}.ipynb", kernel, seed, 200, 0.05)

    assert len(log) > 150
    assert len(deeds) > 50
