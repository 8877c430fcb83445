"""Where a notebook is: in a page that answers, in a front end that does not, or only on disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_nb.notebook import own_path
from cosh_nb.notebook.bridge import PROTOCOL, Bridge, Page
from cosh_nb.notebook.own_path import Own
from cosh_nb.notebook.servers import OpenSession, kernel_id, sessions
from cosh_tools.notebook.disk import read_view
from cosh_tools.results import ToolError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


@dataclass(frozen=True, slots=True)
class InPage:
    """Open in a page that answers."""

    page: Page
    path: str
    """As the page names it."""
    own_kernel: bool


@dataclass(frozen=True, slots=True)
class InFrontEnd:
    """This kernel's own notebook, in a front end that cannot be asked."""

    why: str


@dataclass(frozen=True, slots=True)
class ElsewhereOpen:
    """Open, in a page that cannot be asked from here."""

    why: str


@dataclass(frozen=True, slots=True)
class Closed:
    """Nobody has it open, as far as can be known."""


Where = InPage | InFrontEnd | ElsewhereOpen | Closed


class Finder:
    """Finds notebooks for one kernel, and knows which one is the kernel's own."""

    def __init__(self, shell: InteractiveShell, bridge: Bridge) -> None:
        self._shell = shell
        self._kernel: Any = getattr(shell, "kernel", None)
        self._bridge = bridge
        self._folder = Path.cwd()
        self._known: dict[str, tuple[str, str, bool]] = {}
        """Where a notebook was found last: client, path in the page, own kernel."""
        self.own: Own | None = own_path.from_variables(shell.user_ns, os.environ)

    def in_cell(self, client: str) -> None:
        """A turn starts in a cell that this front end runs: its page is preferred, and is looked for anew."""
        self._bridge.client = client
        self._known.clear()

    def forget(self, path: Path) -> None:
        """It is not where it was."""
        self._known.pop(_real(path), None)

    async def current(self) -> Path | None:
        """The notebook of this kernel: asked of pages and servers, so it is right after a rename, too."""
        pages = await self._bridge.ask_all()
        self._learn(pages, () if pages else await sessions())
        return self.own.path if self.own is not None else None

    async def where(self, path: Path) -> Where:
        """Where it is now. Asks every page once, and the servers where no page has it."""
        real = _real(path)
        if (known := self._known.get(real)) and (page := self._bridge.pages.get(known[0])):
            return InPage(page, known[1], known[2])
        pages = await self._bridge.ask_all()
        listed: Sequence[OpenSession] = ()
        if not pages or self.own is None:
            listed = await sessions()
        self._learn(pages, listed)
        if (found := self._in_pages(pages, path, listed)) is not None:
            if found.page.protocol != PROTOCOL:
                return ElsewhereOpen(self._bridge.stale(found.page) or "its page runs another version of cosh_nb")
            self._known[real] = (found.page.client, found.path, found.own_kernel)
            return found
        if not listed:
            listed = await sessions()
        return await self._unanswered(path, pages, listed)

    async def _unanswered(self, path: Path, pages: Sequence[Page], listed: Sequence[OpenSession]) -> Where:
        """No page has it: whether it is open all the same."""
        mine = kernel_id(self._kernel)
        for session in listed:
            if not own_path.same(session.path, path):
                continue
            if session.kernel == mine and not pages:
                return InFrontEnd("it is open in a front end that does not answer (no lab extension there)")
            if session.kernel == mine:
                return ElsewhereOpen("it is this kernel's notebook, and no page that answers has it open")
            return ElsewhereOpen(f"it is open in another page or program (session on {session.url})")
        own = self.own
        if own is not None and own_path.same(own.path, path):
            return InFrontEnd(f"it is open in a front end that does not answer ({own.how})")
        if own is None and (own_path.in_colab() or await asyncio.to_thread(self._holds_running_cell, path)):
            return InFrontEnd("it is the notebook that is running now (it holds the running cell)")
        return Closed()

    def _learn(self, pages: Sequence[Page], listed: Sequence[OpenSession]) -> None:
        """Which notebook is our own: the page knows best, then the server, then what was said at the start."""
        told = own_path.from_sessions(listed, kernel_id(self._kernel))
        for page in pages:
            book = page.own
            if book is None:
                continue
            among = own_path.roots(page, self.own or told, listed, self._folder)
            if (path := own_path.place_of(book, among)) is not None:
                self.own = Own(path, "its page")
                return
        if told is not None:
            self.own = told
        elif self.own is None or not self.own.path.exists():
            self.own = own_path.from_variables(self._shell.user_ns, os.environ)

    def _in_pages(self, pages: Sequence[Page], path: Path, listed: Sequence[OpenSession]) -> InPage | None:
        """The page that has the notebook; our own panel before others of the same page."""
        for page in pages:
            among = own_path.roots(page, self.own, listed, self._folder)
            for book in sorted(page.notebooks, key=lambda book: not book.own):
                place = own_path.place_of(book, among)
                if place is not None and own_path.same(place, path):
                    mine = page.own
                    return InPage(page, book.path, mine is not None and book.kernel == mine.kernel)
        return None

    def _holds_running_cell(self, path: Path) -> bool:
        """Whether the file holds the very cell that runs now: then it is the notebook that something executes."""
        try:
            code = str(self._kernel.get_parent("shell")["content"]["code"]).strip()
            return bool(code) and any(cell.source.strip() == code for cell in read_view(path).cells)
        except (AttributeError, KeyError, TypeError, ToolError):
            return False


def _real(path: Path) -> str:
    return os.path.realpath(path)
