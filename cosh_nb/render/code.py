"""Highlighted code: a handful of classes that the style colours from the theme's own variables."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from cosh_nb.render import python_code
from cosh_nb.render.markup import pre

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST = 20_000
"""Characters above which code is shown without colours."""

_KNOWN = frozenset(
    "bash c c++ cmake console cpp csharp css cuda cython diff docker dockerfile fortran go haskell html http ini "
    "java javascript js json julia kotlin latex lua make makefile matlab nginx objective-c perl "
    "php powershell pycon r ruby rust scala sh shell sql swift tex toml ts typescript xml "
    "yaml yml zsh".split()
)
_SAME = {"zsh": "bash", "shell": "bash"}


def highlight(code: str, language: str) -> str:
    """Safe HTML for the inside of `<pre>`; without colours where the language is not known."""
    language = language.strip().lower()
    if len(code) > LONGEST:
        return pre(code)
    if language in python_code.NAMES:
        return python_code.highlight(code)
    lexer = _lexer(language)
    if lexer is None:
        return pre(code)
    out: list[str] = []
    held, held_class = "", ""
    for kind, text in lexer.get_tokens(code):
        name = _class(kind) if not text.isspace() else held_class
        if name == held_class:
            held += text
            continue
        out.append(_span(held, held_class))
        held, held_class = text, name
    out.append(_span(held, held_class))
    return "".join(out)


def _span(text: str, name: str) -> str:
    return f"<span class={name}>{pre(text)}</span>" if text and name else pre(text)


@cache
def _lexer(language: str) -> Lexer | None:
    if language not in _KNOWN:
        return None
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(_SAME.get(language, language), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@cache
def _class(kind: Any) -> str:
    from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String

    table = (
        (Comment, "hc"),
        (Keyword, "hk"),
        (Operator.Word, "hk"),
        (String, "hs"),
        (Number, "hn"),
        (Name.Function, "hf"),
        (Name.Class, "hf"),
        (Name.Tag, "hk"),
        (Name.Attribute, "hf"),
        (Name.Builtin, "hb"),
        (Name.Exception, "hb"),
        (Name.Decorator, "hb"),
        (Generic.Inserted, "hi"),
        (Generic.Deleted, "hd"),
        (Generic.Heading, "hk"),
        (Generic.Subheading, "hk"),
        (Generic.Prompt, "hc"),
    )
    return next((name for parent, name in table if kind in parent), "")
