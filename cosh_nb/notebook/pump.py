"""Buttons that work while a cell runs: comm messages are taken out of the kernel's shell channel and done at once.

While a cell blocks, the receive callback of the kernel's shell stream is replaced by one that takes only comm messages
(clicks and typing of widgets) into the mailbox and passes every other message on, untouched and in order; so Run All
keeps its order. The blocked main thread empties the mailbox. On ipykernel 7 a thread of the kernel's own reads the
socket meanwhile; on ipykernel 6 the main thread owns the socket and has to read it itself.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from cosh_nb.notebook.mailbox import Mailbox

_COMM = frozenset({"comm_open", "comm_msg", "comm_close"})
_TICK = 0.05
"""Seconds after which a waiting cell looks up, so that Stop is seen although nothing arrives."""


class Pump:
    """Serves the mailbox, and comm messages with it, in a `with` block on the main thread. Nests."""

    def __init__(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox
        self._kernel: Any = mailbox.kernel
        self._diverts = self._kernel is not None and not self.missing()
        self._stream: Any = None
        self._before: Callable[[Any], Any] | None = None
        self._bell: _Bell | None = None
        self._control: str | None = None
        self._say_busy: list[float] = []

    def missing(self) -> list[str]:
        """Private names of ipykernel that this leans on and that are absent here; then nothing is diverted."""
        if self._kernel is None:
            return []
        return missing(self._kernel)

    def __enter__(self) -> Self:
        self._bell = _Bell() if self._owns_socket() else None
        self.mailbox.wait_here(self._ring)
        if self._diverts:
            self._stream = self._kernel.shell_stream
            self._before = self._stream._recv_callback
            self._stream._recv_callback = self._receive  # one store: the other thread sees the one or the other
        return self

    def __exit__(self, *_failure: object) -> None:
        if self._stream is not None:
            self._stream._recv_callback = self._before
            self._stream = None
        # What was diverted until here must be done here: the kernel will not see it again.
        while self.mailbox.take():
            pass
        self.mailbox.leave(self._ring)
        if self._bell is not None:
            self._bell.close()
            self._bell = None

    def turn(self, timeout: float = _TICK) -> None:
        """Wait at most `timeout` seconds for something to do, and do all there is."""
        if self._bell is not None:
            self._stream.flush(1)  # zmq.POLLIN
            if self.mailbox.empty():
                self._bell.wait(self._stream.socket, timeout)
                self._stream.flush(1)
        else:
            self.mailbox.take(timeout)
        while self.mailbox.take():
            pass
        self._stay_busy()

    def _stay_busy(self) -> None:
        """Say again that the cell runs, after the kernel has answered something on its control channel meanwhile.

        Its idle means that channel only, but a front end shows the last status it saw.
        """
        if not self._diverts:
            return
        control = self._kernel.get_parent("control").get("header", {}).get("msg_id", "")
        now = time.monotonic()
        if self._control is None:
            self._control = control
        if control != self._control:
            self._control, self._say_busy = control, [now + 0.1, now + 0.5, now + 2]
        if self._say_busy and now > self._say_busy[0]:
            self._say_busy.pop(0)
            self._kernel._publish_status("busy", "shell", parent=self._kernel.get_parent("shell"))

    def _owns_socket(self) -> bool:
        return self._diverts and not getattr(self._kernel, "_supports_kernel_subshells", False)

    def _ring(self) -> None:
        bell = self._bell
        if bell is not None:
            bell.ring()

    def _receive(self, frames: Any) -> Any:
        """The stream's callback: on ipykernel 6 called on the main thread, on 7 on the shell channel's."""
        session = self._kernel.session
        try:
            idents, parts = session.feed_identities(frames, copy=False)
            # Only a look: the whole message is checked and read once, here or by the kernel, because reading it
            # twice counts as a replay.
            if session.unpack(bytes(parts[1].buffer))["msg_type"] in _COMM:
                message = session.deserialize(parts, copy=False)
                self.mailbox.call(self._handle, idents, message)
                return None
        except Exception as error:  # noqa: BLE001  (whatever is odd about it, the kernel has its own words for it)
            self._kernel.log.debug("Not a comm message that can be taken early: %s", error)
        return self._before(frames) if self._before is not None else None

    def _handle(self, idents: Any, message: Any) -> None:
        """Main thread: what the kernel does with a comm message, inside the running cell."""
        kernel, kind = self._kernel, message["header"]["msg_type"]
        ident, parent = kernel._parent_ident["shell"], kernel.get_parent("shell")
        kernel._publish_status("busy", "shell", parent=message)
        kernel.set_parent(idents, message, channel="shell")
        try:
            handler = getattr(kernel.comm_manager, kind)
            self.mailbox.interrupts.run(handler, self._kernel.shell_stream, idents, message)
        except KeyboardInterrupt:
            pass  # counted: whoever blocks the cell sees it
        except Exception:
            kernel.log.exception("A widget's handler failed")
        finally:
            for out in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    out.flush()
            kernel.set_parent(ident, parent, channel="shell")
            # A widget sends its next change only after it saw this idle; the front end would then call the whole
            # kernel idle, so the cell's own busy is said once more.
            kernel._publish_status("idle", "shell", parent=message)
            if self.mailbox.blocked:
                kernel._publish_status("busy", "shell", parent=parent)


def missing(kernel: Any) -> list[str]:
    """Private names that the pump needs of this kernel and does not find."""
    wanted = {
        "Kernel.shell_stream": getattr(kernel, "shell_stream", None) is not None,
        "ZMQStream._recv_callback": callable(getattr(getattr(kernel, "shell_stream", None), "_recv_callback", None)),
        "Kernel._publish_status": callable(getattr(kernel, "_publish_status", None)),
        "Kernel._parent_ident": "shell" in _keys(getattr(kernel, "_parent_ident", None)),
        "Kernel.set_parent": callable(getattr(kernel, "set_parent", None)),
        "Kernel.get_parent": callable(getattr(kernel, "get_parent", None)),
        "Kernel.comm_manager": getattr(kernel, "comm_manager", None) is not None,
        "Session.feed_identities": callable(getattr(getattr(kernel, "session", None), "feed_identities", None)),
        "Session.unpack": callable(getattr(getattr(kernel, "session", None), "unpack", None)),
    }
    return [name for name, here in wanted.items() if not here]


def _keys(mapping: Any) -> set[str]:
    try:
        return set(mapping)
    except TypeError:
        return set()


class _Bell:
    """Ends a poll of the shell socket from another thread."""

    def __init__(self) -> None:
        self._in, self._out = socket.socketpair()
        self._in.setblocking(False)
        self._out.setblocking(False)

    def ring(self) -> None:
        with contextlib.suppress(OSError):  # full: it rings already; closed: nobody waits
            self._out.send(b"\0")

    def wait(self, shell: Any, timeout: float) -> None:
        """Until the shell socket can be read, the bell rings, or `timeout` seconds have passed."""
        import zmq

        poller = zmq.Poller()
        poller.register(shell, zmq.POLLIN)
        poller.register(self._in.fileno(), zmq.POLLIN)
        poller.poll(int(timeout * 1000))
        with contextlib.suppress(OSError):
            while self._in.recv(4096):
                pass

    def close(self) -> None:
        self._in.close()
        self._out.close()
