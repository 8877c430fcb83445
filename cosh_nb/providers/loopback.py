"""Model servers on this machine: which answer on their usual ports, and which of their models can call tools.

Ollama, LM Studio and llama.cpp say what a model can do. vLLM does not: whether it was started with a tool parser
shows at the first request, whose error says what to add.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from cosh_nb.errors import ProviderError
from cosh_nb.providers.addresses import split
from cosh_nb.providers.faults import Service
from cosh_nb.providers.keys import Key
from cosh_nb.providers.retry import Patience
from cosh_nb.providers.wire import Wire

SECONDS = 0.3
ASKED = 12
"""Models of one server that are asked what they can do."""


@dataclass(frozen=True, slots=True)
class Server:
    """A model server and the models that can call tools, the one it lists first at the head."""

    kind: str
    """"ollama", "llamacpp", "lmstudio", "vllm"; "openai" for an address that somebody named."""
    name: str
    url: str
    """Its Chat Completions base, ending in /v1."""
    models: tuple[str, ...] = ()


USUAL: tuple[Server, ...] = (
    Server("ollama", "Ollama", "http://127.0.0.1:11434/v1"),
    Server("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    Server("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
    Server("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
)


async def probe_loopback(timeout: float = SECONDS, servers: Sequence[Server] = USUAL) -> list[Server]:
    """The servers that answer within `timeout` and have a model that calls tools, in the order given."""
    open_ = await asyncio.gather(*(_listens(server.url, timeout) for server in servers))
    heard = [server for server, listens in zip(servers, open_, strict=True) if listens]
    found = await asyncio.gather(*(probe(server, timeout) for server in heard))
    return [server for server in found if server is not None]


async def probe(server: Server, timeout: float = SECONDS, key: str = "") -> Server | None:
    """The server with its models; None where it does not answer, is another one, or has no model that calls tools."""
    wire = Wire(Service(server.name, server.url), Key(key), Patience(connect=timeout))
    await asyncio.to_thread(_load)  # the first import of httpx must not eat the time that the server has
    try:
        async with asyncio.timeout(timeout):
            models = await _ASK[server.kind](wire, server.url)
    except (TimeoutError, ProviderError, LookupError, TypeError, AttributeError):
        return None  # whatever listens there, it is not this kind of server
    finally:
        await wire.close()
    return replace(server, models=tuple(models)) if models else None


# -- how each is asked ----------------------------------------------------------------------------------------------


async def _ollama(wire: Wire, url: str) -> list[str]:
    host = url.removesuffix("/v1")
    names = [str(entry["name"]) for entry in (await wire.get_json(f"{host}/api/tags"))["models"]][:ASKED]

    async def calls_tools(name: str) -> bool:
        try:
            shown = await wire.post_json(f"{host}/api/show", {"model": name})
        except ProviderError:
            return False
        return "tools" in (shown.get("capabilities") or ())

    able = await asyncio.gather(*map(calls_tools, names))
    return [name for name, yes in zip(names, able, strict=True) if yes]


async def _llamacpp(wire: Wire, url: str) -> list[str]:
    entries = (await wire.get_json(f"{url}/models"))["data"]
    if not any(entry.get("owned_by") == "llamacpp" for entry in entries):
        return []
    props = await wire.get_json(url.removesuffix("/v1") + "/props")
    says = props.get("chat_template_caps") or {}
    # Older servers do not say; a template that knows tools speaks of them.
    able = says["supports_tools"] if "supports_tools" in says else "tools" in str(props.get("chat_template", ""))
    return [str(entry["id"]) for entry in entries] if able else []


async def _lmstudio(wire: Wire, url: str) -> list[str]:
    entries = (await wire.get_json(url.removesuffix("/v1") + "/api/v0/models"))["data"]
    able = [entry for entry in entries if "tool_use" in (entry.get("capabilities") or ())]
    able.sort(key=lambda entry: entry.get("state") != "loaded")
    return [str(entry["id"]) for entry in able]


async def _vllm(wire: Wire, url: str) -> list[str]:
    entries = (await wire.get_json(f"{url}/models"))["data"]
    return [str(entry["id"]) for entry in entries if entry.get("owned_by") == "vllm"]


async def _named(wire: Wire, url: str) -> list[str]:
    return [str(entry["id"]) for entry in (await wire.get_json(f"{url}/models"))["data"]]


_ASK: Mapping[str, Callable[[Wire, str], Awaitable[list[str]]]] = {
    "ollama": _ollama,
    "llamacpp": _llamacpp,
    "lmstudio": _lmstudio,
    "vllm": _vllm,
    "openai": _named,
}


def ollama_url(host: str) -> str:
    """The Chat Completions base for what OLLAMA_HOST may hold: a host, host:port, or a URL; 0.0.0.0 is this machine."""
    text = host.strip().strip("\"'").rstrip("/")
    if "://" not in text:
        text = f"http://{text}"
    parts = split(text)
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name in {"0.0.0.0", "::"} else name  # noqa: S104 (read, not bound)
    name = f"[{name}]" if ":" in name else name
    port = parts.port or (443 if parts.scheme == "https" else 80 if "://" in host else 11434)
    return f"{parts.scheme}://{name}:{port}{parts.path}/v1"


def usual(kind: str) -> Server:
    """The server of this kind on its usual port."""
    return next(server for server in USUAL if server.kind == kind)


async def _listens(url: str, timeout: float) -> bool:
    """Whether anything listens there; costs no import where nothing does."""
    parts = split(url)
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def _load() -> None:
    from cosh_nb.providers.wire import warm

    warm()
