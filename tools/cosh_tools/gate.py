"""The gate: it decides by the policy, asks whoever can be asked, and keeps what they grant."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, assert_never

from cosh_tools.contract import PermissionDenied, Tool, ToolCall, ToolContext, ToolKind, Touch, describe
from cosh_tools.hosts import Allowed, ApprovalAnswer, ApprovalRequest, RanElsewhere, Refused, Undecided
from cosh_tools.kinds import PermissionLevel
from cosh_tools.names import canonical
from cosh_tools.policy.decide import Allow, Ask, Decision, Deny, Subject, decide, to_cover
from cosh_tools.policy.grants import GrantStore, offers
from cosh_tools.policy.rules import Rules, first_match, parse_rule
from cosh_tools.touches import Runs, Writes

if TYPE_CHECKING:
    from cosh_tools.hosts import HookVerdict
    from cosh_tools.results import ToolResult

Watcher = Callable[[ApprovalRequest, ApprovalAnswer | None], None]
"""Told of each question (answer None) and of its answer."""


@dataclass(frozen=True, slots=True)
class Passed:
    """The call may run. `by` says who or what allowed it; `input` is set where a person corrected the arguments."""

    by: str
    input: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """The call does not run; `reason` is what the model reads. `ends_turn` where the person said so."""

    reason: str
    by: str = ""
    ends_turn: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """The host ran it itself."""

    result: ToolResult
    by: str


Verdict = Passed | Stopped | Done


@dataclass
class Gate:
    """One per session and shared with its sub-agents, so that questions come one at a time, in call order."""

    rules: Rules = field(default_factory=Rules)
    grants: GrantStore | None = None
    watch: Watcher = lambda _request, _answer: None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def decide(self, subject: Subject, touches: Sequence[Touch], ctx: ToolContext) -> Decision:
        """The policy's word, grants included, within what the skill at work allows."""
        if not _within(subject, touches, ctx):
            allowed = ", ".join(ctx.state.narrowed_to or ()) or "nothing"
            return Deny(f"The skill at work allows only {allowed}.")
        rules = self.rules.plus_allow(self.grants.rules) if self.grants is not None else self.rules
        if (tree := ctx.state.worktree) is not None:
            rules = rules.also_at(tree.repository, tree.path)
        return decide(subject, touches, rules, ctx.permission_mode)

    async def judge(
        self,
        tool: Tool[Any],
        call: ToolCall,
        touches: Sequence[Touch],
        ctx: ToolContext,
        hooks: HookVerdict | None = None,
        diff: str = "",
    ) -> Verdict:
        """Decide on a call and ask where the decision says so. A hook's word can only tighten."""
        subject = subject_of(tool, call.name)
        decision = tighten(self.decide(subject, touches, ctx), hooks)
        match decision:
            case Allow(reason=reason):
                return Passed(reason)
            case Deny(reason=reason):
                return Stopped(reason, by="the policy")
            case Ask():
                pass
            case _:
                assert_never(decision)
        async with self._turn:
            # An earlier answer may have granted this call meanwhile.
            decision = tighten(self.decide(subject, touches, ctx), hooks)
            if isinstance(decision, Allow):
                return Passed(decision.reason)
            if isinstance(decision, Deny):
                return Stopped(decision.reason, by="the policy")
            return await self._ask(tool, call, touches, decision, subject, ctx, diff)

    async def check(self, name: str, touches: Sequence[Touch], ctx: ToolContext) -> None:
        """Judge what a running tool learnt late. Raises PermissionDenied."""
        from cosh_tools.registry import load

        verdict = await self.judge(load(name), ToolCall("late", name), touches, ctx)
        if not isinstance(verdict, Passed):
            reason = verdict.reason if isinstance(verdict, Stopped) else "It cannot be run elsewhere."
            raise PermissionDenied(f"Permission denied for tool '{name}': {reason}")

    def says(self, tool: str, touch: Touch) -> Literal["deny", "ask", "allow"] | None:
        """What the rules and grants say of one touch, whatever the mode. An allow must name the very thing."""
        if first_match(self.rules.deny, tool, (touch,)):
            return "deny"
        if first_match(self.rules.ask, tool, (touch,)):
            return "ask"
        granted = self.grants.rules if self.grants is not None else ()
        return "allow" if any(rule.matches(touch) for rule in (*self.rules.allow, *granted)) else None

    async def _ask(
        self,
        tool: Tool[Any],
        call: ToolCall,
        touches: Sequence[Touch],
        decision: Ask,
        subject: Subject,
        ctx: ToolContext,
        diff: str,
    ) -> Verdict:
        request = ApprovalRequest(
            call=call,
            verb=tool.verb or tool.name,
            touches=tuple(touches),
            reason=decision,
            grants=offers(subject, touches, decision, ctx.permission_mode, ctx.workspace),
            destructive=any(_destroys(touch) for touch in touches),
            diff=diff,
            agent="" if ctx.agent == "main" else ctx.agent,
            working_dir=ctx.working_dir,
        )
        self.watch(request, None)
        answer: ApprovalAnswer = Refused("The turn was stopped before an answer.", by="the end of the turn")
        try:
            answer = await ctx.permission_handler.ask(request)
        finally:
            self.watch(request, answer)
        match answer:
            case Allowed(grant=grant, input=changed, by=by):
                how = "once" if grant is None else ("for the session" if grant.scope == "session" else "always")
                if grant is not None and self.grants is not None:
                    try:
                        self.grants.add(grant)
                    except OSError as error:  # it holds in memory; the call itself was allowed all the same
                        why = error.strerror or "the file is locked"
                        how = f"for the session, because it could not be kept ({why})"
                said = f"{by} changed and allowed it" if changed is not None else f"{by} allowed it {how}"
                return Passed(said, changed)
            case Refused(reason=reason, stop=stop, by=by):
                return Stopped(reason or "no reason given", by=by, ends_turn=stop)
            case RanElsewhere(result=result, by=by):
                return Done(result, by)
            case Undecided():
                return Stopped("nobody decided", by="nobody to ask")
        assert_never(answer)


