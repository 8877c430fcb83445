"""Requests to the pages that show this kernel's notebooks, answered while a cell runs.

A request goes out on the kernel's iopub channel to every page and names the one that shall answer, or none: then all
do. Answers come back on the control channel, which ipykernel 6.29 to 7 read on a thread of their own, also while a cell
runs, whoever runs it. They are taken off that channel before the kernel looks at them: the status messages that it
would send with them would make the page call a busy kernel idle. Nothing is kept on either side between requests, so a
page that is opened late, loaded again or closed needs no ceremony.

The other half is labextension/static/cosh_nb.js.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cosh_nb import __version__
from cosh_nb.errors import CoshError

PROTOCOL = 1
COMM = "cosh-nb-bridge"

FIRST = 1.0
"""Seconds that pages get to answer a question to all, before any ever did."""
AGAIN = 0.4
"""The same, after nobody answered the last time."""
KNOWN = 5.0
"""The same, once a page has answered: it is there, perhaps busy drawing."""
OTHERS = 0.12
"""Seconds that further pages get after the first answer."""
DEADLINE = 15.0
"""Seconds that a request to one page gets."""


class NoAnswer(CoshError):
    """No page answered in time."""


class PageRefused(CoshError):
    """The page answered that it cannot; `reason` says which way, `more` what it knows about it."""

    def __init__(self, reason: str, more: Mapping[str, Any]) -> None:
        super().__init__(str(more.get("text") or reason))
        self.reason = reason
        self.more = more


@dataclass(frozen=True, slots=True)
class OpenNotebook:
    """A notebook that is open in a page. `path` is as the server knows it."""

    path: str
    kernel: str
    own: bool
    """Whether its kernel is the one that asks, through this very panel."""
    dirty: bool
    cells: int
    collaborative: bool = False
    active: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One panel of a page that has this kernel. `client` is the name under which it is asked."""

    client: str
    page: str
    version: str
    protocol: int
    root: str
    """The server's root folder, with `~` for its home."""
    notebooks: tuple[OpenNotebook, ...]
    focused: bool = False
    visible: bool = False
    shown: bool = False
    app: str = ""
    commands: tuple[str, ...] = ()

    @property
    def own(self) -> OpenNotebook | None:
        """The notebook of the panel itself."""
        return next((book for book in self.notebooks if book.own), None)


@dataclass(slots=True)
class _Waiting:
    loop: asyncio.AbstractEventLoop
    answers: asyncio.Queue[tuple[str, str, Mapping[str, Any]]]
    parts: dict[str, dict[int, str]] = field(default_factory=dict)


