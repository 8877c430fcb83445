"""The agent's desk in a notebook: what a magic typed becomes a command or a turn, shown in the cell that asked."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cosh_nb import commands, own_tools
from cosh_nb.agent import Agent, FrontEnd, TurnOptions
from cosh_nb.attach import attach
from cosh_nb.commands.asking import REQUESTS, SeenCell
from cosh_nb.errors import CoshError, UsageError
from cosh_nb.events import Event, Notice, TurnEnded, TurnStarted
from cosh_nb.mirror import TOOLS, Mirror
from cosh_nb.notebook.agent_thread import AgentThread
from cosh_nb.notebook.approvals import CellApprovals
from cosh_nb.notebook.asking import Asking
from cosh_nb.notebook.blocking import run_blocking
from cosh_nb.notebook.checkpoint import Checkpoints
from cosh_nb.notebook.document import OpenNotebooks
from cosh_nb.notebook.evidence import LedgerEvidence, since, text_of
from cosh_nb.notebook.failure import Failed
from cosh_nb.notebook.in_cell import InCell
from cosh_nb.notebook.kernel import LiveKernel
from cosh_nb.notebook.live import LiveDisplay
from cosh_nb.notebook.mailbox import Mailbox
from cosh_nb.notebook.place import Place
from cosh_nb.notebook.questions import CellQuestions
from cosh_nb.notebook.terminal import TerminalDisplay
from cosh_nb.render import markdown
from cosh_nb.render.markup import Rendered
from cosh_nb.render.style import whole
from cosh_nb.render.turn import TurnView
from cosh_nb.session import is_open, sessions
from cosh_nb.settings import load
from cosh_nb.spill import prune
from cosh_nb.timetravel.child import unavailable
from cosh_nb.timetravel.turns import Turns
from cosh_nb.typed import Typed, attached, fill, parse
from cosh_tools.hosts import NoEvidence
from cosh_tools.kinds import PermissionMode
from cosh_tools.notebook.steps import digest
from cosh_tools.results import ToolError
from cosh_tools.runner import Runner

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from cosh_nb.notebook.ledger import Ledger
    from cosh_tools.hosts import ApprovalRequest

GRANTING = ("mode", "allowed_tools", "replay")
"""Options that give rights: without effect in a cell that the agent wrote and no person has changed since."""


class NotebookDesk:
    """One per shell (commands.Desk). Lives on the main thread; its agent lives on the agent's thread."""

    def __init__(self, shell: InteractiveShell, ledger: Ledger | None = None) -> None:
        self.shell = shell
        self.ledger = ledger
        self._last_turn = time.time()
        self._last_place: Place | None = None
        self.workspace = Path.cwd()
        self.mailbox = Mailbox(getattr(shell, "kernel", None))
        self.thread = AgentThread()
        self.kernel = LiveKernel(shell, self.mailbox)
        self.asking = Asking(self.mailbox)
        preview = None if unavailable() else self.kernel.preview
        self.approvals = CellApprovals(self.asking, preview=preview, runs_here=self._runs_here)
        self.questions = CellQuestions(self.asking)
        self.notebooks = OpenNotebooks(shell, self.mailbox, self._mark, self.note_written)
        self.checkpoints = Checkpoints(shell, self.mailbox)
        self.turns = Turns(uuid4().hex, self.checkpoints)
        self.agent = self._new_agent()
        self._background: set[Future[TurnEnded]] = set()
        self._greeted = False
        self._mirror: Mirror | None = None
        self._command_place = Place()
        self._written: set[str] = set()

    # -- what a person typed ------------------------------------------------------------------------------------

    def run(self, line: str, cell: str | None) -> None:
        """Take up what was typed. Raises Failed with one sentence where it could not be done."""
        if refusal := self.kernel.refusal():
            raise Failed(refusal)
        try:
            typed = parse(line, cell)
            if typed.command:
                self._command(typed)
            else:
                self._request(typed, by_agent=self._by_agent(typed, line, cell))
        except (CoshError, ToolError) as error:
            raise Failed(str(error)) from None

    def _command(self, typed: Typed) -> None:
        if typed.command not in commands.table() and (text := self._blocking(self._written_command(typed))):
            self._request(Typed(typed.options, prompt=text), by_agent=False)
            return
        self._command_place = Place.here(self.shell, background=True)
        said = self._blocking(commands.run(self, typed.command, typed.arguments))
        if typed.command in REQUESTS:
            self._request(Typed(typed.options, prompt=said), by_agent=False)
        else:
            self._show(said)

    async def _written_command(self, typed: Typed) -> str:
        """What a skill of that name, or a prompt of an MCP server, says; empty where there is none."""
        agent = self.agent
        if (skill := agent.skills.get(typed.command)) is not None and skill.for_person:
            return agent.skills.load(skill.name, typed.arguments).content
        if typed.command.startswith("mcp__"):
            await agent.mcp.start()
            if typed.command in agent.mcp.prompts():
                return await agent.mcp.prompt(typed.command, typed.arguments)
        return ""

    def _request(self, typed: Typed, *, by_agent: bool) -> None:
        options, notes = self._options(typed, by_agent=by_agent)
        text = fill(typed.prompt, self.shell.user_ns)
        more, media, problems = attach(attached(text, self.agent.ctx.resolve_path))
        background = bool(typed.options.get("background"))
        place = Place.here(self.shell, background=background)
        self._last_place = place
        view = TurnView(hint="Stop: %cosh /stop" if background else "Stop: ■ or I I", undo="Undo: %cosh /undo")
        self.notebooks.in_cell(place.client)
        live = LiveDisplay(view, place) if place.kernel is not None else TerminalDisplay()

        def emit(event: Event) -> None:
            if isinstance(event, TurnStarted):
                self.asking.place, self.asking.lend = place, live.output
                live.feed(event)
                for note in (*notes, *(Notice("warning", problem) for problem in problems), *self._greeting()):
                    live.feed(note)
                return
            if isinstance(event, TurnEnded):
                self._last_turn = time.time()
            live.feed(event)

        if typed.options.get("new"):
            self._blocking(commands.run(self, "new", ""))
        turn = self.agent.run(text + more, emit, TurnOptions(**{**options, "media": media}))
        if background:
            future = self.thread.submit(turn)
            self._background.add(future)
            future.add_done_callback(self._background.discard)
            return
        try:
            ended = self._blocking(turn)
        finally:
            live.close()
        if ended.reason == "error":
            raise Failed(ended.error)

    async def _scheduled(self, job: Mapping[str, Any]) -> None:
        """Agent's thread: take up a scheduled prompt, shown below what the last turn showed."""
        assert self._last_place is not None  # noqa: S101 (the schedule begins with the first turn)
        live = LiveDisplay(TurnView(hint="Stop: %cosh /stop"), replace(self._last_place, background=True))

        def emit(event: Event) -> None:
            live.feed(event)
            if isinstance(event, TurnStarted):
                live.feed(Notice("info", f"Scheduled ({job['human']}): {job['prompt']}"))

        try:
            await self.agent.run(str(job["prompt"]), emit, TurnOptions(away=True))
        finally:
            live.close()

    def seen_cells(self) -> list[SeenCell]:
        """The person's cells that ran, oldest first (asking.SeesCells)."""
        ran = list(self.ledger) if self.ledger is not None else []
        return [SeenCell(one.count, one.source, text_of(one), one.error is not None) for one in ran]

    # -- commands.Desk --------------------------------------------------------------------------------------------

    def reload(self) -> None:
        """Read settings and trust again; the conversation goes on."""
        self.agent.take_settings(load(self.workspace))

    def stop(self) -> bool:
        """Agent's thread: end the running turn."""
        return self.agent.interrupt()

    async def serve(self) -> str:
        """Agent's thread: lend the kernel's tools to `cosh-nb mcp`; the cards appear below the cell that asked."""
        agent = self.agent
        if self._mirror is None:
            asks = InCell(self.asking, self.approvals, self._command_place)
            ctx = agent.ctx.with_(permission_handler=asks)
            self._mirror = Mirror(Runner(agent.registry, ctx, agent.gate, agent.runner.locks))
        await self._mirror.start()
        return (
            f"Kernel {os.getpid()} listens for `cosh-nb mcp`. An agent outside can now use {', '.join(TOOLS)}; "
            "what needs your approval is asked here, below this cell. `%cosh /mcp stop` ends it."
        )

    async def end_serving(self) -> bool:
        """Agent's thread: stop listening; whether it did."""
        mirror, self._mirror = self._mirror, None
        if mirror is None:
            return False
        await mirror.close()
        return True

    def close(self) -> None:
        """End what runs; the session is kept."""
        with contextlib.suppress(Exception):
            self.thread.submit(self.end_serving()).result(3)
            self.thread.submit(self.agent.close()).result(3)
        self.checkpoints.close()
        self.notebooks.close()
        self.thread.close()

    def note_written(self, source: str) -> None:
        """The agent put this source into a cell."""
        self._written.add(_digest(source))

    def _runs_here(self, request: ApprovalRequest) -> bool:
        """Whether its code would run in this kernel: cells of another notebook run in that one's."""
        named = request.call.input.get("notebook_path")
        return named is None or self.agent.ctx.resolve_path(str(named)) == self.notebooks.current()

    def _news(self) -> str:
        """What the person ran since the last turn, for the model."""
        return since(self.ledger, self._last_turn) if self.ledger is not None else ""

    def _by_agent(self, typed: Typed, line: str, cell: str | None) -> bool:
        """Whether the agent wrote the running cell and nobody has changed it since, where that matters."""
        if not any(key in typed.options for key in GRANTING):
            return False
        source = f"%%cosh {line}\n{cell}" if cell is not None else f"%cosh {line}"
        return _digest(source) in self._written or bool(self._blocking(self._marked(source)))

    async def _marked(self, source: str) -> bool:
        """Whether a cell of this notebook that holds `source` carries the agent's mark for just this text."""
        try:
            path = await self.notebooks.finder.current()
            view = await self.notebooks.read(path, ()) if path is not None else None
        except (CoshError, ToolError):
            return False
        cells = view.cells if view is not None else ()
        return any(
            _plain(source) in _plain(cell.source)
            and cell.metadata.get("cosh", {}).get("sha256") == digest(cell.source)[:16]
            for cell in cells
        )

    def _mark(self) -> dict[str, Any]:
        """Provenance of the cells that the agent writes: never content, never a right."""
        agent = self.agent
        model = agent.provider.model if agent.provider is not None else ""
        return {"turn": agent.session.turns + 1, "model": model, "time": f"{agent.ctx.clock.now():%Y-%m-%dT%H:%M:%S%z}"}

    # -- parts ------------------------------------------------------------------------------------------------------

    def _new_agent(self) -> Agent:
        settings = load(self.workspace)
        front = FrontEnd(
            permission_handler=self.approvals,
            ask=self.questions,
            kernel=self.kernel,
            notebook=self.notebooks,
            evidence=LedgerEvidence(self.ledger) if self.ledger is not None else NoEvidence(),
            snapshots=self.turns,
            news=self._news,
            interactive=True,
        )
        agent = Agent(self.workspace, settings, front, mode=settings.mode(PermissionMode.DEFAULT))
        own_tools.join(agent.registry)
        agent.problems += agent.registry.add_entry_points()
        if getattr(self.shell, "kernel", None) is not None:  # a terminal has no place for it
            agent.fires_to(self._scheduled)
        return agent

    def _options(self, typed: Typed, *, by_agent: bool) -> tuple[dict[str, Any], list[Notice]]:
        given = {key: value for key, value in typed.options.items() if key not in {"background", "new"}}
        notes: list[Notice] = []
        ignored = sorted(key for key in given if by_agent and key in GRANTING)
        for key in ignored:
            del given[key]
        if ignored:
            names = ", ".join(f"--{key.replace('_', '-')}" for key in ignored)
            text = f"The agent wrote this cell, so {names} has no effect until you change the cell yourself."
            notes.append(Notice("warning", text))
        try:
            if "mode" in given:
                given["mode"] = PermissionMode.parse(given["mode"])
            if "max_turns" in given:
                given["max_turns"] = _positive(given["max_turns"])
        except ValueError as error:
            raise UsageError(str(error)) from None
        for key in ("record", "replay"):
            if key in given:
                from cosh_nb.providers.recording import recording_path  # only where a recording is named

                given[key] = recording_path(given[key], self.agent.front.notebook.current(), self.workspace)
        return given, notes

    def _greeting(self) -> list[Notice]:
        """Said once, with the first turn: what was ignored, what could not be read, what could be resumed."""
        if self._greeted:
            return []
        self._greeted = True
        agent, notes = self.agent, []
        notes += [Notice("warning", problem) for problem in agent.problems]
        if agent.settings.ignored:
            what = "; ".join(agent.settings.ignored)
            notes.append(
                Notice("info", f"This folder is not trusted, so this is ignored: {what}. %cosh /trust says more.")
            )
        earlier = (info for info in sessions(self.workspace) if info.turns and info.id != agent.session.id)
        first = None if agent.session.turns else next((info for info in earlier if not is_open(info)), None)
        if first is not None:
            notes.append(Notice("info", f"This is a new conversation. %cosh /resume goes on with “{first.title}”."))
        return notes

    def _blocking(self, coro: Any) -> Any:
        return run_blocking(lambda: coro, self.mailbox, self.approvals.close_all, agent=self.thread)

    def _show(self, text: str) -> None:
        from IPython import display

        show: Any = display.display
        show(whole(Rendered(f'<div class="md">{markdown.to_html(text)}</div>', text)), raw=True)


def warm_up() -> None:
    """Load what the first request needs."""
    from cosh_nb.providers import anthropic, choose, openai, wire  # noqa: F401  (their loading is the point)
    from cosh_tools.registry import ToolRegistry

    wire.warm()
    ToolRegistry.for_notebook().definitions()
    prune()


def _digest(source: str) -> str:
    return hashlib.sha256(_plain(source).encode("utf-8", "replace")).hexdigest()


def _plain(source: str) -> str:
    """Without the spaces that a magic's line loses on its way."""
    return "\n".join(" ".join(line.split()) for line in source.strip().splitlines())


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"--max-turns takes a whole number from 1 up, not {text!r}.")
    return int(text)


__all__ = ["NotebookDesk", "warm_up"]
