"""LaTeX inside Markdown: kept as it was written for the page's MathJax, so that underscores and backslashes survive."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cosh_nb.render.markup import pre

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_MACROS = re.compile(
    r"\\(?:href|url|html\w*|style|class|cssId|data|require|unicode|mmlToken|includegraphics|def|[egx]def|let|futurelet"
    r"|(?:re)?new(?:command|environment)|declare\w*|DeclareMathOperator|bbox|toggle|texttip|tip|mathtip)(?![A-Za-z])"
)
_CLOSERS = {"$$": "$$", "$": "$", "\\(": "\\)", "\\[": "\\]"}
_LONGEST_MATH = 2_000


def latex(md: MarkdownIt) -> None:
    """Teach the parser formulas: between dollars, in escaped brackets, and environments."""
    md.inline.ruler.before("escape", "math", _math_inline)
    md.block.ruler.before("fence", "math", _math_block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    md.add_render_rule("math", _math)


def _math_inline(state: StateInline, silent: bool) -> bool:
    src, pos = state.src, state.pos
    if src[pos] not in "$\\":
        return False
    opener = src[pos : pos + 2] if src[pos : pos + 2] in _CLOSERS else src[pos]
    if opener not in _CLOSERS:
        return False
    start = pos + len(opener)
    end = _closing(src, opener, start, state.posMax)
    if end < 0:
        return False
    if not silent:
        _push_math(state.push("math", "math", 0), opener, src[start:end])
    state.pos = end + len(_CLOSERS[opener])
    return True


def _closing(src: str, opener: str, start: int, stop: int) -> int:
    """Where the formula ends, -1 where it is none: "$5 and $6" are prices."""
    closer = _CLOSERS[opener]
    end = start
    while True:
        end = src.find(closer, end, min(stop, start + _LONGEST_MATH))
        if end <= start:
            return -1
        if src[end - 1] != "\\" or closer[0] == "\\":
            break
        end += 1
    if opener != "$":
        return end
    tight = not src[start].isspace() and not src[end - 1].isspace()
    return end if tight and not src[end + 1 : end + 2].isdigit() and "\n\n" not in src[start:end] else -1


def _math_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    begin, stop = state.bMarks[first] + state.tShift[first], state.eMarks[first]
    line = state.src[begin:stop]
    if state.is_code_block(first):
        return False
    if environment := re.match(r"\\begin\{(\w+\*?)\}", line):
        opener, closer = "", f"\\end{{{environment[1]}}}"
    elif line[:2] in ("$$", "\\["):
        opener, closer = line[:2], _CLOSERS[line[:2]]
    else:
        return False
    number, text = first, line[len(opener) :]
    while not text.rstrip().endswith(closer):
        number += 1
        if number >= last or len(text) > _LONGEST_MATH or closer in text:
            return False
        text += "\n" + state.getLines(number, number + 1, state.blkIndent, False)
    if not silent:
        body = text.rstrip() if not opener else text.rstrip()[: -len(closer)]
        token = state.push("math", "math", 0)
        _push_math(token, opener, body)
        token.block, token.map = True, [first, number + 1]
        state.line = number + 1
    return True


def _push_math(token: Token, opener: str, body: str) -> None:
    token.content, token.markup = body, opener


def _math(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    whole = f"{token.markup}{token.content}{_CLOSERS.get(token.markup, '')}"
    # Macros that link, style or redefine are shown, not run.
    html = f"<code>{pre(whole)}</code>" if _MACROS.search(whole) else f'<span class="math">{pre(whole)}</span>'
    return f"<p>{html}</p>\n" if token.block else html
