"""Claude Code's stream-json, as the Claude Agent SDK reads it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, assert_never

from cosh_nb import events as e
from cosh_nb.headless.dialects.base import Evidence, Facts, Failure, why
from cosh_nb.headless.dialects.claude_lines import (
    AssistantLine,
    CancelLine,
    CanUseTool,
    HookCallback,
    McpMessage,
    PartialLine,
    RequestLine,
    ResponseLine,
    ResultLine,
    SystemInit,
    SystemStatus,
    UserEcho,
)
from cosh_nb.headless.dialects.stream import RawStream
from cosh_nb.headless.outgoing import Line, ShellEvidence, TokenUsage
from cosh_nb.headless.protocol import Answer, UserLine
from cosh_nb.messages import result_block
from cosh_tools.gate import summary
from cosh_tools.hosts import ApprovalRequest, Grant, Question, Refused, Undecided

SPEAKS = "2.0.0"
"""The version of Claude Code whose stream-json this is; the SDK reads the number at the start."""
LONGEST_MEDIA = 700_000
"""Characters of images in one line: the SDK reads lines up to 1 MB."""


class Claude:
    """Draws events as Claude Code does."""

    name: Literal["claude"] = "claude"

    def __init__(self, *, partial: bool, replay: bool) -> None:
        self._stream = RawStream() if partial else None
        self._replay = replay
        self._model = ""
        self._stop: str | None = None
        self._denied: list[dict[str, Any]] = []
        self._usage: dict[str, e.Usage] = {}

    def initialized(self, request_id: str, facts: Facts) -> Iterable[Line]:
        """The acknowledgement: which commands, models and styles there are."""
        body = {
            "commands": [],
            "output_style": "default",
            "available_output_styles": ["default"],
            "models": [{"value": facts.model, "displayName": facts.model, "description": ""}],
            "account": {},
            "hook_on_failure_supported": True,
        }
        yield _response(request_id, body)

    def turn_begins(self, facts: Facts, line: UserLine) -> Iterable[Line]:
        """What the session is, at each turn; the person's message again, where that was asked for."""
        self._denied, self._usage, self._stop, self._model = [], {}, None, facts.model
        yield SystemInit(
            cwd=facts.cwd,
            session_id=facts.session_id,
            tools=list(facts.tools),
            model=facts.model,
            permissionMode=facts.mode,
            claude_code_version=f"{SPEAKS} (cosh-nb {facts.version})",
            uuid=_uuid(),
        )
        if self._replay:
            message = line.message.model_dump()
            given = line.uuid or _uuid()
            yield UserEcho(
                message=message, parent_tool_use_id=None, session_id=facts.session_id, uuid=given, isReplay=True
            )

    def event(self, event: e.Event, session_id: str) -> Iterable[Line]:
        """Whole messages and results; the raw stream where the client asked for it."""
        if self._stream is not None:
            for raw in self._stream.feed(event):
                yield PartialLine(event=raw, session_id=session_id, uuid=_uuid())
        match event:
            case e.MessageStart(model=model):
                self._model = model or self._model
            case e.MessageDone(usage=usage):
                self._stop = event.stop_reason
                self._usage[self._model] = self._usage.get(self._model, e.Usage()) + usage
                yield from self._whole(event, session_id, None)
            case e.ToolFinished():
                yield from self._whole(event, session_id, None)
            case e.AgentEvent(call_id=parent, event=e.MessageDone() | e.ToolFinished() as inner):
                yield from self._whole(inner, session_id, parent)
            case e.ApprovalAnswered(request=request, answer=Refused() | Undecided()):
                call = request.call
                self._denied.append(
                    {"tool_name": call.name, "tool_use_id": call.id, "tool_input": dict(call.input)},
                )
            case e.Waiting(why=reason):
                yield _status(session_id, "waiting", "info", reason)
            case e.Notice(level=level, text=text):
                yield _status(session_id, "notice", level, text)
            case (
                e.TextDelta()
                | e.ThinkingDelta()
                | e.ToolUseBegin()
                | e.ToolUseDelta()
                | e.ToolUseEnd()
                | e.TurnStarted()
                | e.TurnEnded()
                | e.ApprovalAsked()
                | e.ApprovalAnswered()
                | e.ToolStarted()
                | e.ToolProgress()
                | e.AgentEvent()
            ):
                pass
            case _:
                assert_never(event)

    def result(self, ended: e.TurnEnded, facts: Facts | None, failure: Failure | None) -> Line:
        """Success, or an error in words."""
        failure = failure or why(ended)
        subtype: Any = "error_during_execution"
        if failure is None or failure.code == "max_turns":
            subtype = "success" if failure is None else "error_max_turns"
        ms = round(ended.seconds * 1000)
        return ResultLine(
            subtype=subtype,
            is_error=failure is not None,
            duration_ms=ms,
            duration_api_ms=ms,
            num_turns=ended.turns,
            result=ended.text if failure is None or ended.text else None,
            stop_reason=self._stop,
            session_id=facts.session_id if facts is not None else "",
            total_cost_usd=None if ended.cost is None else round(ended.cost, 8),
            usage=_usage(ended.usage),
            modelUsage={name: _model_usage(usage) for name, usage in self._usage.items()},
            permission_denials=self._denied,
            errors=[failure.text] if failure is not None else [],
            error_code=failure.code if failure is not None else None,
            uuid=_uuid(),
        )

    def request(self, request_id: str, body: Line) -> Line:
        """The request around its body."""
        match body:
            case CanUseTool() | HookCallback() | McpMessage() | ShellEvidence():
                return RequestLine(request_id=request_id, request=body)
            case _:
                raise TypeError(f"{type(body).__name__} is no request of this dialect")

    def permission(self, request: ApprovalRequest) -> Line:
        """May this call run? What could be granted for longer stands as suggestions."""
        return CanUseTool(
            tool_name=request.call.name,
            input=dict(request.call.input),
            permission_suggestions=[_suggestion(grant) for grant in request.grants],
            decision_reason=request.reason.reason or None,
            title=f"cosh wants to use {request.call.name}",
            display_name=request.call.name,
            description=request.diff or summary(request.touches) or None,
            tool_use_id=request.call.id,
            agent_id=request.agent or None,
        )

    def questions(self, questions: Sequence[Question]) -> Sequence[Line]:
        """All questions as one call of AskUserQuestion, which the client answers through its input."""
        return [CanUseTool(tool_name="AskUserQuestion", input={"questions": [_question(q) for q in questions]})]

    def answers(self, questions: Sequence[Question], answers: Sequence[Answer]) -> list[list[str]] | None:
        """What the client put under `answers`, by the question's text."""
        [answer] = answers
        given = (answer.updated_input or {}).get("answers")
        if answer.behavior != "allow" or not isinstance(given, Mapping):
            return None
        found = []
        for question in questions:
            value = given.get(question.text)
            if value is None:
                return None
            found.append([str(item) for item in value] if isinstance(value, list) else [str(value)])
        return found

    def evidence(self, evidence: Evidence) -> Line:
        """What ran, or what it printed."""
        return ShellEvidence(
            tool_use_id=evidence.tool_use_id,
            action=evidence.action,
            limit=evidence.limit,
            cursor=evidence.cursor,
            output_id=evidence.output_id,
            direction=evidence.direction,
            lines=evidence.lines,
        )

    def done(self, request_id: str, what: str, body: dict[str, Any], facts: Facts) -> Iterable[Line]:
        """Every request of this dialect is answered."""
        del what, facts
        yield _response(request_id, body)

    def failed(self, request_id: str, why: str) -> Iterable[Line]:
        """An answer that says why not."""
        yield ResponseLine(response={"subtype": "error", "request_id": request_id, "error": why})

    def ignored(self, why: str) -> Iterable[Line]:
        """A note; the turn goes on."""
        yield SystemStatus(
            status="line_ignored", level="warning", message=f"A line was ignored: {why}", session_id="", uuid=_uuid()
        )

    def cancelled(self, request_id: str) -> Iterable[Line]:
        """The client may stop its callback."""
        yield CancelLine(request_id=request_id)

    def _whole(self, event: e.MessageDone | e.ToolFinished, session_id: str, parent: str | None) -> Iterable[Line]:
        match event:
            case e.ToolFinished(call=call, result=result):
                told = {"role": "user", "content": [_bounded(result_block(call.id, result))]}
                yield UserEcho(message=told, parent_tool_use_id=parent, session_id=session_id, uuid=_uuid())
            case e.MessageDone(content=content, stop_reason=reason, usage=usage):
                if not content:
                    return
                message: dict[str, Any] = {
                    "id": f"msg_{uuid.uuid4().hex[:24]}",
                    "type": "message",
                    "role": "assistant",
                    "model": self._model,
                    "content": [_readable(block) for block in content],
                    "stop_reason": reason,
                    "stop_sequence": None,
                    "usage": _usage(usage).model_dump(),
                }
                yield AssistantLine(message=message, parent_tool_use_id=parent, session_id=session_id, uuid=_uuid())
            case _:
                assert_never(event)


