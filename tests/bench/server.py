"""The loopback model server in a process of its own, so that its work is not counted as the client's.

The model's name says what is answered: `text.N` N deltas of 20 characters; `tool.N.C` a call with N bytes of
arguments in chunks of C; `turns.N` a small call until N results have come back; anything else one short sentence.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

HERE = Path(__file__).resolve()
WORDS = "the quick brown fox jumps over the lazy dog and then reads a file of source code; "


@contextlib.contextmanager
def bench_server() -> Iterator[str]:
    """The base URL of a server that lives as long as the block."""
    process = subprocess.Popen([sys.executable, str(HERE)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()
        assert process.stdin is not None
        process.stdin.close()


def serve() -> None:
    """Answer until stdin closes."""
    sys.path.insert(0, str(HERE.parents[1]))
    from support.modelserver import ModelServer, Turn, call, text, turn

    @lru_cache(maxsize=16)
    def made(kind: str, size: int, chunk: int) -> Turn:
        if kind == "text":
            return turn(text((WORDS * (size // 4 + 1))[: size * 20], chunk=20))
        line = "    value = compute(index, 'name')  # line of code %d\n"
        body = "".join(line % at for at in range(size // len(line) + 1))
        room = size - len(json.dumps({"content": ""}))
        while len(json.dumps(body[:room])) - 2 > size - len(json.dumps({"content": ""})):
            room -= 64
        return turn(call("Write", {"content": body[:room]}, chunk=chunk))

    def decide(request: dict) -> Turn:
        kind, *numbers = request["model"].split(".")
        if kind == "turns":
            results = sum(
                block.get("type") == "tool_result"
                for message in request["messages"]
                for block in message["content"]
                if isinstance(block, dict)
            )
            return small if results < int(numbers[0]) else turn(text("Done."))
        if kind not in {"text", "tool"}:
            return turn(text("Hello, world."))
        size = int(numbers[0])
        return made(kind, size, int(numbers[1]) if len(numbers) > 1 else 20)

    small = turn(text("I go on."), call("noop", {"content": "call"}))

    with ModelServer(ready_made=True) as server:
        server.answer(decide)
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    serve()
