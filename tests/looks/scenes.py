"""The states of a turn that the pictures show, as the events that lead to them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from cosh_nb import events as e
from cosh_nb.render.turn import TurnView
from cosh_tools.contract import ToolCall
from cosh_tools.hosts import Allowed, ApprovalRequest, Grant, Refused
from cosh_tools.policy.decide import Ask
from cosh_tools.policy.rules import parse_rule
from cosh_tools.results import Media, ToolResult
from cosh_tools.touches import Runs, RunsCode, Touch, Writes

DIFF = """--- a/sales.ipynb#3
+++ b/sales.ipynb#3
@@ -1 +1 @@
-df.groupby('month')['revenue'].sum().plot()
+df.groupby('month')['rev_eur'].sum().plot(kind='bar')
"""
LONG_DIFF = """--- a/report.py
+++ b/report.py
@@ -1,4 +1,5 @@
 import pandas as pd
+import matplotlib.pyplot as plt
 # Reads the months.
 def load(path):
-    return pd.read_csv(path)
+    return pd.read_csv(path, parse_dates=["month"])
@@ -20,4 +21,3 @@ def main():
     frame = load("sales.csv")
-    print(frame)
-    print(frame.describe())
+    frame.plot()
     return 0
"""


def bars(width: int = 240, height: int = 90) -> bytes:
    """A picture as a plot would be: two bars on white."""
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        for x in range(width):
            bar = (20 <= x < 100 and y > 15) or (140 <= x < 220 and y > 30)
            rows += b"\x1f\x77\xb4" if bar else b"\xff\xff\xff"

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(rows))) + chunk(b"IEND", b"")
    )


PNG = bars()
TRACE = 'Traceback (most recent call last):\n  File "<cell>", line 1\nImportError: matplotlib is required for plotting'
ANSWER = """Fixed. Cell 3 used `revenue`; the file has `rev_eur`. The plot now shows 120 for January and 98 for
February.

- March has no value, so its bar is empty.
- I installed `matplotlib`, with your approval.
"""
PROSE = r"""## What I found

