"""Headless mode: the agent for scripts, editors and tests, as JSON lines on stdin and stdout."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run `cosh-nb --headless` with these arguments (without the program's name); the exit code."""
    from cosh_nb.headless.serve import main as serve  # the agent is loaded when it is wanted

    return serve(argv)