def _uuid() -> str:
    return str(uuid.uuid4())


def _response(request_id: str, body: dict[str, Any]) -> Line:
    return ResponseLine(response={"subtype": "success", "request_id": request_id, "response": body})


def _status(session_id: str, status: str, level: str, text: str) -> Line:
    return SystemStatus(status=status, level=level, message=text, session_id=session_id, uuid=_uuid())


def _usage(tokens: e.Usage) -> TokenUsage:
    return TokenUsage(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cache_creation_input_tokens=tokens.cache_write,
        cache_read_input_tokens=tokens.cache_read,
    )


def _model_usage(tokens: e.Usage) -> dict[str, int]:
    return {
        "inputTokens": tokens.input,
        "outputTokens": tokens.output,
        "cacheReadInputTokens": tokens.cache_read,
        "cacheCreationInputTokens": tokens.cache_write,
    }


def _suggestion(grant: Grant) -> dict[str, Any]:
    rules = [
        {"toolName": rule.tool, **({} if rule.spec is None else {"ruleContent": rule.spec})} for rule in grant.rules
    ]
    destination = "session" if grant.scope == "session" else "localSettings"
    return {"type": "addRules", "rules": rules, "behavior": "allow", "destination": destination}


def _question(question: Question) -> dict[str, Any]:
    return {
        "question": question.text,
        "header": question.header,
        "options": [{"label": choice.label, "description": choice.description} for choice in question.choices],
        "multiSelect": question.multi_select,
    }


def _readable(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block with the fields that the SDK insists on."""
    return {"signature": "", **block} if block.get("type") == "thinking" else dict(block)


def _bounded(block: Mapping[str, Any]) -> dict[str, Any]:
    """A result whose images fit into one line; larger ones are named instead."""
    content = block["content"]
    if isinstance(content, str):
        return dict(block)
    size, kept = 0, []
    for part in content:
        data = part.get("source", {}).get("data", "")
        size += len(data)
        if size > LONGEST_MEDIA:
            name = part["source"]["media_type"]
            part = {"type": "text", "text": f"[{name}, {len(data) * 3 // 4:,} bytes: shown to the model only]"}  # noqa: PLW2901 (the part in its other form)
        kept.append(part)
    return {**block, "content": kept}
