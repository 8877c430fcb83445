"""The reference servers of the protocol, as people install them."""

import asyncio
import json

import pytest

from cosh_nb.mcp_client.config import configured
from cosh_nb.mcp_client.servers import Servers
from cosh_tools.context import SessionState
from cosh_tools.contract import ToolCall, ToolContext
from cosh_tools.gate import Gate
from cosh_tools.kinds import PermissionMode
from cosh_tools.registry import ToolRegistry, load
from cosh_tools.runner import Runner
from support.npm import npm_program


@pytest.fixture
async def everything(tmp_path, monkeypatch):
    monkeypatch.setenv("COSH_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "hello.txt").write_text("hello from disk")
    servers = {
        "everything": {"command": npm_program("mcp-server-everything")},
        "files": {"command": npm_program("mcp-server-filesystem"), "args": [str(tmp_path)]},
    }
    registry = ToolRegistry([load("ListMcpResources"), load("ReadMcpResource")])
    host = Servers(registry, tmp_path, "s1")
    host.configure(configured({"mcpServers": servers}, tmp_path, {}, trusted=False))
    told = []
    ctx = ToolContext(SessionState(tmp_path, tmp_path, PermissionMode.BYPASS), mcp=host, progress=told.append)
    await host.start()
    for connection in host.connections():
        assert await connection.settled(60)
        assert connection.state == "ready", connection.problem
    yield Runner(registry, ctx, Gate()), host, told
    await host.close()


@pytest.mark.timeout(400)
async def test_the_reference_servers_work_unchanged(everything, tmp_path):
    runner, host, told = everything
    names = runner.registry.names()
    assert len([name for name in names if name.startswith("mcp__everything__")]) >= 8

    async def call(name, **given):
        return await asyncio.wait_for(runner.run(ToolCall("1", name, given)), 60)

    assert "hello" in (await call("mcp__everything__echo", message="hello")).content
    adding = next(name for name in names if name.startswith("mcp__everything__") and "sum" in name)
    assert "5" in (await call(adding, a=2, b=3)).content
    image = next(name for name in names if name.startswith("mcp__everything__") and "image" in name)
    assert (await call(image)).media[0].media_type == "image/png"
    long = next(name for name in names if name.startswith("mcp__everything__") and "long" in name)
    assert not (await call(long, duration=1, steps=4)).is_error
    assert told, "progress is told"

    assert "hello from disk" in (await call("mcp__files__read_text_file", path=str(tmp_path / "hello.txt"))).content
    assert (await call("mcp__files__read_text_file", path="/etc/passwd")).is_error

    listed = json.loads((await call("ListMcpResources", server="everything")).content)
    assert listed
    assert not (await call("ReadMcpResource", uri=listed[0]["uri"])).is_error
    assert host.prompts()

    slow = asyncio.create_task(runner.run(ToolCall("2", long, {"duration": 60, "steps": 60})))
    told.clear()
    async with asyncio.timeout(20):
        while not told:  # noqa: ASYNC110  (bounded, and nothing tells)
            await asyncio.sleep(0.05)
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(slow, 3)
    assert "again" in (await call("mcp__everything__echo", message="again")).content
