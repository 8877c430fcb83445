"""A turn as a person sees it: fed with events one by one, it says what each output of the cell should hold now.

    view = TurnView()
    for event in events:
        view.feed(event)            # cheap: notes what happened
        ...                         # at most eight times a second:
        for slot in view.outputs(): # renders what changed
            if slot.changed: show(slot.id, slot.html, slot.text)

Prose streams into the last output only; what is finished is never parsed or sent again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, assert_never

from cosh_nb import events as e
from cosh_nb.render import markup
from cosh_nb.render.cards import said
from cosh_nb.render.folding import foldable
from cosh_nb.render.footer import Phase, final, live
from cosh_nb.render.markup import Rendered, shorten
from cosh_nb.render.parts import Part, Plan, Said, Thought, plan_of
from cosh_nb.render.prose import ProseStream
from cosh_nb.render.slots import MOST, Slot, Slots, joined
from cosh_nb.render.steps import Folded, Step, preparing
from cosh_nb.render.words import verb_of
from cosh_tools.hosts import Refused
from cosh_tools.names import canonical

if TYPE_CHECKING:
    from cosh_tools.hosts import ApprovalAnswer, ApprovalRequest

WRITING = Phase("run", "Writing")
LATE = "late"
"""The id of a question that a running call asks (the gate's check)."""
NESTED = 60
"""Rows of a sub-agent that its own row shows."""


_CHANGES = frozenset({"Bash", "Edit", "NotebookEdit", "NotebookRun", "PowerShell", "Python", "Write"})
"""Tools after which there may be something to take back."""

P = TypeVar("P", bound=Part)


class TurnView:
    """The state of one turn and its outputs. Not for several threads at once."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], str] = lambda: time.strftime("%Y-%m-%d %H:%M"),
        most: int = MOST,
        hint: str = "",
        undo: str = "",
    ) -> None:
        """`hint` says in the footer how a person can stop the turn, `undo` how to take back one that changed things."""
        self.parts: list[Part] = []
        self.ended: e.TurnEnded | None = None
        self._clock, self._wall, self._hint, self._undo = clock, wall, hint, undo
        self._slots = Slots(most)
        self._placed = 0
        self._dirty: dict[Part, None] = {}
        self._thought: Thought | None = None
        self._thinking_since = 0.0
        self._steps: dict[str, Step] = {}
        self._prose = ProseStream(self.parts, self._dirty, self._add, self._touch)
        self._plan: Plan | None = None
        self._usage = e.Usage()
        self._label = self._ended_at = ""
        self._started = self._since = clock()
        self._phase = Phase("wait", "Waiting for the model")

    # -- what happened --------------------------------------------------------------------------------------------

    def feed(self, event: e.Event) -> None:
        """Take note of one event."""
        match event:
            case e.TextDelta(text=text):
                self._close_thought()
                self._write(text)
            case e.ThinkingDelta(text=text):
                self._think(text)
            case e.ToolUseDelta() | e.ToolProgress():
                self._grow(event)
            case e.ToolUseBegin() | e.ToolUseEnd() | e.ToolStarted() | e.ToolFinished():
                self._step_on(event)
            case e.AgentEvent(call_id=call_id, event=inner):
                self._nested(call_id, inner)
            case e.TurnStarted(label=label, model=model):
                self._started, self._label = self._clock(), label or model
                self._wait()
            case e.MessageStart():
                self._go("run", "Thinking" if self.parts else "Reading the request")
            case e.Waiting(why=why, seconds=seconds, attempt=attempt):
                until = f", next try in {markup.seconds(seconds)}" if seconds else ""
                self._go("wait", f"Waiting: {why}{until}" + (f" (attempt {attempt})" if attempt > 1 else ""))
            case e.ApprovalAsked(request=request):
                self._ask(request)
            case e.ApprovalAnswered(request=request, answer=answer):
                self._answer(request, answer)
            case e.MessageDone(usage=usage):
                self._close_prose()
                self._usage += usage
            case e.Notice(level=level, text=text, detail=detail):
                self._close_prose()
                self._add(Said(done=True, level=level, text=text, detail=detail))
            case e.TurnEnded():
                self._end(event)
            case _:
                assert_never(event)

    # -- what to show ---------------------------------------------------------------------------------------------

    def outputs(self) -> list[Slot]:
        """Every output in order; those with `changed` differ from what was handed out last time."""
        self._refresh()
        for part in self._dirty:
            self._slots.changed(part)
        self._dirty.clear()
        for part in self.parts[self._placed :]:
            self._slots.place(part)
        self._placed = len(self.parts)
        return self._slots.outputs(self._footer(), over=self.ended is not None)

    def whole(self) -> Rendered:
        """The turn in one piece, for a page, a panel or a file."""
        foot = self._footer()
        html = "".join(part.rendered().html for part in self._refresh()) + foot.html
        return Rendered(html, "\n\n".join(text for text in (joined(self.parts), foot.text) if text))

    def settled(self) -> Rendered:
        """The pieces as they stand when nothing more comes, without a footer."""
        self._close_prose()
        for step in self._steps.values():
            if not step.done:
                step.ended, step.done = "no result is kept", True
                self._touch(step)
        self._settle()
        self._refresh()
        return Rendered("".join(part.rendered().html for part in self.parts), joined(self.parts))

    def nested(self, last: int = NESTED) -> Rendered:
        """The turn of a sub-agent, for the inside of a row: its last pieces, without a footer."""
        shown = self._refresh()[-last:]
        more = len(self.parts) - len(shown)
        lead = f'<div class="lab">{markup.count(more, "earlier piece")} not shown</div>' if more else ""
        html, used = [], 0
        for part in reversed(shown):
            piece = part.rendered().html
            used += len(piece)
            if used > 24_000:
                break
            html.append(piece)
        return Rendered(
            lead + "".join(reversed(html)), "\n".join(part.rendered().text.split("\n", 1)[0] for part in shown[-20:])
        )

    @property
    def waiting(self) -> bool:
        """Whether a person is asked something now."""
        return any(step.state == "asked" for step in self._steps.values())

    @property
    def doing(self) -> str:
        """What happens now, in words: for a title or a status bar."""
        return self._phase.words

    # -- one kind of event each -----------------------------------------------------------------------------------

    def _grow(self, event: e.ToolUseDelta | e.ToolProgress) -> None:
        """More arguments of a call that is declared, or more output of one that runs."""
        step = self._steps.get(event.id if isinstance(event, e.ToolUseDelta) else event.call_id)
        if step is None:
            return
        if isinstance(event, e.ToolUseDelta):
            step.received += len(event.json)
        else:
            step.live.append(event.text[-4_000:])
        self._touch(step)

    def _step_on(self, event: e.ToolUseBegin | e.ToolUseEnd | e.ToolStarted | e.ToolFinished) -> None:
        match event:
            case e.ToolUseBegin(id=call_id, name=name):
                self._close_prose()
                self._begin(Step(id=call_id, tool=name))
                self._go("run", preparing("", name))
            case e.ToolUseEnd(id=call_id, name=name, input=given):
                step = self._step(call_id, name)
                step.given = given or {}
                self._touch(step)
            case e.ToolStarted(call=call, verb=verb, target=target, decided=decided):
                step = self._step(call.id, call.name)
                step.given, step.verb, step.target, step.decided = call.input, verb, target, decided
                asks = canonical(call.name) == "AskUserQuestion"
                step.state, step.alone = "running", asks
                self._touch(step)
                doing = shorten(f"{verb_of(verb, canonical(call.name)).doing} {target}", 80)
                self._go(*(("you", "Waiting for you") if asks else ("run", doing)))
            case e.ToolFinished():
                self._finish(event)
            case _:
                assert_never(event)

    def _write(self, text: str) -> None:
        self._prose.write(text)
        if self._phase.words != WRITING.words:
            self._phase, self._since = WRITING, self._clock()

    def _close_prose(self) -> None:
        self._close_thought()
        self._prose.close()

    def _think(self, text: str) -> None:
        if self._thought is None:
            self._close_prose()
            self._thought, self._thinking_since = self._add(Thought()), self._clock()
            self._go("run", "Thinking")
        self._thought.text.append(text)

    def _close_thought(self) -> None:
        if self._thought is not None:
            self._thought.done, self._thought.seconds = True, self._clock() - self._thinking_since
            self._touch(self._thought)
            self._thought = None

    def _ask(self, request: ApprovalRequest) -> None:
        self._close_prose()
        step = self._steps.get(request.call.id)
        if step is None or step.state == "finished":
            step = self._begin(Step(id=request.call.id, tool=request.call.name))
        step.request, step.given, step.verb = request, request.call.input, request.verb
        step.resumes = step.state
        step.state, step.alone = "asked", True
        self._touch(step)
        self._go("you", "Waiting for you")

    def _answer(self, request: ApprovalRequest, answer: ApprovalAnswer) -> None:
        step = self._steps.get(request.call.id)
        if step is None or step.state != "asked":
            return
        step.answer, step.answered_at, step.alone = answer, self._wall()[-5:], False
        step.state = "running" if step.resumes == "running" else "answered"
        self._touch(step)
        inner = step.id == LATE or bool(request.agent)  # a part of a call that has its own row
        if inner and isinstance(answer, Refused):
            step.ended, step.done = f"{said(answer)}, {step.answered_at}", True
            del self._steps[step.id]
        elif inner:
            self._drop(step)
        self._go("run", "Going on")

    def _finish(self, event: e.ToolFinished) -> None:
        call, result = event.call, event.result
        step = self._step(call.id, call.name)
        todos = plan_of(result)
        if todos is not None:
            self._plan_is(todos, step)
            return
        step.given, step.verb, step.result, step.ran = call.input or step.given, event.verb, result, event.ran
        step.target = str(result.metadata.get("target") or event.target)
        step.seconds, step.decided, step.state, step.done, step.alone = (
            event.seconds,
            event.decided,
            "finished",
            True,
            False,
        )
        step.live.clear()
        self._touch(step)
        self._wait()

    def _nested(self, call_id: str, inner: e.Event) -> None:
        if isinstance(inner, e.ApprovalAsked | e.ApprovalAnswered):
            self.feed(inner)  # a question of a sub-agent is put to the person like any other
            return
        step = self._steps.get(call_id)
        if step is None:
            return
        if step.child is None:
            step.child = TurnView(clock=self._clock, wall=self._wall)
        step.child.feed(inner)
        if isinstance(inner, e.MessageDone):
            self._usage += inner.usage
        if not isinstance(inner, e.TextDelta | e.ThinkingDelta | e.ToolUseDelta | e.ToolProgress):
            self._touch(step)

    def _plan_is(self, items: Sequence[Mapping[str, Any]], step: Step) -> None:
        """The list of a step is shown as the turn's one plan, where the first such step stood."""
        if self._plan is None:
            self._plan = Plan()
            self.parts.insert(self.parts.index(step), self._plan)
            if step.group is not None:
                self._slots.replace([step], self._plan)
                self._placed += 1
        self._drop(step)
        self._plan.items = items
        self._touch(self._plan)

    def _end(self, event: e.TurnEnded) -> None:
        self._close_prose()
        why = {"interrupted": "you stopped the turn", "stopped": "you stopped the turn"}.get(
            event.reason, "the turn ended first"
        )
        for step in self._steps.values():
            if not step.done:
                step.state = "answered" if step.state == "asked" else step.state
                step.ended, step.done, step.alone = why, True, False
                self._touch(step)
            if step.child is not None and step.child.ended is None:
                step.child._end(event)  # noqa: SLF001  (the same class)
                self._touch(step)
        errors = [part.text for part in self.parts if isinstance(part, Said) and part.level == "error"]
        if event.error and not any(text.startswith(event.error) for text in errors):
            self._add(Said(done=True, level="error", text=event.error))
        if self._plan is not None:
            self._plan.done = True
            self._touch(self._plan)
        self.ended, self._ended_at = event, self._wall()
        self._settle()

    def _settle(self) -> None:
        """When all is done: changes are closed, and steps that were only the way fold."""
        for part in self.parts:
            if isinstance(part, Step) and part.fresh:
                part.fresh = False
                if part.result is not None and part.result.metadata.get("diff"):
                    self._touch(part)
        for run in foldable(self.parts):
            folded = Folded(done=True, pieces=run)
            self.parts.insert(self.parts.index(run[0]), folded)
            self.parts[:] = [part for part in self.parts if part not in run]
            self._slots.replace(run, folded)
            for piece in run:
                self._dirty.pop(piece, None)
            self._dirty[folded] = None
        self._placed = sum(part.group is not None for part in self.parts)

    # -- pieces ---------------------------------------------------------------------------------------------------

    def _add(self, part: P) -> P:
        self.parts.append(part)
        return part

    def _begin(self, step: Step) -> Step:
        self._steps[step.id] = step
        return self._add(step)

    def _step(self, call_id: str, name: str) -> Step:
        """The step of a call; a new one where the call is new or its id is used again."""
        step = self._steps.get(call_id)
        if step is None or step.state == "finished":
            self._close_prose()
            step = self._begin(Step(id=call_id, tool=name))
        step.tool = name
        return step

    def _drop(self, step: Step) -> None:
        """Take a step out that is shown another way."""
        at = self.parts.index(step)
        del self.parts[at], self._steps[step.id]
        if at < self._placed:
            self._placed -= 1
            self._slots.remove(step)
        self._dirty.pop(step, None)

    def _touch(self, part: Part) -> None:
        self._dirty[part] = None

    def _refresh(self) -> list[Part]:
        """The pieces, with what changed since they were drawn set to be drawn again."""
        self._prose.refresh()
        for part in self._dirty:
            part.held = None
        return self.parts

    def _wait(self) -> None:
        self._go("wait", f"Waiting for {shorten(self._label, 40) or 'the model'}")

    def _go(self, kind: Literal["run", "wait", "you"], words: str) -> None:
        self._phase = Phase(kind, words)
        self._since = self._clock()

    def _footer(self) -> Rendered:
        if self.ended is not None:
            changed = any(
                step.ran and step.result and canonical(step.tool) in _CHANGES for step in self._steps.values()
            )
            return final(self.ended, self._label, self._ended_at, self._undo if changed else "")
        words = self._plan.now if self._plan is not None and self._phase.kind == "run" else ""
        now = self._clock()
        return live(self._phase, words, now - self._started, now - self._since, self._usage.total, self._hint)
