"""What a client lends to the agent: its yes or no, its person's answers, its terminal's output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cosh_nb.headless.dialects.base import Dialect, Evidence
from cosh_nb.headless.outgoing import Line
from cosh_nb.headless.protocol import Answer, AnswerEnvelope, PermissionUpdate
from cosh_nb.headless.questions import NotAnswered, Questions, TimeUp
from cosh_tools.hosts import (
    Allowed,
    ApprovalAnswer,
    ApprovalRequest,
    Grant,
    NobodyToAsk,
    Question,
    RanElsewhere,
    Refused,
    Undecided,
)
from cosh_tools.kinds import PermissionMode
from cosh_tools.names import canonical
from cosh_tools.policy.rules import BadRule, parse_rule
from cosh_tools.results import ToolError, ToolResult

SHELLS = frozenset({"Bash", "PowerShell"})
"""The tools whose command a client may run itself."""


@dataclass
class Approver:
    """Asks the client, and after it the last approver: nobody, who says no."""

    client: ClientApprover
    silent: str = ""
    """Why the client is not asked at all; empty where it is."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The first decision."""
        if self.silent:
            return await NobodyToAsk(self.silent).ask(request)
        answer = await self.client.ask(request)
        if isinstance(answer, Undecided):
            return await NobodyToAsk("the client does not decide and no person is here").ask(request)
        return answer


@dataclass
class ClientApprover:
    """Puts can_use_tool to the client. `limit` in seconds."""

    dialect: Dialect
    questions: Questions
    limit: float
    root: Path
    timed_out: str = ""
    """Why the last turn could not go on, where nobody answered in time."""
    on_mode: Callable[[PermissionMode], None] = lambda _mode: None
    """Told of a mode that the client gave with its yes."""
    trim: Callable[[ToolResult, str], ToolResult] = lambda result, _call_id: result
    """Cuts the output of a command that the client ran itself."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The client's word."""
        body = self.dialect.permission(request)
        try:
            envelope = await self.questions.ask("apr", lambda given: self.dialect.request(given, body), self.limit)
        except TimeUp as late:
            self.timed_out = f"{request.call.name} waited for approval and {late}, so it was not run."
            return Refused(f"{late}", stop=True, by="the time limit")
        except NotAnswered as gone:
            return await NobodyToAsk(str(gone)).ask(request)
        return self._read(request, envelope)

    def _read(self, request: ApprovalRequest, envelope: AnswerEnvelope) -> ApprovalAnswer:
        answer = envelope.response
        if envelope.subtype == "error" or answer is None:
            return Refused(envelope.error or "the client sent no answer", by="the client")
        match answer.behavior:
            case "allow":
                return self._allowed(request, answer)
            case "deny":
                return Refused(answer.message or "", stop=answer.interrupt, by="the client")
            case "ask":
                return Undecided()
            case "host_executed_shell":
                ran = _ran_elsewhere(request, answer)
                return RanElsewhere(self.trim(ran, request.call.id)) if isinstance(ran, ToolResult) else ran
            case other:
                return Refused(f"unknown response {other!r}"[:100], by="the client")

    def _allowed(self, request: ApprovalRequest, answer: Answer) -> ApprovalAnswer:
        changed = answer.updated_input if answer.updated_input != dict(request.call.input) else None
        grant = next((offer for offer in request.grants if offer.scope == answer.scope), None)
        offered = {offer.scope for offer in request.grants}
        for update in answer.updated_permissions or ():
            if update.type == "setMode" and (mode := _mode(update.mode)) is not None:
                self.on_mode(mode)
            elif (given := self._granted(update)) is not None and given.scope in offered:  # strict offers none
                grant = given if grant is None else _both(grant, given)
        return Allowed(grant, changed, by="the client")

    def _granted(self, update: PermissionUpdate) -> Grant | None:
        """The allow rules that the client gives with its yes."""
        if update.type != "addRules" or update.behavior != "allow":
            return None
        rules = []
        for rule in update.rules:
            spec = rule.get("ruleContent")
            try:
                rules.append(parse_rule(f"{rule.get('toolName')}" + (f"({spec})" if spec else ""), self.root))
            except BadRule:
                continue  # what is not a rule grants nothing
        scope: Any = "session" if update.destination == "session" else "always"
        return Grant("Given by the client", tuple(rules), scope) if rules else None


