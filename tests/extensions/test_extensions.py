"""Extension folders: what they bring, what they may not, and what is broken."""

import json

import pytest

from cosh_nb.agent import Agent, FrontEnd
from cosh_nb.extensions import find
from cosh_nb.settings import load
from cosh_nb.trust import Trust
from cosh_tools.kinds import PermissionMode
from support.scripted import Call, Say, ScriptedProvider, sent_results

MANIFEST = {
    "name": "tidy",
    "version": "1.2.0",
    "skills": "recipes",
    "contextFileName": "HELLO.md",
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "write_file|Write",
                "hooks": [{"name": "no", "command": "cat ${extensionPath}/why >&2; exit 2"}],
            }
        ]
    },
    "mcpServers": {"tidy": {"command": "${extensionPath}/serve", "args": ["${workspacePath}"]}},
}


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COSH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home" / ".claude"))
    work = tmp_path / "work"
    work.mkdir()
    return tmp_path / "home", work


def install(root, manifest=MANIFEST, name="tidy"):
    folder = root / ".copilot-shell" / "extensions" / name
    (folder / "recipes" / "sweep").mkdir(parents=True)
    (folder / "recipes" / "sweep" / "SKILL.md").write_text("Sweep the floor")
    (folder / "why").write_text("not on my watch")
    (folder / "HELLO.md").write_text("Be tidy.")
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (folder / "cosh-extension.json").write_text(text)
    return folder


async def test_an_extension_brings_skills_hooks_servers_and_context(places):
    home, work = places
    folder = install(home)
    provider = ScriptedProvider([[Call("Write", {"file_path": "a", "content": "b"})], [Say("I see")]])
    agent = Agent(work, load(work, {}), FrontEnd(), mode=PermissionMode.BYPASS, provider=provider)
    agent.mcp.configure(type(agent.mcp._configured)())  # its server is not started here
    await agent.run("go", lambda _event: None)

    assert "not on my watch" in next(iter(sent_results(provider.requests[1]).values()))
    assert not (work / "a").exists()
    assert "Be tidy." in provider.requests[0].system
    assert ("sweep", "Sweep the floor") in agent.skills.names()
    (server,) = agent.extensions[0].servers
    assert (server.command, server.args) == (f"{folder}/serve", (str(work),))
    await agent.close()


def test_a_folders_extension_needs_trust(places):
    _, work = places
    install(work)
    found = find(work, {}, trusted=False)
    assert found.extensions == ()
    assert "/trust" in found.problems[0]
    Trust.load().grant(work)
    assert [one.name for one in find(work, {}, trusted=True).extensions] == ["tidy"]


def test_a_change_of_a_folders_extension_asks_again(places):
    _, work = places
    folder = install(work)
    Trust.load().grant(work)
    (folder / "why").write_text("changed")
    assert not Trust.load().covers(work)


@pytest.mark.parametrize("manifest", ["{", "[]", "{}", '{"name": 5}'])
def test_a_manifest_that_cannot_be_used_is_a_sentence(places, manifest):
    home, work = places
    install(home, manifest)
    found = find(work, {}, trusted=False)
    assert found.extensions == ()
    assert "not at work" in found.problems[0]


def test_paths_stay_inside_the_extension(places):
    home, work = places
    install(home, {"name": "sly", "skills": "../../..", "contextFileName": "/etc/passwd"})
    found = find(work, {}, trusted=False)
    assert found.extensions[0].skills == ()
    assert found.extensions[0].context == ()
    assert len(found.problems) == 2
