"""`cosh-nb mcp`: the SDK's own client works in a live kernel, with the cards in its notebook."""

import asyncio
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from support.kernel_client import kernel_client


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    monkeypatch.setenv("COSH_DATA_DIR", str(tmp_path / "cosh"))
    env = {"COSH_DATA_DIR": str(tmp_path / "cosh"), "COSH_PROVIDER": "offline"}
    with kernel_client(tmp_path / "home", sys.executable, env=env) as kernel:
        kernel.run("%load_ext cosh_nb")
        yield kernel


def outside(folder, *calls):
    """What a client of `cosh-nb mcp` gets for these calls, in a thread, so that the test can click meanwhile."""
    answers = []

    async def talk():
        from mcp import Client, StdioServerParameters

        env = {**os.environ, "PYTHONPATH": ""}
        given = StdioServerParameters(command=sys.executable, args=["-m", "cosh_nb", "mcp"], env=env, cwd=str(folder))
        async with Client(given, read_timeout_seconds=60) as client:
            listed = await client.list_tools()
            answers.append(sorted(tool.name for tool in listed.tools))
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                answers.append((result.is_error, result.content[0].text))

    thread = threading.Thread(target=lambda: asyncio.run(talk()))
    thread.start()
    return thread, answers


def test_an_agent_outside_works_in_the_kernel_with_cards_in_the_notebook(kernel, tmp_path):
    thread, before = outside(kernel.cwd, ("Variables", {}))
    thread.join(60)
    assert before[0] == ["NotebookEdit", "NotebookRead", "NotebookRun", "Python", "Variables"]
    assert before[1][0]
    assert "/mcp serve" in before[1][1]

    cell = kernel.run("answer = 41\n%cosh /mcp serve")
    assert "listens" in cell.text
    (note,) = (tmp_path / "cosh" / "kernels").glob("*.json")
    assert stat.S_IMODE(note.stat().st_mode) == 0o600

    thread, answers = outside(kernel.cwd, ("Variables", {}), ("Python", {"code": "answer += 1; print(answer)"}))
    kernel.click("Run once", 60)
    kernel.wait(lambda: not thread.is_alive(), 60, "end of the client")
    assert "answer" in answers[1][1]
    assert answers[2] == (False, answers[2][1])
    assert "42" in answers[2][1]
    assert kernel.run("print(answer)").text == "42"
    assert "you allowed it once" in cell.text

    thread, refused = outside(kernel.cwd, ("Python", {"code": "answer = 0"}))
    kernel.click("Don’t run", 60)
    kernel.type_into("optional, e.g. use altair", "not that")
    kernel.wait(lambda: not thread.is_alive(), 60, "end of the client")
    assert refused[1][0]
    assert "not that" in refused[1][1]

    assert "no longer" in kernel.run("%cosh /mcp stop").text
    assert not list((tmp_path / "cosh" / "kernels").glob("*.json"))


def test_a_wrong_token_and_other_tools_are_refused(tmp_path, monkeypatch):
    from cosh_nb import mirror
    from cosh_tools.context import SessionState
    from cosh_tools.contract import ToolContext
    from cosh_tools.gate import Gate
    from cosh_tools.registry import ToolRegistry, load
    from cosh_tools.runner import Runner

    monkeypatch.setenv("COSH_DATA_DIR", str(tmp_path))

    async def story():
        ctx = ToolContext(SessionState(tmp_path, tmp_path))
        served = mirror.Mirror(Runner(ToolRegistry([load("Bash"), load("Variables")]), ctx, Gate()))
        await served.start()
        (kernel,) = mirror.kernels()
        assert stat.S_IMODE(Path(kernel.socket).stat().st_mode) == 0o600  # noqa: ASYNC240  (one look)
        wrong = mirror.Listening(**{name: getattr(kernel, name) for name in kernel.__slots__} | {"token": "guess"})
        assert "token is wrong" in (await mirror.call(wrong, "Variables", {}))["content"]
        assert "not served" in (await mirror.call(kernel, "Bash", {"command": "id"}))["content"]
        assert (await mirror.call(kernel, "Variables", {}))["is_error"]
        await served.close()
        assert mirror.kernels() == []

    asyncio.run(story())
