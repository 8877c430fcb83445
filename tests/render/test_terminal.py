"""A turn in terminal IPython: real IPython on a pseudo-terminal, the embedded helper as its model."""

from __future__ import annotations

import sys

from cosh_nb import events as e
from cosh_nb.notebook.terminal import TerminalDisplay
from looks import scenes
from support.lab import environment


def test_a_turn_is_printed_as_text(tmp_path):
    import pexpect  # IPython brings it on every system that has pseudo-terminals

    (tmp_path / "one.py").write_text("x = 1\n")
    home = tmp_path / "home"
    (home / "user").mkdir(parents=True)
    shell = pexpect.spawn(
        sys.executable, ["-m", "IPython", "--simple-prompt", "--colors=NoColor", "--no-banner"],
        cwd=str(tmp_path), env=environment(home) | {"COSH_PROVIDER": "offline", "TERM": "dumb"},
        encoding="utf-8", timeout=60, dimensions=(50, 200),
    )  # fmt: skip
    try:
        shell.expect_exact("In [1]:")
        shell.sendline("%load_ext cosh_nb")
        shell.expect_exact("In [2]:")
        shell.sendline("%cosh list the python files here")
        shell.expect("Done in")
        before = shell.before
        shell.expect_exact("In [3]:")
    finally:
        shell.close(force=True)

    assert "one.py" in before
    assert "<div" not in before
    assert "IPython.core.display" not in before


def test_a_turn_that_is_cut_ends_its_line():
    printed: list[str] = []
    display = TerminalDisplay(printed.append)
    for event in (*scenes.start(), e.TextDelta("Half a sen")):
        display.feed(event)
    display.close()
    display.close()

    assert "".join(printed) == "Half a sen\n"
