"""The mirror image: tools of this kernel for an agent outside, with the approvals where the person looks.

The kernel listens on a Unix socket (0600, a token beside it), only after the person typed `%cosh /mcp serve`. Every
call takes the one path: the same policy, the same cards. `cosh-nb mcp` is the other end, an MCP server over stdio.

The line protocol: {"token", "tool", "input"} in; {"content", "is_error", "media": [{"media_type", "data"}]} out.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import secrets
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_nb.paths import data_folder
from cosh_tools.contract import ToolCall
from cosh_tools.own_files import write_atomic

if TYPE_CHECKING:
    from cosh_tools.runner import Runner

TOOLS = ("NotebookRead", "NotebookEdit", "NotebookRun", "Python", "Variables")
LONGEST = 32_000_000
"""Bytes of one line."""


@dataclass(frozen=True, slots=True)
class Listening:
    """A kernel that listens, as its note in the user's data folder says."""

    pid: int
    socket: str
    token: str
    workspace: str
    since: float


class Mirror:
    """Serves the tools of one runner. Lives on the agent's loop."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._token = secrets.token_hex(32)
        self._server: asyncio.Server | None = None
        self._folder = Path(tempfile.gettempdir())

    @property
    def serving(self) -> bool:
        """Whether it listens."""
        return self._server is not None

    async def start(self) -> None:
        """Listen, and leave the note by which `cosh-nb mcp` finds this kernel."""
        if self._server is not None:
            return
        self._folder = Path(tempfile.mkdtemp(prefix="cosh-"))  # 0700
        socket = self._folder / "kernel.sock"
        self._server = await asyncio.start_unix_server(self._client, str(socket), limit=LONGEST)
        socket.chmod(0o600)
        note = {
            "pid": os.getpid(),
            "socket": str(socket),
            "token": self._token,
            "workspace": str(self.runner.ctx.workspace),
            "since": time.time(),
        }
        write_atomic(_notes() / f"{os.getpid()}.json", json.dumps(note))

    async def close(self) -> None:
        """Stop listening and take the note away."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        with contextlib.suppress(OSError):
            (_notes() / f"{os.getpid()}.json").unlink()
        with contextlib.suppress(OSError):
            (self._folder / "kernel.sock").unlink(missing_ok=True)
            self._folder.rmdir()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                answer = await self._answer(line)
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError):
            return  # the other end went, or sent a line without end
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, line: bytes) -> Mapping[str, Any]:
        try:
            asked = json.loads(line)
            token, tool, given = str(asked["token"]), str(asked["tool"]), dict(asked["input"])
        except (ValueError, KeyError, TypeError):
            return _refused("The line is not a call: it needs token, tool and input.")
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            return _refused("The token is wrong. Start `cosh-nb mcp` again: it reads the kernel's note.")
        if tool not in TOOLS:
            return _refused(f"{tool} is not served. The tools are: {', '.join(TOOLS)}.")
        result = await self.runner.run(ToolCall(f"outside-{uuid.uuid4().hex[:8]}", tool, given))
        media = [{"media_type": one.media_type, "data": one.base64} for one in result.media]
        return {"content": result.content, "is_error": result.is_error, "media": media}


async def call(kernel: Listening, tool: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Ask a kernel that listens. Raises OSError where it is gone."""
    reader, writer = await asyncio.open_unix_connection(kernel.socket, limit=LONGEST)
    try:
        writer.write(json.dumps({"token": kernel.token, "tool": tool, "input": dict(given)}).encode() + b"\n")
        await writer.drain()
        line = await reader.readline()
    finally:
        writer.close()
    if not line:
        raise ConnectionResetError("the kernel ended during the call")
    answer: Mapping[str, Any] = json.loads(line)
    return answer


def kernels() -> list[Listening]:
    """The kernels that listen, newest first; notes of dead ones are swept away."""
    return sorted(_read_notes(), key=lambda kernel: kernel.since, reverse=True)


def _read_notes() -> Iterator[Listening]:
    for file in _notes().glob("*.json"):
        try:
            note = Listening(**json.loads(file.read_text("utf-8")))
            os.kill(note.pid, 0)
        except ProcessLookupError:
            file.unlink(missing_ok=True)
        except (OSError, ValueError, TypeError):
            continue
        else:
            yield note


def _notes() -> Path:
    return data_folder() / "kernels"


def _refused(text: str) -> Mapping[str, Any]:
    return {"content": text, "is_error": True, "media": []}
