"""What an ACP client lends: its person's yes or no, and the choice among answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acp import helpers as h
from acp.exceptions import RequestError
from acp.schema import AllowedOutcome, PermissionOption, ToolCallUpdate

from cosh_nb.acp import draw
from cosh_tools.fences import fenced
from cosh_tools.hosts import Allowed, ApprovalAnswer, ApprovalRequest, NobodyToAsk, Question, Refused
from cosh_tools.results import ToolError

if TYPE_CHECKING:
    from acp.interfaces import Client

ONCE, NO = "once", "no"


@dataclass
class Person:
    """Whoever sits before the client (hosts.PermissionHandler and hosts.AskHost)."""

    client: Client
    session_id: str
    drawn: Callable[[], Awaitable[None]]
    """Waits until everything said so far was sent, so that a question comes after what it is about."""
    asked: int = 0

    async def ask_permission(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Put the question with its buttons."""
        call = request.call
        about = ToolCallUpdate(
            tool_call_id=call.id,
            title=f"{request.verb} {_object(request)}".strip()[:200],
            kind=draw.kind(call.name),
            status="pending",
            content=_content(request),
            locations=draw.locations(call.input, request.working_dir),
            raw_input=dict(call.input),
        )
        once = PermissionOption(option_id=ONCE, name=f"{request.verb.capitalize()} once", kind="allow_once")
        grants = [
            PermissionOption(option_id=f"{grant.scope}:{number}", name=grant.label[:200], kind="allow_always")
            for number, grant in enumerate(request.grants)
        ]
        no = PermissionOption(option_id=NO, name=f"Don't {request.verb}", kind="reject_once")
        options = [no, once] if request.destructive else [once, *grants, no]
        try:
            chosen = await self._choose(about, options)
        except (ConnectionError, RequestError) as error:
            return await NobodyToAsk(f"the client could not ask ({error})").ask(request)
        if chosen is None:
            return Refused("The question was cancelled.", stop=True, by="the client")
        for number, grant in enumerate(request.grants):
            if chosen == f"{grant.scope}:{number}":
                return Allowed(grant)
        return Allowed() if chosen == ONCE else Refused()

    async def ask_questions(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        """One question after another, each as a choice among its answers; None where the person declined one."""
        answers = []
        for question in questions:
            if not question.choices:
                raise ToolError(
                    "This client can only offer choices. Ask again with two to four options, or choose the safest "
                    "answer yourself and say which one."
                )
            self.asked += 1
            told = "\n".join(f"- {one.label}: {one.description}" for one in question.choices if one.description)
            about = ToolCallUpdate(
                tool_call_id=f"question-{self.asked}",
                title=question.text[:200],
                kind="other",
                status="pending",
                content=[h.tool_content(h.text_block(f"{question.text}\n\n{told}".strip()))],
            )
            options = [
                PermissionOption(option_id=f"choice:{number}", name=choice.label[:200], kind="allow_once")
                for number, choice in enumerate(question.choices)
            ]
            skip = PermissionOption(option_id=NO, name="Skip", kind="reject_once")
            try:
                chosen = await self._choose(about, [*options, skip])
            except (ConnectionError, RequestError) as error:
                raise ToolError(f"The question could not be put to the person: {error}") from None
            labels = {f"choice:{number}": choice.label for number, choice in enumerate(question.choices)}
            if chosen not in labels:
                return None
            answers.append([labels[chosen]])
        return answers

    async def _choose(self, about: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        await self.drawn()
        answer = await self.client.request_permission(session_id=self.session_id, tool_call=about, options=options)
        return answer.outcome.option_id if isinstance(answer.outcome, AllowedOutcome) else None


@dataclass
class AsksPermission:
    """The person as the gate sees them."""

    person: Person

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Put the question."""
        return await self.person.ask_permission(request)


@dataclass
class AsksQuestions:
    """The person as the model's questions see them."""

    person: Person

    async def ask(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        """Put the questions."""
        return await self.person.ask_questions(questions)


def _object(request: ApprovalRequest) -> str:
    given = request.call.input
    for name in ("command", "file_path", "path", "notebook_path", "url", "code"):
        if isinstance(value := given.get(name), str):
            return value.strip().split("\n", 1)[0]
    return request.call.name if request.verb.lower() != request.call.name.lower() else ""


def _content(request: ApprovalRequest) -> list[Any]:
    """What exactly would happen, and why it asks."""
    change = draw.content(request.call.name, request.call.input, request.working_dir)
    if not change and request.diff:
        change = [h.tool_content(h.text_block(fenced(request.diff, "diff")))]
    return [*change, h.tool_content(h.text_block(request.reason.reason))]
