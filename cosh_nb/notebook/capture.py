"""What running code gives, as data: bounded text, rich outputs and images, in the order they came."""

from __future__ import annotations

import base64
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Literal, assert_never

from cosh_tools.results import IMAGES, Media
from cosh_tools.terminal import readable

TEXT = 1_000_000
"""Characters of printed text that are kept: the first and the last half of them."""
ENTRIES = 200
"""Rich outputs, and changes between stdout and stderr, that are kept."""
BUNDLE = 2_000_000
"""Characters of one rich output in one form."""
MOST_IMAGES, IMAGE_BYTES = 20, 5_000_000
"""Images that go to the model, and how large one may be."""
_LIVE = 4_000
"""Characters of fresh output that one look at a running call shows."""

StreamName = Literal["stdout", "stderr"]


class BoundedText:
    """The head and the tail of a text of any length."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._rest = max(limit - self._half, 1)
        self._head: list[str] = []
        self._room = self._half
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._left_out = 0

    @property
    def size(self) -> int:
        """Characters that are kept."""
        return self._half - self._room + self._tail_size

    def append(self, text: str) -> None:
        """Add to the end."""
        if self._room > 0:
            piece = text[: self._room]
            self._head.append(piece)
            self._room -= len(piece)
            text = text[len(piece) :]
        if not text:
            return
        if len(text) > self._rest:
            self._left_out += len(text) - self._rest
            text = text[-self._rest :]
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail_size - len(self._tail[0]) >= self._rest:
            gone = self._tail.popleft()
            self._tail_size -= len(gone)
            self._left_out += len(gone)

    def __str__(self) -> str:
        gap = f"\n[... {self._left_out:,} characters left out ...]\n" if self._left_out else ""
        return "".join(self._head) + gap + "".join(self._tail)


@dataclass(slots=True)
class _Printed:
    name: StreamName
    text: BoundedText


@dataclass(slots=True)
class _Shown:
    kind: Literal["display_data", "execute_result"]
    data: dict[str, Any]
    metadata: dict[str, Any]
    display_id: str | None


@dataclass(slots=True)
class _Failed:
    name: str
    value: str
    traceback: list[str]


class Capture:
    """Takes what code prints, shows and raises. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: list[_Printed | _Shown | _Failed] = []
        self._room = TEXT
        self._dropped = 0
        self._fresh = BoundedText(_LIVE)
        self._clear_first = False

    def write(self, name: StreamName, text: str) -> None:
        """Printed text."""
        with self._lock:
            self._maybe_clear()
            last = self._entries[-1] if self._entries else None
            if not isinstance(last, _Printed) or last.name != name:
                earlier = None
                if len(self._entries) >= ENTRIES:
                    earlier = next((e for e in self._entries if isinstance(e, _Printed) and e.name == name), None)
                if earlier is None:
                    self._room -= last.text.size if isinstance(last, _Printed) else 0
                    last = _Printed(name, BoundedText(max(self._room, TEXT // ENTRIES)))
                    self._entries.append(last)
                else:
                    last = earlier
            last.text.append(text)
            self._fresh.append(text)

    def show(
        self,
        data: Mapping[str, Any],
        metadata: Mapping[str, Any] | None = None,
        *,
        display_id: str | None = None,
        update: bool = False,
        result: bool = False,
    ) -> None:
        """A rich output: displayed, updated in place, or the value of the last expression."""
        with self._lock:
            kept = {kind: _bounded(kind, value) for kind, value in data.items() if not _too_large(kind, value)}
            if update:
                for entry in self._entries:
                    if isinstance(entry, _Shown) and entry.display_id == display_id and display_id is not None:
                        entry.data, entry.metadata = kept, dict(metadata or {})
                return
            self._maybe_clear()
            if len(self._entries) >= ENTRIES:
                self._dropped += 1
                return
            kind: Literal["display_data", "execute_result"] = "execute_result" if result else "display_data"
            self._entries.append(_Shown(kind, kept, dict(metadata or {}), display_id))

    def fail(self, name: str, value: str, traceback: Sequence[str]) -> None:
        """A traceback, as IPython formatted it."""
        with self._lock:
            shown = [str(_bounded("text/plain", line, TEXT // 10)) for line in traceback]
            self._entries.append(_Failed(name, _clip(value, 2_000), shown))

    def clear(self, *, wait: bool = False) -> None:
        """`clear_output`: forget what was there, at once or when the next output comes."""
        with self._lock:
            self._clear_first = wait
            if not wait:
                self._entries.clear()
                self._room = TEXT

    def take(self) -> str:
        """What was printed since the last look, bounded."""
        with self._lock:
            fresh, self._fresh = str(self._fresh), BoundedText(_LIVE)
            return fresh

    def outputs(self) -> tuple[Mapping[str, Any], ...]:
        """Everything in nbformat 4 shape."""
        with self._lock:
            return tuple(_nbformat(entry) for entry in self._entries)

    def text(self) -> str:
        """Everything as a person would read it."""
        with self._lock:
            parts = [_read(entry) for entry in self._entries]
        if self._dropped:
            parts.append(f"[{self._dropped} more outputs left out]\n")
        whole = ""
        for part in parts:
            whole += ("" if not whole or whole.endswith("\n") else "\n") + part
        return whole

    def images(self) -> tuple[Media, ...]:
        """The pictures among the outputs, for the model."""
        found: list[Media] = []
        with self._lock:
            for entry in self._entries:
                if isinstance(entry, _Shown) and len(found) < MOST_IMAGES and (image := _image(entry.data)) is not None:
                    found.append(image)
        return tuple(found)

    def _maybe_clear(self) -> None:
        if self._clear_first:
            self.clear()


def _nbformat(entry: _Printed | _Shown | _Failed) -> Mapping[str, Any]:
    match entry:
        case _Printed(name, text):
            return {"output_type": "stream", "name": name, "text": str(text)}
        case _Shown("execute_result", data, metadata):
            return {"output_type": "execute_result", "data": data, "metadata": metadata, "execution_count": None}
        case _Shown(kind, data, metadata):
            return {"output_type": kind, "data": data, "metadata": metadata}
        case _Failed(name, value, traceback):
            return {"output_type": "error", "ename": name, "evalue": value, "traceback": traceback}
    assert_never(entry)


def _read(entry: _Printed | _Shown | _Failed) -> str:
    match entry:
        case _Printed(_, text):
            return readable(str(text))
        case _Shown(_, data):
            return _plain(data)
        case _Failed(name, value, traceback):
            return readable("\n".join(traceback)) or f"{name}: {value}"
    assert_never(entry)


def _plain(data: Mapping[str, Any]) -> str:
    """A rich output in words: its plain text, or what its other forms say where that is only the object's address."""
    plain = str(data.get("text/plain", ""))
    if plain and not plain.startswith("<IPython.core.display."):
        return plain
    for kind in ("text/markdown", "text/latex"):
        if data.get(kind):
            return str(data[kind])
    if data.get("text/html"):
        return _html_text(str(data["text/html"]))
    if "application/json" in data:
        return str(data["application/json"])
    others = [kind for kind in data if kind != "text/plain"]
    return f"[{', '.join(others)}]" if others else plain


def _image(data: Mapping[str, Any]) -> Media | None:
    for kind in IMAGES:
        value = data.get(kind)
        if isinstance(value, str) and value and (image := Media.decoded(kind, value)) is not None:
            return image
    return None


def _bounded(kind: str, value: Any, limit: int = BUNDLE) -> Any:
    if isinstance(value, bytes):
        value = base64.b64encode(value).decode("ascii")
    if isinstance(value, str) and kind not in IMAGES and len(value) > limit:
        return _clip(value, limit)
    return value


def _too_large(kind: str, value: Any) -> bool:
    """A picture cannot be cut, so it is left out; its plain text stays."""
    return kind in IMAGES and isinstance(value, str | bytes) and len(value) > IMAGE_BYTES * 4 // 3


def _clip(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}\n[... {len(text) - limit:,} characters left out ...]\n{text[-(limit // 2) :]}"


class _Words(HTMLParser):
    """The text of HTML, without scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")
        if tag in ("br", "p", "div", "tr", "li", "h1", "h2", "h3", "h4", "pre", "table"):
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append("\t")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style") and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def _html_text(html: str) -> str:
    words = _Words()
    words.feed(html)
    words.close()
    lines = (line.strip(" ") for line in "".join(words.parts).split("\n"))
    return "\n".join(line for line in lines if line.strip())
