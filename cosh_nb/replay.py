"""What a recording may do beside answering: approve its own calls where nobody can be asked, and stand in for tools.

With `replay_tools` the recorded results stand in for the tools, and nothing runs at all: for a machine that lacks what
the recorded one had.

Why a recording can approve anything at all, and why this opens no door:

- It counts only where the person named it, with `--replay NAME` or `--provider recorded`, in a cell they ran. Whoever
  runs a cell runs its code; a cell that could `import os` gains nothing by naming a recording. A cell that the agent
  inserted cannot name one (a cosh magic in it is refused), and nothing that merely lies in a cloned folder is read.
- It counts only where nobody can be asked (nbclient, papermill, CI). Where a person is there, the person is asked.
- It allows only calls that the recording holds, word for word: the same tool with the same arguments, paths taken
  relative to the workspace. A recording cannot bring a model that asks for something else.
- It allows only what a rule in its `declared.allow` covers and a lasting grant could cover: what always asks
  (protected places, ask rules, hooks, opaque commands) stays denied. Deny rules and plan mode come before all of this.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cosh_tools.contract import ToolCall, ToolResult
from cosh_tools.hosts import Allowed, ApprovalAnswer, ApprovalRequest, PermissionHandler, Refused
from cosh_tools.names import canonical
from cosh_tools.policy.decide import needs_cover
from cosh_tools.policy.rules import BadRule, Rule, parse_rule
from cosh_tools.results import Media
from cosh_tools.runner import NotRun, Ready, Runner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosh_nb.providers.base import Provider
    from cosh_nb.providers.recorded import RecordedProvider


NOBODY = "nobody to ask"
"""How hosts.NobodyToAsk signs its answer."""


@dataclass(frozen=True)
class DeclaredApprovals:
    """Asks `person`; where nobody is there, a recorded call that the recording's rules cover is allowed."""

    recorded: RecordedProvider
    person: PermissionHandler

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The person's answer, or the recording's word where there is no person."""
        answer = await self.person.ask(request)
        if not (isinstance(answer, Refused) and answer.by == NOBODY):
            return answer
        if request.reason.lasting and not request.agent and self._is_recorded(request) and self._covers(request):
            return Allowed(by=f"the recording {self.recorded.file.stem}")
        return answer

    def _is_recorded(self, request: ApprovalRequest) -> bool:
        given = self.recorded.places.hide(dict(request.call.input))
        return any(
            block.get("type") == "tool_use" and block["name"] == request.call.name and block["input"] == given
            for turn in self.recorded.recording.turns
            for answer in turn.answers
            for block in answer.blocks
        )

    def _covers(self, request: ApprovalRequest) -> bool:
        rules = list(self._rules())
        if any(rule.names(canonical(request.call.name)) for rule in rules):
            return True
        touches = [touch for touch in request.touches if needs_cover(touch)]
        return bool(touches) and all(any(rule.matches(touch) for rule in rules) for touch in touches)

    def _rules(self) -> Iterable[Rule]:
        for text in self.recorded.recording.allow:
            try:
                yield parse_rule(text, self.recorded.places.workspace)
            except BadRule:
                continue  # a rule that cannot be read allows nothing


def runner_for(provider: Provider, runner: Runner, *, replay_tools: bool) -> Runner:
    """The runner for a turn that is replayed; the same one for any other provider."""
    from cosh_nb.providers.recorded import RecordedProvider

    if not isinstance(provider, RecordedProvider):
        return runner
    ctx = runner.ctx.with_(permission_handler=DeclaredApprovals(provider, runner.ctx.permission_handler))
    return ReplayRunner(runner.registry, ctx, runner.gate, runner.locks, provider if replay_tools else None)


@dataclass
class ReplayRunner(Runner):
    """Hands back recorded results instead of running tools: nothing is touched, so nothing is asked."""

    recorded: RecordedProvider | None = None

    async def prepare(self, call: ToolCall) -> Ready | NotRun:
        """The recorded result of a call that was played; any other call takes the usual path."""
        result = self.recorded.result_of(call.id) if self.recorded is not None else None
        if self.recorded is None or result is None:
            return await super().prepare(call)
        return NotRun(call, replayed(result), f"replayed from {self.recorded.file.stem}")


def replayed(result: Mapping[str, Any]) -> ToolResult:
    """A recorded result as the tool gave it, without what only its card knew."""
    content = result["content"]
    if isinstance(content, str):
        return ToolResult(content, bool(result["is_error"]))
    texts = [part["text"] for part in content if part.get("type") == "text"]
    sources = [part["source"] for part in content if part.get("type") in ("image", "document")]
    media = (Media.decoded(source["media_type"], source["data"]) for source in sources)
    return ToolResult("\n".join(texts), bool(result["is_error"]), media=tuple(one for one in media if one is not None))


__all__ = ["DeclaredApprovals", "ReplayRunner", "replayed", "runner_for"]
