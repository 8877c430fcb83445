"""Shows a scene in the cell that runs, in a real kernel, as a finished or still running turn stands there."""

from __future__ import annotations

from cosh_nb.notebook.live import IPythonOutputs, LiveDisplay
from looks import scenes


def show(name: str) -> None:
    """All events of a scene at once; what is still running stays as it is, as after a kernel's death."""
    live = LiveDisplay(scenes.view(), IPythonOutputs(), lambda work: work() if live.view.ended else None)
    for event in scenes.SCENES[name]():
        live.feed(event)
    live.draw()
    live.stop()


def attack() -> None:
    """Everything that a model, a file or a page may say to make the page act, everywhere it may say it."""
    from render.safe_html import PAYLOADS

    live = LiveDisplay(scenes.view(), IPythonOutputs())
    live.stop()
    for event in scenes.start():
        live.feed(event)
    for number, payload in enumerate(PAYLOADS):
        for event in scenes.hostile(payload, number):
            live.feed(event)
        live.draw()
    live.feed(scenes.end())


def crowd() -> None:
    """Two hundred steps and an answer of a hundred kilobytes, drawn as they come."""
    live = LiveDisplay(scenes.view(), IPythonOutputs())
    live.stop()
    for event in scenes.crowd():
        live.feed(event)
        if event.kind == "tool_finished" or (event.kind == "text_delta" and len(event.text) > 500):
            live.draw()


def floods() -> None:
    """What is too much: every flood once, as prose and as the output of a command."""
    live = LiveDisplay(scenes.view(), IPythonOutputs())
    live.stop()
    for event in scenes.floods():
        live.feed(event)
        live.draw()
