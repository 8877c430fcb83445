"""While code of the agent runs, what it prints, shows and raises goes into a capture and nowhere else.

Streams keep their identity: their `write` is exchanged, so that a logger which took hold of sys.stderr long ago is
captured too. Threads that ran before keep writing to where they wrote.
"""

from __future__ import annotations

import builtins
import contextlib
import getpass
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from cosh_nb.notebook.capture import Capture, StreamName

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class RefusedHere(RuntimeError):
    """Code that the agent runs asked for something that only a person's own cell may do."""


@contextlib.contextmanager
def diverted(shell: InteractiveShell, capture: Capture, code: str) -> Iterator[None]:
    """Main thread: send everything that running code gives into `capture`."""
    ours = _our_threads()
    displayhook = _Result(shell.displayhook, shell, capture, code)
    with contextlib.ExitStack() as stack:
        for name in ("stdout", "stderr"):
            stack.enter_context(_stream(name, capture, ours))
        stack.enter_context(swapped(shell, "display_pub", _Displays(shell.display_pub, capture, ours)))
        stack.enter_context(swapped(shell, "displayhook", displayhook))
        stack.enter_context(swapped(shell.display_trap, "hook", displayhook))
        stack.enter_context(swapped(sys, "displayhook", displayhook))
        stack.enter_context(swapped(shell, "_showtraceback", _Tracebacks(capture)))
        stack.enter_context(swapped(shell, "ask_exit", _refuse_exit))
        stack.enter_context(swapped(shell, "set_next_input", _refuse_next_input))
        if (payloads := getattr(shell, "payload_manager", None)) is not None:
            stack.enter_context(swapped(payloads, "write_payload", _Payloads(capture)))
        stack.enter_context(swapped(builtins, "input", _refuse_input))
        stack.enter_context(swapped(getpass, "getpass", _refuse_input))
        yield


def _refuse_input(*_args: object, **_kwargs: object) -> NoReturn:
    raise RefusedHere(
        "input() is refused in code that the agent runs: nobody sits at this prompt. Put the value into the code, or "
        "ask the user first."
    )


def _refuse_exit() -> NoReturn:
    raise RefusedHere("exit() is refused in code that the agent runs: it would end the user's kernel.")


def _refuse_next_input(*_args: object, **_kwargs: object) -> NoReturn:
    raise RefusedHere("set_next_input() is refused in code that the agent runs. Use NotebookEdit to add a cell.")


def _our_threads() -> Callable[[], bool]:
    """Whether the calling thread is the main one or began after this moment."""
    others = {thread.ident for thread in threading.enumerate()} - {threading.main_thread().ident}
    return lambda: threading.get_ident() not in others


@contextlib.contextmanager
def swapped(owner: Any, name: str, value: Any) -> Iterator[None]:
    """`owner.name` is `value` in this block; what was set on the object itself, or on its class, comes back."""
    missing = object()
    own = vars(owner).get(name, missing) if hasattr(owner, "__dict__") else getattr(owner, name)
    # A trait is not in the instance's __dict__ although it was set there.
    if own is missing and not callable(getattr(type(owner), name, None)):
        own = getattr(owner, name, missing)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own is missing:
            delattr(owner, name)
        else:
            setattr(owner, name, own)


@contextlib.contextmanager
def _stream(name: StreamName, capture: Capture, ours: Callable[[], bool]) -> Iterator[None]:
    stream = getattr(sys, name)
    before = stream.write
    # The kernel reads what subprocesses print to file descriptor 1 and 2 in a thread, which writes it here.
    watcher = getattr(getattr(stream, "watch_fd_thread", None), "ident", None)

    def write(text: str, *args: Any) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if ours() or threading.get_ident() == watcher:
            capture.write(name, text)
            return len(text)
        written: int = before(text, *args)
        return written

    with contextlib.suppress(Exception):
        stream.flush()
    with swapped(stream, "write", write):
        try:
            yield
        finally:
            _let_arrive(stream)


def _let_arrive(stream: Any, seconds: float = 0.2) -> None:
    """Wait until the kernel's thread has read what subprocesses left in its pipe."""
    pipe = getattr(stream, "_fid", None)
    if not isinstance(pipe, int):
        return
    try:
        import fcntl
        import termios
    except ImportError:
        return  # Windows: the kernel has no such pipe there
    end = time.monotonic() + seconds
    waiting = bytearray(4)
    while time.monotonic() < end:
        try:
            fcntl.ioctl(pipe, termios.FIONREAD, waiting)
        except OSError:
            return
        if not any(waiting):
            time.sleep(0.002)  # read, and about to be written
            return
        time.sleep(0.002)


class _Displays:
    """Stands in for the shell's display publisher."""

    def __init__(self, real: Any, capture: Capture, ours: Callable[[], bool]) -> None:
        self._real, self._capture, self._ours = real, capture, ours

    def publish(
        self,
        data: Mapping[str, Any],
        metadata: Mapping[str, Any] | None = None,
        *args: Any,
        transient: Mapping[str, Any] | None = None,
        update: bool = False,
        **more: Any,
    ) -> None:
        """Keep it, or pass it on where an older thread of the person shows something."""
        if not self._ours():
            self._real.publish(data, metadata, *args, transient=transient, update=update, **more)
            return
        self._capture.show(data, metadata, display_id=(transient or {}).get("display_id"), update=update)

    def clear_output(self, wait: bool = False) -> None:  # noqa: FBT002  (IPython's own signature)
        """Forget what was captured."""
        if self._ours():
            self._capture.clear(wait=wait)
        else:
            self._real.clear_output(wait)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Result:
    """Stands in for the shell's display hook: the value of the last expression, without touching `_` and `Out`."""

    def __init__(self, real: Any, shell: InteractiveShell, capture: Capture, code: str) -> None:
        self._real, self._shell, self._capture = real, shell, capture
        self._quiet = code.rstrip().endswith(";")
        self.exec_result: Any = None

    def __call__(self, value: Any = None) -> None:
        """Keep the value as it would be shown."""
        if value is None:
            return
        if self.exec_result is not None:
            self.exec_result.result = value
        if self._quiet:
            return
        formatter: Any = self._shell.display_formatter
        data, metadata = formatter.format(value)
        if data:
            self._capture.show(data, metadata, result=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Payloads:
    """Stands in for the shell's way to steer the front end: help texts are output, anything else is left out."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    def __call__(self, payload: Mapping[str, Any], single: bool = True) -> None:  # noqa: FBT002  (IPython's signature)
        """Keep a page of help."""
        del single
        if payload.get("source") == "page":
            self._capture.show(payload.get("data", {}))


class _Tracebacks:
    """Stands in for the shell's last step of showing a traceback."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    def __call__(self, kind: type[BaseException], value: BaseException, lines: list[str] | str) -> None:
        """Keep it."""
        try:
            said = str(value)
        except Exception as error:  # noqa: BLE001  (an exception whose own text raises)
            said = f"(its text raised {type(error).__name__})"
        self._capture.fail(kind.__name__, said, [lines] if isinstance(lines, str) else list(lines))
