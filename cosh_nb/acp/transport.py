"""JSON-RPC messages over our own reader and writer: bounded lines, one owner of stdout, a client that may go away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson

from cosh_nb.headless.protocol import BadLine
from cosh_nb.headless.reader import Reader
from cosh_nb.headless.writer import Writer

_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600


class Stdio:
    """What the package's connection reads from and writes to (acp's Transport)."""

    def __init__(self, fd_in: int, fd_out: int) -> None:
        self._come: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.writer = Writer(fd_out, lambda: self._come.put_nowait(None))
        Reader(fd_in, self._take, lambda: self._come.put_nowait(None), _parse).start("stream-json", lambda _text: None)

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message."""
        self.writer.put(orjson.dumps(message, default=str))

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end of the input, or when nobody reads the output any more."""
        return await self._come.get()

    async def close(self) -> None:
        """Write what is queued."""
        await self.writer.close()

    def _take(self, batch: Sequence[dict[str, Any] | BadLine]) -> None:
        for message in batch:
            if isinstance(message, BadLine):
                self.writer.put(orjson.dumps(_refusal(message)))
            else:
                self._come.put_nowait(message)


def _parse(line: bytes) -> dict[str, Any] | BadLine:
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return BadLine(f"The line is not valid JSON: {error.msg} at byte {error.pos}.")
    if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
        return BadLine("The line is not a JSON-RPC message.")
    return message


def _refusal(bad: BadLine) -> dict[str, Any]:
    code = _PARSE_ERROR if "JSON:" in bad.why else _INVALID_REQUEST
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": bad.why}}
