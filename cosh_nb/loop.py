"""The query loop: messages in, events out.

A turn asks the model, runs the calls it declares, hands back one result for each, and asks again until the model
is done. Whatever happens in between (denial, crash, interrupt, cut stream), the history stays valid: every tool_use
has exactly one tool_result.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from cosh_nb import events as e
from cosh_nb.errors import ContextOverflow, CoshError
from cosh_nb.guards import Malformed, Repeats
from cosh_nb.hooks import NoTurnHooks, TurnHooks
from cosh_nb.messages import Message, result_block, text_block, user
from cosh_tools.contract import ToolCall, ToolResult
from cosh_tools.runner import NotRun, Ready, Runner

if TYPE_CHECKING:
    from cosh_nb.messages import Block
    from cosh_nb.providers.base import Provider, Request

Emit = Callable[[e.Event], None]

TOGETHER = 10
"""Concurrency-safe calls in a row that run at the same time."""
CONTINUATIONS = 3
"""How often an answer that met max_tokens is continued."""
INTERRUPTED = "Interrupted by the user before it finished."
SKIPPED = "Not executed: an earlier call ended this turn."
RESUME = "Continue exactly where you stopped. Do not repeat or summarise what you already wrote."


class History(Protocol):
    """Where the messages are kept."""

    @property
    def messages(self) -> Sequence[Message]:
        """All messages so far."""
        ...

    def add(self, message: Message) -> None:
        """Append, in memory and on disk."""
        ...


@dataclass
class Turn:
    """What one turn works with."""

    provider: Provider
    runner: Runner
    history: History
    ask: Callable[[Sequence[Message]], Request]
    """Builds the request for the messages so far."""
    emit: Emit
    price: Callable[[str, e.Usage], float | None] = lambda _model, _usage: None
    pending: Callable[[], Sequence[str]] = tuple
    """Texts that arrived meanwhile (a person who typed on, other agents) and join the next request."""
    hooks: TurnHooks = field(default_factory=NoTurnHooks)
    shorten: Callable[[e.Usage, bool], Awaitable[bool]] | None = None
    """Told of the last answer's usage and whether a request just did not fit; True where the history got shorter."""
    max_turns: int = 50
    usage: e.Usage = field(default_factory=e.Usage)
    last: e.Usage = field(default_factory=e.Usage)
    """Of the last answer alone: how full the window is."""
    cost: float | None = 0.0
    rounds: int = 0
    text: str = ""
    failure: CoshError | None = None
    malformed: Malformed = field(default_factory=Malformed)
    repeats: Repeats = field(default_factory=Repeats)


async def run_turn(turn: Turn, prompt: Message, number: int = 1) -> e.TurnEnded:
    """One request of a person, to its end. Cancelling the task is the interrupt: it ends with a valid history."""
    started = time.monotonic()
    turn.emit(e.TurnStarted(number, prompt.text, turn.provider.model, turn.provider.label))
    reason: e.TurnEnd = "done"
    error = ""
    try:
        reason = await _converse(turn, prompt)
    except asyncio.CancelledError:
        reason = "interrupted"
    except CoshError as failure:
        reason, error, turn.failure = "error", str(failure), failure
        turn.emit(e.Notice("error", error, failure.detail))
    except Exception as bug:  # noqa: BLE001  (a bug ends the turn in words; the history is valid already)
        reason, error = "error", f"The turn ended by a fault of cosh_nb itself: {type(bug).__name__}: {bug}"
        turn.emit(e.Notice("error", f"{error}. Your work is kept; try again.", traceback.format_exc()))
    ended = e.TurnEnded(
        reason=reason,
        usage=turn.usage,
        seconds=time.monotonic() - started,
        cost=turn.cost,
        model=turn.provider.model,
        text=turn.text,
        error=error,
        turns=turn.rounds,
    )
    turn.emit(ended)
    return ended


