"""What code would do: run in a forked copy of the kernel, behind a wall, and the copy is thrown away (Linux only)."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import pickle
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cosh_nb.notebook.capture import Capture
from cosh_nb.notebook.diversion import diverted
from cosh_nb.notebook.sketch import sketch
from cosh_nb.timetravel import wall
from cosh_nb.timetravel.child import Child, ChildFailed, Pipe, fork, unavailable
from cosh_nb.timetravel.prints import Print, own_names, print_of
from cosh_nb.timetravel.variables import changed
from cosh_tools.hosts import CodeOutcome
from cosh_tools.results import Media, ToolError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from cosh_nb.notebook.mailbox import Mailbox

_NAMED, _OTHERS = 3.0, 0.3
"""Seconds for fingerprints of the variables that the code names, and of all others; beyond, only new objects show."""
_AFTER = 5.0
"""Seconds that the copy gets beyond the code's own, to start and to report."""
_PRINTED = 64_000_000
"""Bytes that programs it starts may print."""
_SHOWN = 40

Execute = Callable[[str], BaseException | None]


@dataclass
class Tried:
    """What the copy reports."""

    status: Literal["ok", "error", "timeout"]
    text: str
    outputs: tuple[Mapping[str, Any], ...] = ()
    media: tuple[Media, ...] = ()
    variables: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    note: str = ""
    seconds: float = 0.0


async def preview(
    code: str, timeout: float, shell: InteractiveShell, mailbox: Mailbox, execute: Callable[[], Execute]
) -> CodeOutcome:
    """Fork, run, report, end. `execute` gives, in the copy, what runs a cell. Raises ToolError where it cannot be."""
    if why := unavailable():
        raise ToolError(f"A preview is not available here: {why}. Run the code, or show it to the user first.")
    if shared := wall.shared_mappings():
        named = ", ".join(shared[:5])
        raise ToolError(
            f"A preview is refused: this kernel shares writable memory ({named}), and a copy would write it too. "
            "Run the code, or show it to the user first."
        )
    try:
        future = mailbox.call(fork, lambda pipe: _try(pipe, code, timeout, shell, execute()))
        child = await asyncio.wrap_future(future)
    except ChildFailed as error:
        raise ToolError(f"The preview could not start: {error}. Try again, or run the code.") from None
    tried = await _report(child, timeout)
    return CodeOutcome(tried.status, said(tried), tried.outputs, tried.media, duration=tried.seconds)


def said(tried: Tried) -> str:
    """A preview in words."""
    lines = ["Preview: nothing was changed. This is what the code would do."]
    text = tried.text.rstrip("\n")
    lines += ["It would print:", text] if text else ["It would print nothing."]
    lines += ["Variables that would change:", *tried.variables] if tried.variables else ["No variable would change."]
    if tried.refused:
        lines += ["Refused here, because a preview may not:", *(f"- {effect}" for effect in tried.refused)]
    if tried.note:
        lines.append(tried.note)
    return "\n".join(lines)


async def _report(child: Child, timeout: float) -> Tried:
    began = time.monotonic()
    end = began + timeout + _AFTER
    reader = asyncio.ensure_future(asyncio.to_thread(child.pipe.receive, end))
    try:
        parts = await asyncio.shield(reader)
        found: Tried = pickle.loads(parts[0])  # noqa: S301  (from our own fork)
    except ChildFailed:
        took = time.monotonic() - began
        if time.monotonic() < end:
            said = "The code ended its whole process (os._exit, or a crash): here it would have ended the kernel."
            return Tried("error", "", note=said, seconds=took)
        return Tried("timeout", "", note=f"Stopped: it took longer than {timeout:g} s, in native code.", seconds=took)
    finally:
        child.kill()
        await asyncio.wait({reader})
        child.end()
    return found


# -- in the copy -----------------------------------------------------------------------------------------------------


