"""One text delta, from the socket to our event object: CPU, against the bare bytes of httpx."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Awaitable, Callable

import httpx

from cosh_nb.events import TextDelta
from cosh_nb.messages import user
from cosh_nb.providers.anthropic import AnthropicProvider
from cosh_nb.providers.base import Request
from cosh_nb.providers.keys import Key
from tests.bench.report import Line, medians
from tests.bench.server import bench_server

DELTAS = 20_000
MODEL = f"text.{DELTAS}"
BODY = json.dumps({
    "model": MODEL, "max_tokens": 1000, "stream": True, "messages": [{"role": "user", "content": "hi"}],
}).encode()  # fmt: skip


def measure() -> list[Line]:
    """CPU microseconds per delta of 20 characters, each in an HTTP chunk of its own."""
    with bench_server() as url, asyncio.Runner() as runner:
        floor_client = httpx.AsyncClient(trust_env=False)
        ours = AnthropicProvider(MODEL, Key("k", "x-api-key"), url)

        async def floor() -> int:
            count = 0
            async with floor_client.stream("POST", f"{url}/v1/messages", content=BODY) as answer:
                async for _ in answer.aiter_bytes():
                    count += 1
            return count

        async def mine() -> int:
            count = 0
            async for event in ours.stream(Request([user("hi")])):
                count += type(event) is TextDelta
            return count

        candidates = {"httpx": floor, "ours": mine, "sdk": _sdk(url)}
        found = medians({name: _timed(runner, run) for name, run in candidates.items()}, rounds=7)
        runner.run(ours.close())
        runner.run(floor_client.aclose())
    work = "text delta to event, CPU"
    beside = {"anthropic SDK": found["sdk"], "of the SDK": found["ours"] / found["sdk"]}
    return [
        Line(work, found["ours"], "us", 1.3, found["httpx"], "httpx bytes", extra=beside),
        Line(f"{work}, of anthropic SDK", found["ours"], "us", 0.4, found["sdk"], "SDK"),
    ]


def _timed(runner: asyncio.Runner, run: Callable[[], Awaitable[int]]) -> Callable[[], float]:
    async def once() -> float:
        gc.collect()
        started = time.process_time()
        count = await run()
        spent = time.process_time() - started
        assert count >= DELTAS * 0.9, f"{count} of {DELTAS} deltas came"
        return spent / DELTAS * 1e6

    return lambda: runner.run(once())


def _sdk(url: str) -> Callable[[], Awaitable[int]]:
    import anthropic

    client = anthropic.AsyncAnthropic(base_url=url, api_key="k")

    async def run() -> int:
        count = 0
        stream = await client.messages.create(
            model=MODEL, max_tokens=1000, stream=True, messages=[{"role": "user", "content": "hi"}]
        )
        async for event in stream:
            count += event.type == "content_block_delta"
        return count

    return run
