"""`%%cosh` in a real notebook: the model reads, edits and runs cells of the open notebook; a person allows it."""

from __future__ import annotations

import pytest

from support.modelserver import ModelServer, call

pytestmark = pytest.mark.browser

MORE = "%%cosh\nmore"


def last_result(request):
    """The text of the newest tool result."""
    blocks = [block for message in request["messages"] for block in message["content"] if isinstance(block, dict)]
    content = [block for block in blocks if block["type"] == "tool_result"][-1]["content"]
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)


@pytest.mark.parametrize(("app", "kernel"), [("lab", "ipykernel7"), ("notebook", "ipykernel6")])
def test_the_agent_fixes_a_cell_of_the_open_notebook_and_runs_it(lab, kernel_envs, app, kernel):
    with ModelServer() as model:
        name = f"{kernel}-with-model"
        lab.kernel(name, kernel_envs[kernel], env=model.env())
        notebook = f"whole_{app}.ipynb"
        page = lab.open(
            lab.notebook(notebook, ["%load_ext cosh_nb", "%%cosh\nfix the cell that fails", "1 / 0"], name), app
        )
        try:
            page.run(0)
            failing = page.js("return panel.context.model.toJSON().cells[2].id;")
            model.script(
                [call("NotebookRead", {"notebook_path": notebook})],
                [call("NotebookEdit", {"notebook_path": notebook, "cell_id": failing, "new_source": "print(6 * 7)"})],
                [call("NotebookRun", {"notebook_path": notebook, "cells": [failing]})],
                [call("NotebookEdit", {"notebook_path": notebook, "edit_mode": "insert", "new_source": MORE})],
                "Fixed.",
            )

            page.run(1, wait=False)
            page.wait_for(page.buttons, 30, "no card for the edit")
            assert "print(6 * 7)" in page.do(lambda p: p.locator(".cn-card").last.inner_text())
            press_first(page)
            page.wait_for(lambda: page.cell(2).source == "print(6 * 7)", 30, "the edit did not land")
            page.wait_for(page.buttons, 30, "no card for the run")
            press_first(page)
            page.wait_for(lambda: page.cell(2).text == "42" and len(model.requests) >= 4, 30, "the cell did not run")
            page.wait_done()

            results = [last_result(request) for request in model.requests[1:]]
            assert "(live" in results[0]
            assert f"Replaced code cell {failing} at index 2 of 3 cells" in results[1]
            assert "42" in results[2]
            assert "would call the agent itself" in results[3]
            assert len(page.cells()) == 3
            assert page.js("return panel.context.model.toJSON().cells[2].metadata.cosh.turn;") == 1
            page.save()
            saved = lab.saved(notebook)
            assert saved.cells[2].source == "print(6 * 7)"
            assert "widgets" not in saved.metadata
        finally:
            page.close()
            lab.shut_down_kernels()


def press_first(page):
    """Press the least grant: the first button of the card that waits."""
    button = page.buttons()[0]
    page.click(button)
    page.wait_for(lambda: page.buttons()[:1] != [button], 20, "the card did not close")
