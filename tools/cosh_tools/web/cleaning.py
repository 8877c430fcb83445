"""HTML reduced to what a reader sees: small, balanced and shallow, whatever came.

Scripts, styles and what is hidden go, end tags that authors leave out are put in, nesting is bounded, and after
enough text the rest is left. What remains is quick to turn into Markdown.
"""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser
from urllib.parse import urljoin

ENOUGH = 110_000
"""Characters of visible text."""
_DEEPEST = 80
_DROPPED = frozenset(
    "script style noscript template svg iframe object embed canvas audio video select textarea button math".split()
)
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_KEPT = frozenset(
    "a b strong i em code pre blockquote h1 h2 h3 h4 h5 h6 hr br img li ul ol p table thead tbody tfoot tr th td "
    "del s sub sup kbd samp dl dt dd caption figcaption q".split()
)
_BLOCKS = frozenset(
    "address article aside details div figure footer form header main nav section summary fieldset hgroup".split()
)
_CLOSES = {
    "li": ({"li"}, {"ul", "ol", "menu"}),
    "dt": ({"dt", "dd"}, {"dl"}),
    "dd": ({"dt", "dd"}, {"dl"}),
    "tr": ({"tr", "td", "th"}, {"table"}),
    "td": ({"td", "th"}, {"tr", "table"}),
    "th": ({"td", "th"}, {"tr", "table"}),
    "tbody": ({"tr", "td", "th", "thead", "tbody"}, {"table"}),
    "thead": ({"tr", "td", "th", "thead", "tbody"}, {"table"}),
    "tfoot": ({"tr", "td", "th", "thead", "tbody"}, {"table"}),
}
"""Which open elements a start tag ends, and how far up they are looked for."""
_ENDS_PARAGRAPH = _BLOCKS | frozenset("p ul ol dl table pre blockquote h1 h2 h3 h4 h5 h6 hr".split())
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)

Attributes = list[tuple[str, str | None]]


def cleaned(html: str, base: str) -> tuple[str, bool]:
    """The reduced page, links absolute, and whether all of it is there."""
    cleaner = _Cleaner(base)
    try:
        cleaner.feed(html)
        cleaner.close()
    except _Enough:
        return cleaner.result(), False
    return cleaner.result(), True


class _Enough(Exception):
    """There is more text than anyone will be shown."""


class _Cleaner(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self._out: list[str] = []
        self._open: list[str] = []
        self._skipped: list[str] = []
        self._title: list[str] = []
        self._in_title = self._has_heading = False
        self._left = ENOUGH

    def result(self) -> str:
        """The page as balanced HTML, with its title on top where it has no heading."""
        title = " ".join("".join(self._title).split())
        head = f"<h1>{escape(title)}</h1>" if title and not self._has_heading else ""
        return head + "".join(self._out) + "".join(f"</{tag}>" for tag in reversed(self._open))

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        if self._skipped:
            same = self._skipped == [tag] and tag in _CLOSES
            if not same and not (self._skipped == ["p"] and tag in _ENDS_PARAGRAPH):
                if tag not in _VOID:
                    self._skipped.append(tag)
                return
            self._skipped.clear()  # a hidden element whose end was left out
        known = dict(attrs)
        if tag in _DROPPED or "hidden" in known or _HIDDEN.search(known.get("style") or ""):
            if tag not in _VOID:
                self._skipped.append(tag)
            return
        if tag == "title":
            self._in_title = not self._title
        if tag in _ENDS_PARAGRAPH:
            self._close({"p"}, set(_CLOSES) | {"table"})
        if tag in _CLOSES:
            self._close(*_CLOSES[tag])
        if tag in _KEPT or tag in _BLOCKS:
            self._start("div" if tag in _BLOCKS else tag, known)

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            if tag in self._skipped:
                while self._skipped.pop() != tag:
                    pass
                return
            if tag not in self._open:
                return
            self._skipped.clear()
        if tag == "title":
            self._in_title = False
        name = "div" if tag in _BLOCKS else tag
        if name in self._open:
            while (last := self._open.pop()) != name:
                self._out.append(f"</{last}>")
            self._out.append(f"</{name}>")

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        if self._in_title:
            self._title.append(data)
            return
        self._out.append(escape(data, quote=False))
        self._left -= len(data)
        if self._left < 0:
            raise _Enough

    def _start(self, tag: str, known: dict[str, str | None]) -> None:
        self._has_heading = self._has_heading or tag == "h1"
        if tag == "img":
            self._image(known)
        elif tag in _VOID:
            self._out.append(f"<{tag}>")
        elif len(self._open) < _DEEPEST:
            self._open.append(tag)
            self._out.append(f"<{tag}{self._attributes(tag, known)}>")

    def _attributes(self, tag: str, known: dict[str, str | None]) -> str:
        if tag == "a" and known.get("href"):
            return f' href="{escape(urljoin_safely(self._base, known["href"] or ""))}"'
        if tag in ("code", "pre") and known.get("class"):
            return f' class="{escape(known["class"] or "")}"'
        if tag == "ol" and (known.get("start") or "").isdigit():
            return f' start="{known["start"]}"'
        return ""

    def _image(self, known: dict[str, str | None]) -> None:
        source, text = known.get("src") or "", known.get("alt") or ""
        if source and not source.startswith("data:"):
            self._out.append(f'<img src="{escape(urljoin_safely(self._base, source))}" alt="{escape(text)}">')
        else:
            self._out.append(escape(text, quote=False))

    def _close(self, tags: set[str], within: set[str]) -> None:
        """End the outermost open element among `tags` that is not beyond an element of `within`."""
        found = -1
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at] in tags:
                found = at
            elif self._open[at] in within:
                break
        if found >= 0:
            while len(self._open) > found:
                self._out.append(f"</{self._open.pop()}>")


def urljoin_safely(base: str, link: str) -> str:
    """The link made absolute; as it is where it is none."""
    try:
        return urljoin(base, link)
    except ValueError:
        return link
