"""From the request to its first event, on a connection that is open already: wall time, against bare httpx."""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import time

import httpx

from cosh_nb.events import MessageStart
from cosh_nb.messages import user
from cosh_nb.providers.anthropic import AnthropicProvider
from cosh_nb.providers.base import Request
from cosh_nb.providers.keys import Key
from tests.bench.report import Line
from tests.bench.server import bench_server

TIMES = 1000
HEADERS = {
    "x-api-key": "k",
    "anthropic-version": "2023-06-01",
    "content-type": "application/json",
    "accept": "text/event-stream",
    "cache-control": "no-store",
}
BODY = {"model": "hello", "max_tokens": 32_000, "stream": True, "messages": [{"role": "user", "content": "hi"}]}


def measure() -> list[Line]:
    """Milliseconds, the median of many requests in a row."""
    with bench_server() as url, asyncio.Runner() as runner:
        client = httpx.AsyncClient(trust_env=False)
        provider = AnthropicProvider("hello", Key("k", "x-api-key"), url)

        async def floor() -> float:
            started = time.perf_counter()
            sent = client.stream("POST", f"{url}/v1/messages", content=json.dumps(BODY).encode(), headers=HEADERS)
            async with sent as answer:
                spent = 0.0
                async for _ in answer.aiter_bytes():
                    spent = spent or time.perf_counter() - started
            return spent

        async def mine() -> float:
            started, spent = time.perf_counter(), 0.0
            async for event in provider.stream(Request([user("hi")])):
                if type(event) is MessageStart:
                    spent = time.perf_counter() - started
            return spent

        async def in_turns() -> tuple[float, float]:
            seen: dict[object, list[float]] = {floor: [], mine: []}
            for turn in range(TIMES):
                for once in (floor, mine) if turn % 2 else (mine, floor):
                    seen[once].append(await once())
                    gc.collect(0)
            return statistics.median(seen[floor][20:]) * 1000, statistics.median(seen[mine][20:]) * 1000

        bare, ours = runner.run(in_turns())
        runner.run(provider.close())
        runner.run(client.aclose())
    # The floor sends the same headers: who writes it by hand must send them, too.
    return [Line("request sent to first event", ours, "ms", 1.2, bare, "httpx")]
