"""`%load_ext open_notebook.in_kernel`: the notebook tools in a real kernel, driven by a coroutine instead of a model.

    agent(story())        runs a story in this very cell, as `%%cosh` runs a turn; clicks and Stop work
    background(story())   runs it while the cell ends, as `%%cosh -b` does; what it says goes into a file

In a story: `await read()`, `await edit(...)`, `await run(...)`: the real tools through the real runner, everything
allowed. Each returns a ToolResult. `say(value)` prints JSON; `sleep(seconds)` waits.
"""

from __future__ import annotations

import asyncio
import json
import time
import traceback
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from cosh_nb.notebook.agent_thread import AgentThread
from cosh_nb.notebook.blocking import run_blocking
from cosh_nb.notebook.document import OpenNotebooks
from cosh_nb.notebook.kernel import LiveKernel
from cosh_nb.notebook.mailbox import Mailbox
from cosh_nb.notebook.place import Place
from cosh_tools.context import SessionState, ToolContext
from cosh_tools.contract import ToolCall, ToolResult
from cosh_tools.gate import Gate
from cosh_tools.kinds import PermissionMode
from cosh_tools.registry import ToolRegistry, load
from cosh_tools.runner import Runner


class Scene:
    """All parts of one kernel."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.mailbox = Mailbox(getattr(shell, "kernel", None))
        self.agent = AgentThread()
        self.books = OpenNotebooks(shell, self.mailbox, mark=lambda: {"turn": 1, "model": "test"})
        self.kernel = LiveKernel(shell, self.mailbox)
        folder = Path.cwd()
        state = SessionState(folder, folder, PermissionMode.BYPASS)
        names = ("NotebookEdit", "NotebookRead", "NotebookRun", "Python")
        self.runner = Runner(
            ToolRegistry(load(name) for name in names),
            ToolContext(state, notebook=self.books, kernel=self.kernel, non_interactive=False),
            Gate(),
        )
        self.name = ""

    def run_agent(self, story: Coroutine[Any, Any, Any]) -> Any:
        self.books.in_cell(Place.here(self.shell).client)
        return run_blocking(lambda: self._named(story), self.mailbox, agent=self.agent)

    def run_background(self, story: Coroutine[Any, Any, Any], log: str) -> None:
        self.books.in_cell(Place.here(self.shell).client)

        async def logged() -> Any:
            try:
                return await self._named(story)
            except Exception:  # noqa: BLE001  (the test reads of it in the file)
                return {"failed": traceback.format_exc()}

        self.agent.submit(logged()).add_done_callback(lambda done: Path(log).write_text(json.dumps(done.result())))

    async def _named(self, story: Coroutine[Any, Any, Any]) -> Any:
        if not self.name:
            own = await self.books.finder.current()
            self.name = str(own) if own is not None else ""
        return await story

    async def call(self, tool: str, notebook: str | None, arguments: dict[str, Any]) -> ToolResult:
        given = {"notebook_path": notebook or self.name, **arguments}
        return await self.runner.run(ToolCall("call", tool, given))


def load_ipython_extension(shell: Any) -> None:
    scene = Scene(shell)

    async def read(notebook: str | None = None, **arguments: Any) -> ToolResult:
        return await scene.call("NotebookRead", notebook, arguments)

    async def edit(notebook: str | None = None, **arguments: Any) -> ToolResult:
        return await scene.call("NotebookEdit", notebook, arguments)

    async def run(*cells: str, notebook: str | None = None, **arguments: Any) -> ToolResult:
        return await scene.call("NotebookRun", notebook, {"cells": list(cells), **arguments})

    async def cells(notebook: str | None = None) -> list[tuple[str, str]]:
        view = await scene.books.read(Path(notebook or scene.name), ())
        return [(cell.id, cell.source) for cell in view.cells]

    def say(value: Any) -> None:
        print(json.dumps(value, default=str))

    shell.push(
        {
            "scene": scene, "agent": scene.run_agent, "background": scene.run_background, "read": read, "edit": edit,
            "run": run, "cells": cells, "say": say, "sleep": asyncio.sleep, "clock": time.perf_counter,
        }
    )  # fmt: skip
