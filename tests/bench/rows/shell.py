"""The spawn cost of Bash against a bare subprocess, what `bash -l` would cost, and reading a command for the policy."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from cosh_tools.context import SessionState, ToolContext
from cosh_tools.policy.shell import read
from cosh_tools.shell.bash import Bash, BashInput
from tests.bench.report import Line, medians

TIMES = 20
COMMAND = "cd src && python -m pytest -q 2>&1 | tail -20 && git diff --stat -- *.py > out.txt"


def measure() -> list[Line]:
    """Milliseconds of `true`, many in a row; CPU milliseconds of one reading."""
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        ctx = ToolContext(SessionState(Path(folder), Path(folder)))

        def run(*argv: str) -> float:
            return _each(
                lambda: subprocess.run(argv, cwd=folder, capture_output=True, check=True, start_new_session=True)
            )

        def ours() -> float:
            async def many() -> float:
                started = time.perf_counter()
                for _ in range(TIMES):
                    await Bash().execute(BashInput(command="true"), ctx)
                return (time.perf_counter() - started) / TIMES * 1000

            return runner.run(many())

        def reading() -> float:
            started = time.process_time()
            for _ in range(TIMES):
                read(COMMAND, ctx)
            return (time.process_time() - started) / TIMES * 1000

        found = medians(
            {
                "ours": ours,
                "bare": lambda: run("bash", "-c", "true"),
                "login": lambda: run("bash", "-lc", "true"),
                "reading": reading,
            },
            9,
        )
    bash = Line(
        "Bash: `true`", found["ours"], "ms", 2.0, found["bare"], "subprocess.run", extra={"bash -l": found["login"]}
    )
    return [bash, Line("a command read for the policy", found["reading"], "ms", 3.0, judge="ours")]


def _each(once: Callable[[], object]) -> float:
    started = time.perf_counter()
    for _ in range(TIMES):
        once()
    return (time.perf_counter() - started) / TIMES * 1000
