"""`cosh-nb acp`: the server on stdin and stdout, until the client goes."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from typing import Any

from cosh_nb.headless.serve import end_for_sure
from cosh_nb.headless.writer import take_stdout

CLIENT_GONE = 74


def main(argv: Sequence[str]) -> int:
    """Serve one client; the exit code."""
    parser = argparse.ArgumentParser(prog="cosh-nb acp", description="Speak the Agent Client Protocol on stdio.")
    try:
        parser.parse_args(list(argv))
    except SystemExit as end:
        return int(end.code or 0)
    try:
        out = take_stdout()
    except OSError:
        return CLIENT_GONE
    return asyncio.run(_serve(out))


async def _serve(out: int) -> int:
    from acp import run_agent

    from cosh_nb.acp.server import Server
    from cosh_nb.acp.transport import Stdio

    transport = Stdio(0, out)
    server = Server()
    agent: Any = server  # its methods take what they use; the package calls by name
    serving = asyncio.ensure_future(run_agent(agent, transport))
    ended: list[int] = []

    def end(number: int) -> None:
        ended.append(128 + number)
        serving.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        await serving
    except asyncio.CancelledError:
        pass
    except ConnectionError as error:
        sys.stderr.write(f"cosh-nb: the connection ended: {error}\n")
    finally:
        await server.close()
        if ended:
            end_for_sure(ended[0])  # whoever sent the signal does not wait for a client that does not read
        await transport.close()
    code = ended[0] if ended else CLIENT_GONE if transport.writer.gone else 0
    end_for_sure(code)
    return code
