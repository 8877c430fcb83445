"""A real MCP server on the official SDK, as a program: stdio, or streamable HTTP on a free port that it prints."""

from __future__ import annotations

import asyncio
import os
import sys

from mcp.server.mcpserver import Context, Image, MCPServer

server = MCPServer("peer")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def picture() -> Image:
    """A picture."""
    import base64

    data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="
    return Image(data=base64.b64decode(data), format="png")


@server.tool()
def flood(size: int) -> str:
    """Much text."""
    return "x" * size


@server.tool()
def die() -> str:
    """Ends the server in the middle of a call."""
    os._exit(3)


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("no luck")


@server.tool()
async def slowly(steps: int, ctx: Context) -> str:
    """Takes its time and tells how far it is."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
        await asyncio.sleep(0.05)
    return "done"


@server.tool(name="odd name/with spaces " + "and length " * 20)
def odd() -> str:
    """Has a name that no service takes."""
    return "odd"


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool."""
    server.add_tool(lambda: "new", name="grown", description="It was not there before")
    await ctx.notify_tools_changed()
    return "grown"


@server.resource("note://first")
def note() -> str:
    """A note."""
    return "the first note"


@server.resource("blob://data", mime_type="application/octet-stream")
def blob() -> bytes:
    """Binary data."""
    return bytes(range(256))


@server.prompt()
def review(name: str) -> str:
    """Asks for a review."""
    return f"Please review {name}."


if __name__ == "__main__":
    if "--slow" in sys.argv:
        import time

        time.sleep(3600)
    if "--junk" in sys.argv:
        print("this is not JSON", flush=True)
    if "--many" in sys.argv:
        for number in range(300):
            server.add_tool(lambda: "x", name=f"tool_{number}", description=f"Number {number}")
    if "--http" in sys.argv:
        server.run(transport="streamable-http", port=int(sys.argv[sys.argv.index("--http") + 1]))
    else:
        server.run()
