"""An answer of 100 KB in 10 s in a cell of JupyterLab: bytes to the page, CPU of the kernel, long tasks of the page."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from support.browser import Browser
from support.lab import LabServer
from support.notebook_page import NotebookPage
from tests.bench.report import Line

TESTS = Path(__file__).parents[2]
_CELL = """
import time
from cosh_nb import events
from cosh_nb.notebook.live import LiveDisplay
from cosh_nb.notebook.place import Place
from cosh_nb.render.markdown import to_html
from cosh_nb.render.turn import TurnView
from looks.scenes import long_answer

text = long_answer(100_000)
pieces = [events.TextDelta(text[at:at + 20]) for at in range(0, len(text), 20)]
to_html(long_answer(2_000))  # imports are not what is measured

def stream(feed):
    spent, began = time.process_time(), time.monotonic()
    feed(events.TurnStarted(1, "x", "m"))
    for number, piece in enumerate(pieces):
        if number % 5 == 0:
            time.sleep(max(0, began + number * 0.002 - time.monotonic()))
        feed(piece)
    feed(events.MessageDone((), "end_turn", events.Usage(1, 1)))
    feed(events.TurnEnded("done", events.Usage(1, 1), time.monotonic() - began))
    return (time.process_time() - spent) * 1000
"""
_OURS = "ours = stream(LiveDisplay(TurnView(), Place.here(get_ipython())).feed)"
_ALONE = "alone = stream(lambda event: None)"
_WATCH = (
    "window.longTasks = []; new PerformanceObserver(list => window.longTasks.push(...list.getEntries()"
    ".map(each => each.duration))).observe({type: 'longtask'});"
)


def measure() -> list[Line]:
    """One stream at the pace of the budget; beside it, what feeding the same events to nobody costs the kernel."""
    browser = Browser()
    try:
        with tempfile.TemporaryDirectory() as home:
            lab = LabServer.start(Path(home), browser)
            try:
                lab.kernel("bench", env={"PYTHONPATH": str(TESTS)})
                name = lab.notebook("answer.ipynb", [_CELL, _ALONE, _OURS, "print(ours, alone)"], "bench")
                page = NotebookPage(browser, browser.page(), lab.address(name), "lab")
                received: list[int] = []
                page.do(lambda each: each.on("websocket", lambda socket: _count(socket, received)))
                page.load()
                page.run(0)
                page.run(1)
                page.js(_WATCH)
                before = sum(received)
                page.run(2, timeout=120)
                page.wait_text(2, "Done in")
                sent = sum(received) - before
                tasks = page.js("return window.longTasks;")
                page.run(3)
                ours, alone = map(float, page.cell(3).text.split())
                outputs = len(page.cell(2).outputs)
                page.close()
            finally:
                lab.stop()
    finally:
        browser.close()
    work = "100 KB answer streamed to the cell"
    return [
        Line(f"{work}: bytes", sent / 1e6, "MB", 0.4, 0.1, "the text alone", judge="ours", extra={"outputs": outputs}),
        Line(f"{work}: kernel CPU", ours - alone, "ms", 120, judge="ours", extra={"feeding nobody ms": alone}),
        Line(
            f"{work}: long tasks", sum(tasks) / 1e3, "s", 1.0, judge="ours", extra={"longest ms": max(tasks, default=0)}
        ),
    ]


def _count(socket: Any, received: list[int]) -> None:
    if "/channels" in socket.url:
        socket.on("framereceived", lambda frame: received.append(len(frame)))
