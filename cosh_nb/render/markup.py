"""Text made safe for HTML: no markup, no math, no hidden characters may come from what a model, a tool or a file said.

Two forms: `esc` for flowing text, where the page's MathJax would look for dollars, and `pre` for the inside of
`<pre>` and `<code>`, which MathJax leaves alone.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rendered(NamedTuple):
    """One thing to show, twice: as HTML, and as plain text for terminals, e-mail and screen readers."""

    html: str
    text: str


NOTHING = Rendered("", "")

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_MATH = re.compile(r"\$|\\(?=[()\[\]]|begin\b)")


def esc(text: str) -> str:
    """Flowing text: markup and math delimiters are shown, never obeyed."""
    out = pre(text).replace('"', "&quot;")
    return _MATH.sub(r"<span>\g<0></span>", out) if "$" in out or "\\" in out else out


def pre(text: str) -> str:
    """The inside of `<pre>` or `<code>`."""
    return plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def attr(text: str) -> str:
    """The inside of a quoted attribute."""
    return pre(text).replace('"', "&quot;").replace("'", "&#39;").replace("\n", " ")


def plain(text: str) -> str:
    """Text in which nothing hides: control, direction and zero-width characters are dropped or named."""
    if text.isprintable() or _HIDDEN.search(text) is None:
        return text
    return _HIDDEN.sub(_named, text)


def shorten(text: str, limit: int) -> str:
    """The text on one line, cut with an ellipsis."""
    line = " ".join(plain(text[: limit * 8]).split())
    return line if len(line) <= limit and len(text) <= limit * 8 else line[: max(limit - 1, 0)].rstrip() + "…"


def clip(text: str, limit: int) -> str:
    """Head and tail of a long text, with a line between that says how much is not shown."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 3 // 4], text[-(limit // 4) :]
    head = head[: head.rfind("\n") + 1] if "\n" in head[limit // 2 :] else head + "\n"
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail[: limit // 8] else tail
    return f"{head}… {size(len(text) - len(head) - len(tail))} not shown …\n{tail}"


def size(count: int) -> str:
    """A number of characters in words of a person."""
    for unit, step in (("MB", 1_000_000), ("KB", 1_000)):
        if count >= step:
            return f"{count / step:.1f} {unit}"
    return f"{count} characters"


def seconds(value: float) -> str:
    """A duration as a row shows it: 12 ms, 2.1 s, 3 min 05 s."""
    if value < 0.0995:
        return f"{max(value, 0) * 1000:.0f} ms"
    if value < 59.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole // 60 % 60:02d} min"


def count(number: int, thing: str, things: str = "") -> str:
    """A number with its noun: "1 file", "3 files"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def _named(found: re.Match[str]) -> str:
    char = found[0]
    if char < "\xa0" or char == "\ufeff":
        return ""
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return f"⟨U+{ord(char):04X}⟩"
