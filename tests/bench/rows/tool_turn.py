"""One tool turn of a long loop: policy, hooks, transcript, a tool that does nothing; CPU, against httpx and orjson."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from pathlib import Path

import httpx
import orjson
from pydantic import Field

from cosh_nb.command_hooks import CommandHooks
from cosh_nb.loop import Turn, run_turn
from cosh_nb.messages import Message, result_block, text_block, user
from cosh_nb.providers.anthropic import AnthropicProvider, wire
from cosh_nb.providers.base import Request
from cosh_nb.providers.keys import Key
from cosh_nb.session import Session
from cosh_tools.context import SessionState
from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolInput, ToolKind, ToolResult
from cosh_tools.gate import Gate
from cosh_tools.registry import ToolRegistry
from cosh_tools.runner import Runner
from tests.bench.report import Line, medians
from tests.bench.server import bench_server

TURNS = 50
LONG = 1_000
"""Messages of the long history."""
LATE = 10
"""Turns that are measured at its end."""


class NoopInput(ToolInput):
    """What the tool takes."""

    content: str = Field(description="Anything")


class Noop(Tool[NoopInput]):
    """Does nothing."""

    name = "noop"
    description = "Does nothing"
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE

    async def execute(self, call: NoopInput, ctx: ToolContext) -> ToolResult:
        """Nothing."""
        del call, ctx
        return ToolResult.success("ok")


def measure() -> list[Line]:
    """CPU milliseconds per turn: 50 turns from an empty history, then 10 turns at a history of 1,000 messages."""
    with bench_server() as url, asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        client = httpx.AsyncClient(trust_env=False)

        def ours(before: int, turns: int) -> float:
            return runner.run(_ours(url, Path(folder), before, turns))

        def floor(before: int, turns: int) -> float:
            return runner.run(_floor(client, url, before, turns))

        found = medians(
            {
                "ours": lambda: ours(0, TURNS),
                "floor": lambda: floor(0, TURNS),
                "ours late": lambda: ours(LONG, LATE),
                "floor late": lambda: floor(LONG, LATE),
                "ours early": lambda: ours(0, LATE),
            },
            rounds=7,
        )
        runner.run(client.aclose())
    beside = {"floor at 1,000": found["floor late"]}
    return [
        Line(f"tool turn in a {TURNS}-turn loop, CPU", found["ours"], "ms", 1.4, found["floor"], "httpx + orjson"),
        Line(
            "the same turn at history 1,000",
            found["ours late"],
            "ms",
            1.3,
            found["ours early"],
            "turn 10",
            extra=beside,
        ),
    ]


def _history(count: int) -> list[Message]:
    """`count` messages as a finished conversation leaves them, with no results that the server would count."""
    made = []
    for number in range(count // 2):
        made += [user(f"Question {number}: " + "why " * 60), Message("assistant", (text_block("Because. " * 60),))]
    return made


async def _ours(url: str, folder: Path, before: int, turns: int) -> float:
    session = Session("bench", folder, folder / f"{time.monotonic_ns()}.jsonl")
    for message in _history(before):
        session.add(message)
    registry = ToolRegistry([Noop()])
    state = SessionState(folder, folder)
    ctx = ToolContext(state, hooks=CommandHooks((), folder), tasks=session)
    provider = AnthropicProvider(f"turns.{turns}", Key("k", "x-api-key"), url)
    definitions = registry.definitions()

    def ask(messages: list[Message]) -> Request:
        return Request(messages, system="You are helpful.", tools=definitions)

    turn = Turn(provider, Runner(registry, ctx, Gate()), session, ask, lambda _event: None, max_turns=turns + 1)
    for message in session.messages:
        wire(message)  # a live conversation has sent all of these before
    gc.collect()
    started = time.process_time()
    ended = await run_turn(turn, user("go"))
    spent = time.process_time() - started
    assert (ended.reason, ended.turns) == ("done", turns + 1), ended
    await provider.close()
    session.close()
    return spent / turns * 1e3


async def _floor(client: httpx.AsyncClient, url: str, before: int, turns: int) -> float:
    """The least that a loop must do: serialise the request, send it, read the events, answer the call."""
    messages = [{"role": message.role, "content": list(message.content)} for message in _history(before)]
    tools = [{"name": "noop", "description": "Does nothing", "input_schema": {"type": "object"}}]
    messages.append({"role": "user", "content": [{"type": "text", "text": "go"}]})
    gc.collect()
    started = time.process_time()
    for _ in range(turns + 1):
        body = {"model": f"turns.{turns}", "max_tokens": 1000, "stream": True, "messages": messages, "tools": tools}
        blocks, pieces = [], []
        sent = client.stream(
            "POST", f"{url}/v1/messages", content=orjson.dumps(body), headers={"content-type": "application/json"}
        )
        async with sent as answer:
            rest = b""
            async for piece in answer.aiter_bytes():
                *frames, rest = (rest + piece).split(b"\n\n")
                for frame in frames:
                    event = orjson.loads(frame.split(b"data: ", 1)[1])
                    match event["type"]:
                        case "content_block_start":
                            blocks.append(event["content_block"])
                            pieces = []
                        case "content_block_delta":
                            pieces += event["delta"].values()
                        case "content_block_stop" if blocks[-1]["type"] == "tool_use":
                            blocks[-1]["input"] = orjson.loads("".join(pieces[1::2]))
        messages.append({"role": "assistant", "content": blocks})
        results = [
            result_block(block["id"], ToolResult.success("ok")) for block in blocks if block["type"] == "tool_use"
        ]
        if results:
            messages.append({"role": "user", "content": results})
    return (time.process_time() - started) / turns * 1e3
