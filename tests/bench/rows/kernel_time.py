"""A Python call beside plain exec, a copy of the kernel, a preview, and the undo of 500 MB; in a shell of its own."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.bench.report import Line

ROUNDS = 9

WORK = """
import asyncio, json, statistics, sys, time
from IPython.core.interactiveshell import InteractiveShell
from cosh_nb.notebook.agent_thread import AgentThread
from cosh_nb.notebook.blocking import run_blocking
from cosh_nb.notebook.checkpoint import Checkpoints
from cosh_nb.notebook.kernel import LiveKernel
from cosh_nb.notebook.mailbox import Mailbox
import numpy as np, pandas as pd

shell = InteractiveShell.instance()
mailbox, agent = Mailbox(), AgentThread()
kernel, copies = LiveKernel(shell, mailbox), Checkpoints(shell, mailbox)
columns = int(sys.argv[1]) * 1_000_000 // 8 // 10
shell.user_ns["df"] = pd.DataFrame({f"c{n}": np.ones(columns) for n in range(10)})
rounds = int(sys.argv[2])

def wait(make):
    return run_blocking(make, mailbox, agent=agent)

def timed(work):
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3

def median(work):
    work()
    return statistics.median(timed(work) for _ in range(rounds))

found = {}
code = "total = sum(range(1000))"
found["exec"] = median(lambda: exec(compile(code, "<bench>", "exec"), shell.user_ns))
found["call"] = median(lambda: wait(lambda: kernel.run_code(code, 10, lambda text: None)))
found["preview"] = median(lambda: wait(lambda: kernel.preview("small = 1", 10)))
keys = iter(range(1000))
found["checkpoint"] = median(lambda: wait(lambda: copies.take(next(keys))))
before = float(shell.user_ns["df"].c3[7])
wait(lambda: copies.take(1001))
shell.user_ns["df"] *= -1
wait(lambda: copies.seal(1001))
said = []
found["undo"] = timed(lambda: said.append(wait(lambda: copies.restore(1001))))
assert said[0].back == ["df"] and float(shell.user_ns["df"].c3[7]) == before, said
copies.close()
agent.close()
print(json.dumps(found))
"""


def measure(megabytes: int = 500, rounds: int = ROUNDS) -> list[Line]:
    """Medians in one fresh process that holds a frame of `megabytes`."""
    command = [sys.executable, "-c", WORK, str(megabytes), str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    found = json.loads(done.stdout.splitlines()[-1])
    beside = f"beside a frame of {megabytes} MB"
    return [
        Line("a Python call", found["call"], "ms", 15, found["exec"], "exec", judge="ours"),
        Line(f"a copy of the kernel {beside}", found["checkpoint"], "ms", 40, judge="ours"),
        Line(f"a preview {beside}", found["preview"], "ms", 1_000, judge="ours"),
        Line(f"undo of a frame of {megabytes} MB changed in place", found["undo"], "ms", 4_000, judge="ours"),
    ]
