"""Python in colours by one expression: a sixth of what a lexer costs, for the language that notebooks are full of."""

from __future__ import annotations

import builtins
import keyword
import re
from functools import cache

from cosh_nb.render.markup import pre

NAMES = frozenset({"python", "py", "python3", "py3", "ipython", "ipython3"})


def highlight(code: str) -> str:
    """Safe HTML for the inside of `<pre>`, in the classes of `code`."""
    out: list[str] = []
    last = 0
    for found in _expression().finditer(code):
        out += pre(code[last : found.start()]), f"<span class={found.lastgroup}>{pre(found[0])}</span>"
        last = found.end()
    return "".join(out) + pre(code[last:])


@cache
def _expression() -> re.Pattern[str]:
    words = "|".join([*keyword.kwlist, "match(?= [^=\\n]*:$)", "case(?= [^=\\n]*:$)"])
    built_in = "|".join(sorted(name for name in dir(builtins) if name[0] != "_" and not keyword.iskeyword(name)))
    long = "|".join(f"{quote}[\\s\\S]*?(?:{quote}|\\Z)" for quote in ('"""', "'''"))
    short = "|".join(rf"{quote}(?:\\.|[^{quote}\\\n])*{quote}?" for quote in ('"', "'"))
    return re.compile(
        r"(?P<hc>\#[^\n]*)"
        rf"|(?P<hs>(?:\b[rbfutRBFUT]{{1,2}})?(?:{long}|{short}))"
        r"|(?P<hf>(?<=\bdef )\w+|(?<=\bclass )\w+)"
        r"|(?P<hn>\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d+)?[jJ]?)\b)"
        rf"|(?P<hk>\b(?:{words})\b)"
        rf"|(?P<hb>(?<![.\w])(?:{built_in})\b|^[ \t]*@[\w.]+)",
        re.MULTILINE,
    )
