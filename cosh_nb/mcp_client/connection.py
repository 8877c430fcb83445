"""One server: started, kept, reconnected with growing pauses, closed. Whatever it does, a turn goes on."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cosh_nb.errors import CoshError
from cosh_nb.mcp_client.config import ServerConfig

if TYPE_CHECKING:
    from mcp import Client

PAUSES = (1.0, 3.0, 10.0, 30.0)
"""Seconds before each try to reconnect; after the last one the server is left alone until it is used again."""
PAGES = 100
"""Pages of a list that are read; a list that never ends does not hang a start."""

State = Literal["starting", "ready", "waiting", "failed", "closed"]


class ServerError(CoshError):
    """A server did not do what was asked of it."""


class Connection:
    """Lives on the agent's loop. `changed` is told when its tools are new."""

    def __init__(self, config: ServerConfig, root: Path, changed: Callable[[Connection], Awaitable[None]]) -> None:
        self.config = config
        self.state: State = "starting"
        self.problem = ""
        self.tools: list[Any] = []
        self.prompts: list[Any] = []
        self.has_resources = False
        self._root = root
        self._changed = changed
        self._client: Client | None = None
        self._settled = asyncio.Event()
        self._again = asyncio.Event()
        self._closing = asyncio.Event()
        self._lost = asyncio.Event()
        self._refreshing: asyncio.Task[None] | None = None
        self._said = ""
        """The end of what it wrote on stderr, when it ended."""
        self._task = asyncio.get_running_loop().create_task(self._keep(), name=f"mcp {config.name}")

    async def settled(self, timeout: float) -> bool:
        """Whether it was ready or had failed within `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), timeout)
        return self._settled.is_set()

    async def client(self) -> Client:
        """The live client; a server that had been left alone is tried once more. Raises ServerError."""
        if self.state in ("failed", "waiting"):
            self._begin()
            self._again.set()
        if self.state != "ready":
            await self.settled(self.config.start_seconds)
        if self._client is None:
            raise ServerError(
                f"The MCP server {self.config.name} is not there: {self.problem or 'it is still starting'}."
            )
        return self._client

    def lost(self) -> None:
        """A call found the connection broken: connect again."""
        self._begin()
        self._lost.set()

    def _begin(self) -> None:
        self._client, self.state = None, "starting"
        self._settled.clear()

    async def close(self) -> None:
        """End it, and its process with it."""
        self._closing.set()
        self._lost.set()
        self._again.set()
        done, _ = await asyncio.wait({self._task}, timeout=8)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=2)
        self.state = "closed"

    async def _keep(self) -> None:
        """Connect, stay, and connect again; the SDK wants one task to open and to close a connection."""
        tries = 0
        while not self._closing.is_set():
            self._lost.clear()
            self._again.clear()
            try:
                await self._once()
                tries = 0
                continue  # it was there and was lost: at once again
            except Exception as error:  # noqa: BLE001  (a server may fail in any way; a turn goes on)
                self.problem = _words(error, self._said)
            if self._closing.is_set():
                return
            pause = PAUSES[tries] if tries < len(PAUSES) else None
            tries += 1
            self._client, self.state = None, "waiting" if pause is not None else "failed"
            self._settled.set()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._again.wait(), pause)
            self._begin()

    async def _once(self) -> None:
        from mcp import Client  # loaded with the first server

        self.state = "starting"
        async with contextlib.AsyncExitStack() as stack:
            async with asyncio.timeout(self.config.start_seconds):
                transport = await self._transport(stack)
                client = await stack.enter_async_context(
                    Client(
                        transport,
                        read_timeout_seconds=self.config.call_seconds,
                        list_roots_callback=self._roots,
                        message_handler=self._message,
                        mode="auto",
                    )
                )
                await self._read(client)
            self._client, self.state, self.problem = client, "ready", ""
            self._settled.set()
            await self._changed(self)
            listening = asyncio.get_running_loop().create_task(self._listen(client))
            try:
                await self._lost.wait()
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)

    async def _transport(self, stack: contextlib.AsyncExitStack) -> Any:
        config = self.config
        match config.transport:
            case "stdio":
                from mcp import StdioServerParameters
                from mcp.client.stdio import get_default_environment, stdio_client

                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cosh-mcp-")))
                log = stack.enter_context((folder / "stderr").open("w", encoding="utf-8"))
                stack.callback(self._hear, folder / "stderr")
                given = StdioServerParameters(
                    command=config.command,
                    args=list(config.args),
                    env={**get_default_environment(), **config.env},
                    cwd=str(self._root),
                )
                return stdio_client(given, errlog=log)
            case "http":
                from mcp.client.streamable_http import streamable_http_client
                from mcp.shared._httpx_utils import create_mcp_http_client

                http = await stack.enter_async_context(create_mcp_http_client(dict(config.headers)))
                return streamable_http_client(config.url, http_client=http)
            case "sse":
                from mcp.client.sse import sse_client

                return sse_client(config.url, headers=dict(config.headers))

    async def _read(self, client: Any) -> None:
        capabilities = client.server_capabilities
        self.tools = await _pages(client.list_tools, "tools") if capabilities.tools else []
        self.prompts = await _pages(client.list_prompts, "prompts") if capabilities.prompts else []
        self.has_resources = capabilities.resources is not None

    async def _listen(self, client: Any) -> None:
        """Hear of lists that change. Servers of before July 2026 tell without being asked: `_message` hears them."""
        try:
            async with client.listen(tools_list_changed=True, prompts_list_changed=True) as told:
                async for _ in told:
                    await self._refresh()
        except Exception:  # noqa: BLE001  (no news is no failure: the tools of before stay)
            return

    async def _refresh(self) -> None:
        if self._client is None:
            return
        with contextlib.suppress(Exception):  # the list of before stays
            await self._read(self._client)
            await self._changed(self)

    async def _message(self, message: Any) -> None:
        """A list that changed is read again, in a task of its own: the reader of messages must not wait for itself."""
        if isinstance(message, Exception):
            return
        if "list_changed" in str(getattr(message, "method", "")):
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh())

    async def _roots(self, context: Any) -> Any:
        import mcp_types

        del context
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri=self._root.as_uri(), name=self._root.name)])

    def _hear(self, file: Path) -> None:
        """Keep the end of its stderr before the file goes."""
        with contextlib.suppress(OSError):
            self._said = file.read_text("utf-8", "replace")[-500:]


async def _pages(ask: Callable[..., Awaitable[Any]], what: str) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await ask(cursor=cursor)
        found += getattr(page, what)
        cursor = page.next_cursor
        if not cursor:
            break
    return found


def _words(error: BaseException, stderr: str) -> str:
    """Why, in words: the innermost cause, and the last line that the server wrote."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    match error:
        case TimeoutError():
            text = "it did not answer in time"
        case FileNotFoundError():
            text = f"its command {error.filename or ''} was not found".replace("  ", " ")
        case _:
            text = str(error) or type(error).__name__
    last = next((line.strip() for line in reversed(stderr.splitlines()) if line.strip()), "")
    return f"{text} ({last[:200]})" if last else text
