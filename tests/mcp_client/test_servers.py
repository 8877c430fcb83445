"""Real MCP servers: one of ours on the official SDK, over stdio and streamable HTTP."""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from cosh_nb.mcp_client.config import configured
from cosh_nb.mcp_client.servers import Servers
from cosh_nb.mcp_client.tool import tool_name
from cosh_tools.context import SessionState
from cosh_tools.contract import ToolCall, ToolContext
from cosh_tools.gate import Gate
from cosh_tools.kinds import PermissionMode
from cosh_tools.registry import ToolRegistry, load
from cosh_tools.runner import NotRun, Runner

PEER = str(Path(__file__).parents[1] / "support" / "mcp_peer.py")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COSH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@contextlib.asynccontextmanager
async def scene(home, servers, **more):
    """A runner with these servers started."""
    registry = ToolRegistry([load("ListMcpResources"), load("ReadMcpResource")])
    host = Servers(registry, home, "s1")
    host.configure(configured({"mcpServers": servers}, home, {}, trusted=False))
    told = []
    ctx = ToolContext(SessionState(home, home, PermissionMode.BYPASS), mcp=host, progress=told.append, **more)
    try:
        await host.start()
        yield Runner(registry, ctx, Gate()), host, told
    finally:
        await host.close()


def peer(*options):
    return {"peer": {"command": sys.executable, "args": [PEER, *options]}}


async def until(condition, seconds=20):
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  (bounded, and nothing tells)
            await asyncio.sleep(0.02)


async def ready(host):
    await until(lambda: host.connections()[0].state == "ready")


async def test_tools_are_there_under_their_names_and_work(home):
    async with scene(home, peer()) as (runner, host, _):
        await ready(host)
        assert "mcp__peer__add" in runner.registry.names()
        assert (await runner.run(ToolCall("1", "mcp__peer__add", {"a": 2, "b": "3"}))).content == "5"
        bad = await runner.run(ToolCall("2", "mcp__peer__add", {"a": "many", "b": 1}))
        assert bad.is_error
        assert "mcp__peer__add" in bad.content
        failed = await runner.run(ToolCall("3", "mcp__peer__fail", {}))
        assert failed.is_error
        assert "Error executing tool fail" in failed.content


async def test_it_asks_like_a_command_and_a_rule_may_allow_the_server(home):
    async with scene(home, peer()) as (runner, host, _):
        await ready(host)
        runner.ctx.state.permission_mode = PermissionMode.DEFAULT
        assert isinstance(await runner.prepare(ToolCall("1", "mcp__peer__add", {"a": 1, "b": 1})), NotRun)
        from cosh_tools.policy.rules import Rules, parse_rule

        runner.gate.rules = Rules(allow=(parse_rule("mcp__peer"),))
        assert not isinstance(await runner.prepare(ToolCall("1", "mcp__peer__add", {"a": 1, "b": 1})), NotRun)


async def test_images_are_images_and_progress_is_told(home):
    async with scene(home, peer()) as (runner, host, told):
        await ready(host)
        picture = await runner.run(ToolCall("1", "mcp__peer__picture", {}))
        assert picture.media[0].media_type == "image/png"
        assert (await runner.run(ToolCall("2", "mcp__peer__slowly", {"steps": 3}))).content == "done"
        assert any("step 2: 2 of 3" in line for line in told)


async def test_resources_are_listed_and_read_binary_ones_land_on_disk(home):
    async with scene(home, peer()) as (runner, host, _):
        await ready(host)
        listed = json.loads((await runner.run(ToolCall("1", "ListMcpResources", {}))).content)
        assert {one["uri"] for one in listed} == {"note://first", "blob://data"}
        assert (await runner.run(ToolCall("2", "ReadMcpResource", {"uri": "note://first"}))).content == "the first note"
        blob = (await runner.run(ToolCall("3", "ReadMcpResource", {"uri": "blob://data", "server": "peer"}))).content
        kept = Path(blob.split("kept in ")[1].rstrip("]"))
        assert kept.read_bytes() == bytes(range(256))  # noqa: ASYNC240  (256 bytes)
        assert (await runner.run(ToolCall("4", "ReadMcpResource", {"uri": "no://thing"}))).is_error
        assert "peer" in (await runner.run(ToolCall("5", "ListMcpResources", {"server": "nope"}))).content


async def test_prompts_are_commands_with_their_arguments(home):
    async with scene(home, peer()) as (_, host, _):
        await ready(host)
        assert await host.prompt("mcp__peer__review", "'my file.py'") == "Please review my file.py."


