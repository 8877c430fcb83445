"""From a choice to the provider itself; each dialect is loaded where it is chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosh_nb.errors import ProviderError, UsageError

if TYPE_CHECKING:
    from cosh_nb.providers.base import Provider
    from cosh_nb.providers.choose import Choice
    from cosh_nb.providers.faults import Service
    from cosh_nb.providers.keys import Key
    from cosh_nb.providers.retry import Patience

DASHSCOPE_URL = "https://dashscope.aliyuncs.com/compatible-mode/v1"


def build(choice: Choice) -> Provider:
    """The provider that was chosen. Raises AuthError where its key is missing, ProviderError where its model is."""
    match choice.provider:
        case "offline":
            from cosh_nb.providers.offline import OfflineProvider

            return OfflineProvider()
        case "recorded":
            from cosh_nb.providers.recorded import RecordedProvider

            if not choice.model:
                raise UsageError("The provider recorded plays a recording: name one with --replay NAME.")
            return RecordedProvider(choice.model)
        case "anthropic":
            return _anthropic(choice)
        case _:
            return _compatible(choice)


def _anthropic(choice: Choice) -> Provider:
    from cosh_nb.providers.anthropic import ANTHROPIC, AnthropicProvider
    from cosh_nb.providers.retry import PINGED, Patience

    service = replace(ANTHROPIC, key_name=choice.key_source or ANTHROPIC.key_name)
    _check(choice, service)
    # Only the service itself is known to ping; a gateway, or a local server that imitates it, may think for minutes.
    pings = choice.base_url.rstrip("/").removesuffix("/v1") in {"", ANTHROPIC.url}
    key, patience = _key(choice), _patience(choice, PINGED if pings else Patience())
    return AnthropicProvider(choice.model, key, choice.base_url, service=service, patience=patience)


def _compatible(choice: Choice) -> Provider:
    from cosh_nb.providers.openai import OpenAIProvider
    from cosh_nb.providers.retry import Patience

    service = _service(choice)
    _check(choice, service)
    return OpenAIProvider(choice.model, _key(choice), service=service, patience=_patience(choice, Patience()))


def _check(choice: Choice, service: Service) -> None:
    from cosh_nb.providers import faults

    if not choice.key and not choice.helper and not choice.base_url:
        raise faults.no_key(service, choice.reason)
    if not choice.model:
        pull = ", load one (ollama pull gpt-oss:20b)" if choice.provider == "ollama" else ""
        raise ProviderError(
            f"{service.name} at {service.place} does not answer, or has no model that can call tools. "
            f"Start it{pull}, or name a model with --model NAME or COSH_MODEL."
        )


def _service(choice: Choice) -> Service:
    from cosh_nb.providers import loopback
    from cosh_nb.providers.faults import Service
    from cosh_nb.providers.openai import OPENAI

    match choice.provider:
        case "openai":
            return replace(OPENAI, url=choice.base_url or OPENAI.url, key_name=choice.key_source or OPENAI.key_name)
        case "dashscope":
            return Service("DashScope", choice.base_url or DASHSCOPE_URL, "", "DASHSCOPE_API_KEY")
        case name:
            url_name = "OLLAMA_HOST" if name == "ollama" else "baseUrl in the settings"
            return Service(loopback.usual(name).name, choice.base_url, "", choice.key_source, url_name)


def _key(choice: Choice) -> Key:
    from cosh_nb.providers.keys import Key

    if choice.provider != "anthropic" or choice.key_source == "ANTHROPIC_AUTH_TOKEN":
        return Key(choice.key, "bearer", choice.helper)
    return Key(choice.key, "both" if choice.helper else "x-api-key", choice.helper)


def _patience(choice: Choice, usual: Patience) -> Patience:
    return usual if choice.stall is None else replace(usual, first=choice.stall[0], between=choice.stall[1])
