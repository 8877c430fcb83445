"""Grep with and without ripgrep, its first hundred hits, and Glob, in a tree of 50,000 files: wall time.

What is added to ripgrep is a few milliseconds, less than a busy machine shakes it by: the first row tells the median
difference of searches side by side, and with the row of first hits the best of many rounds; the others tell medians.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from cosh_tools.context import SessionState, ToolContext
from cosh_tools.contract import ToolResult
from cosh_tools.search.builtin import Builtin
from cosh_tools.search.engine import Engine
from cosh_tools.search.glob import Glob, GlobInput
from cosh_tools.search.grep import Grep, GrepInput
from cosh_tools.search.ripgrep import ripgrep
from tests.bench.big_tree import NEEDLE, big_tree
from tests.bench.report import Line, medians

ROUNDS = 7
BEST_OF = 15


class Fallback(Grep):
    """Grep where no ripgrep is installed."""

    def engine(self) -> Engine:
        """Our own search."""
        return Builtin()


def measure() -> list[Line]:
    """Milliseconds, each beside the bare program that does the least of it."""
    tree = big_tree()
    found = ripgrep()
    if found is None:
        raise RuntimeError("this row compares with ripgrep: install rg")
    ctx = ToolContext(SessionState(tree, tree))
    bare = [found.path, "--no-config", "--hidden", "--files-with-matches", NEEDLE, "./"]
    with asyncio.Runner() as runner:

        def tool(call: Callable[[], object], expected: str) -> float:
            started = time.perf_counter()
            result = runner.run(call())  # type: ignore[arg-type]  (each makes its coroutine)
            spent = (time.perf_counter() - started) * 1000
            assert isinstance(result, ToolResult)
            assert expected in result.content
            return spent

        rare, plenty = GrepInput(pattern=NEEDLE), GrepInput(pattern="a", output_mode="content", head_limit=100)
        candidates = {
            "rg": lambda: _spent(lambda: subprocess.run(bare, cwd=tree, check=True, stdout=subprocess.DEVNULL)),
            "Grep": lambda: tool(lambda: Grep().execute(rare, ctx), "file03.py"),
            "first": lambda: tool(lambda: Grep().execute(plenty, ctx), "there are more"),
            "rg first": lambda: _spent(lambda: _first_hundred(found.path, tree)),
        }
        seen = _in_turns(candidates, BEST_OF)
        best = {name: min(values) for name, values in seen.items()}
        more = statistics.median(ours - theirs for ours, theirs in zip(seen["Grep"], seen["rg"], strict=True))
        times = medians(
            {
                "rg": candidates["rg"],
                "fallback": lambda: tool(lambda: Fallback().execute(rare, ctx), "file03.py"),
                "scandir": lambda: _spent(lambda: _names(tree)),
                "rg + stat": lambda: _spent(lambda: _rg_and_stat(found.path, tree)),
                "pathlib": lambda: _spent(lambda: sum(1 for _path in tree.glob("**/*.py"))),
                "Glob": lambda: tool(lambda: Glob().execute(GlobInput(pattern="**/*.py"), ctx), "(showing first 250)"),
            },
            ROUNDS,
        )
    return [
        Line(
            "Grep in 50,000 files, by ripgrep",
            best["Grep"],
            "ms",
            8,
            best["rg"],
            "rg",
            "more than rg",
            {"more than rg": more},
        ),
        Line("the same without ripgrep", times["fallback"], "ms", 3.0, times["rg"], "rg"),
        Line("first 100 hits", best["first"], "ms", 10, best["rg first"], "rg", "ours"),
        Line(
            "Glob, 19,000 hits, newest first",
            times["Glob"],
            "ms",
            140 / 49,
            times["scandir"],
            "scandir",
            extra={"rg + stat": times["rg + stat"], "pathlib": times["pathlib"]},
        ),
    ]


def _in_turns(candidates: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    seen: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            seen[name].append(run())
    return seen


def _spent(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def _first_hundred(rg: str, tree: Path) -> int:
    """The least that finds a hundred hits: read so many lines of rg's and end it."""
    with subprocess.Popen([rg, "--no-config", "--hidden", "-n", "a", "."], cwd=tree, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = sum(1 for _number, _line in zip(range(100), process.stdout, strict=False))
        process.kill()
    return lines


def _names(tree: Path) -> int:
    """The least that any listing has to do: look at every name."""
    todo, count = [str(tree)], 0
    while todo:
        with os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                else:
                    count += entry.name.endswith(".py")
    return count


def _rg_and_stat(rg: str, tree: Path) -> list[str]:
    command = [rg, "--no-config", "--hidden", "--files", "--null", "--glob=*.py"]
    listed = subprocess.run(command, cwd=tree, check=True, capture_output=True).stdout.decode().split("\0")[:-1]
    return sorted(listed, key=lambda name: -(tree / name).stat().st_mtime_ns)[:250]
