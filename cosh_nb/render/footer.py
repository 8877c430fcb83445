"""The last line of a turn: what happens now and since when, then what it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cosh_nb.render.markup import Rendered, esc, plain, seconds, shorten

if TYPE_CHECKING:
    from cosh_nb.events import TurnEnded

_ENDS = {
    "done": "Done in",
    "interrupted": "Stopped by you after",
    "stopped": "Stopped by you after",
    "refused": "Declined after",
    "max_turns": "Stopped at the limit of model calls after",
    "max_tokens": "Cut at the length limit after",
    "error": "Failed after",
}


@dataclass(frozen=True, slots=True)
class Phase:
    """What happens now. `kind`: the turn works, waits for something, or waits for the person."""

    kind: Literal["run", "wait", "you"]
    words: str


def live(phase: Phase, now: str, elapsed: float, waited: float, tokens: int, hint: str) -> Rendered:
    """The footer of a running turn. Only a question to the person is announced to screen readers."""
    kind = "wait" if phase.kind == "you" else "run"
    words = shorten(now or phase.words, 90)
    facts = [_whole_seconds(elapsed)]
    if phase.kind != "run" and waited >= 2 and elapsed - waited > 2:
        words += f", {_whole_seconds(waited)}"
    if tokens:
        facts.append(f"{_tokens(tokens)} tokens")
    role = ' role="status" aria-live="polite"' if phase.kind == "you" else ""
    more = "".join(f'{_SEP}<span class="m num">{esc(fact)}</span>' for fact in facts)
    end = f'{_SEP}<span class="e m"><span>{esc(hint)}</span></span>' if hint else ""
    mark = f'<span class="g {kind}" aria-hidden="true"><i>●</i></span>'
    html = f'<div class="foot"{role}><span class="now">{mark} {esc(words)}</span>{more}{end}</div>'
    return Rendered(html, f"● {plain(' · '.join([words, *facts]))}")


def final(ended: TurnEnded, label: str, at: str, more: str = "") -> Rendered:
    """The footer that stays: how it ended, tokens, cost, model, when. `more` is what can be done next, as text."""
    facts = [f"{_ENDS[ended.reason]} {seconds(ended.seconds)}"]
    if ended.usage.total:
        facts.append(f"{_tokens(ended.usage.total)} tokens")
    if ended.cost:
        facts.append(_cost(ended.cost))
    facts.append(", ".join(part for part in (shorten(label or ended.model, 60), at) if part))
    facts = [fact for fact in facts if fact]
    spans = _SEP.join(f'<span class="m num">{esc(fact)}</span>' for fact in facts)
    end = f'{_SEP}<span class="e m"><span>{esc(more)}</span></span>' if more else ""
    html = f'<div class="foot" role="status" aria-live="polite">{spans}{end}</div>'
    return Rendered(html, plain(" · ".join([*facts, more] if more else facts)))


_SEP = '<span class="sep"> · </span>'


def _whole_seconds(value: float) -> str:
    whole = int(value)
    return f"{whole} s" if whole < 60 else seconds(whole)


def _tokens(number: int) -> str:
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.1f}k" if number < 999_950 else f"{number / 1_000_000:.1f}M"


def _cost(dollars: float) -> str:
    if dollars < 0.001:
        return "less than $0.001"
    return f"${dollars:.3f}" if dollars < 1 else f"${dollars:.2f}"
