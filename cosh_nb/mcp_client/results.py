"""What a server gives back, as a tool result: text, images as images, binary things on disk."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import mimetypes
from typing import Any

from cosh_nb.paths import cache_folder
from cosh_tools.own_files import write_bytes
from cosh_tools.results import IMAGES, Media, ToolResult

MOST_IMAGE = 5_000_000
"""Bytes of one image that goes to the model; a larger one stays on disk."""


def result_of(answer: Any, session_id: str) -> ToolResult:
    """The result of a tool call."""
    texts, media = _parts(answer.content, session_id)
    if not texts and not media and answer.structured_content is not None:
        texts.append(json.dumps(answer.structured_content, ensure_ascii=False, indent=1))
    return ToolResult("\n".join(texts) or ("" if media else "(no output)"), bool(answer.is_error), media=tuple(media))


def resource_of(answer: Any, session_id: str) -> ToolResult:
    """A resource that was read."""
    texts: list[str] = []
    media: list[Media] = []
    for content in answer.contents:
        _contents(content, session_id, texts, media)
    return ToolResult("\n".join(texts) or "(empty)", media=tuple(media))


def _parts(content: Any, session_id: str) -> tuple[list[str], list[Media]]:
    texts: list[str] = []
    media: list[Media] = []
    for part in content:
        match part.type:
            case "text":
                texts.append(part.text)
            case "image" | "audio":
                _binary(part.data, part.mime_type, part.type, session_id, texts, media)
            case "resource":
                _contents(part.resource, session_id, texts, media)
            case "resource_link":
                texts.append(f"[Resource: {part.uri}{f' ({part.description})' if part.description else ''}]")
            case other:
                texts.append(f"[A part of the kind {other} is not understood]")
    return texts, media


def _contents(content: Any, session_id: str, texts: list[str], media: list[Media]) -> None:
    if hasattr(content, "text"):
        texts.append(content.text)
        return
    _binary(content.blob, content.mime_type or "application/octet-stream", content.uri, session_id, texts, media)


def _binary(data: str, kind: str, name: str, session_id: str, texts: list[str], media: list[Media]) -> None:
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        texts.append(f"[{name}: its {kind} data cannot be decoded]")
        return
    if kind in IMAGES and len(raw) <= MOST_IMAGE:
        media.append(Media(kind, raw, name))
        return
    named = f"{hashlib.sha256(raw).hexdigest()[:16]}{mimetypes.guess_extension(kind) or '.bin'}"
    file = cache_folder() / "mcp" / session_id / named
    try:
        write_bytes(file, raw)
    except OSError as error:
        texts.append(f"[{name}: {len(raw):,} bytes of {kind}, which could not be kept ({error.strerror})]")
        return
    texts.append(f"[{name}: {len(raw):,} bytes of {kind}, kept in {file}]")
