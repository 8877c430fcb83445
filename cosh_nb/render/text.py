"""A turn as plain text, for terminals and pipes: what was printed stays, so each event only adds to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from cosh_nb import events as e
from cosh_nb.render.footer import final
from cosh_nb.render.markup import plain, shorten
from cosh_nb.render.parts import Plan, Said, plan_of
from cosh_nb.render.steps import Step
from cosh_nb.render.words import verb_of
from cosh_tools.names import canonical

if TYPE_CHECKING:
    from cosh_tools.hosts import ApprovalAnswer

_LONG = frozenset({"Bash", "PowerShell", "Python", "NotebookRun", "Task", "WebFetch", "WebSearch"})


class TextTurn:
    """Says for each event what to print. Questions are put by whoever asks; their answers are noted here."""

    def __init__(self, *, at: str = "") -> None:
        """`at` is the time that the last line names."""
        self._at, self._label = at, ""
        self._prose = False
        self._started = False
        self._answers: dict[str, ApprovalAnswer] = {}
        self._errors: list[str] = []

    def feed(self, event: e.Event) -> str:
        """The text that this event adds."""
        match event:
            case e.TurnStarted(label=label, model=model):
                self._label = label or model
            case e.TextDelta(text=text):
                lead = "\n" if not self._prose and self._started else ""
                self._prose = self._started = True
                return lead + plain(text)
            case e.ToolStarted(call=call, verb=verb, target=target) if canonical(call.name) in _LONG:
                return self._line(f"● {verb_of(verb, canonical(call.name)).doing} {shorten(target, 160)}")
            case e.ApprovalAnswered(request=request, answer=answer):
                self._answers[request.call.id] = answer
            case e.ToolFinished(result=result):
                todos = plan_of(result)
                return self._line(Plan(items=todos).rendered().text if todos is not None else self._row(event))
            case e.AgentEvent(agent=agent, event=e.ToolFinished() as inner):
                return self._line(f"  {shorten(agent, 40)}: {self._row(inner).splitlines()[0]}")
            case e.Waiting(why=why, seconds=seconds):
                return self._line(
                    f"● Waiting: {shorten(why, 200)}" + (f", next try in {seconds:.0f} s" if seconds else "")
                )
            case e.Notice(level=level, text=text, detail=detail):
                self._errors += [text] if level == "error" else []
                return self._line(Said(done=True, level=level, text=text, detail=detail).rendered().text)
            case e.MessageDone() if self._prose:
                return self._line("")
            case e.TurnEnded(error=error):
                lines = (
                    [f"✗ {plain(error)}"] if error and not any(text.startswith(error) for text in self._errors) else []
                )
                return self._line("\n".join([*lines, final(event, self._label, self._at).text]))
            case (
                e.MessageStart()
                | e.ThinkingDelta()
                | e.ToolUseBegin()
                | e.ToolUseDelta()
                | e.ToolUseEnd()
                | e.ToolStarted()
                | e.ToolProgress()
                | e.ApprovalAsked()
                | e.AgentEvent()
                | e.MessageDone()
            ):
                pass
            case _:
                assert_never(event)
        return ""

    def _line(self, text: str) -> str:
        """A whole line, on a line of its own."""
        lead = "\n" if self._prose else ""
        self._prose, self._started = False, True
        return f"{lead}{text}\n" if text else lead

    def _row(self, event: e.ToolFinished) -> str:
        step = Step(done=True, id=event.call.id, tool=event.call.name, given=event.call.input, state="finished")
        step.verb, step.result, step.ran = event.verb, event.result, event.ran
        step.target = str(event.result.metadata.get("target") or event.target)
        step.seconds, step.decided = event.seconds, event.decided
        step.answer = self._answers.get(event.call.id)
        return step.rendered().text


def transcript(events: list[e.Event], *, at: str = "") -> str:
    """A whole turn as text."""
    turn = TextTurn(at=at)
    return "".join(map(turn.feed, events))
