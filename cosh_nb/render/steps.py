"""The calls of a turn as rows: one while it is declared, asked, run and finished; several folded when all is over."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cosh_nb.render import ansi, cards, markup, outcome
from cosh_nb.render.markup import Rendered, esc, shorten
from cosh_nb.render.parts import Part, Thought
from cosh_nb.render.rows import Row
from cosh_nb.render.words import is_code, object_of, verb_of
from cosh_tools.hosts import Refused
from cosh_tools.names import canonical

if TYPE_CHECKING:
    from cosh_nb.render.turn import TurnView
    from cosh_tools.hosts import ApprovalAnswer, ApprovalRequest
    from cosh_tools.results import ToolResult

StepState = Literal["declared", "asked", "answered", "running", "finished"]

LIVE_LINES = 8
"""Last lines of a running call's output that its row shows."""

QUESTION = "question"
"""The card of a question that the agent puts with a tool; only one is open at a time."""


@dataclass(eq=False)
class Step(Part):
    """One call of a tool, from its first argument to its result."""

    id: str = ""
    tool: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    state: StepState = "declared"
    resumes: StepState = "declared"
    """What it was before it asked."""
    verb: str = ""
    target: str = ""
    received: int = 0
    request: ApprovalRequest | None = None
    answer: ApprovalAnswer | None = None
    answered_at: str = ""
    live: deque[str] = field(default_factory=lambda: deque(maxlen=200))
    result: ToolResult | None = None
    ran: bool = True
    seconds: float = 0.0
    """Negative where it is not known."""
    decided: str = ""
    fresh: bool = True
    ended: str = ""
    """Why it has no result, in words, where the turn ended first."""
    child: TurnView | None = None

    @property
    def opens(self) -> bool:
        """Whatever has a result."""
        return self.state == "finished"

    @property
    def card(self) -> str:
        """Its own id while it asks for approval; the one word for a question of the agent's that is open."""
        if self.state == "asked":
            return self.id
        return QUESTION if self.alone else ""

    @property
    def outcome(self) -> bool:
        """Whether this step is what the person came for: a change, a picture, a refusal. Others fold in the end."""
        if self.result is None or not self.ran:
            return True
        return bool(self.result.metadata.get("diff")) or outcome.has_images(self.result)

    def render(self) -> Rendered:
        """The row, or the question while it is open."""
        if self.state == "asked" and self.request is not None:
            return cards.card(self.request)
        return self.row().rendered()

    def row(self) -> Row:
        """The row as it stands."""
        verb = verb_of(self.verb, canonical(self.tool))
        target = self.target or shorten(object_of(self.given), 160)
        code = is_code(canonical(self.tool), target)
        if self.ended:
            return Row(
                "not",
                verb.not_done if self.state != "running" else "Stopped",
                target,
                self.ended,
                code=code,
            )
        if self.result is None:
            return self._unfinished(verb.doing, target, code)
        if not self.ran and self.result.is_error:
            return Row("not", verb.not_done, target, self._who(), code=code)
        inside = outcome.body(self.tool, self.given, self.result, target)
        if self.child is not None:
            nested = self.child.nested()
            inside = Rendered(nested.html + inside.html, nested.text + ("\n" if nested.text else "") + inside.text)
        said = outcome.summary(self.result)
        decided = ", ".join(filter(None, (self.decided, self.answered_at))) if self.decided.startswith("you") else ""
        if decided and self.result.is_error:  # the row is the error's; who allowed it stands inside
            inside = Rendered(f'<div class="lab">{esc(decided)}</div>{inside.html}', f"{decided}\n{inside.text}")
        elif decided:
            said = f"{said}, {decided}" if said else decided
        return Row(
            "bad" if self.result.is_error else "ok",
            verb.did,
            target,
            said,
            markup.seconds(self.seconds) if self.ran and self.seconds >= 0 else "",
            code=code,
            body=inside.html,
            body_text=inside.text,
            open=self.fresh and bool(self.result.metadata.get("diff")),
            below=outcome.pictures(self.result),
        )

    def _unfinished(self, doing: str, target: str, code: bool) -> Row:
        if self.state == "declared":
            size = f"{markup.size(self.received)} so far" if self.received > 2_000 else ""
            return Row("run", preparing(self.verb, self.tool), target, size, code=code)
        last = _last_lines(self.live)
        body = f"<pre>{last}</pre>" if last else ""
        if self.child is not None:
            nested = self.child.nested(last=3)
            body = nested.html + body
        return Row("run", doing, target, "", code=code, body=body, open=bool(body))

    def _who(self) -> str:
        if isinstance(self.answer, Refused):
            said = cards.said(self.answer)
            return f"{said}, {self.answered_at}" if self.answered_at else said
        if self.decided:
            return self.decided
        return outcome.error_line(self.result.content) if self.result is not None else ""


@dataclass(eq=False)
class Folded(Part):
    """Steps that are over and were only the way: one row, the steps inside."""

    pieces: Sequence[Step | Thought] = ()

    @property
    def steps(self) -> list[Step]:
        """The calls among them."""
        return [piece for piece in self.pieces if isinstance(piece, Step)]

    @property
    def opens(self) -> bool:
        """Always."""
        return True

    def render(self) -> Rendered:
        """The count in words, and each step."""
        inside = [piece.rendered() for piece in self.pieces]
        failed = sum(step.result is not None and step.result.is_error for step in self.steps)
        words = tally(self.steps) + (f", {failed} failed" if failed else "")
        known = [step.seconds for step in self.steps if step.seconds >= 0]
        total = markup.seconds(sum(known)) if known else ""
        row = Row(
            "fold", f"{len(self.steps)} steps", "", words, total,
            body="".join(part.html for part in inside),
            body_text="\n".join(part.text.split("\n", 1)[0] for part in inside),
        )  # fmt: skip
        return row.rendered()


def preparing(verb: str, tool: str) -> str:
    """What a row says while the arguments of a call arrive."""
    known = verb_of(verb, canonical(tool))
    return f"Preparing {known.do}" if known.thing == "step" else f"Preparing to {known.do.lower()}"


def tally(steps: Sequence[Step]) -> str:
    """Steps counted in words: read 1 file, ran 2 cells and 1 command."""
    kinds: dict[str, Counter[str]] = {}
    for step in steps:
        verb = verb_of(step.verb, canonical(step.tool))
        kinds.setdefault(f"used {verb.did}" if verb.thing == "step" else verb.did.lower(), Counter())[verb.thing] += 1
    parts = []
    for did, things in kinds.items():
        often = things.pop("time", 0) + things.pop("step", 0)
        if often:
            parts.append(did if often == 1 else f"{did} {often} times")
        if things:
            parts.append(
                f"{did} {_join([markup.count(number, thing, _plural(thing)) for thing, number in things.items()])}"
            )
    return ", ".join(parts)


def _plural(thing: str) -> str:
    if thing.startswith("piece of "):
        return thing.replace("piece", "pieces", 1)
    return f"{thing}es" if thing.endswith("ch") else f"{thing}s"


def _join(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _last_lines(pieces: Sequence[str]) -> str:
    text = "".join(pieces)[-4_000:]
    lines = [line for line in ansi.to_html(text).split("\n") if line.strip()]
    return "\n".join(lines[-LIVE_LINES:])
