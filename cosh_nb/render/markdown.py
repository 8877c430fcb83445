"""Markdown of a model as safe HTML: no raw HTML, no images, no links but to the web, mail and this page.

LaTeX stays as it was written, for the page's MathJax; every other dollar is shown as a dollar. A link shows where it
leads when its words do not.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from cosh_nb.render.blocks import split
from cosh_nb.render.code import highlight
from cosh_nb.render.latex import latex
from cosh_nb.render.links import judge_links
from cosh_nb.render.markup import attr, esc, plain, pre

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_COLUMNS = 40
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


def to_html(source: str) -> str:
    """The whole text as HTML, block by block."""
    return "".join(block_html(block) for block in split(source))


def block_html(source: str, *, growing: bool = False) -> str:
    """One block (see blocks) as HTML. Code of a `growing` block waits for its colours until the block is whole."""
    return str(_parser().render(plain(source), {"growing": growing}))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    md = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
    md.validateLink = bool  # type: ignore[method-assign, assignment]  # (links are judged later, where refused ones can be shown)
    latex(md)
    md.core.ruler.push("links", judge_links)
    md.core.ruler.push("tables", _narrow)
    md.core.ruler.push("boxes", _boxes)
    md.core.ruler.push("sides", _sides)
    for name, rule in (
        ("text", _text),
        ("code_inline", _code_inline),
        ("fence", _fence),
        ("code_block", _fence),
        ("heading_open", _heading),
        ("heading_close", _heading),
        ("link_open", _link_open),
        ("link_close", _link_close),
        ("table_open", _table_open),
        ("table_close", lambda *_: "</table></div>\n"),
    ):
        md.add_render_rule(name, rule)
    return md


def _text(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return esc(tokens[index].content)


def _code_inline(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f"<code>{pre(tokens[index].content)}</code>"


def _fence(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, env: MutableMapping[str, Any]) -> str:
    token = tokens[index]
    code = token.content.removesuffix("\n")
    language = (token.info.split() or [""])[0] if not env.get("growing") else ""
    return f"<pre>{highlight(code, language)}</pre>\n"


def _heading(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """Two levels down: an answer is a part of the notebook's own outline."""
    token = tokens[index]
    level = min(int(token.tag[1]) + 2, 6)
    return f"<h{level}>" if token.nesting == 1 else f"</h{level}>\n"


def _link_open(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    href = str(tokens[index].attrs["href"])
    away = "" if href.startswith("#") else ' rel="noopener"'
    return f'<a href="{attr(href)}"{away}>'


def _link_close(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    shown = tokens[index].meta.get("shown")
    return f'</a> <span class="m">({esc(str(shown))})</span>' if shown else "</a>"


def _table_open(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """A wide table scrolls in a place of its own that the keyboard reaches."""
    columns = 0
    for token in tokens[index:]:
        columns += token.type == "th_open"
        if token.type == "thead_close":
            break
    wide = ' tabindex="0" role="region" aria-label="Table"' if columns > 4 else ""
    return f'<div class="scroll"{wide}><table>\n'


def _narrow(state: StateCore) -> None:
    """Drop the columns that no page can show, and say how many."""
    out: list[Token] = []
    column = 0
    for token in state.tokens:
        if token.type == "tr_open":
            column = 0
        if token.type in ("th_open", "td_open"):
            column += 1
        if token.type == "tr_close" and column > _COLUMNS:
            out += _more_columns(column - _COLUMNS)
            column = 0
        if column <= _COLUMNS:
            out.append(token)
    state.tokens = out


def _boxes(state: StateCore) -> None:
    """Task lists: `[ ]` and `[x]` at the start of an item become boxes."""
    for item, paragraph, words in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if (item.type, paragraph.type, words.type) != (
            "list_item_open",
            "paragraph_open",
            "inline",
        ) or not words.children:
            continue
        first = words.children[0]
        if first.type == "text" and first.content[:4] in ("[ ] ", "[x] ", "[X] "):
            first.content = ("☐ " if first.content[1] == " " else "☑ ") + first.content[4:]


def _sides(state: StateCore) -> None:
    """Lists and tables of a text from right to left begin at the right."""
    if state.src.isascii() or _RIGHT_TO_LEFT.search(state.src) is None:
        return
    for token in state.tokens:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            token.attrSet("dir", "auto")


def _more_columns(number: int) -> list[Token]:
    from markdown_it.token import Token

    words = Token("inline", "", 0, content="", children=[_words(f"… {number:,} more columns")])
    return [Token("td_open", "td", 1), words, Token("td_close", "td", -1)]


def _words(text: str) -> Token:
    from markdown_it.token import Token

    return Token("text", "", 0, content=text)
