"""Waiting for something to come true, with a deadline."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until it is so; the test fails where it never is."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs (one that only waits to be buried does not)."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in "ZX"
