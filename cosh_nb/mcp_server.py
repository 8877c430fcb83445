"""`cosh-nb mcp`: an MCP server over stdio whose tools work in the notebook that a person has open.

It starts nothing and grants nothing: it passes each call to a kernel in which the person typed `%cosh /mcp serve`,
and the approval card appears there.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_nb import __version__, mirror
from cosh_tools.registry import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_types import CallToolResult

NONE = (
    "No notebook kernel listens. In the notebook, load cosh_nb and type `%cosh /mcp serve`; then call this tool again."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until stdin closes."""
    parser = argparse.ArgumentParser(prog="cosh-nb mcp", description=__doc__)
    parser.add_argument(
        "--kernel", type=int, metavar="PID", help="the kernel to work in; the newest one here if left out"
    )
    options = parser.parse_args(argv)
    try:
        import mcp  # noqa: F401  (asked for before anything is promised)
    except ImportError:
        sys.stderr.write("cosh-nb mcp needs the MCP SDK: pip install 'cosh-nb[mcp]'\n")
        return 1
    asyncio.run(_serve(options.kernel))
    return 0


async def _serve(pid: int | None) -> None:
    import mcp_types as types
    from mcp.server import Server
    from mcp.server.stdio import stdio_server

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        definitions = [load(name).to_definition() for name in mirror.TOOLS]
        return types.ListToolsResult(
            tools=[
                types.Tool(name=one.name, description=one.description, input_schema=dict(one.input_schema))
                for one in definitions
            ]
        )

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _call(params.name, params.arguments or {}, pid)

    server = Server("cosh-nb", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _call(tool: str, given: dict[str, Any], pid: int | None) -> CallToolResult:
    import mcp_types as types

    kernel = choose(mirror.kernels(), Path.cwd(), pid)
    if kernel is None:
        return types.CallToolResult(content=[types.TextContent(type="text", text=NONE)], is_error=True)
    try:
        answer = await mirror.call(kernel, tool, given)
    except (OSError, ValueError) as error:
        text = f"The kernel {kernel.pid} did not answer ({error}). It may have been restarted. {NONE}"
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
    content: list[Any] = [types.TextContent(type="text", text=answer["content"])]
    content += [
        types.ImageContent(type="image", data=one["data"], mime_type=one["media_type"])
        for one in answer["media"]
        if one["media_type"].startswith("image/")
    ]
    return types.CallToolResult(content=content, is_error=bool(answer["is_error"]))


def choose(kernels: Sequence[mirror.Listening], folder: Path, pid: int | None) -> mirror.Listening | None:
    """The kernel that was named, else the newest of this folder, else the newest."""
    if pid is not None:
        return next((one for one in kernels if one.pid == pid), None)
    here = [one for one in kernels if folder.resolve().is_relative_to(Path(one.workspace).resolve())]
    return next(iter([*here, *kernels]), None)
