"""A tool of an MCP server: `mcp__server__tool`. Whatever its description says, it asks like a command."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict

from cosh_nb.mcp_client.results import result_of
from cosh_tools.contract import (
    PermissionLevel,
    Tool,
    ToolContext,
    ToolDefinition,
    ToolInput,
    ToolKind,
    ToolResult,
    Touch,
)
from cosh_tools.results import InvalidInput, ToolError

if TYPE_CHECKING:
    from cosh_nb.mcp_client.connection import Connection

LONGEST = 64
"""Characters of a tool's name; the model services take no more."""


class AnyInput(ToolInput):
    """Arguments that the server's own schema describes."""

    model_config = ConfigDict(extra="allow", frozen=True)


class McpTool(Tool[AnyInput]):
    """One tool of one server. Reading the schema is defensive: it is the server's text."""

    kind, permission_level = ToolKind.SHELL_EXEC, PermissionLevel.EXECUTE
    verb: ClassVar[str] = "call"
    takes = AnyInput

    def __init__(self, connection: Connection, told: Any) -> None:
        self._connection = connection
        self._told_name = str(told.name)
        self.name = tool_name(connection.config.name, self._told_name)  # type: ignore[misc]  # one class, many tools
        text = str(told.description or told.title or told.name)
        self.description = text[:4_000]  # type: ignore[misc]  # the same
        self._schema = _usable(told.input_schema)
        annotations = getattr(told, "annotations", None)
        self.concurrency_safe = bool(annotations and annotations.read_only_hint)  # type: ignore[misc]  # the same

    @cached_property
    def _definition(self) -> ToolDefinition:
        return ToolDefinition(self.name, self.description, self._schema)

    def parse(self, given: Mapping[str, Any]) -> AnyInput:
        """Check the arguments against the server's schema. Raises InvalidInput."""
        import jsonschema  # comes with the mcp extra

        try:
            problem = next(iter(jsonschema.Draft202012Validator(dict(self._schema)).iter_errors(dict(given))), None)
        except jsonschema.exceptions.SchemaError:
            problem = None  # the server's schema is broken: the server itself will say what it does not take
        if problem is not None:
            where = ".".join(str(part) for part in problem.absolute_path) or "the arguments"
            raise InvalidInput(f"Invalid input for {self.name}: {where}: {problem.message[:300]}.")
        return AnyInput(**given)

    def target(self, call: AnyInput, ctx: ToolContext) -> str:
        """Server and tool, and the arguments in short."""
        del ctx
        given = ", ".join(f"{key}={json.dumps(value, default=str)}" for key, value in call.model_dump().items())
        return f"{self._connection.config.name}.{self._told_name}({given})"[:120]

    def touches(self, call: AnyInput, ctx: ToolContext) -> Sequence[Touch]:
        """Nothing that could be named: the tool as a whole asks."""
        del call, ctx
        return ()

    async def execute(self, call: AnyInput, ctx: ToolContext) -> ToolResult:
        """Call it; progress goes to the card, cancelling reaches the server."""
        client = await self._connection.client()

        async def told(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
            ctx.progress(f"{message or 'progress'}: {share}\n")

        try:
            answer = await client.call_tool(self._told_name, call.model_dump(), progress_callback=told)
        except Exception as error:  # noqa: BLE001  (a server may fail in any way)
            if _is_broken(error):
                self._connection.lost()
                raise ToolError(
                    f"The MCP server {self._connection.config.name} ended during the call; it is started again. "
                    "Try the call once more if it may be repeated."
                ) from None
            raise ToolError(f"{self._connection.config.name} refused: {error}") from None
        return result_of(answer, ctx.session_id)


def tool_name(server: str, tool: str) -> str:
    """`mcp__server__tool` in the letters that services take; a long name is cut and marked by its digest."""
    name = "mcp__" + re.sub(r"[^A-Za-z0-9_-]", "_", server) + "__" + re.sub(r"[^A-Za-z0-9_-]", "_", tool)
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _usable(schema: Any) -> dict[str, Any]:
    """The server's schema where it is an object schema, else one that takes anything."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        return {"type": "object", "properties": {}}
    usable = {**schema, "type": "object"}
    if not isinstance(usable.get("properties"), Mapping):
        usable["properties"] = {}
    return usable


def _is_broken(error: BaseException) -> bool:
    """Whether the connection is gone, rather than the call refused."""
    from mcp import MCPError

    return not isinstance(error, MCPError) or "closed" in str(error).lower()