async def _converse(turn: Turn, prompt: Message) -> e.TurnEnd:
    blocked, context = await turn.hooks.prompt(prompt.text)
    if blocked:
        turn.emit(e.Notice("warning", f"A hook blocked this prompt: {blocked}"))
        return "stopped"
    if context:
        prompt = replace(prompt, content=(*prompt.content, text_block(f"[Hook context] {context}")), wire={})
    turn.history.add(prompt)
    continued = 0
    while turn.rounds < turn.max_turns:
        turn.rounds += 1
        answer = await _ask_fitting(turn)
        if answer.calls:
            continued = 0
            results, ends = await _run_calls(turn, answer.calls)
            turn.history.add(Message("user", (*results, *map(text_block, turn.pending()))))
            if ends is not None:
                return ends
            continue
        match answer.stop_reason:
            case "max_tokens" if continued < CONTINUATIONS:
                continued += 1
                turn.history.add(user(RESUME))
            case "max_tokens":
                turn.emit(e.Notice("warning", "The answer met the model's length limit. Ask it to continue."))
                return "max_tokens"
            case "pause_turn":
                pass
            case "refusal":
                turn.emit(e.Notice("warning", answer.detail or "The model declined to answer. Put it another way."))
                return "refused"
            case "model_context_window_exceeded":
                text = "The conversation no longer fits into the model's window. Start a new one with %cosh /new."
                turn.emit(e.Notice("error", text))
                return "error"
            case "end_turn" | "stop_sequence" | "tool_use":
                more = [*turn.pending()]
                if not more and (revise := await turn.hooks.stop(turn.text)):
                    more = [f"A stop hook asks to go on: {revise}"]
                if not more:
                    return "done"
                turn.history.add(user("\n\n".join(more)))
    turn.emit(
        e.Notice("warning", f"Stopped after {turn.max_turns} model calls. Ask it to go on, or raise --max-turns.")
    )
    return "max_turns"


# -- one answer of the model -------------------------------------------------------------------------------------


@dataclass
class _Answer:
    """An assistant message as it arrives. `tail` is prose whose block is not complete yet."""

    blocks: list[Block] = field(default_factory=list)
    calls: list[e.ToolUseEnd] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    stop_reason: e.StopReason = "end_turn"
    detail: str = ""

    def message(self) -> Message | None:
        """What of it can be kept: whole blocks, prose that was cut, and no thinking without its end."""
        blocks = [*self.blocks]
        if text := "".join(self.tail):
            blocks.append(text_block(text))
        return Message("assistant", tuple(blocks)) if blocks else None


async def _ask_fitting(turn: Turn) -> _Answer:
    """The answer, with a history that fits: shortened before the window is full, or once where it was after all."""
    if turn.shorten is not None:
        await turn.shorten(turn.last, False)
    try:
        return await _ask_model(turn)
    except ContextOverflow:
        if turn.shorten is None or not await turn.shorten(turn.last, True):
            raise
        return await _ask_model(turn)


async def _ask_model(turn: Turn) -> _Answer:
    answer = _Answer()
    try:
        await _receive(turn, answer)
    except BaseException:
        _keep_cut(turn, answer)
        raise
    if message := answer.message():
        turn.history.add(message)
        turn.text = message.text or turn.text
    return answer


async def _receive(turn: Turn, answer: _Answer) -> None:
    model, usage = turn.provider.model, e.Usage()
    stream = turn.provider.stream(turn.ask(turn.history.messages))
    try:
        async for event in stream:
            match event:
                case e.BlockDone(block=block):
                    answer.blocks.append(block)
                    answer.tail.clear()
                    continue
                case e.MessageEnd(stop_reason=reason, usage=usage, detail=detail):
                    answer.stop_reason, answer.detail = reason, detail
                    break
                case e.TextDelta(text=text):
                    answer.tail.append(text)
                case e.ToolUseEnd():
                    answer.calls.append(event)
                case e.MessageStart(model=model):
                    pass
                case e.ThinkingDelta() | e.ToolUseBegin() | e.ToolUseDelta() | e.Waiting():
                    pass
            turn.emit(event)
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
        turn.usage += usage
        turn.last = usage if usage.total else turn.last
        price = turn.price(model, usage)
        turn.cost = None if price is None or turn.cost is None else turn.cost + price
    turn.emit(e.MessageDone(tuple(answer.blocks), answer.stop_reason, usage))


def _keep_cut(turn: Turn, answer: _Answer) -> None:
    """Keep the text of an answer that was cut, marked; calls that were declared get their result at once."""
    message = answer.message()
    if message is None:
        return
    turn.history.add(message)
    turn.text = message.text or turn.text
    results = [result_block(block["id"], ToolResult.error(INTERRUPTED)) for block in message.calls]
    turn.history.add(Message("user", (*results, text_block("[The answer above was cut off here.]"))))


# -- the calls of one answer ---------------------------------------------------------------------------------------