The mean is $\bar{x} = \frac{1}{n}\sum_i x_i$, so the months cost **$5 and $10** each. See
[the docs](https://pandas.pydata.org/docs/user_guide/groupby.html) or https://numpy.org.

| month | rev_eur | note |
|-------|--------:|------|
| Jan | 120 | first |
| Feb | 98 | |

1. Load the file
2. Group by month
   - keep the index
   - drop empty rows

> The last row has no value.

```python
import pandas as pd

def totals(path: str) -> pd.Series:
    "Sum of the months."
    frame = pd.read_csv(path)  # comma separated
    return frame.groupby("month")["rev_eur"].sum() * 1.19
```

- [x] read the file
- [ ] draw the plot
"""
USAGE = e.Usage(1800, 300)


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def view(clock: Clock | None = None) -> TurnView:
    """A turn whose times do not depend on this machine."""
    return TurnView(clock=clock or Clock(), wall=lambda: "2026-11-30 13:42", hint="Stop: ■ or I I")


def text(words: str) -> Iterator[e.Event]:
    """Prose in small pieces, as it streams."""
    yield e.MessageStart("sonnet")
    for at in range(0, len(words), 7):
        yield e.TextDelta(words[at : at + 7])


def declared(call: ToolCall) -> Iterator[e.Event]:
    yield e.ToolUseBegin(call.id, call.name)
    yield e.ToolUseDelta(call.id, "{}")
    yield e.ToolUseEnd(call.id, call.name, call.input)


def ran(
    call: ToolCall, verb: str, target: str, result: ToolResult, seconds: float, decided: str = "The mode allows it."
) -> Iterator[e.Event]:
    yield from declared(call)
    yield e.ToolStarted(call, verb, target, decided)
    yield e.ToolFinished(call, result, verb, target, seconds, True, decided)


def request(call: ToolCall, verb: str, *touches: Touch, why: str = "", **more: object) -> ApprovalRequest:
    reason = Ask(why or "The mode default asks before a tool runs something.")
    return ApprovalRequest(call, verb, touches, reason, working_dir=Path("/home/ada/sales"), **more)  # type: ignore[arg-type]


def grants(rule: str, what: str) -> tuple[Grant, ...]:
    parsed = (parse_rule(rule, Path("/home/ada/sales")),)
    return (Grant(f"Run `{what}` all session", parsed, "session"), Grant(f"Always: {rule}", parsed, "always"))


PIP = ToolCall("t4", "Bash", {"command": "pip install -q matplotlib", "description": "Install the plotting library"})
ASK_PIP = request(
    PIP,
    "run",
    Runs("pip install -q matplotlib", ("pip", "install", "-q", "matplotlib")),
    grants=grants("Bash(pip install:*)", "pip install"),
)
RM = ToolCall("t5", "Bash", {"command": "rm -r ../cache/2025-*"})
ASK_RM = request(
    RM,
    "run",
    Runs("rm -r ../cache/2025-*", ("rm", "-r", "../cache/2025-*"), destructive=True),
    Writes("../cache", Path("/home/ada/cache"), inside=False, protected=False, exists=True, deletes=True),
    why="../cache is outside the workspace (/home/ada/cache).",
    destructive=True,
)
CELL = ToolCall("t6", "NotebookEdit", {"notebook_path": "sales.ipynb", "cell_id": "cell-3", "new_source": "x"})
ASK_CELL = request(
    CELL,
    "edit",
    Writes("sales.ipynb", Path("/home/ada/sales/sales.ipynb"), inside=True, protected=False, exists=True),
    why="The mode default asks before a tool writes sales.ipynb.",
    diff=DIFF,
)
CODE = ToolCall("t7", "Python", {"code": 'import pandas as pd\ndf = pd.read_csv("sales.csv")\ndf.describe()'})
ASK_CODE = request(
    CODE,
    "run",
    RunsCode(CODE.input["code"]),
    grants=(Grant("Run python all session", (parse_rule("Python", Path("/")),), "session"),),
)


def todos(*states: str) -> ToolResult:
    items = ("Look at sales.csv and the failing cell", "Fix the column name in cell 3", "Run cell 3 and check the plot")
    return ToolResult.success("ok").with_metadata(
        todos=[{"content": item, "status": state, "active": ""} for item, state in zip(items, states, strict=True)]
    )


def start() -> Iterator[e.Event]:
    yield e.TurnStarted(1, "Fix the failing cell and check the plot", "sonnet", "sonnet")


def working() -> Iterator[e.Event]:
    """Prose, a plan, a read, an edit and a failed run."""
    yield from start()
    yield from text(
        "Cell 3 fails because the column is called `rev_eur`, not `revenue`. I’ll fix the name, then run it."
    )
    yield from ran(ToolCall("t0", "TodoWrite", {}), "plan", "", todos("completed", "completed", "in_progress"), 0.001)
    yield from ran(
        ToolCall("t1", "Read", {"file_path": "sales.csv"}),
        "read",
        "sales.csv",
        ToolResult.success("1\tmonth,rev_eur\n2\tJan,120\n3\tFeb,98\n4\tMar,").with_metadata(
            summary="3 rows, 2 columns"
        ),
        0.012,
    )
    yield from ran(
        ToolCall("t2", "NotebookEdit", {"notebook_path": "sales.ipynb", "cell_id": "cell-3"}),
        "edit",
        "cell 3",
        ToolResult.success("Replaced cell 'cell-3' (index 2)").with_metadata(diff=DIFF),
        0.004,
    )
    yield from ran(
        ToolCall("t3", "NotebookRun", {"cells": ["cell-3"]}),
        "run",
        "cell 3",
        ToolResult.error(TRACE),
        0.4,
    )
    yield e.MessageDone((), "tool_use", USAGE)
    yield from text("The fix is in, but pandas needs `matplotlib` to draw.")


def waiting() -> Iterator[e.Event]:
    yield from working()
    yield from declared(PIP)
    yield e.ApprovalAsked(ASK_PIP)


def finished() -> Iterator[e.Event]:
    yield from waiting()
    yield e.ApprovalAnswered(ASK_PIP, Allowed())
    yield e.ToolStarted(PIP, "run", PIP.input["command"], "you allowed it once")
    done = ToolResult.success("Successfully installed matplotlib-3.11.0\n(exit code 0)")
    yield e.ToolFinished(PIP, done, "run", PIP.input["command"], 2.1, True, "you allowed it once")
    yield from ran(
        ToolCall("t8", "NotebookRun", {"cells": ["cell-3"]}), "run", "cell 3", ToolResult.success("<Axes: >"), 0.7
    )
    nothing = ToolResult.success("No matches").with_metadata(summary="no matches")
    yield from ran(ToolCall("t9", "Grep", {"pattern": "revenue"}), "search", "revenue", nothing, 0.02)
    yield e.MessageDone((), "tool_use", USAGE)
    yield from text(ANSWER)
    yield e.MessageDone((), "end_turn", USAGE)
    yield e.TurnEnded("done", e.Usage(2700, 600), 14.2, 0.012, "sonnet", ANSWER)


def running() -> Iterator[e.Event]:
    """A command whose output arrives, and a call whose arguments arrive."""
    yield from start()
    yield from text("I’ll run the tests first.")
    call = ToolCall("r1", "Bash", {"command": "pytest -q tests"})
    yield from declared(call)
    yield e.ToolStarted(call, "run", "pytest -q tests", "The rule Bash(pytest:*) allows it.")
    yield e.ToolProgress("r1", "\x1b[32m.......\x1b[0m\x1b[31mF\x1b[0m\x1b[32m....\x1b[0m  [ 61%]\n")
    yield e.ToolProgress("r1", "collecting more\n")


def refused() -> Iterator[e.Event]:
    yield from start()
    yield from text("I need two things for this.")
    for call, question, answer in (
        (PIP, ASK_PIP, Refused("use altair")),
        (RM, ASK_RM, Refused(stop=True)),
    ):
        yield from declared(call)
        yield e.ApprovalAsked(question)
        yield e.ApprovalAnswered(question, answer)
        yield e.ToolFinished(
            call, ToolResult.error("Tool call denied"), "run", call.input["command"], 0.0, False, "you"
        )
    yield e.TurnEnded("stopped", USAGE, 9.1, 0.004, "sonnet")


def nested() -> Iterator[e.Event]:
    yield from start()
    yield from text("An agent looks for the callers.")
    call = ToolCall("a1", "Task", {"description": "Find callers of load()", "prompt": "…", "subagent_type": "explore"})
    yield from declared(call)
    yield e.ToolStarted(call, "delegate", "Find callers of load()", "")
    grep = ToolCall("g1", "Grep", {"pattern": "load("})
    read = ToolCall("g2", "Read", {"file_path": "report.py"})
    for event in (
        *ran(
            grep, "search", "load(", ToolResult.success("report.py:12\napp.py:3").with_metadata(summary="2 files"), 0.03
        ),
        *ran(read, "read", "report.py", ToolResult.success("1\timport x").with_metadata(summary="40 lines"), 0.005),
        e.MessageDone((), "end_turn", e.Usage(100, 20)),
    ):
        yield e.AgentEvent("a1", "explore", event)


def failed() -> Iterator[e.Event]:
    yield from start()
    yield e.Waiting("rate limited", 8.0, 2)
    message = (
        "The model did not answer. Connection refused at 127.0.0.1:8398 after 3 tries in 7 s. Your work is kept: try "
        "again, or choose another model with %cosh /model."
    )
    yield e.Notice("error", message, "ConnectError: [Errno 111] Connection refused")
    yield e.TurnEnded("error", e.Usage(), 7.2, None, "sonnet", "", message)


def prose() -> Iterator[e.Event]:
    yield from start()
    yield e.ThinkingDelta("The user wants the mean. ")
    yield e.ThinkingDelta("I should look at the file first.")
    yield from text(PROSE)
    yield e.MessageDone((), "end_turn", USAGE)
    picture = ToolResult.success("<Axes: xlabel='month'>", Media("image/png", PNG, "plot")).with_metadata(
        summary="1 image"
    )
    yield from ran(CODE, "run", "import pandas as pd ...", picture, 0.31)
    long_edit = ToolResult.success("Edited").with_metadata(diff=LONG_DIFF)
    yield from ran(ToolCall("d1", "Edit", {"file_path": "report.py"}), "edit", "report.py", long_edit, 0.01)


def long_answer(size: int) -> str:
    """Prose as a model writes it at length: paragraphs, lists, code, a table, a link now and then."""
    part = """## Part {n}

The fix is in, but **pandas** needs `matplotlib` to draw. See [the docs](https://x.org/{n}) for more of it.

Grouping by month sums the revenue of each one, so the index of the result is the month, and a month without a value
stays out of the plot. That is usually what one wants here; if not, fill the gaps with `fillna(0)` before the sum.

- one item with `code`
- another item
- a third one, longer than the others

What remains is the label of the axis, which still names the old column, and the title, which is a matter of taste. I
would leave both as they are until the numbers are right, because a title that promises too much is worse than none.

```python
import pandas as pd
df = pd.read_csv("sales.csv")
for month, rows in df.groupby("month"):
    print(month, rows["rev_eur"].sum())  # one line each
```

| month | rev_eur |
|-------|--------:|
| Jan | 120 |
| Feb | 98 |

"""
    text = "".join(part.replace("{n}", str(number)) for number in range(size // len(part) + 1))
    return text[:size]


def end() -> e.TurnEnded:
    return e.TurnEnded("done", USAGE, 14.2, 0.012, "sonnet")


def hostile(payload: str, number: int = 0) -> Iterator[e.Event]:
    """One payload as prose, as arguments, as output, as a notice and as an agent's words."""
    call = ToolCall(f"h{number}", "Bash", {"command": payload, payload: payload})
    result = ToolResult(
        payload, metadata={"summary": payload}, media=(Media("image/svg+xml", payload.encode("utf-8", "replace")),)
    )
    yield e.TextDelta(f"{payload}\n\n- {payload}\n\n| a |\n|---|\n| {payload} |\n\n```html\n{payload}\n```\n")
    yield from declared(call)
    yield e.ToolStarted(call, payload, payload, payload)
    yield e.ToolProgress(call.id, payload)
    yield e.AgentEvent(call.id, payload, e.TextDelta(payload))
    yield e.ToolFinished(call, result, payload, payload, 0.1, True, payload)
    yield e.Notice("warning", payload, payload)


def crowd() -> Iterator[e.Event]:
    yield from start()
    for number in range(200):
        call = ToolCall(f"c{number}", "Read", {"file_path": f"f{number}.txt"})
        yield from ran(call, "read", f"f{number}.txt", ToolResult.success("line\n" * 20), 0.01)
    words = long_answer(100_000)
    for at in range(0, len(words), 1_000):
        yield e.TextDelta(words[at : at + 1_000])
    yield e.MessageDone((), "end_turn", USAGE)
    yield end()


def floods() -> Iterator[e.Event]:
    """Bad input: walls of text, endings without beginnings, colours without end, endless tables, huge pictures."""
    yield from start()
    yield e.TextDelta("|" + "a|" * 10_000 + "\n|" + "-|" * 10_000 + "\n|" + "b|" * 10_000 + "\n\n")
    yield e.TextDelta(
        "</div>" * 5_000 + "\n\n" + "שלום עולם \u200f" * 500 + "🎉👩‍👩‍👧‍👦" * 500 + "\n\n" + "x" * 50_000 + "\n\n"
    )
    outputs = (
        "word " * 1_000_000,
        "\x1b[31mx\x1b[0m" * 500_000,
        "</div></details>" * 300_000,
        "\u202e" * 100_000,
        "10%\r" * 1_000_000,
    )
    for number, output in enumerate(outputs):
        call = ToolCall(f"f{number}", "Bash", {"command": output[:5_000_000]})
        yield from declared(call)
        yield e.ToolStarted(call, "run", output[:100_000])
        yield e.ToolProgress(call.id, output)
        yield e.ToolFinished(call, ToolResult.success(output), "run", output[:100_000], 1.0)
    huge = ToolResult.success("ok", Media("image/png", PNG + b"x" * 50_000_000, "huge"))
    yield from ran(ToolCall("f9", "Read", {"file_path": "huge.png"}), "read", "huge.png", huge, 1.0)
    yield end()


def languages() -> Iterator[e.Event]:
    """Text from right to left, mixed with code, and a target that tries to turn its line round."""
    yield from start()
    yield from text("העמודה `rev_eur` חסרה בתא 3.\n\n- ראשון: `a.py`\n- שני\n\nThe word שלום stands inside.")
    yield e.MessageDone((), "tool_use", USAGE)
    call = ToolCall("l1", "Bash", {"command": "cat photo\u202egnp.exe"})
    yield from ran(call, "run", "cat photo\u202egnp.exe", ToolResult.success("שורה אחת"), 0.1)
    yield end()


SCENES: dict[str, Callable[[], Iterator[e.Event]]] = {
    scene.__name__: scene for scene in (waiting, finished, running, refused, nested, failed, prose, languages)
}
