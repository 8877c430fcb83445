"""ReadMcpResource: one resource of a connected server."""

from __future__ import annotations

from pydantic import Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult


class ReadMcpResourceInput(ToolInput):
    """Arguments of ReadMcpResource."""

    uri: str = Field(description="The resource's uri, as ListMcpResources gave it")
    server: str | None = Field(None, description="The server that has it; the first that does if left out")


class ReadMcpResource(Tool[ReadMcpResourceInput]):
    """Reads; text as text, images as images, other things are kept on disk and named."""

    name = "ReadMcpResource"
    description = "Read a resource by its uri from a connected MCP server."
    kind, permission_level = ToolKind.READ_ONLY, PermissionLevel.READ_ONLY
    concurrency_safe = True
    verb = "read"
    keywords = ("mcp", "resource", "uri")

    def target(self, call: ReadMcpResourceInput, ctx: ToolContext) -> str:
        """The uri."""
        del ctx
        return call.uri

    async def execute(self, call: ReadMcpResourceInput, ctx: ToolContext) -> ToolResult:
        """Ask the server."""
        return await ctx.mcp.read(call.server, call.uri)