async def _run_calls(turn: Turn, declared: Sequence[e.ToolUseEnd]) -> tuple[list[Block], e.TurnEnd | None]:
    """One result for each declared call, in order, and how the turn ends if it does."""
    results: dict[int, ToolResult] = {}
    ends: e.TurnEnd | None = None
    turn.malformed.next_round()
    try:
        for batch in _batches(turn, declared):
            ends = await _run_batch(turn, declared, batch, results)
            if ends is not None:
                break
    except BaseException:
        blocks = _answered(turn, declared, results, INTERRUPTED)
        turn.history.add(Message("user", (*blocks, text_block("[The user interrupted the turn.]"))))
        raise
    if turn.malformed.gave_up:
        turn.emit(
            e.Notice("error", f"The model sent broken arguments {turn.malformed.LIMIT} times in a row. Try again.")
        )
        ends = ends or "error"
    return _answered(turn, declared, results, SKIPPED), ends


def _batches(turn: Turn, declared: Sequence[e.ToolUseEnd]) -> list[list[int]]:
    """Indices of calls that run together: safe ones in a row, at most TOGETHER; any other alone."""
    batches: list[list[int]] = []
    before = False
    for index, call in enumerate(declared):
        tool = turn.runner.registry.find(call.name)
        safe = tool is not None and tool.concurrency_safe and call.input is not None
        if safe and before and len(batches[-1]) < TOGETHER:
            batches[-1].append(index)
        else:
            batches.append([index])
        before = safe
    return batches


async def _run_batch(
    turn: Turn, declared: Sequence[e.ToolUseEnd], batch: Sequence[int], results: dict[int, ToolResult]
) -> e.TurnEnd | None:
    """Gates one at a time in call order, then everything that passed at once."""
    ready: list[tuple[int, Ready]] = []
    ends: e.TurnEnd | None = None
    for index in batch:
        prepared = await _prepare(turn, declared[index])
        if isinstance(prepared, Ready):
            ready.append((index, prepared))
            continue
        results[index] = prepared.result
        verb, target = _words(turn, prepared)
        turn.emit(e.ToolFinished(prepared.call, prepared.result, verb, target, 0.0, False, prepared.decided))
        if prepared.ends_turn:
            ends = "stopped"
            break
    if ends is not None:
        return ends
    if len(ready) == 1:
        await _execute(turn, *ready[0], results)
        return None
    async with asyncio.TaskGroup() as group:
        for index, call in ready:
            group.create_task(_execute(turn, index, call, results))
    return None


async def _prepare(turn: Turn, declared: e.ToolUseEnd) -> Ready | NotRun:
    if declared.input is None:
        result = turn.malformed.note(declared.name, declared.problem)
        return NotRun(ToolCall(declared.id, declared.name), result)
    turn.malformed.reset()
    return await turn.runner.prepare(ToolCall(declared.id, declared.name, declared.input))


async def _execute(turn: Turn, index: int, ready: Ready, results: dict[int, ToolResult]) -> None:
    verb, target = _words(turn, ready)
    turn.emit(e.ToolStarted(ready.call, verb, target, ready.decided))
    started = time.monotonic()
    result = ToolResult.error(INTERRUPTED)
    try:
        result = await turn.runner.execute(ready, lambda text: turn.emit(e.ToolProgress(ready.call.id, text)))
        result = turn.repeats.advise(ready.call, result)
        results[index] = result
    finally:
        seconds = time.monotonic() - started
        turn.emit(e.ToolFinished(ready.call, result, verb, target, seconds, True, ready.decided))


def _answered(
    turn: Turn, declared: Sequence[e.ToolUseEnd], results: dict[int, ToolResult], otherwise: str
) -> list[Block]:
    blocks = []
    for index, call in enumerate(declared):
        if index not in results:
            results[index] = ToolResult.error(otherwise)
            if otherwise == SKIPPED:
                skipped = ToolCall(call.id, call.name, call.input or {})
                turn.emit(e.ToolFinished(skipped, results[index], call.name, "", 0.0, False, "skipped"))
        blocks.append(result_block(call.id, results[index]))
    return blocks


def _words(turn: Turn, item: Ready | NotRun) -> tuple[str, str]:
    """Verb and object of a call's row."""
    if isinstance(item, Ready):
        return item.tool.verb or item.tool.name, item.tool.target(item.input, turn.runner.ctx)
    tool = turn.runner.registry.find(item.call.name)
    return (tool.verb or tool.name if tool is not None else item.call.name), item.target
