"""All servers of a session (hosts.McpHost): their tools in the registry, their resources, their prompts as commands."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_nb.mcp_client.config import Configured
from cosh_nb.mcp_client.connection import Connection
from cosh_nb.mcp_client.results import resource_of
from cosh_nb.mcp_client.tool import McpTool, tool_name
from cosh_tools.results import ToolError, ToolResult

if TYPE_CHECKING:
    from cosh_tools.registry import ToolRegistry

FIRST_WAIT = 3.0
"""Seconds that a first turn waits for servers; what is slower joins a later request."""
MISSING = "MCP servers are configured, but the MCP SDK is not installed: pip install 'cosh-nb[mcp]'."


class Servers:
    """Starts what is configured with the first turn. Lives on the agent's loop."""

    def __init__(self, registry: ToolRegistry, workspace: Path, session_id: str) -> None:
        self.registry = registry
        self.workspace = workspace
        self.session_id = session_id
        self.problems: list[str] = []
        self._configured = Configured()
        self._connections: dict[str, Connection] = {}
        self._adopted: dict[str, Connection] = {}
        self._fresh: list[Connection] = []
        self._names: dict[str, tuple[str, ...]] = {}

    def configure(self, configured: Configured) -> None:
        """What to start with the next turn; a server that is no longer configured is closed then."""
        self._configured = configured
        self.problems = list(configured.problems)
        if configured.servers and importlib.util.find_spec("mcp") is None:
            self.problems.append(MISSING)
            self._configured = Configured()

    def adopt(self, connection: Connection) -> None:
        """Take a server that a front end brought and that no configuration names. It stays until the end."""
        self._adopted[connection.config.name] = self._connections[connection.config.name] = connection
        self._fresh.append(connection)

    async def start(self) -> None:
        """Start what is new, close what is gone, and wait a little for those that start."""
        wanted = {config.name: config for config in self._configured.servers if config.name not in self._adopted}
        wanted |= {name: connection.config for name, connection in self._adopted.items()}
        for name in [name for name, one in self._connections.items() if wanted.get(name) != one.config]:
            await self._drop(name)
        for config in [config for name, config in wanted.items() if name not in self._connections]:
            self._connections[config.name] = Connection(config, self.workspace, self.tools_changed)
            self._fresh.append(self._connections[config.name])
        fresh, self._fresh = self._fresh, []
        if fresh:
            await asyncio.gather(*(connection.settled(FIRST_WAIT) for connection in fresh))

    async def close(self) -> None:
        """Close all."""
        await asyncio.gather(*(connection.close() for connection in self._connections.values()))
        self._connections.clear()
        self._adopted.clear()

    def connections(self) -> Sequence[Connection]:
        """All, by name."""
        return [self._connections[name] for name in sorted(self._connections)]

    async def resources(self, server: str | None) -> Sequence[Mapping[str, Any]]:
        """Resources of one server or of all; a server that does not answer is left out of the list."""
        found: list[Mapping[str, Any]] = []
        for connection in self._chosen(server):
            if connection.state == "ready" and not connection.has_resources:
                continue
            client = await connection.client()
            answer = await _asked(connection, client.list_resources())
            for one in answer.resources:
                told = {
                    "uri": str(one.uri),
                    "name": one.name,
                    "description": one.description,
                    "mimeType": one.mime_type,
                }
                found.append({**{key: value for key, value in told.items() if value}, "server": connection.config.name})
        return found

    async def read(self, server: str | None, uri: str) -> ToolResult:
        """One resource; without a server the first that has it."""
        failed = ""
        for connection in self._chosen(server):
            client = await connection.client()
            try:
                return resource_of(await _asked(connection, client.read_resource(uri)), self.session_id)
            except ToolError as error:
                failed = str(error)
        raise ToolError(failed or f"No server has the resource {uri!r}.")

    def prompts(self) -> Mapping[str, tuple[Connection, Any]]:
        """Prompts as commands, by the name a person types: `mcp__server__prompt`."""
        return {
            tool_name(connection.config.name, prompt.name): (connection, prompt)
            for connection in self.connections()
            for prompt in connection.prompts
        }

    async def prompt(self, name: str, arguments: str) -> str:
        """The text of a prompt, its arguments filled in by position. Raises ToolError."""
        import shlex

        connection, prompt = self.prompts()[name]
        given = shlex.split(arguments)
        filled = {one.name: value for one, value in zip(prompt.arguments or (), given, strict=False)}
        missing = [one.name for one in prompt.arguments or () if one.required and one.name not in filled]
        if missing:
            raise ToolError(f"/{name} needs {', '.join(missing)}.")
        client = await connection.client()
        answer = await _asked(connection, client.get_prompt(prompt.name, filled))
        return "\n\n".join(getattr(message.content, "text", f"[{message.content.type}]") for message in answer.messages)

    def _chosen(self, server: str | None) -> Sequence[Connection]:
        if not self._connections:
            raise ToolError("No MCP servers connected. Configure MCP servers in settings.")
        if server is None:
            return self.connections()
        if server not in self._connections:
            names = ", ".join(sorted(self._connections))
            raise ToolError(f"There is no MCP server {server!r}. The servers are: {names}.")
        return [self._connections[server]]

    async def tools_changed(self, connection: Connection) -> None:
        """Put the server's tools into the registry as they are now."""
        config = connection.config
        for name in self._names.pop(config.name, ()):
            self.registry.remove(name)
        taken = set(self.registry.names())
        names = []
        for told in connection.tools:
            if config.allowed_tools is not None and told.name not in config.allowed_tools:
                continue
            made = McpTool(connection, told)
            if made.name in taken:
                self.problems.append(f"The tool {told.name} of {config.name} is left out: its name is taken.")
                continue
            taken.add(made.name)
            names.append(made.name)
            self.registry.add(made)
        self._names[config.name] = tuple(names)

    async def _drop(self, name: str) -> None:
        connection = self._connections.pop(name)
        for tool in self._names.pop(name, ()):
            self.registry.remove(tool)
        await connection.close()


async def _asked(connection: Connection, answer: Any) -> Any:
    try:
        return await answer
    except Exception as error:  # noqa: BLE001  (a server may fail in any way)
        raise ToolError(f"The MCP server {connection.config.name} refused: {error}") from None
