"""A client of `cosh-nb --headless`: the real command in its own process, an empty HOME, lines as JSON.

with Headless(tmp_path, model_server.env(), "--approval-mode", "balanced") as cosh:
    cosh.user("how full is the disk?")
    asked = cosh.until(lambda line: line["type"] == "control_request")
    cosh.answer(asked, {"behavior": "allow"})
    result = cosh.result()
assert cosh.code == 0
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Self

PATIENCE = 30.0
COMMAND = (sys.executable, "-m", "cosh_nb", "--headless")
ACP_COMMAND = (sys.executable, "-m", "cosh_nb", "acp")
PROGRAM = str(Path(sys.executable).with_name("cosh-nb"))
"""The command as an installed script, for clients that take a path."""


def environment(home: Path, model: Mapping[str, str]) -> dict[str, str]:
    """The environment of a person with nothing set up but a model service."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), **model}


class Headless:
    """The command with its three streams. `lines` holds everything that it said so far, parsed."""

    def __init__(
        self,
        folder: Path,
        model: Mapping[str, str],
        *arguments: str,
        stdin: int | IO[bytes] | None = subprocess.PIPE,
        stdout: int | IO[bytes] | None = subprocess.PIPE,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir(exist_ok=True)
        self.lines: list[dict[str, Any]] = []
        self._come: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._errors: list[bytes] = []
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=self.workspace,
            env={**environment(folder / "home", model), **(env or {})},
            start_new_session=True,
        )
        self._threads = [threading.Thread(target=self._read_errors, daemon=True)]
        if self.process.stdout is not None:
            self._threads.append(threading.Thread(target=self._read_lines, daemon=True))
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_input()
        with contextlib.suppress(ProcessLookupError):
            if self.process.poll() is None:
                try:
                    self.process.wait(5)
                except subprocess.TimeoutExpired:
                    os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)
        for thread in self._threads:
            thread.join(10)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    # -- what a client says ----------------------------------------------------------------------------------------

    def send(self, *messages: Any) -> None:
        """Messages as JSON lines, in one write."""
        self.raw(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def user(self, text: Any, **more: Any) -> None:
        """A request of the person."""
        self.send({"type": "user", "message": {"role": "user", "content": text}, **more})

    def control(self, subtype: str, request_id: str = "c1", **more: Any) -> None:
        """A request of the client."""
        self.send({"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **more}})

    def answer(self, asked: Mapping[str, Any], response: Mapping[str, Any], subtype: str = "tool_approval") -> None:
        """An answer to a request."""
        body = {"subtype": subtype, "request_id": asked["request_id"], "response": response}
        self.send({"type": "control_response", "response": body})

    def close_input(self) -> None:
        """Nothing more will be said."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    # -- what it hears -----------------------------------------------------------------------------------------------

    def until(self, wanted: Callable[[dict[str, Any]], bool], within: float = PATIENCE) -> dict[str, Any]:
        """The next line that is wanted; the ones before it are in `lines`."""
        deadline = time.monotonic() + within
        while True:
            left = deadline - time.monotonic()
            try:
                line = self._come.get(timeout=max(left, 0))
            except queue.Empty:
                raise AssertionError(f"waited {within} s; {self.story()}") from None
            if line is None:
                raise AssertionError(f"it ended with {self.process.wait(10)}; {self.story()}")
            self.lines.append(line)
            if wanted(line):
                return line

    def request(self, subtype: str, within: float = PATIENCE) -> dict[str, Any]:
        """The next request of this subtype."""
        return self.until(
            lambda line: line["type"] == "control_request" and line["request"]["subtype"] == subtype, within
        )

    def result(self, within: float = PATIENCE) -> dict[str, Any]:
        """The next result."""
        return self.until(lambda line: line["type"] == "result", within)

    def event(self, subtype: str, within: float = PATIENCE) -> dict[str, Any]:
        """The next stream event of this subtype."""
        return self.until(
            lambda line: line["type"] == "stream_event" and line["event"].get("subtype") == subtype, within
        )

    def rest(self, within: float = PATIENCE) -> list[dict[str, Any]]:
        """Everything up to the end of its output."""
        deadline = time.monotonic() + within
        while True:
            try:
                line = self._come.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                raise AssertionError(f"waited {within} s for the end; {self.story()}") from None
            if line is None:
                return self.lines
            self.lines.append(line)

    def ends(self, within: float = PATIENCE) -> int:
        """Its exit code."""
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end within {within} s; {self.story()}") from None

    @property
    def code(self) -> int | None:
        """Its exit code, once it has ended."""
        return self.process.poll()

    @property
    def errors(self) -> str:
        """What it wrote to stderr."""
        return b"".join(self._errors).decode("utf-8", "replace")

    def until_errors(self, words: str, within: float = PATIENCE) -> None:
        """Wait for words on stderr."""
        deadline = time.monotonic() + within
        while words not in self.errors:
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {within} s for {words!r} on stderr; {self.story()}")
            time.sleep(0.02)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The lines of a type so far."""
        return [line for line in self.lines if line["type"] == kind]

    def story(self) -> str:
        """What was heard, for a test that fails."""
        heard = "\n".join(json.dumps(line)[:300] for line in self.lines[-20:])
        return f"heard:\n{heard}\nstderr:\n{self.errors[-2000:]}"

    def now(self) -> list[dict[str, Any]]:
        """What has come since, without waiting."""
        come: list[dict[str, Any]] = []
        with contextlib.suppress(queue.Empty):
            while (line := self._come.get_nowait()) is not None:
                come.append(line)
            self._come.put(None)  # the end stays
        self.lines += come
        return come

    def _read_lines(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._come.put(json.loads(line))  # a line that is no JSON ends the thread, and so the test
        self._come.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while chunk := self.process.stderr.read1(65536):  # type: ignore[union-attr]  (a pipe is buffered)
            self._errors.append(chunk)
