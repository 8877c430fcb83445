"""Our own search as an engine: a Python process of its own, so that a pattern that never ends can be ended."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from cosh_tools.search.engine import Query, target

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from cosh_tools.search.worker import main; sys.exit(main(sys.argv[2]))"
)
_MOST_PROCESSES = 8


class Builtin:
    """Searches with Python's `re`."""

    def commands(self, query: Query, *, in_order: bool) -> Sequence[Sequence[str]]:
        """One process per processor, or one alone, which goes by name. Without site packages each starts fast."""
        shares = 1 if in_order or not os.path.isdir(query.root) else min(_processors(), _MOST_PROCESSES)
        asked = dataclasses.asdict(query) | {"shares": shares, "target": target(query)}
        start = [sys.executable, "-I", "-S", "-c", _BOOT, str(Path(__file__).resolve().parents[2])]
        return [[*start, json.dumps(asked | {"share": share})] for share in range(shares)]


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
