"""What a tool gives back, and the errors it may raise."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The images that model services take."""


@dataclass(frozen=True, slots=True)
class Media:
    """An image or a document that goes to the model beside the text.

    `data` holds the raw bytes, `media_type` the MIME type ("image/png", "application/pdf").
    """

    media_type: str
    data: bytes
    title: str = ""

    @classmethod
    def decoded(cls, media_type: str, text: str, title: str = "") -> Media | None:
        """From base64, as notebooks and services keep it; None where the text is none."""
        try:
            return cls(media_type, base64.b64decode(text), title)
        except (binascii.Error, ValueError):
            return None

    @property
    def base64(self) -> str:
        """The bytes as notebooks and services keep them."""
        return base64.b64encode(self.data).decode("ascii")


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of one call.

    `content` is what the model reads. `metadata` is for whoever draws the result and for signals the loop obeys;
    it never goes to the model and is never dropped.
    """

    content: str
    is_error: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    media: tuple[Media, ...] = ()

    @classmethod
    def success(cls, content: str, *media: Media) -> ToolResult:
        """A result that did what was asked."""
        return cls(content, media=media)

    @classmethod
    def error(cls, content: str) -> ToolResult:
        """A result that did not, with a sentence that says what to do next."""
        return cls(content, is_error=True)

    def with_metadata(self, meta: Mapping[str, Any] | None = None, **more: Any) -> ToolResult:
        """The same result with more metadata."""
        return replace(self, metadata={**self.metadata, **(meta or {}), **more})

    def with_note(self, note: str) -> ToolResult:
        """The same result with one more line for the model."""
        return replace(self, content=f"{self.content}\n{note}" if self.content else note)

    @property
    def output(self) -> str:
        """cosh-core's name for `content`."""
        return self.content


class ToolError(Exception):
    """A tool's own failure, told to the model as an error result. The message says what to do next."""


class InvalidInput(ToolError):
    """The arguments of a call do not fit its schema."""


class PermissionDenied(ToolError):
    """The gate, a person or a rule said no."""
