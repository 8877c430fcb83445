"""Chat Completions: OpenAI, DashScope, and every server that imitates them (vLLM, Ollama, LM Studio, llama.cpp)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosh_nb.errors import ContextOverflow, ProviderError
from cosh_nb.events import ModelEvent
from cosh_nb.providers.addresses import host, split
from cosh_nb.providers.base import Request
from cosh_nb.providers.faults import Service
from cosh_nb.providers.keys import Key
from cosh_nb.providers.openai_events import ChunkDecoder
from cosh_nb.providers.openai_messages import functions, wire
from cosh_nb.providers.retry import Patience
from cosh_nb.providers.sse import dumps
from cosh_nb.providers.wire import Wire

if TYPE_CHECKING:
    from cosh_tools.contract import ToolDefinition

BASE_URL = "https://api.openai.com/v1"
OPENAI = Service("OpenAI", BASE_URL, "", "OPENAI_API_KEY", "OPENAI_BASE_URL", "most servers want it to end in /v1")

_OURS = frozenset({"messages", "tools", "stream"})
_UNKNOWN = (
    "unsupported",
    "unrecognized",
    "unknown",
    "unexpected",
    "not supported",
    "not permitted",
    "extra",
    "invalid",
)


class OpenAIProvider:
    """A model behind a Chat Completions endpoint. `service` says whose it is."""

    name = "openai"

    def __init__(
        self,
        model: str,
        key: Key | None = None,
        base_url: str = "",
        *,
        service: Service = OPENAI,
        patience: Patience | None = None,
        headers: Any = (),
    ) -> None:
        self.model = model
        self.service = replace(service, url=_with_path(base_url or service.url), model=model)
        self._wire = Wire(self.service, key or Key(), patience or Patience(), dict(headers))
        self._tools: tuple[tuple[ToolDefinition, ...], bytes] = ((), b"")
        ours = self.service.url == BASE_URL
        self.quirks: dict[str, Any] = {"limit": "max_completion_tokens", "system": "developer" if ours else "system"}
        """What this server was found to take; kept for the requests to come."""

    @property
    def label(self) -> str:
        """The model, and whose it is where that is not OpenAI."""
        if self.service.url == BASE_URL:
            return self.model
        if self.service.name != OPENAI.name:
            return f"{self.model} ({self.service.name})"
        return f"{self.model} at {host(self.service.url)}"

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The answer, event by event."""
        return self._wire.events("/chat/completions", _Question(self, request))

    async def models(self) -> list[str]:
        """The models that this server lists."""
        found = await self._wire.get_json(f"{self.service.url}/models")
        entries = found.get("data", []) if isinstance(found, dict) else []
        return [str(entry["id"]) for entry in entries if isinstance(entry, dict) and "id" in entry]

    async def close(self) -> None:
        """Give back connections."""
        await self._wire.close()

    def tools(self, tools: tuple[ToolDefinition, ...]) -> bytes:
        """The definitions as a JSON list, kept as long as the tuple is the same object."""
        if self._tools[0] is not tools:
            self._tools = (tools, functions(tools))
        return self._tools[1]


class _Question:
    """One request (wire.Post)."""

    def __init__(self, provider: OpenAIProvider, request: Request) -> None:
        self._provider = provider
        self._request = request

    def decoder(self) -> ChunkDecoder:
        return ChunkDecoder(self._provider.service)

    def body(self) -> bytes:
        request, quirks = self._request, self._provider.quirks
        head: dict[str, Any] = {"model": self._provider.model, "stream": True}
        if "no_stream_options" not in quirks:
            head["stream_options"] = {"include_usage": True}
        if quirks["limit"]:
            head[quirks["limit"]] = request.max_tokens
        if request.tools and request.tool_choice != "auto":
            head["tool_choice"] = _choice(request.tool_choice)
        head |= {name: value for name, value in request.extra.items() if name not in _OURS}
        parts = [dumps(head)[:-1]]
        if request.tools:
            parts += [b',"tools":', self._provider.tools(request.tools)]
        parts += [b',"messages":[', b",".join(self._messages()), b"]}"]
        return b"".join(parts)

    def amend(self, error: ProviderError) -> bool:
        """Learn from a refusal that names what it does not take. Each lesson is learnt once."""
        quirks, text = self._provider.quirks, error.detail.lower()
        if isinstance(error, ContextOverflow):
            # A server that adds the room for the answer to the conversation: let it use what is left.
            if quirks["limit"] and ("max_tokens" in text or "max_completion_tokens" in text or "completion" in text):
                quirks["limit"] = ""
                return True
            return False
        if error.status not in {400, 422}:
            return False
        unknown = any(word in text for word in _UNKNOWN)
        if quirks["limit"] and quirks["limit"] in text:
            older = quirks["limit"] == "max_completion_tokens" and unknown
            quirks["limit"] = "max_tokens" if older else ""
            return True
        if "stream_options" in text and "no_stream_options" not in quirks:
            quirks["no_stream_options"] = True
            return True
        if "reasoning_content" in text and "reasoning" not in quirks:
            quirks["reasoning"] = True
            return True
        if "developer" in text and quirks["system"] == "developer":
            quirks["system"] = "system"
            return True
        return False

    def _messages(self) -> list[bytes]:
        request, quirks = self._request, self._provider.quirks
        system = "\n\n".join(part for part in (request.system, request.volatile) if part)
        told = [dumps({"role": quirks["system"], "content": system})] if system else []
        reasoning = "reasoning" in quirks
        told += [bytes_ for message in request.messages if (bytes_ := wire(message, reasoning=reasoning))]
        return told


def _choice(choice: str) -> Any:
    if choice in {"any", "required"}:
        return "required"
    return choice if choice == "none" else {"type": "function", "function": {"name": choice}}


def _with_path(url: str) -> str:
    """The base URL; a bare host gets the /v1 that every such server has."""
    url = url.rstrip("/")
    return url if split(url).path or not split(url).netloc else f"{url}/v1"
