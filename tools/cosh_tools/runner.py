"""The one path of every tool call: validate -> hooks -> validate a patch -> gate -> execute -> hooks -> trim.

`prepare` ends with the person's answer, `execute` begins after it; the loop prepares calls one at a time, in order,
and executes those that are safe together.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, assert_never

from cosh_tools.contract import Tool, ToolCall, ToolContext, ToolInput, ToolResult, Touch
from cosh_tools.gate import Done, Gate, Passed, Stopped, subject_of
from cosh_tools.hosts import HookVerdict
from cosh_tools.policy.decide import Deny
from cosh_tools.registry import ToolRegistry
from cosh_tools.results import InvalidInput, PermissionDenied, ToolError
from cosh_tools.touches import PathTouch, Writes
from cosh_tools.trim import trim
from cosh_tools.validate import validate


@dataclass(frozen=True, slots=True)
class Ready:
    """An approved call. `decided` says who or what allowed it."""

    call: ToolCall
    tool: Tool[Any]
    input: ToolInput
    touches: tuple[Touch, ...]
    decided: str
    note: str = ""

    @property
    def concurrency_safe(self) -> bool:
        """Whether it may run beside its neighbours."""
        return self.tool.concurrency_safe


@dataclass(frozen=True, slots=True)
class NotRun:
    """A call that has its result without having run."""

    call: ToolCall
    result: ToolResult
    decided: str = ""
    ends_turn: bool = False
    target: str = ""
    """The object of its row, where the arguments could be read."""


class FileLocks:
    """One lock per file, shared by all agents of a session."""

    def __init__(self) -> None:
        self._locks: dict[Path, asyncio.Lock] = {}

    @contextlib.asynccontextmanager
    async def hold(self, touches: Sequence[Touch]) -> AsyncIterator[None]:
        """Hold the locks of all files that are written, in one order, so that two calls never wait for each other."""
        async with contextlib.AsyncExitStack() as stack:
            for path in sorted({touch.real for touch in touches if isinstance(touch, Writes)}):
                await stack.enter_async_context(self._locks.setdefault(path, asyncio.Lock()))
            yield


@dataclass
class Runner:
    """Runs calls for one agent. Sub-agents have their own, with the same gate and locks."""

    registry: ToolRegistry
    ctx: ToolContext
    gate: Gate
    locks: FileLocks = field(default_factory=FileLocks)

    async def prepare(self, call: ToolCall) -> Ready | NotRun:
        """Everything up to the answer of the gate. Never raises for what a model, a hook or a person may do."""
        tool = self.registry.find(call.name)
        if tool is None:
            return _refused(call, f"Unknown tool: {call.name}. The tools are: {', '.join(self.registry.names())}.")
        try:
            given, unknown = validate(tool, call.input)
            hooks = await self.ctx.hooks.before(call, self.ctx)
            if hooks.input is not None:
                call = replace(call, input=hooks.input)
                given, unknown = validate(tool, call.input)
            return await self._through_gate(tool, call, given, unknown, hooks)
        except ToolError as error:
            return _refused(call, str(error))
        except Exception as error:  # noqa: BLE001  (a tool's touches must not end the turn)
            return _refused(call, f"{call.name} could not be prepared: {type(error).__name__}: {error}")

    async def execute(self, ready: Ready, progress: Callable[[str], None] | None = None) -> ToolResult:
        """Run an approved call. Never raises but for cancellation."""
        ctx = self.ctx.with_(gate=self.gate, progress=progress or self.ctx.progress, call_id=ready.call.id)
        try:
            async with self.locks.hold(ready.touches):
                _same_places(ready.touches, ready.tool.touches(ready.input, ctx))
                await ctx.snapshots.before(ready.touches, ctx)
                try:
                    result = await ready.tool.execute(ready.input, ctx)
                finally:
                    await ctx.snapshots.after(ready.touches, ctx)
        except PermissionDenied as error:
            result = ToolResult.error(f"Permission denied: {error}")
        except ToolError as error:
            result = ToolResult.error(str(error))
        except Exception as error:  # noqa: BLE001  (a tool's bug is the model's to hear of, not the loop's end)
            result = ToolResult.error(f"{ready.call.name} failed: {type(error).__name__}: {error}")
        if ready.note:
            result = result.with_note(ready.note)
        result = await ctx.hooks.after(ready.call, result, ctx)
        return trim(result, ctx.toolset, ready.call.id, ctx.spill)

    async def run(self, call: ToolCall) -> ToolResult:
        """The whole path, for callers that do not draw."""
        ready = await self.prepare(call)
        return ready.result if isinstance(ready, NotRun) else await self.execute(ready)

    async def _through_gate(
        self, tool: Tool[Any], call: ToolCall, given: ToolInput, unknown: tuple[str, ...], hooks: HookVerdict
    ) -> Ready | NotRun:
        ctx = self.ctx.with_(gate=self.gate)
        touches = tuple(tool.touches(given, ctx))
        verdict = await self.gate.judge(tool, call, touches, ctx, hooks, await preview(tool, given, ctx))
        match verdict:
            case Stopped(reason=reason, by=by, ends_turn=ends):
                said = f"{by}: {reason}" if by else reason
                ends = ends or hooks.stop
                return NotRun(call, ToolResult.error(_denied(reason, by)), said, ends, tool.target(given, ctx))
            case Done(result=result, by=by):
                return NotRun(call, result, f"run by {by}", target=tool.target(given, ctx))
            case Passed(input=changed, by=by) if changed is not None:
                # What a person corrected goes through the same checks; the correction itself is their consent.
                call = replace(call, input=changed)
                given, unknown = validate(tool, changed)
                touches = tuple(tool.touches(given, ctx))
                again = self.gate.decide(subject_of(tool, call.name), touches, ctx)
                if isinstance(again, Deny):
                    return _refused(call, _denied(again.reason, "the policy"))
                return self._ready(tool, call, given, unknown, touches, by, hooks)
            case Passed(by=by):
                return self._ready(tool, call, given, unknown, touches, by, hooks)
        assert_never(verdict)

    def _ready(
        self,
        tool: Tool[Any],
        call: ToolCall,
        given: ToolInput,
        unknown: tuple[str, ...],
        touches: tuple[Touch, ...],
        by: str,
        hooks: HookVerdict,
    ) -> Ready:
        notes = [f"[Hook context] {hooks.context}"] if hooks.context else []
        if unknown:
            known = ", ".join(tool.input_schema()["properties"])
            notes.append(f"(Ignored unknown field{'s' * (len(unknown) > 1)}: {', '.join(unknown)}. Known: {known}.)")
        return Ready(call, tool, given, touches, by, "\n".join(notes))


async def preview(tool: Tool[Any], given: ToolInput, ctx: ToolContext) -> str:
    """The change as a diff, where the tool can say it before it runs (`async def diff(call, ctx) -> str`)."""
    diff = getattr(tool, "diff", None)
    if diff is None:
        return ""
    try:
        return str(await diff(given, ctx))
    except (ToolError, OSError):
        return ""  # the call will fail with its own words


def _same_places(approved: Sequence[Touch], now: Sequence[Touch]) -> None:
    """Stop where a link was turned between the approval and now. What may be read may not therefore be written."""
    places = {(type(touch), touch.real) for touch in approved if isinstance(touch, PathTouch)}
    for touch in now:
        if isinstance(touch, PathTouch) and (type(touch), touch.real) not in places:
            raise ToolError(f"{touch.as_given} now leads to {touch.real}, which was not approved. Try the call again.")


def _refused(call: ToolCall, text: str) -> NotRun:
    return NotRun(call, ToolResult.error(text))


def _denied(reason: str, by: str) -> str:
    if by == "the policy":
        return f"Permission denied: {reason}"
    return f"Tool call denied: {reason}"


__all__ = ["FileLocks", "InvalidInput", "NotRun", "Ready", "Runner"]
