"""MCP servers that live in the client's own program (Claude Agent SDK): their messages travel as control requests."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_nb.headless.dialects.claude_lines import McpMessage
from cosh_nb.headless.questions import NotAnswered
from cosh_nb.mcp_client.config import CALL_SECONDS, ServerConfig
from cosh_nb.mcp_client.connection import Connection

if TYPE_CHECKING:
    from cosh_nb.agent import Agent
    from cosh_nb.headless.dialects.base import Dialect
    from cosh_nb.headless.questions import Questions

_FAILED = -32603


def connect(agent: Agent, questions: Questions, dialect: Dialect, names: Sequence[str]) -> None:
    """Connect to the client's servers of these names, once each."""
    known = {connection.config.name for connection in agent.mcp.connections()}
    for name in names:
        if name not in known:
            agent.mcp.adopt(ClientServer(name, agent, questions, dialect))


class ClientServer(Connection):
    """One such server; everything but its transport is as with any other."""

    def __init__(self, name: str, agent: Agent, questions: Questions, dialect: Dialect) -> None:
        self._questions = questions
        self._dialect = dialect
        config = ServerConfig(name=name, transport="stdio", where="the client")
        super().__init__(config, Path(agent.workspace), agent.mcp.tools_changed)

    async def _transport(self, stack: contextlib.AsyncExitStack) -> Any:
        del stack
        return self._streams()

    @contextlib.asynccontextmanager
    async def _streams(self) -> AsyncIterator[Any]:
        import anyio
        from mcp.shared.memory import create_client_server_memory_streams

        async with create_client_server_memory_streams() as (ours, theirs), anyio.create_task_group() as tasks:
            come, answers = theirs

            async def carry() -> None:
                async for message in come:
                    tasks.start_soon(self._carry, message, answers)

            tasks.start_soon(carry)
            yield ours
            tasks.cancel_scope.cancel()

    async def _carry(self, message: Any, answers: Any) -> None:
        """One message to the client, and its answer back; what is no request has none."""
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        told = message.message.model_dump(by_alias=True, mode="json", exclude_none=True)
        body = McpMessage(server_name=self.config.name, message=told)
        try:
            envelope = await self._questions.request(
                "mcp", lambda request_id: self._dialect.request(request_id, body), CALL_SECONDS
            )
        except NotAnswered as error:
            answer: Any = _refusal(told, str(error))
        else:
            extra = (envelope.response.model_extra or {}) if envelope.response is not None else {}
            answer = extra.get("mcp_response") or _refusal(told, envelope.error or "the client sent no answer")
        if "id" in told and "method" in told:
            await answers.send(SessionMessage(jsonrpc_message_adapter.validate_python(answer, by_name=False)))


def _refusal(told: dict[str, Any], why: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": told.get("id"), "error": {"code": _FAILED, "message": why}}
