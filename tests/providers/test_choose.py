"""Which model answers, and why, from nothing but an environment, settings and what was found."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cosh_nb.errors import AuthError, ProviderError, UsageError
from cosh_nb.providers import choose as chooser
from cosh_nb.providers.building import build
from cosh_nb.providers.choose import Choice, decide, look_around
from cosh_nb.providers.loopback import Server, probe_loopback
from support.asking import SECRET, ask, prose
from support.modelserver import ModelServer, status

OLLAMA = Server("ollama", "Ollama", "http://127.0.0.1:11434/v1", ("qwen3:8b", "gpt-oss:20b"))
LM_STUDIO = Server("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", ("gemma",))
EVERYTHING = {
    "ANTHROPIC_API_KEY": "a-key",
    "OPENAI_API_KEY": "o-key",
    "DASHSCOPE_API_KEY": "d-key",
    "OLLAMA_HOST": "gpu.lab",
}


def without(*names: str) -> dict[str, str]:
    return {name: value for name, value in EVERYTHING.items() if name not in names}


# -- the order --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "settings", "provider", "reason"),
    [
        ({**EVERYTHING, "COSH_PROVIDER": "ollama"}, {"provider": "openai"}, "ollama", "COSH_PROVIDER names it"),
        (EVERYTHING, {"provider": "dashscope"}, "dashscope", "the settings name it"),
        (EVERYTHING, {}, "anthropic", "ANTHROPIC_API_KEY is set"),
        (without("ANTHROPIC_API_KEY"), {}, "openai", "OPENAI_API_KEY is set"),
        ({"OPENAI_BASE_URL": "http://teacher/v1", "DASHSCOPE_API_KEY": "d"}, {}, "openai", "OPENAI_BASE_URL is set"),
        (without("ANTHROPIC_API_KEY", "OPENAI_API_KEY"), {}, "dashscope", "DASHSCOPE_API_KEY is set"),
        ({"OLLAMA_HOST": "gpu.lab"}, {}, "ollama", "OLLAMA_HOST is set"),
        ({}, {}, "offline", "no key is set and no model server answers on this machine"),
        ({"ANTHROPIC_API_KEY": ""}, {}, "offline", "no key is set and no model server answers on this machine"),
    ],
)  # fmt: skip
def test_the_order(env: dict[str, str], settings: dict, provider: str, reason: str) -> None:
    choice = decide(env, settings)
    assert (choice.provider, choice.reason) == (provider, reason)


def test_what_was_named_for_this_call_comes_first() -> None:
    choice = decide({**EVERYTHING, "COSH_PROVIDER": "ollama"}, {}, provider="OpenAI", model="gpt-6.1-terra")
    assert (choice.provider, choice.model, choice.reason) == ("openai", "gpt-6.1-terra", "you named it")


@pytest.mark.parametrize("name", ["llama.cpp", "LM Studio", "vLLM", "offline"])
def test_names_may_be_written_as_people_do(name: str) -> None:
    assert decide({"COSH_PROVIDER": name}, {}).provider in chooser.NAMES


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"no provider 'gemini' \(COSH_PROVIDER names it\).*anthropic, openai"):
        decide({"COSH_PROVIDER": "gemini"}, {})


def test_a_found_server_is_offered_and_not_used() -> None:
    choice = decide({}, {}, [OLLAMA, LM_STUDIO])
    assert choice.provider == "offline"
    assert choice.offer is OLLAMA
    assert "only after your yes" in choice.reason


def test_after_a_yes_it_is_used_with_its_first_model() -> None:
    choice = decide({}, {}, [OLLAMA, LM_STUDIO], agreed={LM_STUDIO.url})
    assert (choice.provider, choice.model, choice.base_url) == ("lmstudio", "gemma", LM_STUDIO.url)
    assert choice.runs_here
    assert choice.offer is None


# -- the model --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "settings", "model"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, {}, "claude-sonnet-5-5"),
        ({"ANTHROPIC_API_KEY": "k", "COSH_MODEL": "claude-9"}, {"model": "opus"}, "claude-9"),
        ({"ANTHROPIC_API_KEY": "k"}, {"model": "opus"}, "claude-opus-5-5"),
        ({"ANTHROPIC_API_KEY": "k"}, {"model": "sonnet[1m]"}, "claude-sonnet-5-5"),
        ({"ANTHROPIC_API_KEY": "k"}, {"model": "a-model-of-next-year"}, "a-model-of-next-year"),
        ({"OPENAI_API_KEY": "k"}, {}, "gpt-6.1-sol"),
        ({"OPENAI_API_KEY": "k"}, {"model": "opus"}, "gpt-6.1-sol"),
        ({"OPENAI_API_KEY": "k"}, {"model": "claude-opus-5-5"}, "gpt-6.1-sol"),
        ({"OPENAI_API_KEY": "k", "COSH_MODEL": "claude-opus-5-5"}, {}, "claude-opus-5-5"),
        ({"DASHSCOPE_API_KEY": "k"}, {}, "qwen3-max"),
        ({"OLLAMA_HOST": "127.0.0.1"}, {}, "qwen3:8b"),
        ({"OLLAMA_HOST": "127.0.0.1"}, {"model": "gpt-oss:20b"}, "gpt-oss:20b"),
        ({"OLLAMA_HOST": "127.0.0.1"}, {"model": "claude-opus-5-5"}, "qwen3:8b"),
        ({"OLLAMA_HOST": "127.0.0.1", "COSH_MODEL": "other"}, {}, "other"),
    ],
)
def test_the_model(env: dict[str, str], settings: dict, model: str) -> None:
    assert decide(env, settings, [OLLAMA]).model == model


def test_a_model_that_is_known_to_be_another_services_brings_its_service() -> None:
    assert decide(EVERYTHING, {}, model="gpt-6.1-sol").provider == "openai"
    assert decide(EVERYTHING, {}, model="claude-opus-5-5").provider == "anthropic"
    assert decide(without("OPENAI_API_KEY"), {}, model="gpt-6.1-sol").provider == "anthropic"


# -- keys and addresses ---------------------------------------------------------------------------------------------


def test_where_the_key_came_from_is_said_and_the_key_is_not() -> None:
    choice = decide({"ANTHROPIC_API_KEY": SECRET}, {})
    assert choice.key_source == "ANTHROPIC_API_KEY"
    assert choice.key == SECRET
    assert SECRET not in repr(choice)


def test_a_token_for_a_gateway_counts_as_a_key() -> None:
    choice = decide({"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": "https://gw.example"}, {})
    assert (choice.provider, choice.key_source, choice.base_url) == (
        "anthropic",
        "ANTHROPIC_AUTH_TOKEN",
        "https://gw.example",
    )


def test_a_helper_of_the_settings_counts_as_a_key() -> None:
    choice = decide({}, {"apiKeyHelper": "print-key --secret"})
    assert (choice.provider, choice.key_source) == ("anthropic", "apiKeyHelper")
    assert "--secret" not in repr(choice)


def test_the_base_url_of_the_settings_belongs_to_their_provider() -> None:
    settings = {"provider": "vllm", "baseUrl": "http://gpu:8000/v1", "model": "qwen3-32b"}
    choice = decide({}, settings)
    assert (choice.base_url, choice.model) == ("http://gpu:8000/v1", "qwen3-32b")
    assert decide({"ANTHROPIC_API_KEY": "k", "COSH_PROVIDER": "anthropic"}, settings).base_url == ""


@pytest.mark.parametrize(
    ("value", "stall"),
    [(900, (900.0, 900.0)), ({"first": 1200, "between": 60}, (1200.0, 60.0)), ("long", None), (True, None), (-1, None)],
)
def test_how_long_a_silence_may_last_is_a_setting(value: object, stall: object) -> None:
    assert decide({"ANTHROPIC_API_KEY": "k"}, {"stallSeconds": value}).stall == stall


# -- looking around ---------------------------------------------------------------------------------------------------


async def test_nothing_is_asked_where_a_key_decides(model_server: ModelServer) -> None:
    env = {"OPENAI_API_KEY": "k", "OLLAMA_HOST": model_server.url}
    assert await look_around(env, {}) == []
    assert model_server.connections == 0


async def test_a_teachers_server_is_asked_which_model_it_has(model_server: ModelServer) -> None:
    model_server.routes["GET /v1/models"] = (200, {"data": [{"id": "class-model"}]})
    choice = await chooser.choose({"OPENAI_BASE_URL": f"{model_server.url}/v1"}, {})
    assert (choice.provider, choice.model) == ("openai", "class-model")


async def test_a_teachers_server_that_is_down_is_said_when_it_is_built() -> None:
    choice = await chooser.choose({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, {})
    with pytest.raises(ProviderError, match=r"OpenAI at http://127\.0\.0\.1:9/v1 does not answer"):
        build(choice)


def with_ollama(server: ModelServer) -> Callable[[], Awaitable[list[Server]]]:
    """A machine where our server plays Ollama; the time is one that a busy test machine keeps."""
    server.routes["GET /api/tags"] = (200, {"models": [{"name": "qwen3:8b"}]})
    server.routes["POST /api/show"] = (200, {"capabilities": ["completion", "tools"]})
    return lambda: probe_loopback(5.0, [replace(OLLAMA, url=f"{server.url}/v1")])


async def test_a_server_of_this_machine_is_used_after_a_yes(model_server: ModelServer) -> None:
    asked: list[tuple[str, str]] = []

    async def yes(server: str, model: str) -> bool:
        asked.append((server, model))
        return True

    choice = await chooser.choose({}, {}, consent=yes, look=with_ollama(model_server))
    assert asked == [(f"127.0.0.1:{model_server.port}", "qwen3:8b")]
    assert (choice.provider, choice.model) == ("ollama", "qwen3:8b")
    model_server.script("From your own machine.")
    assert prose(await ask(build(choice))) == "From your own machine."


async def test_after_a_no_it_is_not_used(model_server: ModelServer) -> None:
    async def no(server: str, model: str) -> bool:
        return False

    choice = await chooser.choose({}, {}, consent=no, look=with_ollama(model_server))
    assert choice.provider == "offline"
    assert model_server.requests == []


async def test_with_nobody_to_ask_it_is_not_used(model_server: ModelServer) -> None:
    assert (await chooser.choose({}, {}, look=with_ollama(model_server))).provider == "offline"


# -- building --------------------------------------------------------------------------------------------------------


async def test_what_is_built_asks_with_its_key(model_server: ModelServer) -> None:
    env = {**model_server.env(), "ANTHROPIC_API_KEY": SECRET}
    provider = build(decide(env, {}))
    model_server.script("Hi.")
    assert prose(await ask(provider)) == "Hi."
    assert model_server.seen[0].headers["x-api-key"] == SECRET


async def test_a_compatible_server_is_built_from_its_environment(model_server: ModelServer) -> None:
    provider = build(decide(model_server.env("openai", model="class-model"), {}))
    model_server.script("Hi.")
    assert prose(await ask(provider)) == "Hi."
    assert model_server.requests[0]["model"] == "class-model"
    assert provider.label.startswith("class-model at 127.0.0.1:")


async def test_a_gateway_token_is_sent_as_a_bearer(model_server: ModelServer) -> None:
    env = {"ANTHROPIC_AUTH_TOKEN": "token", "ANTHROPIC_BASE_URL": model_server.url}
    model_server.script("Hi.")
    await ask(build(decide(env, {})))
    assert model_server.seen[0].headers["authorization"] == "Bearer token"


async def test_a_helpers_key_is_asked_for_again_when_it_is_refused(model_server: ModelServer, tmp_path: Path) -> None:
    count = tmp_path / "count"
    helper = f"echo x >> {count}; printf 'key-%s' $(wc -l < {count})"
    env = {"ANTHROPIC_BASE_URL": model_server.url}
    model_server.script(status(401), "With a new key.")
    assert prose(await ask(build(decide(env, {"apiKeyHelper": helper})))) == "With a new key."
    assert [seen.headers["x-api-key"] for seen in model_server.seen] == ["key-1", "key-2"]
    assert model_server.seen[1].headers["authorization"] == "Bearer key-2"


async def test_a_helpers_key_is_refused_twice_at_most(model_server: ModelServer) -> None:
    model_server.script(status(401, times=9))
    with pytest.raises(AuthError):
        await ask(build(decide({"ANTHROPIC_BASE_URL": model_server.url}, {"apiKeyHelper": "echo key"})))
    assert len(model_server.seen) == 2


@pytest.mark.parametrize(("command", "words"), [("exit 3", "exit code 3"), ("true", "no key")])
async def test_a_helper_that_gives_no_key(model_server: ModelServer, command: str, words: str) -> None:
    with pytest.raises(AuthError, match=words):
        await ask(build(decide({"ANTHROPIC_BASE_URL": model_server.url}, {"apiKeyHelper": command})))
    assert not model_server.seen


def test_a_provider_without_its_key_says_which_variable_to_set() -> None:
    with pytest.raises(AuthError, match=r"COSH_PROVIDER names it.*Set ANTHROPIC_API_KEY"):
        build(decide({"COSH_PROVIDER": "anthropic"}, {}))
    with pytest.raises(AuthError, match="Set DASHSCOPE_API_KEY"):
        build(decide({}, {}, provider="dashscope"))


@pytest.mark.parametrize(
    ("env", "settings", "first", "between"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, {}, 45, 45),
        ({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://api.anthropic.com/v1"}, {}, 45, 45),
        ({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:8000"}, {}, 600, 120),
        ({"OPENAI_API_KEY": "k"}, {}, 600, 120),
        ({"OPENAI_API_KEY": "k"}, {"stallSeconds": {"first": 900, "between": 300}}, 900, 300),
    ],
)
def test_how_long_a_silence_may_last(env: dict[str, str], settings: dict, first: float, between: float) -> None:
    patience = build(decide(env, settings))._wire.patience
    assert (patience.first, patience.between) == (first, between)


def test_ollama_without_a_model_says_how_to_get_one() -> None:
    with pytest.raises(ProviderError, match="ollama pull"):
        build(decide({"OLLAMA_HOST": "127.0.0.1:9"}, {}))


def test_the_embedded_default_is_built_with_nothing_at_all() -> None:
    assert build(Choice("offline")).name == "offline"


def test_a_recording_must_be_named() -> None:
    with pytest.raises(UsageError, match="--replay NAME"):
        build(decide({"COSH_PROVIDER": "recorded"}, {}))
