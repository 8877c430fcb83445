"""`%load_ext` in a fresh kernel, and how soon after it a first request can be sent: wall time and modules."""

from __future__ import annotations

import statistics
import subprocess
import sys

from tests.bench.report import Line

ROUNDS = 9

LOAD = """
import sys, time
from IPython.core.interactiveshell import InteractiveShell
import ipykernel.ipkernel
shell = InteractiveShell.instance()
started, before = time.perf_counter(), len(sys.modules)
shell.run_line_magic('load_ext', NAME)
print((time.perf_counter() - started) * 1e3, len(sys.modules) - before)
"""

READY = """
import sys, time
from IPython.core.interactiveshell import InteractiveShell
import ipykernel.ipkernel
InteractiveShell.instance()
def megabytes():  # now, not at the peak
    with open('/proc/self/statm') as pages:
        return int(pages.read().split()[1]) * 4096 / 1e6
before = megabytes()
started = time.perf_counter()
WORK
spent = (time.perf_counter() - started) * 1e3
print(spent, megabytes() - before)
"""

OURS = "from cosh_nb.notebook.desk import warm_up; warm_up()"
FLOOR = "import httpx; httpx.AsyncClient(trust_env=False)"


def measure() -> list[Line]:
    """Medians over fresh interpreters, ours and the floor in turns."""
    seen: dict[str, list[tuple[float, float]]] = {"load": [], "autoreload": [], "ready": [], "httpx": []}
    for _ in range(ROUNDS):
        seen["load"].append(_run(LOAD.replace("NAME", "'cosh_nb'")))
        seen["autoreload"].append(_run(LOAD.replace("NAME", "'storemagic'")))
        seen["ready"].append(_run(READY.replace("WORK", OURS)))
        seen["httpx"].append(_run(READY.replace("WORK", FLOOR)))
    first = {name: statistics.median(pair[0] for pair in pairs) for name, pairs in seen.items()}
    second = {name: statistics.median(pair[1] for pair in pairs) for name, pairs in seen.items()}
    return [
        Line("%load_ext in a fresh kernel", first["load"], "ms", 25, first["autoreload"], "storemagic", judge="ours"),
        Line("modules that %load_ext brings", second["load"], "modules", 15, judge="ours"),
        Line("first request ready after load_ext", first["ready"], "ms", 320, first["httpx"], "httpx", judge="ours"),
        Line("memory of the first request", second["ready"], "MB", 25, second["httpx"], "httpx", judge="ours"),
    ]


def _run(code: str) -> tuple[float, float]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    milliseconds, other = done.stdout.split()[-2:]
    return float(milliseconds), float(other)
