"""Where a link of a model may lead, and how it says so: judged once, on the tokens of the parser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cosh_nb.render.markup import shorten

if TYPE_CHECKING:
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_URL = re.compile(r"https?://[^\s<>\"'`\\^{|}]{1,2000}", re.IGNORECASE)
_SAFE = re.compile(r"(?:https?://[^/?#@\\]+(?:[/?#]|\Z)|mailto:[^\s]+|#)", re.IGNORECASE)


def safe_target(href: str) -> bool:
    """Whether a link may lead there."""
    return len(href) <= 2_000 and _SAFE.match(href) is not None and not re.search(r"[\x00-\x20]", href)


def judge_links(state: StateCore) -> None:
    """Keep the links that may stay and show where they lead; turn the others, and images, into their words."""
    for token in state.tokens:
        if token.type == "inline" and token.children:
            token.children = _judged(token.children)


def _judged(children: Sequence[Token]) -> list[Token]:
    """Links that may stay, with what they say; others, and images, as their words and target."""
    out: list[Token] = []
    opened: list[tuple[Token, bool, int]] = []
    for token in children:
        if token.type == "link_open":
            safe = safe_target(str(token.attrs.get("href", "")))
            opened.append((token, safe, len(out) + 1))
            if safe:
                out.append(token)
        elif token.type == "link_close" and opened:
            opener, safe, start = opened.pop()
            href = str(opener.attrs.get("href", ""))
            words = "".join(part.content for part in out[start - (not safe) :])
            if safe:
                token.meta = {"shown": "" if _same(words, href) else _target(href)}
                out.append(token)
            elif not _same(words, href):
                out.append(_words(f" ({shorten(href, 80)})"))
        elif token.type == "image":
            out += _image(token, linked=bool(opened))
        elif token.type == "text" and not opened and "://" in token.content:
            out += _bare(token)
        else:
            out.append(token)
    return out


def _image(token: Token, *, linked: bool) -> list[Token]:
    href, words = str(token.attrs.get("src", "")), f"image: {token.content or 'no description'}"
    if linked or not safe_target(href):
        return [_words(words if linked else f"{words} ({shorten(href, 80)})")]
    return _link(href, words)


def _bare(token: Token) -> list[Token]:
    out, last = [], 0
    for found in _URL.finditer(token.content):
        href = found[0].rstrip(".,;:!?*_~")
        if href.endswith(")") and href.count("(") < href.count(")"):
            href = href[:-1]
        if not safe_target(href) or not href.isascii():
            continue
        out += [_words(token.content[last : found.start()]), *_link(href, href)]
        last = found.start() + len(href)
    return [*out, _words(token.content[last:])]


def _link(href: str, words: str) -> list[Token]:
    from markdown_it.token import Token

    shown = "" if _same(words, href) else _target(href)
    return [
        Token("link_open", "a", 1, attrs={"href": href}),
        _words(words),
        Token("link_close", "a", -1, meta={"shown": shown}),
    ]


def _words(text: str) -> Token:
    from markdown_it.token import Token

    return Token("text", "", 0, content=text)


def _same(words: str, href: str) -> bool:
    """Whether the words of a link already say where it leads."""
    bare = words.strip().rstrip("/")
    return href.startswith("#") or bare in {href.rstrip("/"), _target(href, 2_000).rstrip("/")}


def _target(href: str, limit: int = 60) -> str:
    """A target in short: the host in full, as much of the rest as fits."""
    if not href.lower().startswith("http"):
        return shorten(href.partition(":")[2] or href, limit)
    parts = urlsplit(href)
    rest = href.partition("://")[2][len(parts.netloc) :]
    room = max(limit - len(parts.netloc), 0)
    return parts.netloc + (rest if len(rest) <= room else rest[: max(room - 1, 1)] + "…")
