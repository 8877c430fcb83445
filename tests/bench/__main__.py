"""`python -m tests.bench [row ...]`: ours against the floor, in one run; exit 1 where a budget is missed.

A row is a module in tests/bench/rows with `measure() -> list[Line]`; its name stands in ROWS.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # support.*, as pytest sees it

from tests.bench.report import Line, table

ROWS = [
    "text_delta",
    "tool_input",
    "first_event",
    "tool_turn",
    "load_ext",
    "answer",
    "click",
    "notebook_file",
    "live_edit",
    "search",
    "large_file",
    "shell",
    "kernel_time",
]


def main() -> int:
    """Measure the rows that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="row", help=f"one of {', '.join(ROWS)}; all if none is named")
    named = parser.parse_args().rows or ROWS
    if unknown := sorted(set(named) - set(ROWS)):
        parser.error(f"there is no row {', '.join(unknown)}; choose from {', '.join(ROWS)}")
    lines: list[Line] = []
    lost: list[str] = []
    for name in named:
        started = time.monotonic()
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        try:
            lines += importlib.import_module(f"tests.bench.rows.{name}").measure()
        except Exception as error:  # noqa: BLE001 (one row that fails must not cost the others)
            traceback.print_exc()
            lost.append(f"{name} ({type(error).__name__}: {error})")
        print(f"  {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    print(f"{time.strftime('%Y-%m-%d')}, Python {sys.version.split()[0]}, {sys.platform}\n")
    print(table(lines))
    missed = [line.work for line in lines if not line.ok]
    if missed:
        print(f"\n{len(missed)} of {len(lines)} budgets missed: {'; '.join(missed)}")
    for row in lost:
        print(f"\nnot measured: {row}")
    return 1 if missed or lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
