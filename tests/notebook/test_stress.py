"""A hundred turns that mix clicks, Stop, `-b`, Run All and reloads: no hang, nothing lost, doubled or left over.

The first few turns of the same seeded story run always, the whole of it with `-m slow`.
"""

from __future__ import annotations

import random
import re
import time

import psutil
import pytest

from support.modelserver import call, text, turn

pytestmark = pytest.mark.browser

CELLS = [
    "%load_ext cosh_nb\ncounter = 0\nimport threading",
    "%%cosh\nask {counter}",
    "counter += 1; print('counted', counter)",
    "%%cosh -b\nask {counter} in the background",
    "%%cosh\nstream",
    "print(sorted(t.name for t in threading.enumerate()))",
]
ASK, COUNT, BACKGROUND, STREAM, THREADS = 1, 2, 3, 4, 5


def answer(request):
    """The model: prose for "stream", for anything else one command and then a last word."""
    # After a stopped turn the results of its calls stand before the new words, in one message.
    last = request["messages"][-1]["content"][-2]  # behind it stands what changes from turn to turn
    if last.get("type") == "tool_result":
        return turn(text("The end."), pause=0.005)
    if "stream" in str(last):
        return turn(text("word " * 40, chunk=5), pause=0.02)
    return [text("I run it. "), call("Bash", {"command": "echo ran"})]


class Story:
    """One notebook, and what must be true of it after every turn."""

    def __init__(self, page, seed):
        self.page, self.rng = page, random.Random(seed)
        self.counter = 0
        self.threads = None

    def turn(self):
        """One random turn, then the invariants."""
        kind = self.rng.choice(
            [self.click, self.refuse, self.stop, self.stop, self.background, self.run_all, self.reload, self.stream]
        )
        kind()
        self.nothing_is_left(kind.__name__)

    def click(self):
        self.page.run(ASK, wait=False)
        self.page.click("Run once")
        self.page.wait_done()
        assert "The end." in self.page.cell(ASK).text

    def refuse(self):
        self.page.run(ASK, wait=False)
        self.page.click("Don’t run")
        self.page.type_into("optional, e.g. use altair", "not now", enter=True)
        self.page.wait_done()
        assert "not now" in self.page.cell(ASK).text

    def stop(self):
        """Stop at any moment: before the first word, while it streams, while a card waits, after its click."""
        self.page.run(ASK, wait=False)
        moment = self.rng.random() * 1.2
        end = time.monotonic() + moment
        if self.rng.random() < 0.3:
            self.page.click("Run once")
        while time.monotonic() < end:
            time.sleep(0.02)
        self.page.interrupt()
        self.page.wait_done(15)
        cell = self.page.cell(ASK)
        assert "interrupted" in cell.text or "The end." in cell.text, cell.text

    def background(self):
        self.page.run(BACKGROUND)
        self.page.run(COUNT)
        self.counter += 1
        self.page.click("Run once")
        self.page.wait_text(BACKGROUND, "The end.")
        assert self.page.cell(COUNT).text == f"counted {self.counter}"

    def run_all(self):
        """Everything once, in order. The cells above are loaded again, so the counter starts anew."""
        self.page.run_all(wait=False)
        self.page.click("Run once")
        self.page.wait_for(
            lambda: self.page.cell(COUNT).text == "counted 1", what="the cell after the turn did not run"
        )
        self.counter = 1
        # The turn in the background asks now, and the cell below it waits for that turn.
        self.page.click("Run once")
        self.page.wait_done(40)
        assert "The end." in self.page.cell(BACKGROUND).text
        counts = [cell.count for cell in self.page.cells()]
        assert counts == list(range(counts[0], counts[0] + len(counts)))

    def reload(self):
        self.page.run(ASK, wait=False)
        self.page.wait_button("Run once")
        self.page.save()
        self.page.reload(wait=False)
        self.page.click("Run once", 60)
        self.page.wait_idle()

    def stream(self):
        self.page.run(STREAM, wait=False)
        if self.rng.random() < 0.5:
            time.sleep(self.rng.random())
            self.page.interrupt()
        self.page.wait_done()
        said = self.page.cell(STREAM).text
        assert "word" in said or "interrupted" in said

    def nothing_is_left(self, after):
        """No button, no thread, no cell lost or doubled, and the kernel answers."""
        self.page.wait_idle(30)
        self.page.wait_for(lambda: self.page.controls() == [], 10, f"a control stayed after {after}")
        self.page.run(COUNT)
        self.counter += 1
        assert self.page.cell(COUNT).text == f"counted {self.counter}", after
        self.page.run(THREADS)
        threads = set(re.findall(r"'([^']+)'", self.page.cell(THREADS).text))
        ours = [name for name in threads if name.startswith("cosh")]
        assert len(ours) <= 2, threads  # the agent's loop and at most one live display on its way out


@pytest.mark.parametrize("kernel", ["ipykernel6", "ipykernel7"])
@pytest.mark.parametrize("turns", [4, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(2400)])])
def test_a_seeded_story_of_many_turns(lab, model_server, kernel_envs, kernel, turns):
    model_server.answer(answer)
    name = f"stress-{kernel}-{turns}"
    lab.kernel(name, kernel_envs[kernel], model_server.env())
    page = lab.open(lab.notebook(f"{name}/book.ipynb", CELLS, name))
    try:
        page.run(0)
        page.run(THREADS)
        story = Story(page, seed=2)
        for _ in range(turns):
            story.turn()
        children = [
            child.name()
            for child in psutil.Process(lab.process.pid).children(recursive=True)
            if child.name() in ("bash", "sh", "sleep")
        ]
        assert children == []
    finally:
        page.close()
        lab.shut_down_kernels()
