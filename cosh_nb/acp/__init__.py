"""The Agent Client Protocol on stdin and stdout: Zed, Jupyter AI's chat and other clients talk to the agent by it.

Needs the extra `acp` (`pip install "cosh-nb[acp]"`).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run `cosh-nb acp` with these arguments (after the word `acp`); the exit code."""
    if importlib.util.find_spec("acp") is None:
        sys.stderr.write('cosh-nb: `cosh-nb acp` needs a package more. Install it: pip install "cosh-nb[acp]"\n')
        return 2
    from cosh_nb.acp.serve import main as serve  # the package is loaded where it is wanted

    return serve(argv)
