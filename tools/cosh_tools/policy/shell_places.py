"""Where the words of a shell command lead: paths as the system resolves them, from where the shell may stand."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cosh_tools.policy.protected import is_protected, is_secret
from cosh_tools.policy.shell_words import Word
from cosh_tools.touches import Fetches, Reads, Touch, Writes

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext

Folders = frozenset[Path] | None
"""Where the shell may stand; None where that is only known when it runs."""

_NO_FILE = re.compile(r"/dev/(?:null|zero|full|u?random|std(?:in|out|err)|tty|fd/\d+)|/proc/self/fd/\d+|-")
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/(.+)")
_JOINED = re.compile(r"-[A-Za-z]+?((?:~?/|\.\.).*)", re.DOTALL)
"""A path that is joined to the letter of its option: `-f/etc/x`."""
_URL = re.compile(r"(?:https?|ftps?|wss?|git|ssh)://", re.IGNORECASE)


def start_folder(ctx: ToolContext) -> tuple[Path, str]:
    """Where a command starts, and what to say where the session's folder has vanished."""
    folder = ctx.working_dir
    if folder.is_dir():
        return folder, ""
    back = ctx.workspace
    while not back.is_dir():
        back = back.parent
    return back, f"(The folder {folder} is gone; this ran in {back}.)"


class Places:
    """Turns words into touches. `add` takes a touch, `doubt` a part that leads nobody knows where."""

    def __init__(self, ctx: ToolContext, add: Callable[[Touch], None], doubt: Callable[[str, str], None]) -> None:
        self._ctx = ctx
        self._add = add
        self._doubt = doubt

    def read(self, word: Word, folders: Folders) -> None:
        """A file that is read or a folder that is looked through."""
        for given, full in self._paths(word, folders):
            real = Path(os.path.realpath(full))
            self._add(Reads(given, real, self._ctx.is_inside(real), is_secret(real), real.exists()))

    def write(self, word: Word, folders: Folders, of: str = "") -> None:
        """A file that is created or changed; `of` is the command whose own effect this is."""
        for given, full in self._paths(word, folders):
            real = Path(os.path.realpath(full))
            self._add(Writes(given, real, self._ctx.is_inside(real), is_protected(real), real.exists(), of=of))

    def delete(self, word: Word, folders: Folders, of: str = "") -> None:
        """A file or folder that goes away. A link goes, not what it leads to."""
        for given, full in self._paths(word, folders):
            parent, name = os.path.split(full.rstrip("/") or "/")
            real = Path(
                os.path.realpath(full) if name in ("", ".", "..") else os.path.join(os.path.realpath(parent), name)
            )
            holds_us = self._ctx.workspace.is_relative_to(real)
            self._add(
                Writes(
                    given,
                    real,
                    self._ctx.is_inside(real),
                    is_protected(real) or holds_us,
                    os.path.lexists(real),
                    True,
                    of,
                )
            )

    def write_into(self, source: Word, target: Word, folders: Folders, of: str = "") -> None:
        """A copy: where the target is a folder, the file in it that gets the source's name."""
        if source.known and target.known:
            for given, full in self._paths(target, folders):
                if os.path.isdir(full):
                    name = os.path.basename(source.text.rstrip("/"))
                    self.write(Word(os.path.join(full if given != target.text else given, name)), folders, of)

    def mention(self, word: Word, folders: Folders) -> None:
        """A word that may name a file: it counts where there is one, or where one could be made outside."""
        if not word.known or not word.text:
            return
        if _URL.match(word.text):
            self.fetch(word)
            return
        texts = {word.text, word.text.partition("=")[2] if word.text.startswith("-") or "=" in word.text else word.text}
        if joined := _JOINED.fullmatch(word.text):
            texts.add(joined[1])
        for text in texts - {"", "-"}:
            for _given, full in self._paths(Word(text), folders if folders is not None else frozenset()):
                parent = os.path.dirname(full.rstrip("/"))
                real = Path(os.path.realpath(full))
                outside = not self._ctx.is_inside(real) and parent != "/" and os.path.isdir(parent)
                if os.path.lexists(full) or (outside and text.startswith(("/", "~", ".."))):
                    self._add(Reads(text, real, self._ctx.is_inside(real), is_secret(real), real.exists()))

    def fetch(self, word: Word) -> None:
        """A URL, or a host with a path as curl takes it."""
        if not word.known:
            self._doubt(word.text, f"where it connects to is unknown: {word.why}")
            return
        url = word.text if "://" in word.text else f"http://{word.text}"
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            host = ""
        if host and not re.search(r"[{}\[\]*]", word.text.partition("://")[2].partition("/")[0]):
            self._add(Fetches(word.text, host))
        else:
            self._doubt(word.text, "where it connects to cannot be told")

    def host(self, word: Word) -> None:
        """`user@host:path` of scp and rsync."""
        name = word.text.partition("://")[2] or word.text
        self._add(Fetches(word.text, re.split(r"[:/]", name.rpartition("@")[2])[0]))

    def _paths(self, word: Word, folders: Folders) -> Iterable[tuple[str, str]]:
        """The path as a card shows it and as the system takes it, once for each folder."""
        if not word.known:
            self._doubt(word.text, word.why or f"what {word.text} matches is only known when it runs")
            return
        text = word.text
        if not text or _NO_FILE.fullmatch(text):
            return
        if hit := _SOCKET.fullmatch(text):
            self._add(Fetches(f"tcp://{hit[1]}:{hit[2]}", hit[1]))
            return
        if os.path.isabs(text):
            yield text, text
            return
        if folders is None:
            self._doubt(text, f"in which folder {text} is meant is only known when it runs")
            return
        for folder in sorted(folders):
            here = os.path.relpath(folder, self._ctx.working_dir)
            yield text if here == "." else os.path.join(here, text), os.path.join(folder, text)