class Bridge:
    """One per kernel. `client` names the page that a person works in: it is preferred."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._waiting: dict[str, _Waiting] = {}
        self._before: Callable[[Any], Any] | None = None
        self._lock = threading.Lock()
        self._answered = False
        self._asked = False
        self.client = ""
        self.pages: dict[str, Page] = {}
        """Who answered last, by client."""

    @property
    def missing(self) -> str:
        """Why this kernel cannot be answered; empty where it can."""
        stream = getattr(self._kernel, "control_stream", None)
        if stream is None:
            return "this kernel has no control channel that can be listened to"
        for name in ("session", "iopub_socket"):
            if getattr(self._kernel, name, None) is None:
                return f"this kernel has no {name}"
        if not callable(getattr(stream, "_recv_callback", None)):
            return "pyzmq's stream has changed"
        return ""

    def open(self) -> bool:
        """Start to listen; whether that is possible. A second call changes nothing."""
        with self._lock:
            if self._before is None and not self.missing:
                stream = self._kernel.control_stream
                self._before = stream._recv_callback  # noqa: SLF001  (checked above)
                # One store: the control thread sees the one callback or the other.
                stream._recv_callback = self._receive  # noqa: SLF001  (the same)
        return self._before is not None

    def close(self) -> None:
        """Stop to listen."""
        with self._lock:
            if self._before is not None:
                self._kernel.control_stream._recv_callback = self._before  # noqa: SLF001  (the same)
                self._before = None

    async def ask_all(self, *, patient: bool = False) -> Sequence[Page]:
        """Every page that has this kernel, the preferred one first. Waits as long as experience says it is worth."""
        if not self.open():
            return ()
        wait = KNOWN if self._answered and (patient or self.pages) else AGAIN if self._asked else FIRST
        self._asked = True
        found: dict[str, Page] = {}
        end = time.monotonic() + wait
        name, waiting = self._expect()
        try:
            self._send(name, "info", {}, None)
            while (left := end - time.monotonic()) > 0:
                try:
                    client, page, answer = await asyncio.wait_for(waiting.answers.get(), left)
                except TimeoutError:
                    break
                if not answer.get("ok"):
                    continue
                found[client] = _page(client, page, answer["result"])
                if client == self.client:
                    break
                end = min(end, time.monotonic() + OTHERS)
        finally:
            del self._waiting[name]
        self.pages = found
        self._answered = self._answered or bool(found)
        return sorted(found.values(), key=self._rank)

    async def call(self, client: str, op: str, arguments: Mapping[str, Any], timeout: float = DEADLINE) -> Any:
        """Ask one page. Raises NoAnswer after `timeout` seconds, PageRefused where it says no."""
        if not self.open():
            raise NoAnswer(f"No page can be asked: {self.missing}.")
        name, waiting = self._expect()
        try:
            self._send(name, op, arguments, client)
            _, _, answer = await asyncio.wait_for(waiting.answers.get(), timeout)
        except TimeoutError:
            self.pages.pop(client, None)
            raise NoAnswer(f"The page did not answer within {timeout:g} s: it may have been closed.") from None
        finally:
            del self._waiting[name]
        if answer.get("ok"):
            return answer.get("result")
        raise PageRefused(str(answer.get("kind")), answer)

    def stale(self, page: Page) -> str:
        """What to tell a person whose page runs another version; empty where it is the same."""
        if page.version == __version__:
            return ""
        return (
            f"The page runs cosh_nb {page.version}, the kernel {__version__}: reload the page "
            "(if that does not help: `%cosh /install-lab`)."
        )

    # -- how ---------------------------------------------------------------------------------------------------------

    def _rank(self, page: Page) -> tuple[bool, bool, bool, bool]:
        return page.client != self.client, not page.focused, not page.visible, not page.shown

    def _expect(self) -> tuple[str, _Waiting]:
        waiting = _Waiting(asyncio.get_running_loop(), asyncio.Queue())
        name = uuid.uuid4().hex
        self._waiting[name] = waiting
        return name, waiting

    def _send(self, name: str, op: str, arguments: Mapping[str, Any], client: str | None) -> None:
        data = {"id": name, "op": op, "args": dict(arguments), "to": client, "version": __version__}
        content = {"comm_id": COMM, "data": data}
        self._kernel.session.send(
            self._kernel.iopub_socket, "comm_msg", content, parent={}, ident=f"comm-{COMM}".encode()
        )

    def _receive(self, frames: Any) -> Any:
        """The control stream's callback, on its thread: take our answers, pass everything else on untouched."""
        session = self._kernel.session
        try:
            _, parts = session.feed_identities(frames, copy=False)
            # Only a look at header and content: reading a message in full twice counts as a replay.
            ours = (
                session.unpack(bytes(parts[1].buffer))["msg_type"] == "comm_msg"
                and session.unpack(bytes(parts[4].buffer)).get("comm_id") == COMM
            )
            if ours:
                self._answer(session.deserialize(parts, copy=False)["content"]["data"])
                return None
        except Exception as error:  # noqa: BLE001  (whatever is odd about it, the kernel has its own words for it)
            self._kernel.log.debug("Not an answer of a page: %s", error)
        return self._before(frames) if self._before is not None else None

    def _answer(self, data: Mapping[str, Any]) -> None:
        waiting = self._waiting.get(data["id"])
        if waiting is None:
            return  # it came too late
        parts = waiting.parts.setdefault(data["client"], {})
        parts[data["part"]] = data["text"]
        if len(parts) < data["of"]:
            return
        whole = json.loads("".join(parts[at] for at in range(data["of"])))
        waiting.loop.call_soon_threadsafe(waiting.answers.put_nowait, (data["client"], data["page"], whole))


def _page(client: str, page: str, info: Mapping[str, Any]) -> Page:
    books = tuple(
        OpenNotebook(
            str(book["path"]),
            str(book.get("kernel") or ""),
            bool(book.get("own")),
            bool(book.get("dirty")),
            int(book.get("cells", 0)),
            bool(book.get("collaborative")),
            str(book.get("active") or ""),
        )
        for book in info["notebooks"]
    )
    return Page(
        client,
        page,
        str(info.get("version")),
        int(info.get("protocol", 0)),
        str(info.get("root", "")),
        books,
        bool(info.get("focused")),
        bool(info.get("visible")),
        bool(info.get("shown")),
        f"{info.get('app', '')} {info.get('appVersion', '')}".strip(),
        tuple(map(str, info.get("commands", ()))),
    )
