"""What a client asks of the session beside its requests: handshake, modes, models, settings, stopping."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, assert_never

from cosh_nb.errors import CoshError, UsageError
from cosh_nb.headless import assemble
from cosh_nb.headless import protocol as p
from cosh_nb.headless.inventory import Inventory
from cosh_nb.headless.outgoing import RegistryResponseLine
from cosh_tools.kinds import PermissionMode

if TYPE_CHECKING:
    from cosh_nb.headless.host import Host

OK, BAD_INPUT, WRONG_VERSION = 0, 1, 65

BROUGHT = "the client"
"""Where a hook comes from that the client brought with its handshake."""
_STATES = {"starting": "pending", "ready": "connected", "waiting": "failed", "failed": "failed", "closed": "disabled"}

Change = Callable[[], Awaitable[dict[str, Any]]]


class Control:
    """Carries out control requests for one host. Each is answered as its dialect has it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._agent = host.agent
        self._inventory = Inventory(host.agent)
        self._allowed = host.flags.allowed
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, request_id: str, request: p.Control) -> None:
        """Do it, now where it can be done while a turn runs, else between two turns."""
        match request:
            case p.Initialize():
                self._initialize(request_id, request)
            case p.Interrupt():
                self._host.interrupt()
                self._done(request_id, request.subtype)
            case p.Shutdown():
                self._done(request_id, request.subtype)
                self._host.stop(OK)
            case p.ConfigOverride(approval_mode=mode, allowed_tools=allowed):
                self._override(request_id, mode, allowed)
            case p.SetPermissionMode(mode=mode):
                self.set_mode(mode)
                self._done(request_id, request.subtype, {"mode": self._agent.state.permission_mode.value})
            case p.SwitchModel(model=model):
                self._later(request_id, request.subtype, lambda: self._switch(model))
            case p.ReloadConfig():
                self._later(request_id, request.subtype, self._reload)
            case p.StopTask(task_id=task):
                self._background(self._stop_task(request_id, task))
            case p.Ask(subtype="mcp_status"):
                self._done(request_id, request.subtype, {"mcpServers": self._servers()})
            case p.Ask():
                self._done(request_id, request.subtype, self._usage())
            case p.ToggleMcp():
                self._toggle(request_id, request)
            case p.RewindFiles():
                self._failed(request_id, "Files cannot be taken back in a headless session.")
            case _:
                assert_never(request)

    def registry(self, asked: p.RegistryRequestLine) -> bool:
        """Answer a registry_request; whether it could be answered."""
        try:
            data = self._inventory.answer(asked)
        except CoshError as error:
            self._host.put([RegistryResponseLine(request_id=asked.request_id, success=False, error=str(error))])
            return False
        self._host.put([RegistryResponseLine(request_id=asked.request_id, success=True, data=data)])
        return True

    def set_mode(self, mode: PermissionMode | str) -> None:
        """Another approval mode from the next decision on."""
        silent = mode == p.DONT_ASK
        if self._host.flags.client_asks:
            self._host.approver.silent = "the mode dontAsk asks nobody" if silent else ""
        self._agent.set_mode(PermissionMode.DEFAULT if silent else PermissionMode(mode))

    def _initialize(self, request_id: str, request: p.Initialize) -> None:
        if request.protocol_version not in (None, p.PROTOCOL_VERSION):
            why = f"The protocol version {request.protocol_version} is not spoken here; {p.PROTOCOL_VERSION} is."
            self._failed(request_id, why)
            self._host.stop(WRONG_VERSION)
            return
        if request.hooks:
            from cosh_nb.headless.callbacks import install  # only for clients that bring hooks

            install(self._agent, self._host.questions, self._host.dialect, request.hooks)
        self._host.put(self._host.dialect.initialized(request_id, self._host.facts()))
        if theirs := assemble.client_servers(self._host.flags.mcp_config):
            from cosh_nb.headless.client_servers import connect  # only for clients that bring servers

            connect(self._agent, self._host.questions, self._host.dialect, theirs)

    def _override(self, request_id: str, mode: PermissionMode | str | None, allowed: list[str] | None) -> None:
        if allowed is not None:
            before, self._allowed = self._allowed, ",".join(allowed)
            try:
                self._apply_rules()
            except UsageError as error:
                self._allowed = before
                self._failed(request_id, str(error))
                return
        if mode is not None:
            self.set_mode(mode)
        self._done(request_id, "config_override")

    def _apply_rules(self) -> None:
        root, flags = self._agent.workspace, self._host.flags
        allowed, denied = assemble.allow(self._allowed, root), assemble.allow(flags.disallowed, root)
        self._host.rules = self._agent.gate.rules = assemble.rules(self._agent.settings.rules, allowed, denied)

    async def _switch(self, model: str | None) -> dict[str, Any]:
        await self._agent.use(self._host.flags.provider, model or self._host.flags.model)
        return {}

    async def _reload(self) -> dict[str, Any]:
        found = await asyncio.to_thread(assemble.settings, self._host.flags)
        brought = [hook for hook in self._agent.hooks.hooks if hook.where == BROUGHT]
        self._agent.take_settings(found)
        self._agent.hooks.hooks = [*self._agent.hooks.hooks, *brought]
        self._apply_rules()
        return {"problems": list(self._agent.problems)}

    def _toggle(self, request_id: str, request: p.ToggleMcp) -> None:
        action = "detail" if request.subtype == "mcp_reconnect" else "enable" if request.enabled else "disable"
        asked = p.RegistryRequestLine(
            type="registry_request", request_id="", domain="mcp", action=action, params={"name": request.server}
        )
        try:
            self._inventory.answer(asked)
        except UsageError as error:
            self._failed(request_id, str(error))
            return
        if request.subtype == "mcp_reconnect":
            for connection in self._agent.mcp.connections():
                if connection.config.name == request.server:
                    connection.lost()
        self._done(request_id, request.subtype)

    async def _stop_task(self, request_id: str, task: str) -> None:
        if await self._agent.jobs.stop(task):
            self._done(request_id, "stop_task")
        else:
            self._failed(request_id, f"No background task {task!r:.80} is running.")

    def _usage(self) -> dict[str, Any]:
        from cosh_nb.cost import context_window  # windows are read where they are asked for

        model = self._host.facts().model
        used, window = self._host.context.total, context_window(model)
        return {
            "categories": [{"name": "Messages", "tokens": used, "color": "blue"}],
            "totalTokens": used,
            "maxTokens": window,
            "percentage": round(100 * used / window, 1) if window else 0.0,
            "model": model,
            "mcpTools": [],
            "memoryFiles": [],
            "agents": [],
        }

    def _servers(self) -> list[dict[str, Any]]:
        asked = p.RegistryRequestLine(type="registry_request", request_id="", domain="mcp", action="list")
        return [
            {
                "name": row["name"],
                "status": _STATES[row["state"]] if row["enabled"] else "disabled",
                **({"error": row["problem"]} if row["problem"] else {}),
                "tools": [{"name": name} for name in row["tools"]],
            }
            for row in self._inventory.answer(asked)["servers"]
        ]

    def _later(self, request_id: str, subtype: str, do: Change) -> None:
        """Change something between two turns, and say so then."""

        async def change() -> None:
            try:
                body = await do()
            except CoshError as error:
                self._failed(request_id, str(error))
            else:
                self._done(request_id, subtype, body)

        self._host.between_turns(change, lambda: self._failed(request_id, "The session ended before this was done."))

    def _done(self, request_id: str, what: str, body: dict[str, Any] | None = None) -> None:
        self._host.put(self._host.dialect.done(request_id, what, body or {}, self._host.facts()))

    def _failed(self, request_id: str, why: str) -> None:
        self._host.put(self._host.dialect.failed(request_id, why))

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
