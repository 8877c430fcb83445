"""Headless mode: the agent for scripts, editors and tests, as JSON lines on stdin and stdout.

    cosh-nb --headless "list the files"          one request; the exit code says whether it was done
    echo list the files | cosh-nb --headless     the same
    cosh-nb --headless                           requests, answers and interrupts as JSON lines, until stdin ends

Exit codes: 0 done; 1 a line that is no message, or one request that failed; 2 wrong arguments; 65 another protocol
version; 74 nobody reads the output any more; 128 and more: a signal.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run `cosh-nb --headless` with these arguments (without the program's name); the exit code."""
    from cosh_nb.headless.serve import main as serve  # the agent is loaded when it is wanted

    return serve(argv)
