"""A question to a provider and what came back, with a patience that suits a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cosh_nb.errors import ProviderError
from cosh_nb.events import BlockDone, MessageEnd, ModelEvent, TextDelta, ToolUseEnd
from cosh_nb.messages import Message, user
from cosh_nb.providers.anthropic import AnthropicProvider
from cosh_nb.providers.base import Provider, Request
from cosh_nb.providers.keys import Key
from cosh_nb.providers.openai import OpenAIProvider
from cosh_nb.providers.retry import Patience
from support.modelserver import ModelServer

QUICK = Patience(first=10, between=10, trailing=0.5, retries=4, reconnects=2, base=0.005, cap=0.02, connect=5)
SECRET = "sk-ant-very-secret-0123456789"


def claude(server: ModelServer, *, model: str = "claude-sonnet-5-5", patience: Patience = QUICK) -> AnthropicProvider:
    """Anthropic's dialect, at this server."""
    return AnthropicProvider(model, Key(SECRET, "x-api-key"), server.url, patience=patience)


def chat(server: ModelServer, *, model: str = "gpt-6.1-sol", patience: Patience = QUICK, **more: Any) -> OpenAIProvider:
    """Chat Completions, at this server."""
    return OpenAIProvider(model, Key(SECRET), f"{server.url}/v1", patience=patience, **more)


async def ask(provider: Provider, *messages: Message | str, **more: Any) -> list[ModelEvent]:
    """All events of one answer; the provider is closed after it."""
    told = [user(message) if isinstance(message, str) else message for message in messages or ("hi",)]
    try:
        return [event async for event in provider.stream(Request(told, **more))]
    finally:
        await provider.close()


async def ask_and_fail(provider: Provider, **more: Any) -> tuple[list[ModelEvent], ProviderError]:
    """What came before the failure, and the failure."""
    events: list[ModelEvent] = []
    try:
        async for event in provider.stream(Request([user("hi")], **more)):
            events.append(event)  # noqa: PERF401 (kept although the iteration fails)
    except ProviderError as error:
        return events, error
    finally:
        await provider.close()
    raise AssertionError(f"it did not fail, it said {prose(events)!r}")


def prose(events: Sequence[ModelEvent]) -> str:
    """The text that was shown."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def blocks(events: Sequence[ModelEvent]) -> list[Any]:
    """The blocks for the history."""
    return [event.block for event in events if isinstance(event, BlockDone)]


def calls(events: Sequence[ModelEvent]) -> list[ToolUseEnd]:
    """The calls that were declared."""
    return [event for event in events if isinstance(event, ToolUseEnd)]


def end(events: Sequence[ModelEvent]) -> MessageEnd:
    """How it ended: always the last event."""
    last = events[-1]
    assert isinstance(last, MessageEnd)
    return last
