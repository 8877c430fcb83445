"""A tool call with 1 MB of arguments in chunks of 16 bytes: linear in its size, and how fast."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import time

import httpx
import orjson

from cosh_nb.events import ToolUseEnd
from cosh_nb.messages import user
from cosh_nb.providers.anthropic import AnthropicProvider
from cosh_nb.providers.base import Request
from cosh_nb.providers.keys import Key
from tests.bench.report import Line, medians
from tests.bench.server import bench_server

KB = 1024
SIZES = (64 * KB, 256 * KB, KB * KB, 4 * KB * KB)


def measure() -> list[Line]:
    """CPU seconds of 1 MB, and the exponent of growth from 64 KB to 4 MB."""
    with bench_server() as url, asyncio.Runner() as runner:
        client = httpx.AsyncClient(trust_env=False, timeout=60)

        async def mine(size: int) -> float:
            provider = AnthropicProvider(f"tool.{size}.16", Key("k", "x-api-key"), url)
            gc.collect()
            started = time.process_time()
            given: ToolUseEnd | None = None
            async for event in provider.stream(Request([user("hi")])):
                if type(event) is ToolUseEnd:
                    given = event
            spent = time.process_time() - started
            await provider.close()
            assert given is not None
            assert given.input is not None
            assert len(json.dumps(given.input)) >= size * 0.97
            return spent

        async def floor(size: int) -> float:
            body = {"model": f"tool.{size}.16", "max_tokens": 9, "stream": True, "messages": []}
            gc.collect()
            started = time.process_time()
            async with client.stream("POST", f"{url}/v1/messages", content=orjson.dumps(body)) as answer:
                async for _ in answer.aiter_bytes():
                    pass
            return time.process_time() - started

        runs = {f"ours {size}": (lambda size=size: runner.run(mine(size))) for size in SIZES}
        runs["floor"] = lambda: runner.run(floor(KB * KB))
        found = medians(runs, rounds=3)
        runner.run(client.aclose())
    mega = found[f"ours {KB * KB}"]
    small, large = found[f"ours {SIZES[0]}"], found[f"ours {SIZES[-1]}"]
    exponent = math.log(large / small) / math.log(SIZES[-1] / SIZES[0])
    beside = {"exponent": exponent, "4 MB": large}
    work = "1 MB tool input in 16 B chunks"
    return [
        Line(f"{work}, CPU", mega, "s", 1.4, found["floor"], "httpx bytes", judge="ours", extra=beside),
        Line(f"{work}, growth 64 KB to 4 MB", exponent, "", 1.05, judge="ours"),
    ]
