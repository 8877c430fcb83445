"""Hooks that live in the client's own program (Claude Agent SDK): each call of one is a request to the client."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cosh_nb.headless.dialects.claude import HookCallback
from cosh_nb.headless.questions import NotAnswered
from cosh_tools.hosts import HookVerdict
from cosh_tools.names import ALIASES, canonical
from cosh_tools.results import ToolResult

if TYPE_CHECKING:
    from cosh_nb.agent import Agent
    from cosh_nb.headless.dialects.base import Dialect
    from cosh_nb.headless.protocol import HookMatcher
    from cosh_nb.headless.questions import Questions
    from cosh_tools.context import ToolContext
    from cosh_tools.contract import ToolCall

LIMIT = 60.0
"""Seconds that a hook may take, unless it says otherwise."""
_STRICTER = {"pass": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class _Said:
    """What one hook answered. `failure` where it did not."""

    output: Mapping[str, Any]
    failure: str = ""

    @property
    def about(self) -> Mapping[str, Any]:
        found = self.output.get("hookSpecificOutput")
        return found if isinstance(found, Mapping) else {}

    @property
    def context(self) -> str:
        return str(self.about.get("additionalContext") or "")

    @property
    def blocks(self) -> str:
        """Why it says no; empty where it does not."""
        if self.failure:
            return self.failure
        if self.output.get("continue") is False:
            return str(self.output.get("stopReason") or "a hook stopped it")
        if self.output.get("decision") in ("block", "deny", "reject"):
            return str(self.output.get("reason") or "no reason given")
        return ""


class ClientHooks:
    """The client's hooks after the configured ones (hosts.HookHost and hooks.TurnHooks)."""

    def __init__(
        self,
        agent: Agent,
        questions: Questions,
        dialect: Dialect,
        hooks: Mapping[str, Sequence[HookMatcher]],
    ) -> None:
        self._agent = agent
        self._questions = questions
        self._dialect = dialect
        self._hooks = hooks
        self._calls_before = agent.ctx.hooks
        self._turns_before = agent.turn_hooks

    def install(self) -> None:
        """From the next call on."""
        self._agent.ctx = self._agent.ctx.with_(hooks=self)
        self._agent.runner.ctx = self._agent.ctx
        self._agent.turn_hooks = self

    async def before(self, call: ToolCall, ctx: ToolContext) -> HookVerdict:
        """PreToolUse."""
        verdict = await self._calls_before.before(call, ctx)
        given = dict(verdict.input if verdict.input is not None else call.input)
        about = {"tool_name": call.name, "tool_input": given, "tool_use_id": call.id}
        for said in await self._run("PreToolUse", about, call.name, call.id):
            verdict = _tighter(verdict, said)
        return verdict

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> ToolResult:
        """PostToolUse, or PostToolUseFailure."""
        result = await self._calls_before.after(call, result, ctx)
        about: dict[str, Any] = {"tool_name": call.name, "tool_input": dict(call.input), "tool_use_id": call.id}
        if result.is_error:
            event, about["error"] = "PostToolUseFailure", result.content
        else:
            event, about["tool_response"] = "PostToolUse", {"content": result.content}
        for said in await self._run(event, about, call.name, call.id):
            if said.blocks:
                result = ToolResult.error(f"Blocked by hook: {said.blocks}").with_metadata(result.metadata)
            if said.context:
                result = result.with_note(f"[Hook context] {said.context}")
        return result

    async def prompt(self, text: str) -> tuple[str, str]:
        """UserPromptSubmit."""
        blocked, context = await self._turns_before.prompt(text)
        contexts = [context] if context else []
        for said in await self._run("UserPromptSubmit", {"prompt": text}):
            blocked = blocked or said.blocks
            contexts += [said.context] if said.context else []
        return blocked, "\n".join(contexts)

    async def stop(self, text: str) -> str:
        """Stop."""
        revise = await self._turns_before.stop(text)
        for said in await self._run("Stop", {"last_assistant_message": text, "stop_hook_active": False}):
            if said.output.get("decision") == "block":
                revise = revise or said.blocks
        return revise

    async def _run(self, event: str, about: Mapping[str, Any], tool: str = "", call: str | None = None) -> list[_Said]:
        agent = self._agent
        given = {
            "hook_event_name": event,
            "session_id": agent.session.id,
            "transcript_path": str(agent.session.file or ""),
            "cwd": str(agent.ctx.working_dir),
            "permission_mode": agent.state.permission_mode.value,
            **about,
        }
        matching = [matcher for matcher in self._hooks.get(event, ()) if _matches(matcher.matcher, tool)]
        work = [self._ask(name, matcher, given, call) for matcher in matching for name in matcher.callbacks]
        return list(await asyncio.gather(*work))

    async def _ask(self, name: str, matcher: HookMatcher, given: Mapping[str, Any], call: str | None) -> _Said:
        body = HookCallback(callback_id=name, input=dict(given), tool_use_id=call)
        try:
            envelope = await self._questions.request(
                "hook", lambda request_id: self._dialect.request(request_id, body), matcher.timeout or LIMIT
            )
        except NotAnswered as error:
            return _failed(matcher, str(error))
        if envelope.subtype == "error":
            return _failed(matcher, envelope.error or "it failed")
        return _Said(envelope.response.model_dump(exclude_unset=True) if envelope.response is not None else {})


def _failed(matcher: HookMatcher, why: str) -> _Said:
    return _Said({}, "" if matcher.on_failure == "continue" else f"The hook did not answer: {why}")


def _tighter(verdict: HookVerdict, said: _Said) -> HookVerdict:
    """The stricter of both words; a changed input and further context are kept."""
    decision, reason = "pass", ""
    if said.blocks:
        decision, reason = "deny", said.blocks
    elif (word := said.about.get("permissionDecision")) in ("deny", "ask"):
        decision, reason = word, str(said.about.get("permissionDecisionReason") or "")
    changed = said.about.get("updatedInput")
    contexts = [text for text in (verdict.context, said.context) if text]
    stricter = _STRICTER[decision] > _STRICTER[verdict.decision]
    word_now: Any = decision if stricter else verdict.decision
    return HookVerdict(
        decision=word_now,
        reason=reason if stricter else verdict.reason,
        input=changed if isinstance(changed, Mapping) else verdict.input,
        context="\n".join(contexts),
    )


def _matches(matcher: str | None, tool: str) -> bool:
    """Whether a matcher speaks of a tool, under any of its names. None, empty and `*` speak of all."""
    if not tool or matcher in (None, "", "*"):
        return True
    names = {tool, canonical(tool), *(alias for alias, name in ALIASES.items() if name == canonical(tool))}
    try:
        pattern = re.compile(matcher or "")
    except re.error:
        return matcher in names
    return any(pattern.fullmatch(name) for name in names)
