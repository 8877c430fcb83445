"""Waiting for MCP servers before a turn: who has no screen cannot see that a tool comes later, so it comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from cosh_nb.events import Event, Waiting

if TYPE_CHECKING:
    from cosh_nb.agent import Agent


async def servers_settled(agent: Agent, emit: Callable[[Event], None]) -> None:
    """Start what is configured; return when each server is ready or has failed, within its own time to start."""
    await agent.mcp.start()
    slow = [connection for connection in agent.mcp.connections() if connection.state == "starting"]
    if slow:
        names = ", ".join(connection.config.name for connection in slow)
        emit(Waiting(f"waiting for MCP servers to start: {names}"))
        await asyncio.gather(*(connection.settled(connection.config.start_seconds) for connection in slow))