async def test_a_server_killed_in_a_call_is_said_and_comes_back(home):
    async with scene(home, peer()) as (runner, host, _):
        await ready(host)
        died = await asyncio.wait_for(runner.run(ToolCall("1", "mcp__peer__die", {})), 20)
        assert died.is_error
        assert "ended during the call" in died.content
        again = await asyncio.wait_for(runner.run(ToolCall("2", "mcp__peer__add", {"a": 1, "b": 1})), 30)
        assert again.content == "2"


async def test_a_call_that_is_cancelled_ends_at_once_and_the_next_one_works(home):
    async with scene(home, peer()) as (runner, host, told):
        await ready(host)
        task = asyncio.create_task(runner.run(ToolCall("1", "mcp__peer__slowly", {"steps": 10_000})))
        await until(lambda: told)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 3)
        assert (await runner.run(ToolCall("2", "mcp__peer__add", {"a": 1, "b": 1}))).content == "2"


async def test_a_list_that_changes_is_read_again(home):
    async with scene(home, peer()) as (runner, host, _):
        await ready(host)
        await runner.run(ToolCall("1", "mcp__peer__grow", {}))
        await until(lambda: "mcp__peer__grown" in runner.registry.names())


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"command": "/no/such/program"}, "not found"),
        ({"command": sys.executable, "args": ["-c", "import sys; sys.exit('broken on purpose')"]}, "broken on purpose"),
        ({"command": sys.executable, "args": [PEER, "--slow"], "startup_timeout_ms": 300}, "in time"),
        ({"url": "http://127.0.0.1:9/mcp"}, ""),
    ],
)
async def test_one_server_that_fails_stops_nothing(home, server, why):
    async with scene(home, {"bad": server, **peer()}) as (runner, host, _):
        bad = next(one for one in host.connections() if one.config.name == "bad")
        await until(lambda: bad.problem)
        assert why in bad.problem
        await until(lambda: "mcp__peer__add" in runner.registry.names())
        assert (await runner.run(ToolCall("1", "mcp__peer__add", {"a": 1, "b": 1}))).content == "2"


async def test_junk_on_stdout_does_not_stop_a_server(home):
    async with scene(home, peer("--junk")) as (runner, host, _):
        await ready(host)
        assert (await runner.run(ToolCall("1", "mcp__peer__add", {"a": 1, "b": 1}))).content == "2"


async def test_three_hundred_tools_are_all_there_and_floods_are_cut(home):
    async with scene(home, peer("--many")) as (runner, host, _):
        await ready(host)
        assert len([name for name in runner.registry.names() if "tool_" in name]) == 300
        result = await runner.run(ToolCall("1", "mcp__peer__flood", {"size": 5_000_000}))
        assert len(result.content) < 101_000


async def test_streamable_http_works(home):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, PEER, "--http", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: ASYNC220  (started once)
    try:

        def answers():
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/mcp", timeout=1).close()
            except urllib.error.HTTPError as error:
                error.close()
                return True
            except OSError:
                return False
            return True

        await until(answers)
        async with scene(home, {"peer": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}}) as (runner, host, _):
            await ready(host)
            assert (await runner.run(ToolCall("1", "mcp__peer__add", {"a": 1, "b": 1}))).content == "2"
    finally:
        process.terminate()
        process.wait(10)


def test_names_fit_every_service():
    long = tool_name("my server", "odd/name " * 30)
    assert len(long) <= 64
    assert long.startswith("mcp__my_server__odd_name_")
    assert long != tool_name("my server", "odd/name " * 31)


def test_configuration_is_read_defensively(home):
    servers = {
        "ok": {"command": "x", "args": ["${HOME_DIR:-/tmp}", 1], "env": {"A": "${A}"}},
        "unset": {"command": "${NOPE}"},
        "none": {"args": []},
        "url": {"url": "ftp://x"},
        "kind": {"type": "pigeon", "url": "http://x"},
        "text": "x",
        "off": {"command": "x", "disabled": True},
    }
    found = configured({"mcpServers": servers}, home, {"A": "a"}, trusted=False)
    assert [one.name for one in found.servers] == ["ok"]
    assert found.servers[0].args == ("/tmp", "1")
    assert len(found.problems) == 5
    assert any("NOPE" in problem for problem in found.problems)


def test_servers_of_an_untrusted_folder_are_listed_and_not_started(home):
    (home / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": {"command": "touch pwned"}}}))
    found = configured({}, home, {}, trusted=False)
    assert found.servers == ()
    assert "/trust" in found.problems[0]
    assert [one.name for one in configured({}, home, {}, trusted=True).servers] == ["evil"]
