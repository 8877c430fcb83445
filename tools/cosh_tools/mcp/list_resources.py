"""ListMcpResources: what the connected servers offer to read."""

from __future__ import annotations

import json

from pydantic import Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult


class ListMcpResourcesInput(ToolInput):
    """Arguments of ListMcpResources."""

    server: str | None = Field(None, description="Only the resources of this server; all servers if left out")


class ListMcpResources(Tool[ListMcpResourcesInput]):
    """Lists; reads nothing."""

    name = "ListMcpResources"
    description = "List all resources that connected MCP servers offer: uri, name, description, type and server."
    kind, permission_level = ToolKind.READ_ONLY, PermissionLevel.READ_ONLY
    concurrency_safe = True
    verb = "list resources"
    keywords = ("mcp", "resources", "server")

    def target(self, call: ListMcpResourcesInput, ctx: ToolContext) -> str:
        """The server, if one is named."""
        del ctx
        return call.server or ""

    async def execute(self, call: ListMcpResourcesInput, ctx: ToolContext) -> ToolResult:
        """Ask the servers."""
        found = await ctx.mcp.resources(call.server)
        if not found:
            return ToolResult.success("No resources found. MCP servers may still provide tools.")
        text = json.dumps(list(found), ensure_ascii=False, indent=2)
        return ToolResult.success(text).with_metadata(summary=f"{len(found)} resources")
