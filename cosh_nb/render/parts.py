"""The pieces of a turn beside its steps: prose, thoughts, the plan, notices. Each renders itself when it changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cosh_nb.render import ansi, markup
from cosh_nb.render.markdown import block_html
from cosh_nb.render.markup import Rendered, esc, plain, pre
from cosh_nb.render.rows import Row

if TYPE_CHECKING:
    from cosh_nb.render.slots import Group
    from cosh_tools.results import ToolResult


@dataclass(eq=False)
class Part:
    """A piece of a turn. `done` says that it will not change; `alone` that it needs an output of its own."""

    done: bool = False
    alone: bool = False
    group: Group | None = field(default=None, repr=False)
    held: Rendered | None = field(default=None, repr=False)

    @property
    def opens(self) -> bool:
        """Whether a person can open it; such a piece is not sent again without need, since that would close it."""
        return False

    @property
    def card(self) -> str:
        """The call whose question is open here."""
        return ""

    def rendered(self) -> Rendered:
        """The piece as it stands; rendered once per change."""
        if self.held is None:
            self.held = self.render()
        return self.held

    def render(self) -> Rendered:
        """The piece, drawn anew."""
        raise NotImplementedError


@dataclass(eq=False)
class Prose(Part):
    """One block of the answer."""

    source: str = ""

    def render(self) -> Rendered:
        """Safe HTML; the source is its own plain text."""
        return Rendered(block_html(self.source, growing=not self.done), plain(self.source).strip("\n"))


@dataclass(eq=False)
class Thought(Part):
    """What the model thought before it spoke, folded."""

    text: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def opens(self) -> bool:
        """Once it is whole."""
        return self.done

    def render(self) -> Rendered:
        """One row; the words inside once they are whole."""
        if not self.done:
            return Row("run", "Thinking").rendered()
        words = markup.clip("".join(self.text).strip(), 20_000)
        body = f'<pre class="out" tabindex="0">{pre(words)}</pre>' if words else ""
        return Row(
            "think", "Thought", time=markup.seconds(self.seconds) if self.seconds >= 0.1 else "", body=body
        ).rendered()


@dataclass(eq=False)
class Plan(Part):
    """The todo list: one row, open while there is something to do."""

    items: Sequence[Mapping[str, Any]] = ()

    @property
    def opens(self) -> bool:
        """Always."""
        return True

    @property
    def now(self) -> str:
        """What is being done."""
        for item in self.items:
            if item.get("status") == "in_progress":
                return str(item.get("active") or item.get("activeForm") or item.get("content") or "")
        return ""

    def render(self) -> Rendered:
        """The row with its items."""
        finished = sum(item.get("status") == "completed" for item in self.items)
        html, text = [], []
        for item in self.items[:100]:
            status, words = item.get("status"), str(item.get("content") or "")
            if status == "completed":
                mark, kind, cls = "✓", "ok", "d"
            elif status == "in_progress":
                mark, kind, cls = ("●", "run", "now") if not self.done else ("○", "m", "")
            else:
                mark, kind, cls = "○", "m", ""
            spoken = {"completed": "done", "in_progress": "now"}.get(str(status), "to do")
            glyph = f'<span class="g {kind}" role="img" aria-label="{spoken}">{mark}</span>'
            html.append(f'<li class="{cls}">{glyph} <span>{esc(words)}</span></li>')
            text.append(f"{mark} {plain(words)}")
        more = len(self.items) - 100
        if more > 0:
            html.append(f"<li>… {more:,} more</li>")
        row = Row(
            "plan", "Plan", "", f"{finished} of {len(self.items)} done", body=f'<ol class="plan">{"".join(html)}</ol>',
            body_text="\n".join(text), open=not self.done, keep_result=True,
        )  # fmt: skip
        return row.rendered()


def plan_of(result: ToolResult) -> list[Mapping[str, Any]] | None:
    """The todo list that a result carries, where it carries one."""
    todos = result.metadata.get("todos")
    return (
        [item for item in todos if isinstance(item, dict)] if isinstance(todos, list) and not result.is_error else None
    )


@dataclass(eq=False)
class Said(Part):
    """A note, a warning, or an error with its next step."""

    level: Literal["info", "warning", "error"] = "info"
    text: str = ""
    detail: str = ""

    @property
    def opens(self) -> bool:
        """When there is a detail."""
        return bool(self.detail)

    def render(self) -> Rendered:
        """A quiet line, or a bar at the side for what went wrong."""
        detail = markup.clip(self.detail.strip(), 8_000)
        body = f'<pre class="out" tabindex="0">{ansi.to_html(detail)}</pre>' if detail else ""
        if self.level == "info":
            return Row("info", self.text, body=body).rendered()
        more = f"<details>{_DETAILS}{body}</details>" if body else ""
        first, rest = _sentences(markup.clip(self.text, 4_000))
        mark, kind = ("✗ ", "err") if self.level == "error" else ("! ", "err warn")
        role = ' role="alert"' if self.level == "error" else ""
        html = f'<div class="{kind}"{role}><b>{esc(first)}</b>{" " + esc(rest) if rest else ""}{more}</div>'
        return Rendered(html, mark + plain(self.text))


_DETAILS = '<summary data-lm-suppress-shortcuts="true"><span class="m">Details</span></summary>'


def _sentences(text: str) -> tuple[str, str]:
    """The first sentence and the rest."""
    end = text.find(". ")
    line = text.find("\n")
    if 0 <= line < (end if end >= 0 else len(text)):
        return text[:line], text[line + 1 :]
    return (text[: end + 1], text[end + 2 :]) if end >= 0 else (text, "")
