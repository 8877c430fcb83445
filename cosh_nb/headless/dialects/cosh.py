"""The default dialect: cosh-core's lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, assert_never

from cosh_nb import events as e
from cosh_nb.headless import outgoing as out
from cosh_nb.headless.dialects.base import Evidence, Facts, Failure, why
from cosh_nb.headless.protocol import PROTOCOL_VERSION, Answer, UserLine
from cosh_tools.hosts import ApprovalRequest, Question


class Cosh:
    """Draws events as cosh-core does."""

    name: Literal["cosh"] = "cosh"

    def __init__(self) -> None:
        self._introduced = False

    def initialized(self, request_id: str, facts: Facts) -> Iterable[out.Line]:
        """The acknowledgement with what we can do, then what the session is."""
        can = {
            "can_handle_can_use_tool": True,
            "can_handle_host_executed_shell_tool_result": True,
            "can_handle_shell_evidence_tool": "cosh_shell_evidence" in facts.tools,
            "can_handle_approval_receipt": True,
        }
        body = {"subtype": "initialize", "protocol_version": PROTOCOL_VERSION, "capabilities": can}
        yield _ack(request_id, body)
        yield self._init(facts)

    def turn_begins(self, facts: Facts, line: UserLine) -> Iterable[out.Line]:
        """What the session is, where the client did not ask for it."""
        del line
        if not self._introduced:
            yield self._init(facts)

    def event(self, event: e.Event, session_id: str) -> Iterable[out.Line]:
        """Deltas as they arrive, prose without calls as a whole, and one line for each call's result."""
        match event:
            case e.TextDelta(text=text):
                yield out.StreamEventLine(event=out.TextDelta(content=text))
            case e.ThinkingDelta(text=text):
                yield out.StreamEventLine(event=out.ThinkingDelta(content=text))
            case e.ToolUseBegin(id=call, name=name):
                yield out.StreamEventLine(event=out.ToolUseBegin(tool_name=name, tool_use_id=call))
            case e.ToolUseDelta(json=piece):
                yield out.StreamEventLine(event=out.ToolUseDelta(content=piece))
            case e.ToolUseEnd():
                yield out.StreamEventLine(event=out.ToolUseEnd())
            case e.MessageDone() | e.ToolFinished():
                yield from _whole(event, session_id, None)
            case e.AgentEvent(call_id=parent, event=e.MessageDone() | e.ToolFinished() as inner):
                yield from _whole(inner, session_id, parent)
            case e.Waiting(why=reason, seconds=seconds):
                yield out.Status(status="waiting", message=reason, seconds=seconds)
            case e.Notice(level=level, text=text):
                yield out.Status(status="notice", level=level, message=text)
            case (
                e.MessageStart()
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

    def result(self, ended: e.TurnEnded, facts: Facts | None, failure: Failure | None) -> out.Line:
        """Success, or an error with a code and a sentence."""
        failure = failure or why(ended)
        code, text, phase = (failure.code, failure.text, failure.phase) if failure is not None else ("", "", None)
        return out.ResultLine(
            subtype="error" if code else "success",
            is_error=bool(code),
            result=ended.text or (None if code else "completed"),
            errors=[text] if code else None,
            error_code=code or None,
            max_turns=ended.turns if code == "max_turns" else None,
            session_error_code=code if phase else None,
            session_error_phase=phase,
            session_id=facts.session_id if facts is not None else None,
            duration_ms=round(ended.seconds * 1000),
            num_turns=ended.turns,
            usage=usage(ended.usage),
            total_cost_usd=None if ended.cost is None else round(ended.cost, 8),
            model=ended.model or None,
        )

    def request(self, request_id: str, body: out.Line) -> out.Line:
        """The request around its body."""
        match body:
            case out.CanUseTool() | out.AskUser() | out.ShellEvidence():
                return out.ControlRequestLine(request_id=request_id, request=body)
            case _:
                raise TypeError(f"{type(body).__name__} is no request of this dialect")

    def permission(self, request: ApprovalRequest) -> out.Line:
        """May this call run? The input stands under both of its names."""
        given = dict(request.call.input)
        offers = [out.Offer(label=grant.label, scope=grant.scope) for grant in request.grants]
        return out.CanUseTool(
            tool_name=request.call.name,
            tool_input=given,
            input=given,
            tool_use_id=request.call.id,
            description=request.reason.reason or None,
            diff=request.diff or None,
            grants=offers or None,
        )

    def questions(self, questions: Sequence[Question]) -> Sequence[out.Line]:
        """One request for each question."""
        return [
            out.AskUser(
                question=question.text,
                options=[out.Option(label=c.label, description=c.description or None) for c in question.choices],
                allow_free_text=question.free_text,
                multi_select=question.multi_select,
            )
            for question in questions
        ]

    def answers(self, questions: Sequence[Question], answers: Sequence[Answer]) -> list[list[str]] | None:
        """The answer as text, or the options by their number."""
        found: list[list[str]] = []
        for question, answer in zip(questions, answers, strict=True):
            if isinstance(answer.answer, str):
                found.append([answer.answer])
            elif answer.answer is not None:
                found.append(list(answer.answer))
            elif answer.selected_options is not None:
                labels = [choice.label for choice in question.choices]
                found.append([labels[index] for index in answer.selected_options if 0 <= index < len(labels)])
            else:
                return None
        return found

    def evidence(self, evidence: Evidence) -> out.Line:
        """What ran, or what it printed."""
        return out.ShellEvidence(
            tool_use_id=evidence.tool_use_id,
            action=evidence.action,
            limit=evidence.limit,
            cursor=evidence.cursor,
            output_id=evidence.output_id,
            direction=evidence.direction,
            lines=evidence.lines,
        )

    def done(self, request_id: str, what: str, body: dict[str, Any], facts: Facts) -> Iterable[out.Line]:
        """Only some requests of this dialect have an answer: a line of the kind `system`."""
        match what:
            case "switch_model":
                yield out.ModelSwitched(status=f"model_switched:{facts.model}", model=facts.model)
            case "reload_config":
                yield out.ConfigReloaded(problems=body.get("problems", []))
            case "config_override":
                yield out.Status(status="config_override_applied")
            case "interrupt" | "shutdown":
                pass
            case _:  # a request of the newer dialect, from a client that mixes the two
                yield _ack(request_id, body)

    def failed(self, request_id: str, why: str) -> Iterable[out.Line]:
        """An answer that says why not."""
        yield out.ControlResponseLine(response=out.Ack(subtype="error", request_id=request_id, error=why))

    def ignored(self, why: str) -> Iterable[out.Line]:
        """A note; the turn goes on."""
        text = f"A line was ignored: {why}"
        yield out.Status(status="line_ignored", level="warning", message=text, error_code="InvalidJsonlInput")

    def cancelled(self, request_id: str) -> Iterable[out.Line]:
        """Nothing: an answer to a request that is over is ignored."""
        del request_id
        return ()

    def _init(self, facts: Facts) -> out.Line:
        self._introduced = True
        return out.Init(
            session_id=facts.session_id,
            session_resumable=facts.resumable,
            model=facts.model,
            tools=list(facts.tools),
            cwd=facts.cwd,
            approval_mode=facts.mode,
            version=facts.version,
        )


def usage(tokens: e.Usage) -> out.TokenUsage:
    """Tokens under the service's names."""
    return out.TokenUsage(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cache_creation_input_tokens=tokens.cache_write,
        cache_read_input_tokens=tokens.cache_read,
    )


def _ack(request_id: str, body: dict[str, Any]) -> out.Line:
    return out.ControlResponseLine(response=out.Ack(subtype="success", request_id=request_id, response=body))


def _whole(event: e.MessageDone | e.ToolFinished, session_id: str, parent: str | None) -> Iterable[out.Line]:
    match event:
        case e.ToolFinished(call=call, result=result):
            block = out.ToolResultBlock(tool_use_id=call.id, is_error=result.is_error, content=result.content)
            message = out.UserMessage(content=[block])
            yield out.UserLine(session_id=session_id, parent_tool_use_id=parent, message=message)
        case e.MessageDone(content=content):
            if any(block.get("type") == "tool_use" for block in content):
                return
            prose = [out.TextBlock(text=block["text"]) for block in content if block.get("type") == "text"]
            if prose:
                said = out.AssistantMessage(content=prose)
                yield out.AssistantLine(session_id=session_id, parent_tool_use_id=parent, message=said)
        case _:
            assert_never(event)
