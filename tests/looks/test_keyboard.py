"""A whole turn by keyboard alone: reach the card, answer it, refuse with a reason, open a row."""

from __future__ import annotations

import pytest

from support.modelserver import ModelServer, call

pytestmark = pytest.mark.browser

_FOCUSED = "() => (document.activeElement.innerText || document.activeElement.placeholder || '').trim()"


def tab_to(page, words, most=120):
    """Press Tab until what has the focus says these words."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(_FOCUSED).startswith(words):
            return
    raise AssertionError(f"Tab never reached {words!r}")


def test_a_turn_can_be_walked_without_a_mouse(lab):
    with ModelServer() as model:
        model.script(
            [call("Bash", {"command": "echo first"})],
            [call("Bash", {"command": "echo second"})],
            "Both are done.",
        )
        lab.kernel("keys", env=model.env())
        notebook = lab.open(lab.notebook("keys.ipynb", ["%load_ext cosh_nb", "%%cosh\ngo"], "keys"))
        notebook.run(0)
        notebook.run(1, wait=False)

        notebook.wait_button("Run once")
        edges = (
            "return ['.cn-card', '.cn .foot'].map(one => document.querySelector(one).getBoundingClientRect().right);"
        )
        card, foot = notebook.js(edges)
        assert abs(card - foot) <= 2  # the card stands in line with the rest of the turn
        notebook.do(lambda page: tab_to(page, "Run once"))
        notebook.do(lambda page: page.keyboard.press("Enter"))
        notebook.wait_text(1, "echo second")
        notebook.wait_button("Run once")
        notebook.do(lambda page: tab_to(page, "Don’t run"))
        notebook.do(lambda page: page.keyboard.press("Space"))
        notebook.wait_button("Just stop")
        notebook.do(lambda page: tab_to(page, "optional"))
        notebook.do(lambda page: page.keyboard.type("say it in words", delay=20))
        notebook.do(lambda page: page.keyboard.press("Enter"))
        notebook.wait_text(1, "Both are done.")
        notebook.wait_done()

        assert "Not run echo second · you: “say it in words”" in notebook.cell(1).text
        assert "say it in words" in str(model.requests[-1])
        assert notebook.cell(1).source == "%%cosh\ngo"  # no key went to the notebook
        notebook.do(lambda page: tab_to(page, "✓"))
        notebook.do(lambda page: page.keyboard.press("Enter"))
        assert notebook.js("return document.activeElement.parentElement.open;")
        notebook.close()
