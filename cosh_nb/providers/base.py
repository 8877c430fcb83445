"""What a provider is: it takes a request and yields model events. It sees schemas, never tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from cosh_nb.events import ModelEvent
    from cosh_nb.messages import Message
    from cosh_tools.contract import ToolDefinition


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    `system` is the stable part of the system prompt (cached), `volatile` the part that changes from turn to turn
    (date, git status) and comes last. `tools` is the same tuple object as long as nothing was declared or dropped,
    so a provider may keep its bytes by identity.
    """

    messages: Sequence[Message]
    system: str = ""
    volatile: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    max_tokens: int = 32_000
    thinking_tokens: int = 0
    """Budget for reasoning; 0 leaves it to the model's default."""
    tool_choice: str = "auto"
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the service's own request, as the person set them."""


class Provider(Protocol):
    """A source of model messages."""

    name: str
    """"anthropic", "openai", "offline", "recorded"."""
    model: str

    @property
    def label(self) -> str:
        """What the footer calls it; says so where it is not a language model."""
        ...

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The answer, event by event, ending with MessageEnd.

        Raises errors.ProviderError with a sentence and a next step. Closing the iterator ends the request at once.
        """
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