def subject_of(tool: Tool[Any], name: str) -> Subject:
    """The call as the policy sees it."""
    return Subject(name, canonical(tool.name), tool.kind, tool.permission_level, always_allowed=tool.always_allowed)


def unknown(name: str) -> Subject:
    """A call of a tool that nobody registered."""
    return Subject(name, name, ToolKind.OTHER, PermissionLevel.DANGEROUS, known=False)


def tighten(decision: Decision, hooks: HookVerdict | None) -> Decision:
    """The decision after the hooks: ask and deny can be added, never taken away."""
    if hooks is None or hooks.decision == "pass" or isinstance(decision, Deny):
        return decision
    if hooks.decision == "deny":
        return Deny(f"Blocked by hook: {hooks.reason or 'no reason given'}")
    return Ask(f"A hook asks: {hooks.reason}" if hooks.reason else "A hook asks.", lasting=False)


def summary(touches: Sequence[Touch]) -> str:
    """What the touches do, in one line."""
    return ", ".join(dict.fromkeys(describe(touch) for touch in touches))


def _within(subject: Subject, touches: Sequence[Touch], ctx: ToolContext) -> bool:
    """Whether a skill's allowed-tools leave room for this call. They narrow; they never grant."""
    if ctx.state.narrowed_to is None or subject.always_allowed:
        return True
    rules = [parse_rule(text, ctx.workspace) for text in ctx.state.narrowed_to if text.strip()]
    if any(rule.names(subject.tool) for rule in rules):
        return True
    needed = to_cover(touches)
    return bool(needed) and all(any(rule.matches(touch) for rule in rules) for touch in needed)


def _destroys(touch: Touch) -> bool:
    match touch:
        case Runs(destructive=destructive):
            return destructive
        case Writes(deletes=True, inside=False):
            return True
        case _:
            return False
