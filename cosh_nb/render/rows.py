"""One step in one line: caret, glyph, verb, object, result, time; opened, what went in and what came out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cosh_nb.render.markup import NOTHING, Rendered, esc, plain, pre, shorten

State = Literal["run", "wait", "ok", "bad", "not", "info", "fold", "think", "plan", "warn"]
_GLYPHS: dict[State, tuple[str, str, str]] = {
    "run": ("●", "run", "running"),
    "wait": ("●", "wait", "waiting"),
    "ok": ("✓", "ok", "done"),
    "bad": ("✗", "bad", "failed"),
    "not": ("⊘", "m", "not run"),
    "info": ("·", "m", "note"),
    "warn": ("!", "wait", "warning"),
    "fold": ("✓", "ok", "done"),
    "think": ("∴", "m", "thinking"),
    "plan": ("☰", "m", "plan"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """What a row says. With a `body` it can be opened; `code` sets its object in the code font."""

    state: State
    verb: str
    object: str = ""
    result: str = ""
    time: str = ""
    code: bool = False
    body: str = ""
    body_text: str = ""
    open: bool = False
    below: Rendered = NOTHING
    """What stands under the row, opened or not."""
    keep_result: bool = False
    """Keep the result beside the verb on a narrow page, where a good row drops it."""

    def rendered(self) -> Rendered:
        """The row as HTML and text."""
        text = self._text()
        return Rendered(self._html() + self.below.html, f"{text}\n    {self.below.text}" if self.below.text else text)

    def _html(self) -> str:
        glyph, kind, spoken = _GLYPHS[self.state]
        mark = f"<i>{glyph}</i>" if self.state == "run" else glyph
        parts = [f'<span class="g {kind}" role="img" aria-label="{spoken}">{mark}</span>']
        parts.append(f' <span class="v">{esc(self.verb)}</span>')
        if self.object:
            shown = shorten(self.object, 300)
            parts.append(
                f' <code class="o">{pre(shown)}</code>' if self.code else f' <span class="o n">{esc(shown)}</span>'
            )
        sep = '<span class="sep"> · </span>'
        if self.result:
            parts.append(
                f'{sep}<span class="r{" k" if self.keep_result else ""}">{esc(shorten(self.result, 400))}</span>'
            )
        if self.time:
            parts.append(f'{sep}<span class="t">{esc(self.time)}</span>')
        line = "".join(parts)
        if not self.body:
            return f'<div class="row">{line}</div>'
        opened = " open" if self.open else ""
        return (
            f'<details{opened}><summary data-lm-suppress-shortcuts="true">{line}</summary>'
            f'<div class="body">{self.body}</div></details>'
        )

    def _text(self) -> str:
        glyph = _GLYPHS[self.state][0]
        words = [f"{glyph} {plain(self.verb)}", shorten(self.object, 300)]
        line = " · ".join(
            part for part in (" ".join(word for word in words if word), shorten(self.result, 400), self.time) if part
        )
        if not self.body_text:
            return line
        return line + "\n" + "\n".join(f"    {part}" for part in self.body_text.splitlines())
