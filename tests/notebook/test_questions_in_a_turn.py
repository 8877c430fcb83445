"""Questions that the agent puts with its tool stand in the turn like any other step, and leave one row."""

from __future__ import annotations

import json

from support.kernel_client import kernel_client
from support.modelserver import call

ASKED = {
    "questions": [
        {"question": "Which chart?", "options": [{"label": "Bar", "description": "one per month"}, {"label": "Line"}]},
        {"question": "Which colours?", "multiSelect": True, "options": [{"label": "Red"}, {"label": "Blue"}]},
    ]
}


def test_the_answers_reach_the_model_and_one_row_stays(tmp_path, model_server):
    model_server.script([call("AskUserQuestion", ASKED)], "I draw it.")
    with kernel_client(tmp_path, env=model_server.env()) as kernel:
        assert kernel.run("%load_ext cosh_nb").status == "ok"
        cell = kernel.start("%%cosh\nplot it")
        kernel.click("Bar")
        ticks = kernel.wait(
            lambda: [c for c, s in kernel.shown() if s.get("_model_name") == "CheckboxModel"], 10, "boxes"
        )
        assert "Waiting for you" in cell.html
        kernel.set_value(ticks[1], True)
        kernel.click("Send")
        kernel.finish(cell)
        kernel.wait(lambda: not kernel.models, 5, "end of the widgets")

    result = json.dumps(model_server.requests[1]["messages"][-1])
    assert "Bar" in result
    assert "Blue" in result
    assert cell.text.count("Asked") == 1, cell.text
    assert "I draw it." in cell.text
    assert not any("widget-view" in kind for output in cell.outputs for kind in output.get("data", {}))


def test_a_skipped_question_tells_the_model_that_nobody_answered(tmp_path, model_server):
    model_server.script([call("AskUserQuestion", ASKED)], "Then I choose bars.")
    with kernel_client(tmp_path, env=model_server.env()) as kernel:
        kernel.run("%load_ext cosh_nb")
        cell = kernel.start("%%cosh\nplot it")
        kernel.click("Skip")
        kernel.finish(cell)

    assert model_server.requests[1]["messages"][-1]["content"][0]["is_error"]
    assert cell.text.count("Asked") == 1, cell.text