def _both(one: Grant, other: Grant) -> Grant:
    """All their rules, for no longer than the shorter of them lasts."""
    scope = one.scope if one.scope == other.scope else "session"
    return Grant(other.label, (*one.rules, *other.rules), scope)


def _mode(text: str | None) -> PermissionMode | None:
    try:
        return PermissionMode.parse(text or "")
    except ValueError:
        return None


def _ran_elsewhere(request: ApprovalRequest, answer: Answer) -> ToolResult | Refused:
    if canonical(request.call.name) not in SHELLS:
        return Refused("host_executed_shell is only valid for shell tools", by="the client")
    if answer.result is None:
        return Refused("host_executed_shell came without a result", by="the client")
    code = answer.result.metadata.get("exit_code", 0)
    result = ToolResult(answer.result.content, is_error=code != 0)
    return result.with_metadata(answer.result.metadata, exit_code=code, summary=f"exit {code}")


@dataclass
class ClientAsk:
    """Puts the model's questions to the client's person."""

    dialect: Dialect
    questions: Questions

    async def ask(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        """The answers, or None where the person declined."""
        answers: list[Answer] = []
        for body in self.dialect.questions(questions):
            try:
                envelope = await self.questions.ask("ask", partial(self._request, body))
            except NotAnswered as gone:
                raise ToolError(
                    f"The question cannot be answered: {gone}. Choose the safest option yourself and say which one."
                ) from None
            answers.append(envelope.response if envelope.response is not None else Answer())
        return self.dialect.answers(questions, answers)

    def _request(self, body: Line, request_id: str) -> Line:
        return self.dialect.request(request_id, body)


@dataclass
class ClientEvidence:
    """Reads the client's terminal. `calls` are the evidence calls that were declared and are not finished, in order."""

    dialect: Dialect
    questions: Questions
    calls: dict[str, None] = field(default_factory=dict)

    async def list_commands(self, limit: int, cursor: str | None) -> ToolResult:
        """What ran, newest first."""
        return await self._ask(Evidence(self._call(), "list_commands", limit=limit, cursor=cursor))

    async def read_output(self, output_id: str, direction: str, lines: int) -> ToolResult:
        """What one command printed."""
        call = self._call()
        return await self._ask(
            Evidence(call, "read_output", output_id=output_id, direction=direction, lines=lines),
        )

    def _call(self) -> str | None:
        call = next(iter(self.calls), None)
        if call is not None:
            del self.calls[call]
        return call

    async def _ask(self, evidence: Evidence) -> ToolResult:
        body = self.dialect.evidence(evidence)
        try:
            envelope = await self.questions.ask("evd", lambda given: self.dialect.request(given, body))
        except NotAnswered as gone:
            return ToolResult.error(f"The terminal cannot be read: {gone}. Run the command again to see its output.")
        answer = envelope.response
        if envelope.subtype == "error" or answer is None or answer.result is None:
            why = envelope.error or (answer.message if answer is not None else None) or "it sent no result"
            return ToolResult.error(f"The client could not read its terminal: {why}.")
        about = answer.result.metadata
        return ToolResult(answer.result.content, is_error=_is_failure(about)).with_metadata(about)


_READ = frozenset({"available", "already_delivered"})
_NOT_READ = frozenset({"unavailable", "failed", "redacted_confirmation_required"})


def _is_failure(about: dict[str, Any]) -> bool:
    return (
        about.get("is_error") is True
        or ("excerpt_status" in about and about["excerpt_status"] not in _READ)
        or about.get("status") in _NOT_READ
        or about.get("reason") == "redacted_confirmation_required"
    )
