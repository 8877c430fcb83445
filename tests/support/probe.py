"""`%%probe`: an IPython extension that drives the notebook host's parts by a small script, one step a line.

    say TEXT            shows a text in the cell
    ask COMMAND         puts an approval card for a shell command, with a session and an always grant
    danger COMMAND      the same for a command that destroys something
    question TEXT | A | B      asks a question with choices; `many` for several, `words` for free text only
    python CODE         runs code in the namespace, with a timeout of `probe_timeout` (5 s)
    code NAME           the same with the code that a variable holds
    sleep SECONDS       waits on the agent's loop
    ignore SECONDS      waits there and ignores being cancelled
`%%probe -b` returns at once. What each step gave is appended to `probe_log` in the user's namespace.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from cosh_nb.notebook.agent_thread import AgentThread
from cosh_nb.notebook.approvals import CellApprovals
from cosh_nb.notebook.asking import Asking
from cosh_nb.notebook.blocking import run_blocking
from cosh_nb.notebook.kernel import LiveKernel
from cosh_nb.notebook.mailbox import Mailbox
from cosh_nb.notebook.place import Place
from cosh_nb.notebook.questions import CellQuestions
from cosh_tools.contract import ToolCall
from cosh_tools.hosts import ApprovalRequest, Choice, Grant, Question
from cosh_tools.policy.decide import Ask
from cosh_tools.policy.rules import parse_rule
from cosh_tools.touches import Runs


class Probe:
    """All parts of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.mailbox = Mailbox(getattr(shell, "kernel", None))
        self.agent = AgentThread()
        self.kernel = LiveKernel(shell, self.mailbox)
        self.asking = Asking(self.mailbox, grace=float(shell.user_ns.get("probe_grace", 5)))
        self.approvals = CellApprovals(self.asking)
        self.questions = CellQuestions(self.asking)

    def magic(self, line: str, cell: str) -> None:
        """Run the script of a cell."""
        if refusal := self.kernel.refusal():
            raise RuntimeError(refusal)
        background = line.strip() == "-b"
        place = Place.here(self.shell, background=background)
        if background:
            self.agent.start(self.steps(cell, place))
            return
        run_blocking(lambda: self.steps(cell, place), self.mailbox, self.approvals.close_all, agent=self.agent)

    async def steps(self, cell: str, place: Place) -> None:
        """One step after another."""
        self.asking.place = place
        log = self.shell.user_ns.setdefault("probe_log", [])
        for step in cell.splitlines():
            word, _, rest = step.partition(" ")
            log.append(await self.step(word, rest, place))

    async def step(self, word: str, rest: str, place: Place) -> Any:
        """Do one step; what it gave."""
        match word:
            case "say":
                return place.show({"text/plain": rest, "text/html": f"<p>{rest}</p>"})
            case "ask" | "danger":
                return await self.approvals.ask(_request(rest, destructive=word == "danger"))
            case "question" | "many" | "words":
                text, *labels = (part.strip() for part in rest.split("|"))
                asked = Question(text, choices=tuple(map(Choice, labels)), multi_select=word == "many")
                return await self.questions.ask([asked])
            case "python" | "code":
                code = self.shell.user_ns[rest] if word == "code" else rest
                timeout = float(self.shell.user_ns.get("probe_timeout", 5))
                live: list[str] = self.shell.user_ns.setdefault("probe_live", [])
                return await self.kernel.run_code(code, timeout, live.append)
            case "sleep":
                return await asyncio.sleep(float(rest))
            case "ignore":
                end = asyncio.get_running_loop().time() + float(rest)
                while (left := end - asyncio.get_running_loop().time()) > 0:
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.sleep(left)
                return None
            case _:
                raise ValueError(f"There is no step {word!r}.")


def _request(command: str, *, destructive: bool) -> ApprovalRequest:
    rule = parse_rule("Bash(git status:*)")
    grants = (
        Grant("Run `git status` all session", (rule,), "session"),
        Grant("Always: Bash(git status:*)", (rule,), "always"),
    )
    return ApprovalRequest(
        ToolCall("call", "Bash", {"command": command}), "run", (Runs(command, tuple(command.split())),),
        Ask("The mode default asks before a tool runs something."), () if destructive else grants,
        destructive=destructive,
    )  # fmt: skip


def load_ipython_extension(shell: Any) -> None:
    """Register the magic."""
    probe = Probe(shell)
    shell.user_ns["probe"] = probe
    shell.register_magic_function(probe.magic, "cell", "probe")
