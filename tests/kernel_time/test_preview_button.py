"""The Preview button of an approval card: what the code would do, before the answer."""

from __future__ import annotations

import pytest

from cosh_nb.render import cards
from cosh_tools.contract import RunsCode, ToolCall
from cosh_tools.hosts import ApprovalRequest
from cosh_tools.policy.decide import Ask
from support.modelserver import call


def test_a_card_shows_what_the_code_would_do_and_the_code_runs_only_after_the_answer(room):
    room.ok("numbers = [1]")
    room.server.script([call("Python", {"code": "numbers.append(2)\nprint('two', numbers)"})], "Done.")
    cell = room.kernel.start("%cosh add two")
    room.kernel.click("Preview")

    def shown():
        return next((s["value"] for _, s in room.kernel.shown() if "nothing was changed" in str(s.get("value"))), None)

    card = room.kernel.wait(shown, 20, "preview in the card")
    assert "two [1, 2]" in card
    assert "~ numbers: list of 1" in card
    assert "Preview" not in room.kernel.buttons()
    room.kernel.click("Don’t run")
    room.kernel.type_into("optional, e.g. use altair", "no")
    room.kernel.finish(cell)

    assert room.value("numbers") == [1]


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        (["x = 1", "y = 2"], "x = 1\ny = 2"),
        (["%%bash\nls"], "%%bash\nls"),
        (["x = 1", "%%bash\nls"], ""),
        (["x = 1", "# cell c9 of book.ipynb"], ""),
    ],
)
def test_cells_can_be_tried_where_their_sources_are_known(cells, code):
    given = {"notebook_path": "book.ipynb", "cells": ["a"]}
    asked = ApprovalRequest(ToolCall("1", "NotebookRun", given), "run", tuple(map(RunsCode, cells)), Ask("It asks."))

    assert cards.previewed_code(asked) == code
    keys = [button.key for button in cards.buttons(asked, previewable=True)]
    assert ("preview" in keys) == bool(code)
