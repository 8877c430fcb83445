"""Hooks that live in the client's own program (Claude Agent SDK): each call of one is a request to the client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import orjson

from cosh_nb.command_hooks import TIMEOUT, CommandHooks, Hook, HookEvent, Said
from cosh_nb.headless.control import BROUGHT
from cosh_nb.headless.dialects.claude_lines import HookCallback
from cosh_nb.headless.questions import NotAnswered

if TYPE_CHECKING:
    from cosh_nb.agent import Agent
    from cosh_nb.headless.dialects.base import Dialect
    from cosh_nb.headless.protocol import HookMatcher
    from cosh_nb.headless.questions import Questions

_EVENTS: Mapping[str, HookEvent] = {event: event for event in get_args(HookEvent)}


@dataclass(frozen=True, slots=True)
class Callback(Hook):
    """A hook that the client runs when it is told its id."""

    id: str = ""


@dataclass
class ClientHooks(CommandHooks):
    """The configured hooks and the client's, under the same rules: they only tighten."""

    questions: Questions | None = None
    dialect: Dialect | None = None

    async def _run(self, hook: Hook, data: bytes, cwd: Path) -> Said:
        if not isinstance(hook, Callback) or self.questions is None or self.dialect is None:
            return await super()._run(hook, data, cwd)
        dialect, given = self.dialect, orjson.loads(data)
        body = HookCallback(callback_id=hook.id, input=given, tool_use_id=given.get("tool_use_id"))
        try:
            envelope = await self.questions.request(
                "hook", lambda request_id: dialect.request(request_id, body), hook.timeout
            )
        except NotAnswered as error:
            return _failed(hook, f"gave no answer: {error}")
        if envelope.subtype == "error":
            return _failed(hook, f"failed: {envelope.error or 'no reason given'}")
        return _read(hook, envelope.response.model_dump(exclude_unset=True) if envelope.response is not None else {})


def install(agent: Agent, questions: Questions, dialect: Dialect, given: Mapping[str, Sequence[HookMatcher]]) -> None:
    """Let the client's hooks run beside the configured ones, in place of those it brought before."""
    old = agent.hooks
    kept = [hook for hook in old.hooks if not isinstance(hook, Callback)]
    hooks = ClientHooks(
        hooks=[*kept, *_callbacks(given)],
        workspace=old.workspace,
        session_id=old.session_id,
        transcript=old.transcript,
        mode=old.mode,
        tell=old.tell,
        questions=questions,
        dialect=dialect,
    )
    agent.hooks = hooks
    agent.ctx = agent.ctx.with_(hooks=hooks)
    agent.runner.ctx = agent.ctx


def _callbacks(given: Mapping[str, Sequence[HookMatcher]]) -> list[Callback]:
    """The hooks of the events that there are here; others never fire."""
    return [
        Callback(
            event=_EVENTS[event],
            command="",
            matcher=matcher.matcher or "",
            timeout=matcher.timeout or TIMEOUT,
            fail_open=matcher.on_failure == "continue",
            where=BROUGHT,
            id=name,
        )
        for event, matchers in given.items()
        if event in _EVENTS
        for matcher in matchers
        for name in matcher.callbacks
    ]


def _read(hook: Callback, output: Mapping[str, Any]) -> Said:
    said = Said(hook, output=output)
    word = said.specific.get("permissionDecision", output.get("decision"))
    reason = str(said.specific.get("permissionDecisionReason") or output.get("reason") or "")
    match word:
        case "ask":
            return Said(hook, "ask", reason, output)
        case "block" | "deny" | "reject":
            return Said(hook, "deny", reason, output)
        case _:  # an allow lifts nothing
            return said


def _failed(hook: Callback, how: str) -> Said:
    blocks = hook.event == "PreToolUse" and not hook.fail_open
    return Said(hook, "deny" if blocks else "pass", how, failed=True)
