"""One ACP session: an agent in a folder, its updates in order, one prompt at a time."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp import helpers as h
from acp.exceptions import RequestError
from acp.schema import Cost, PromptResponse, StopReason, Usage, UsageUpdate

from cosh_nb import events as e
from cosh_nb import settings as settings_
from cosh_nb.acp.draw import Drawing
from cosh_nb.acp.lend import AsksPermission, AsksQuestions, Person
from cosh_nb.agent import Agent, FrontEnd, TurnOptions
from cosh_nb.errors import AuthError, CoshError
from cosh_nb.headless.readiness import servers_settled
from cosh_nb.loop import INTERRUPTED
from cosh_nb.notebook.closed import ClosedNotebooks
from cosh_nb.session import Session
from cosh_tools.kinds import PermissionMode
from cosh_tools.registry import ToolRegistry

if TYPE_CHECKING:
    from acp.interfaces import Client

_STOPS: dict[e.TurnEnd, StopReason] = {
    "done": "end_turn",
    "interrupted": "cancelled",
    "stopped": "cancelled",
    "refused": "refusal",
    "max_tokens": "max_tokens",
    "max_turns": "max_turn_requests",
}


@dataclass
class AcpSession:
    """A conversation of the client. `open` makes it, `close` ends it."""

    agent: Agent
    client: Client
    drawing: Drawing
    updates: asyncio.Queue[Any]
    turn: asyncio.Task[PromptResponse] | None = None
    _sender: asyncio.Task[None] | None = None
    _mode: PermissionMode = PermissionMode.DEFAULT

    @classmethod
    def open(
        cls, client: Client, cwd: Path, session: Session, roots: Sequence[Path], servers: Mapping[str, Any]
    ) -> AcpSession:
        """An agent for the folder, with the client's person before it."""
        updates: asyncio.Queue[Any] = asyncio.Queue()
        person = Person(client, session.id, updates.join)
        front = FrontEnd(AsksPermission(person), AsksQuestions(person), ClosedNotebooks())
        settings = settings_.load(cwd)
        configured = settings.values.get("mcpServers")
        known = dict(configured) if isinstance(configured, Mapping) else {}
        settings = replace(
            settings,
            values={**settings.values, "mcpServers": {**known, **servers}},
            extra_roots=(*settings.extra_roots, *roots),
        )
        agent = Agent(
            cwd,
            settings,
            front,
            registry=ToolRegistry.for_claude(),
            mode=settings.mode(PermissionMode.DEFAULT),
            session=session,
        )
        self = cls(agent, client, Drawing(agent.workspace), updates, _mode=agent.state.permission_mode)
        self._sender = asyncio.create_task(self._send())
        return self

    @property
    def id(self) -> str:
        """Its id, which is also the stored session's."""
        return self.agent.session.id

    async def prompt(self, text: str, media: list[dict[str, Any]]) -> PromptResponse:
        """Take one turn. Raises RequestError where it failed."""
        if self.turn is not None:
            raise RequestError(-32600, "A prompt is running in this session. Cancel it, or wait for its end.")
        self.turn = asyncio.create_task(self._take_turn(text, media))
        try:
            return await self.turn
        except asyncio.CancelledError:
            if not self.turn.cancelled():
                raise  # the connection ended, not the turn
            return PromptResponse(stop_reason="cancelled")
        finally:
            self.turn = None

    def cancel(self) -> None:
        """End the running turn."""
        if self.turn is not None:
            self.turn.cancel()

    def set_mode(self, mode: PermissionMode) -> None:
        """Another permission mode."""
        self._mode = mode
        self.agent.set_mode(mode)

    async def close(self) -> None:
        """End what runs, and give back the session."""
        self.cancel()
        if self._sender is not None:
            self._sender.cancel()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.agent.close(), 5)

    async def _take_turn(self, text: str, media: list[dict[str, Any]]) -> PromptResponse:
        self.drawing.working_dir = self.agent.ctx.working_dir
        await servers_settled(self.agent, self._emit)
        ended = await self.agent.run(text, self._emit, TurnOptions(media=tuple(media)))
        for update in self.drawing.left_open(INTERRUPTED):
            self.updates.put_nowait(update)
        self._tell_usage(ended)
        await self.updates.join()
        if ended.reason == "error":
            raise RequestError(-32603, ended.error or "The turn failed.")
        usage = ended.usage
        return PromptResponse(
            stop_reason=_STOPS[ended.reason],
            usage=Usage(
                total_tokens=usage.total,
                input_tokens=usage.input,
                output_tokens=usage.output,
                cached_read_tokens=usage.cache_read,
                cached_write_tokens=usage.cache_write,
            ),
        )

    def _emit(self, event: e.Event) -> None:
        for update in self.drawing.feed(event):
            self.updates.put_nowait(update)
        if self.agent.state.permission_mode is not self._mode:
            self._mode = self.agent.state.permission_mode
            self.updates.put_nowait(h.update_current_mode(self._mode.value))

    def _tell_usage(self, ended: e.TurnEnded) -> None:
        from cosh_nb.cost import context_window  # windows are read where they are asked for

        total = self.agent.costs.total()
        cost = Cost(amount=total, currency="USD") if total is not None else None
        window = context_window(ended.model)
        self.updates.put_nowait(
            UsageUpdate(session_update="usage_update", used=ended.usage.total, size=window or 0, cost=cost)
        )

    async def _send(self) -> None:
        while True:
            update = await self.updates.get()
            try:
                await self.client.session_update(session_id=self.id, update=update)
            except Exception as error:  # noqa: BLE001 (nobody listens any more, or it cannot be said)
                sys.stderr.write(f"cosh-nb: an update was not sent: {type(error).__name__}: {error}\n")
                self.cancel()
            finally:
                self.updates.task_done()


def failure(error: CoshError) -> RequestError:
    """An error of ours as the protocol has it."""
    if isinstance(error, AuthError):
        return RequestError(-32000, str(error))
    return RequestError(-32602, str(error))
