"""Tools and providers that other packages offer through entry points."""

import sys
from textwrap import dedent

import pytest

from cosh_nb.agent import Agent, FrontEnd
from cosh_nb.errors import ProviderError
from cosh_nb.providers import others
from cosh_nb.settings import load
from cosh_tools.registry import ToolRegistry


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A distribution as pip would leave it: a module and its entry points."""
    for name in ("COSH_DATA_DIR", "CLAUDE_CONFIG_DIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    site = tmp_path / "site"
    info = site / "weather-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[cosh.tools]\nweather = weather_pkg:Weather\nbroken = weather_pkg:Nope\n"
        "[cosh.providers]\noracle = weather_pkg:oracle\nsick = weather_pkg:sick\n"
    )
    (site / "weather_pkg.py").write_text(
        dedent("""
        from cosh_tools.contract import NoInput, PermissionLevel, Tool, ToolKind, ToolResult
        from support.scripted import Say, ScriptedProvider

        class Weather(Tool[NoInput]):
            name = "Weather"
            description = "Tells the weather"
            kind, permission_level = ToolKind.READ_ONLY, PermissionLevel.READ_ONLY
            async def execute(self, call, ctx):
                return ToolResult.success("rain")

        def oracle(model, env):
            return ScriptedProvider([[Say(f"I am {model} for {env['USER_NAME']}")]], name="oracle")

        def sick(model, env):
            raise RuntimeError("no luck")
        """)
    )
    monkeypatch.syspath_prepend(str(site))
    yield tmp_path
    sys.modules.pop("weather_pkg", None)


def test_a_tool_of_another_package_joins_and_a_broken_one_is_a_sentence(package):
    registry = ToolRegistry()
    failed = registry.add_entry_points()
    assert registry.names() == ["Weather"]
    assert "broken" in failed[0]


async def test_a_provider_of_another_package_is_chosen_by_its_name(package):
    env = {"COSH_PROVIDER": "oracle", "COSH_MODEL": "delphi", "USER_NAME": "me"}
    agent = Agent(package, load(package, env), FrontEnd())
    ended = await agent.run("hello", lambda _event: None)
    assert ended.text == "I am delphi for me"
    await agent.close()


def test_a_provider_that_does_not_load_says_what_to_do(package):
    with pytest.raises(ProviderError, match="no luck"):
        others.make("sick", None, {})
    assert others.make("unknown", None, {}) is None
