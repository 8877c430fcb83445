"""What Bash, cosh's shell and PowerShell share: the bounds, the environment, the words of a result."""

from __future__ import annotations

import asyncio
import codecs
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cosh_tools.contract import ToolContext, ToolError, ToolResult
from cosh_tools.hosts import Job
from cosh_tools.shell.output import Capture, Stream
from cosh_tools.shell.process import Ended, Process
from cosh_tools.shell.result import exit_words
from cosh_tools.terminal import readable

LONGEST = 120_000
"""Bytes of a command: the system refuses a longer argument (128 KiB on Linux)."""
MOST = 256 << 20
"""Bytes of output after which a command is ended."""

_SHOWN, _SHOWN_AT_MOST = 30_000, 95_000
_SHOWN_COSH, _LINES_COSH = 11_000, 480
_TICK = 0.15
_TICK_TEXT = 4_000
_COLOURS = frozenset({"FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "OLDPWD", "JPY_PARENT_PID"})
_QUIET = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}


@dataclass(frozen=True)
class Command:
    """A command on its way: what is run and how its output is bounded."""

    argv: Sequence[str]
    cwd: Path
    timeout: float | None
    capture: Capture
    most: int = MOST
    pass_fds: tuple[int, ...] = ()
    may_leave: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    """What it gets beside the person's environment."""

    async def run(self, show: Callable[[str], None]) -> Ended:
        """Run it to its end; `show` gets the output as it comes."""
        decoders = {stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in ("stdout", "stderr")}

        def take(stream: Stream, data: bytes) -> None:
            self.capture.write(stream, data)
            if b"\0" not in data and (text := readable(decoders[stream].decode(data))):
                show(text)

        process = Process(
            self.argv,
            self.cwd,
            {**environment(), **self.env},
            take,
            self.timeout,
            self.most,
            self.pass_fds,
            self.may_leave,
        )
        try:
            return await process.run()
        finally:
            self.capture.close()


def capture_for(ctx: ToolContext) -> Capture:
    """Where the output of one command goes, within what the toolset shows."""
    name = f"shell-{uuid.uuid4().hex[:8]}"
    return Capture(shown(ctx), lambda: ctx.spill.keep("", name), _LINES_COSH if ctx.toolset == "cosh" else 0)


def shown(ctx: ToolContext) -> int:
    """How many bytes of each stream the model sees."""
    if ctx.toolset == "cosh":
        return _SHOWN_COSH
    given = os.environ.get("BASH_MAX_OUTPUT_LENGTH", "")
    return min(int(given), _SHOWN_AT_MOST) if given.isdecimal() and int(given) else _SHOWN


def environment() -> dict[str, str]:
    """The person's own environment, without what makes programs draw for a terminal."""
    return {name: value for name, value in os.environ.items() if name not in _COLOURS} | _QUIET


def checked(command: str) -> None:
    """Raise ToolError for a command that no shell could be given."""
    if not command.strip():
        raise ToolError("The command is empty. Say what to run.")
    if "\0" in command:
        raise ToolError("The command holds a NUL byte, which no shell takes. Write it to a file or use printf.")
    try:
        size = len(command.encode("utf-8"))
    except UnicodeEncodeError:
        raise ToolError(
            "The command holds half of a surrogate pair, which is no text. Send whole characters."
        ) from None
    if size > LONGEST:
        raise ToolError(
            f"The command is {size} bytes long, and {LONGEST} is the most. Write it into a script and run that."
        )


def in_background(ctx: ToolContext, command: str, ready: Command, note: str = "") -> ToolResult:
    """Start a command as a job of the one registry."""

    async def work(job: Job, write: Callable[[str], None]) -> None:
        ended = await ready.run(write)
        job.exit_code = ended.code
        match ended.why:
            case "timeout":
                raise ToolError(f"(Timed out after {ended.seconds:.0f} s and was ended.)")
            case "flood":
                raise ToolError(f"(Ended: it wrote more than {ready.most} bytes.)")
            case "exit":
                write(f"\n({exit_words(ended.code)})")

    job = ctx.jobs.start("shell", command, work)
    text = (
        f"Command started in background.\nTask ID: {job.id}\nCommand: {command}\n"
        "Read what it writes with TaskOutput, end it with TaskStop."
    )
    result = ToolResult.success(f"{text}\n{note}" if note else text)
    return result.with_metadata(job=job.id, background=True, command=command, summary=f"in the background as {job.id}")


class Live:
    """Passes output on a few times a second, and not more of it than a card shows."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._waiting = ""
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def write(self, text: str) -> None:
        """Take in text; what is not shown now is shown after the next tick, also when nothing more comes."""
        self._waiting = (self._waiting + text)[-_TICK_TEXT:]
        wait = self._last + _TICK - time.monotonic()
        if wait <= 0:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(wait, self.flush)

    def flush(self) -> None:
        """Show what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            self._last = time.monotonic()
            text, self._waiting = self._waiting, ""
            self._show(text)
