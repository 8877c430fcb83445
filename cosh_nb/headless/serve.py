"""Putting the parts together: flags, stdout, agent, host, stdin; and an end that always comes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cosh_nb.errors import CoshError, SessionError, UsageError
from cosh_nb.events import TurnEnded, Usage
from cosh_nb.headless import flags as flags_
from cosh_nb.headless.writer import Writer, take_stdout

if TYPE_CHECKING:
    from cosh_nb.agent import Agent
    from cosh_nb.headless.dialects.base import Dialect
    from cosh_nb.headless.flags import Flags
    from cosh_nb.headless.host import Host
    from cosh_nb.headless.lend import Approver, ClientEvidence
    from cosh_nb.headless.questions import Questions

PATIENCE = 5.0
"""Seconds for the last things (jobs, connections, a thread that does not return) before the process ends anyway."""
BAD_INPUT, BAD_ARGUMENTS, CLIENT_GONE, SIGNALLED = 1, 2, 74, 128


def main(argv: Sequence[str]) -> int:
    """Headless mode from its arguments to its exit code."""
    try:
        flags = flags_.parse(argv)
    except UsageError as error:
        flags_.say([str(error)])
        return BAD_ARGUMENTS
    except SystemExit as shown:  # --help
        return int(shown.code or 0)
    flags_.say(flags.notes)
    try:
        out = take_stdout()
    except OSError:
        return CLIENT_GONE
    try:
        return asyncio.run(_serve(flags, out))
    except KeyboardInterrupt:  # before the host took over the signals
        return SIGNALLED + signal.SIGINT


def end_for_sure(code: int) -> None:
    """Let the process end soon, whatever a thread does in a call that never returns (a read from a dead mount)."""
    last = threading.Timer(PATIENCE, os._exit, (code,))
    last.daemon = True
    last.start()


async def _serve(flags: Flags, out: int) -> int:
    hosts: list[Host] = []

    def gone() -> None:
        for host in hosts:
            host.stop(CLIENT_GONE)

    writer = Writer(out, gone)
    dialect = _dialect(flags)
    code = BAD_INPUT
    try:
        agent, questions, approver, evidence = _assemble(flags, dialect, writer)
    except CoshError as error:
        code = _refuse(dialect, writer, error)
    except Exception as bug:  # noqa: BLE001 (a client still gets its result; the trace goes to stderr)
        traceback.print_exc()
        code = _refuse(dialect, writer, bug)
    else:
        from cosh_nb.headless.host import Host  # it needs the agent, which may not start

        host = Host(flags, agent, dialect, writer, questions, approver, evidence)
        hosts.append(host)
        try:
            code = await _work(flags, host, writer)
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(agent.close(), PATIENCE)
    if code > SIGNALLED:
        end_for_sure(code)  # whoever sent the signal does not wait for a client that does not read
    await writer.close()
    code = CLIENT_GONE if writer.gone else code
    end_for_sure(code)
    return code


async def _work(flags: Flags, host: Host, writer: Writer) -> int:
    from cosh_nb.headless.protocol import Incoming, parse
    from cosh_nb.headless.reader import Reader

    with contextlib.suppress(CoshError):  # the first request says it again, with its result
        provider = await host.agent.use(flags.provider, flags.model)
        if flags.verbose and flags.dialect == "cosh":  # the SDK always asks for it, and its stderr is a terminal
            flags_.say([f"{provider.label}. {host.agent.choice.reason if host.agent.choice else ''}"])
    if flags.prompt is not None:
        host.prompt(flags.prompt)
    reader: Reader[Incoming] = Reader(0, host.take, host.end, parse)
    reader.start("stream-json" if flags.prompt is not None else flags.input_format, host.prompt)
    if writer.gone:
        return CLIENT_GONE
    return await host.run()


def _assemble(flags: Flags, dialect: Dialect, writer: Writer) -> tuple[Agent, Questions, Approver, ClientEvidence]:
    from cosh_nb.agent import FrontEnd
    from cosh_nb.headless import assemble
    from cosh_nb.headless.lend import Approver, ClientApprover, ClientAsk, ClientEvidence
    from cosh_nb.headless.questions import Questions
    from cosh_nb.notebook.closed import ClosedNotebooks
    from cosh_tools.hosts import NoAsk

    def cancelled(request_id: str) -> None:
        for line in dialect.cancelled(request_id):
            writer.put(line.wire())

    questions = Questions(lambda line: writer.put(line.wire()), cancelled)
    silent = "" if flags.client_asks else "this client does not answer permission requests"
    if flags.dont_ask:
        silent = "the mode dontAsk asks nobody"
    approver = Approver(ClientApprover(dialect, questions, flags.approval_limit, flags.cwd), silent)
    evidence = ClientEvidence(dialect, questions)
    ask = ClientAsk(dialect, questions) if flags.client_asks else NoAsk()
    front = FrontEnd(permission_handler=approver, ask=ask, evidence=evidence, notebook=ClosedNotebooks())
    settings = assemble.settings(flags)
    if settings.ignored:
        flags_.say([f"This folder is not trusted, so this is ignored: {'; '.join(settings.ignored)}."])
    agent = assemble.agent(flags, front, settings)
    flags_.say(agent.problems)
    return agent, questions, approver, evidence


def _dialect(flags: Flags) -> Dialect:
    if flags.dialect == "claude":
        from cosh_nb.headless.dialects.claude import Claude  # the one that is not the default

        return Claude(partial=flags.partial, replay=flags.replay)
    from cosh_nb.headless.dialects.cosh import Cosh

    return Cosh()


def _refuse(dialect: Dialect, writer: Writer, error: Exception) -> int:
    """Say why there is no session, on both channels."""
    from cosh_nb.headless.assemble import UnknownTools
    from cosh_nb.headless.dialects.base import Failure

    match error:
        case SessionError():
            failure, code = Failure("session_error", str(error), "load"), BAD_INPUT
        case UnknownTools():
            failure, code = Failure("InvalidToolSelection", str(error)), BAD_ARGUMENTS
        case CoshError():
            failure, code = Failure("invalid_arguments", str(error)), BAD_ARGUMENTS
        case _:
            failure, code = Failure("turn_failed", f"The session did not start: {error}"), BAD_INPUT
    print(f"cosh-nb: {error}", file=sys.stderr)  # noqa: T201 (a command talks on stderr)
    writer.put(dialect.result(TurnEnded("error", Usage(), 0.0), None, failure).wire())
    return code
