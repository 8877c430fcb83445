"""One command as a process of its own: its output streams in, its time is bounded, its whole tree can be ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

from cosh_tools.results import ToolError
from cosh_tools.shell import tree
from cosh_tools.shell.output import Stream

_CHUNK = 65_536
_LAST_WORDS = 0.1
"""How long output is waited for after the shell has ended: a process that it left behind may hold the pipe for ever."""
_DRAIN = 1 << 20


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command came to its end. `code` is negative where a signal ended it; `left` still run in the background."""

    code: int
    why: Literal["exit", "timeout", "flood"]
    seconds: float
    left: tuple[tree.Member, ...] = ()


@dataclass
class Process:
    """What is run and within which bounds."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    write: Callable[[Stream, bytes], None]
    timeout: float | None
    most: int
    """Bytes of output after which the command is ended."""
    pass_fds: tuple[int, ...] = ()
    may_leave: bool = False
    """Whether to look for processes that it left behind (the command says `&`)."""
    grace: float = 1.0
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    async def run(self) -> Ended:
        """Start it and wait for its end. Cancelling ends its whole tree before it is passed on."""
        started = time.monotonic()
        child = self._start()
        assert child.stdout is not None  # noqa: S101 (both are pipes, see _start)
        assert child.stderr is not None  # noqa: S101 (see above)
        pipes = _Pipes({"stdout": child.stdout, "stderr": child.stderr}, self.write, self.most)
        exited = _exit_of(child)
        why: Literal["exit", "timeout", "flood"] = "exit"
        try:
            pipes.open()
            why = await self._wait(exited, pipes)
            if why != "exit":
                await tree.end(child.pid, self.mark, self.grace)
            await asyncio.wait({exited}, timeout=1.0)
            await pipes.finish()
        except asyncio.CancelledError:
            with contextlib.suppress(asyncio.CancelledError):
                await tree.end(child.pid, self.mark, 0.25)
            raise
        finally:
            pipes.close()
            if not exited.done():
                tree.kill(child.pid, self.mark)
                child.wait()
        left = tuple(tree.members(child.pid, self.mark)) if why == "exit" and (pipes.held or self.may_leave) else ()
        return Ended(child.returncode, why, time.monotonic() - started, left)

    async def _wait(self, exited: asyncio.Future[None], pipes: _Pipes) -> Literal["exit", "timeout", "flood"]:
        await asyncio.wait({exited, pipes.flooded}, timeout=self.timeout, return_when=asyncio.FIRST_COMPLETED)
        if exited.done():
            return "exit"
        return "flood" if pipes.flooded.done() else "timeout"

    def _start(self) -> subprocess.Popen[bytes]:
        if os.name == "nt":
            raise ToolError("Commands can be run on Linux, macOS and WSL, not by Windows itself. Use the Python tool.")
        try:
            return subprocess.Popen(
                [*self.argv],
                cwd=self.cwd,
                env={**self.env, tree.MARK: self.mark, "PWD": str(self.cwd)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                pass_fds=self.pass_fds,
            )
        except FileNotFoundError as error:
            raise ToolError(f"{error.filename or self.argv[0]} was not found. Is it installed and on PATH?") from None
        except OSError as error:
            raise ToolError(f"{self.argv[0]} could not be started: {error.strerror}.") from None
        except ValueError as error:
            raise ToolError(f"The command cannot be passed to {self.argv[0]}: {error}.") from None


class _Pipes:
    """The two output pipes, read by the loop as bytes come."""

    def __init__(self, files: Mapping[Stream, IO[bytes]], write: Callable[[Stream, bytes], None], most: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._open: dict[Stream, IO[bytes]] = dict(files)
        self._write = write
        self._left = most
        self.flooded: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self.held = False
        """Whether somebody still had a pipe open when the command was over."""

    def open(self) -> None:
        for stream, file in self._open.items():
            os.set_blocking(file.fileno(), False)
            self._loop.add_reader(file.fileno(), self._read, stream)

    async def finish(self) -> None:
        """Take what is still on its way, but wait for nobody who stays."""
        await asyncio.wait({self._ended}, timeout=_LAST_WORDS)
        self.held = not self._ended.done()
        for stream in [*self._open]:
            for _ in range(_DRAIN // _CHUNK):
                if not self._read(stream):
                    break

    def close(self) -> None:
        for stream in [*self._open]:
            self._close(stream)

    def _read(self, stream: Stream) -> bool:
        """Take what is there now; whether there was something."""
        file = self._open.get(stream)
        if file is None:
            return False
        try:
            data = os.read(file.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._close(stream)
            return False
        if self._left > 0:
            self._write(stream, data[: self._left])
            self._left -= len(data)
        if self._left <= 0 and not self.flooded.done():
            self.flooded.set_result(None)
        return True

    def _close(self, stream: Stream) -> None:
        file = self._open.pop(stream)
        self._loop.remove_reader(file.fileno())
        file.close()
        if not self._open and not self._ended.done():
            self._ended.set_result(None)


def _exit_of(child: subprocess.Popen[bytes]) -> asyncio.Future[None]:
    """Done when the process is. A thread of its own waits: the default pool is small and must not be filled."""
    loop = asyncio.get_running_loop()
    exited: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not exited.done():
            exited.set_result(None)

    def wait() -> None:
        child.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell)

    threading.Thread(target=wait, name=f"wait-{child.pid}", daemon=True).start()
    return exited