def _try(pipe: Pipe, code: str, timeout: float, shell: InteractiveShell, execute: Execute) -> None:
    printed = _own_streams(shell)
    _limit_memory()
    stands = wall.build()
    refusals = wall.Refusals(programs=stands.files and stands.sockets)
    namespace: Any = shell.user_ns
    before, sketches = _before(namespace, getattr(shell, "user_ns_hidden", {}), code)
    capture = Capture()
    once = threading.Lock()
    started = time.monotonic()

    def report(status: Literal["ok", "error", "timeout"]) -> None:
        if not once.acquire(blocking=False):
            threading.Event().wait()  # the other report is on its way, and this process ends with it
        note = stands.said
        if status == "timeout":
            note = f"Stopped: it took longer than {timeout:g} s. {note}".strip()
        variables = _variables(namespace, shell, before, sketches) if status != "timeout" else []
        programs = _read(printed)
        if programs:
            capture.write("stdout", programs)
        refused = [*refusals.named, *([f"and {refusals.more} more"] if refusals.more else [])]
        took = time.monotonic() - started
        tried = Tried(status, capture.text(), capture.outputs(), capture.images(), variables, refused, note, took)
        pipe.send(pickle.dumps(tried))

    def late() -> None:
        report("timeout")

    timer = threading.Timer(timeout, late)
    timer.daemon = True
    timer.start()
    gc.enable()
    sys.addaudithook(refusals.hook)
    failed: BaseException | None = None
    with diverted(shell, capture, code):
        try:
            failed = execute(code)
        except BaseException as error:  # noqa: BLE001  (whatever it is, it is the code's)
            failed = error
    report("ok" if failed is None else "error")
    pipe.receive()  # the parent ends us, and all that the code started, at once


def _own_streams(shell: Any) -> int:
    """Nothing of the kernel's is used for output any more; programs print into a file of memory."""
    sys.dont_write_bytecode = True
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.flush = _nothing  # type: ignore[method-assign]  # (this forked copy ends without writing)
    printed = os.memfd_create("preview", os.MFD_CLOEXEC)
    for standard in (1, 2):
        os.dup2(printed, standard)
    with contextlib.suppress(Exception):
        shell.system = shell.system_raw
    with contextlib.suppress(Exception):
        shell.magics_manager.registry["ScriptMagics"].event_loop = None  # its thread does not exist here
    return printed


def _limit_memory() -> None:
    """The copy may take most of what is free, not more; and print so much."""
    import resource

    with contextlib.suppress(OSError, ValueError, KeyError):
        facts = {}
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123  (not a person's file)
            for line in lines:
                name, _, rest = line.partition(":")
                facts[name] = int(rest.split()[0]) * 1024
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123  (the same)
            size = int(file.read().split()[0]) * resource.getpagesize()
        most = size + int(facts["MemAvailable"] * 0.7)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_FSIZE, (_PRINTED, _PRINTED))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _before(
    namespace: Mapping[str, Any], hidden: Mapping[str, Any], code: str
) -> tuple[dict[str, Print], dict[str, str]]:
    named = set(re.findall(r"\w+", code))
    names = sorted(own_names(namespace, hidden), key=lambda name: name not in named)
    prints, sketches = {}, {}
    first, end = True, time.monotonic() + _NAMED
    for name in names:
        if first and name not in named:
            first, end = False, time.monotonic() + _OTHERS
        prints[name] = print_of(namespace[name], until=end)
        sketches[name] = sketch(namespace[name])
    return prints, sketches


def _variables(
    namespace: Mapping[str, Any], shell: Any, before: Mapping[str, Print], sketches: Mapping[str, str]
) -> list[str]:
    names = own_names(namespace, getattr(shell, "user_ns_hidden", {}))
    after = {
        name: print_of(namespace[name], deep=name not in before or not before[name].digest.startswith("at "))
        for name in names
    }
    lines = []
    for name, what in changed(before, after).items():
        was, now = sketches.get(name, ""), sketch(namespace[name]) if name in namespace else ""
        match what:
            case "new":
                lines.append(f"+ {name}: {now}")
            case "deleted":
                lines.append(f"- {name}: {was}")
            case "changed":
                lines.append(f"~ {name}: {was}" + (", changed in place" if was == now else f" -> {now}"))
    more = [f"... and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return [line.replace("\n", " ") for line in lines[:_SHOWN]] + more


def _read(printed: int) -> str:
    size = os.fstat(printed).st_size
    if not size:
        return ""
    half = 500_000
    head = os.pread(printed, min(size, half), 0)
    tail = os.pread(printed, half, max(size - half, half)) if size > half else b""
    return head.decode("utf-8", "replace") + tail.decode("utf-8", "replace")


def _nothing(*_: object) -> None:
    return None
