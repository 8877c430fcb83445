"""Model servers on this machine: recognised by what they say, with the models that can call tools, and quickly."""

from __future__ import annotations

import socket
import time
from dataclasses import replace

import pytest

from cosh_nb.providers.loopback import Server, ollama_url, probe, probe_loopback, usual
from support.modelserver import ModelServer

PATIENT = 5.0
"""A busy test machine is no model server that answers at once."""


def at(server: ModelServer, kind: str) -> Server:
    return replace(usual(kind), url=f"{server.url}/v1")


async def test_ollama_lists_only_models_that_call_tools(model_server: ModelServer) -> None:
    model_server.routes["GET /api/tags"] = (200, {"models": [{"name": "qwen3:8b"}]})
    model_server.routes["POST /api/show"] = (200, {"capabilities": ["completion", "tools"]})
    found = await probe(at(model_server, "ollama"), PATIENT)
    assert found is not None
    assert found.models == ("qwen3:8b",)


async def test_ollama_without_such_a_model_is_not_found(model_server: ModelServer) -> None:
    model_server.routes["GET /api/tags"] = (200, {"models": [{"name": "gemma:2b"}]})
    model_server.routes["POST /api/show"] = (200, {"capabilities": ["completion"]})
    assert await probe(at(model_server, "ollama"), PATIENT) is None


@pytest.mark.parametrize(
    ("props", "found"),
    [
        ({"chat_template_caps": {"supports_tools": True}}, True),
        ({"chat_template_caps": {"supports_tools": False}}, False),
        ({"chat_template": "{% if tools %}"}, True),
        ({"chat_template": "{{ messages }}"}, False),
    ],
)
async def test_llama_cpp_is_known_by_its_name_and_asked_for_its_template(
    model_server: ModelServer, props: dict, found: bool
) -> None:
    model_server.routes["GET /v1/models"] = (200, {"data": [{"id": "m.gguf", "owned_by": "llamacpp"}]})
    model_server.routes["GET /props"] = (200, props)
    assert bool(await probe(at(model_server, "llamacpp"), PATIENT)) is found


async def test_lm_studio_offers_the_loaded_model_first(model_server: ModelServer) -> None:
    model_server.routes["GET /api/v0/models"] = (200, {"data": [
        {"id": "asleep", "state": "not-loaded", "capabilities": ["tool_use"]},
        {"id": "embedder", "state": "loaded", "type": "embeddings"},
        {"id": "awake", "state": "loaded", "capabilities": ["tool_use"]},
    ]})  # fmt: skip
    found = await probe(at(model_server, "lmstudio"), PATIENT)
    assert found is not None
    assert found.models == ("awake", "asleep")


async def test_vllm_is_known_by_its_name(model_server: ModelServer) -> None:
    model_server.routes["GET /v1/models"] = (200, {"data": [{"id": "qwen3", "owned_by": "vllm"}]})
    found = await probe(at(model_server, "vllm"), PATIENT)
    assert found is not None
    assert found.models == ("qwen3",)


@pytest.mark.parametrize("kind", ["ollama", "llamacpp", "lmstudio", "vllm"])
@pytest.mark.parametrize(
    "answer", [{"data": []}, {"hello": "world"}, [1, 2], "text", None, {"data": ["x"], "models": [3]}]
)
async def test_another_server_on_the_port_is_no_model_server(
    model_server: ModelServer, kind: str, answer: object
) -> None:
    for path in ("/v1/models", "/api/tags", "/api/v0/models"):
        model_server.routes[f"GET {path}"] = (200, answer)
    assert await probe(at(model_server, kind), PATIENT) is None


async def test_a_machine_with_two_servers_lists_both_in_order(model_server: ModelServer) -> None:
    model_server.routes["GET /v1/models"] = (200, {"data": [{"id": "qwen3", "owned_by": "vllm"}]})
    model_server.routes["GET /api/v0/models"] = (200, {"data": [{"id": "gemma", "capabilities": ["tool_use"]}]})
    servers = [at(model_server, kind) for kind in ("lmstudio", "vllm", "ollama")]
    found = await probe_loopback(PATIENT, servers)
    assert [server.kind for server in found] == ["lmstudio", "vllm"]


async def test_nothing_there_costs_next_to_nothing() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = Server("vllm", "vLLM", f"http://127.0.0.1:{free.getsockname()[1]}/v1")
        started = time.monotonic()
        assert await probe_loopback(servers=[closed]) == []
        assert time.monotonic() - started < 0.3


async def test_a_port_that_listens_and_says_nothing_is_left_after_its_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        server = Server("vllm", "vLLM", f"http://127.0.0.1:{mute.getsockname()[1]}/v1")
        started = time.monotonic()
        assert await probe_loopback(0.2, [server]) == []
        assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:8888", "http://127.0.0.1:8888/v1"),
        ("gpu.lab:1234", "http://gpu.lab:1234/v1"),
        ("http://gpu.lab", "http://gpu.lab:80/v1"),
        ("https://gpu.lab", "https://gpu.lab:443/v1"),
        ("https://gpu.lab/ollama/", "https://gpu.lab:443/ollama/v1"),
        ("'[::1]:9'", "http://[::1]:9/v1"),
        ("[::]", "http://127.0.0.1:11434/v1"),
    ],
)
def test_what_ollama_host_may_hold(host: str, url: str) -> None:
    assert ollama_url(host) == url
