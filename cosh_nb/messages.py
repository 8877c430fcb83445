"""Messages of a conversation: wire-ready, serialised once.

The history keeps Anthropic's content blocks, the richer of the two wire shapes; a provider of another dialect
converts each message once and keeps the bytes beside it. A request body is then a join of bytes, so a turn at
history 1,000 costs what a turn at history 10 costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from cosh_tools.results import Media, ToolResult

Block = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Message:
    """One message. `wire` caches its bytes per dialect ("anthropic", "openai")."""

    role: Literal["user", "assistant"]
    content: tuple[Block, ...]
    wire: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    @property
    def text(self) -> str:
        """Its prose."""
        return "\n\n".join(block["text"] for block in self.content if block.get("type") == "text")

    @property
    def calls(self) -> tuple[Block, ...]:
        """The tool_use blocks it declares."""
        return tuple(block for block in self.content if block.get("type") == "tool_use")

    @property
    def results(self) -> tuple[Block, ...]:
        """The tool_result blocks it carries."""
        return tuple(block for block in self.content if block.get("type") == "tool_result")


def user(text: str, media: Iterable[Block] = ()) -> Message:
    """A request of the person, with images or documents before the words."""
    return Message("user", (*media, text_block(text)))


def text_block(text: str) -> Block:
    """Prose as a block."""
    return {"type": "text", "text": scrub(text)}


def result_block(call_id: str, result: ToolResult) -> Block:
    """The answer to one call: text, then images and documents. Metadata stays behind."""
    content: str | list[Block] = scrub(result.content)
    if result.media:
        content = [text_block(result.content)] if result.content else []
        content += [media_block(media) for media in result.media]
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if result.is_error:
        block["is_error"] = True
    return block


def scrub(text: str) -> str:
    """The text with lone surrogates replaced: no service takes them, and no file."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def media_block(media: Media) -> Block:
    """An image or a document, as the services take it."""
    kind = "document" if media.media_type == "application/pdf" else "image"
    source = {"type": "base64", "media_type": media.media_type, "data": media.base64}
    return {"type": kind, "source": source}
