"""From a click on Run once, in a real browser and with the cell busy, to the first line of the approved code."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from support.browser import Browser
from support.lab import LabServer
from support.modelserver import ModelServer, call
from support.notebook_page import NotebookPage
from tests.bench.report import Line

CLICKS = 20
_LISTEN = (
    "const note = () => { window.clickedAt = performance.timeOrigin + performance.now(); };"
    "document.addEventListener('click', note, true);"
)
_BARE = (
    "import ipywidgets, time\nbutton = ipywidgets.Button(description='bare'); handled = []\n"
    "button.on_click(lambda _: handled.append(time.time() * 1000))\nbutton"
)


def measure() -> list[Line]:
    """Milliseconds on one machine's clock; the median. Beside it: a bare ipywidgets button of an idle kernel."""
    browser = Browser()
    try:
        with tempfile.TemporaryDirectory() as home, ModelServer() as model:
            model.answer(_answer)
            lab = LabServer.start(Path(home), browser)
            try:
                lab.kernel("bench", env=model.env())
                cells = ["%load_ext cosh_nb\nstarts = []", "%%cosh\ngo", "print(starts)", _BARE, "print(handled)"]
                page = lab.open(lab.notebook("click.ipynb", cells, "bench"))
                page.run(0)
                page.js(_LISTEN)
                ours = _approvals(page)
                bare = _buttons(page)
                page.close()
            finally:
                lab.stop()
    finally:
        browser.close()
    extra = {"p95 ms": sorted(ours)[int(len(ours) * 0.95) - 1], "bare button, idle kernel ms": bare}
    return [
        Line("click on Run once to tool start, cell busy", statistics.median(ours), "ms", 20, judge="ours", extra=extra)
    ]


def _answer(request: Any) -> Any:
    if any(block.get("type") == "tool_result" for block in request["messages"][-1]["content"]):
        return "Done."
    return [call("Python", {"code": "import time; starts.append(time.time() * 1000)"})]


def _approvals(page: NotebookPage) -> list[float]:
    clicked = []
    for _ in range(CLICKS):
        page.run(1, wait=False)
        page.click("Run once")
        clicked.append(page.js("return window.clickedAt;"))
        page.wait_done()
    page.run(2)
    started = _numbers(page.cell(2).text)
    return [start - click for click, start in zip(clicked, started, strict=True)][2:]


def _buttons(page: NotebookPage) -> float:
    page.run(3)
    clicked = []
    for _ in range(CLICKS):
        page.click("bare")
        clicked.append(page.js("return window.clickedAt;"))
    page.wait_idle()
    page.run(4)
    handled = _numbers(page.cell(4).text)
    return statistics.median(then - click for click, then in zip(clicked, handled, strict=True))


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.strip("[]").split(",")]
