"""The outputs of a cell as the model reads them: plain text, folded, and images as images."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cosh_tools.results import IMAGES, Media
from cosh_tools.terminal import readable

_TAG = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_BARE_REPR = re.compile(r"<[\w.]+ (?:object|size|at)\b[^\n]*>|<Figure[^\n]*>|Output\(\)")
_LARGEST_IMAGE = 5_000_000


def render(outputs: Iterable[Mapping[str, Any]], limit: int) -> tuple[str, tuple[Media, ...]]:
    """All outputs as text of about `limit` characters each, and the images among them."""
    texts: list[str] = []
    media: list[Media] = []
    for output in _merged(outputs):
        text, picture = _one(output, limit)
        if text:
            texts.append(text)
        if picture is not None:
            media.append(picture)
    return "\n".join(texts), tuple(media)


def clip(text: str, limit: int) -> str:
    """Head and tail of a long text, with what is left out counted."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-limit // 3 :]
    left = text[len(head) : len(text) - len(tail)]
    return f"{head}\n... ({len(left):,} characters, {left.count(chr(10)):,} lines left out) ...\n{tail}"


def size(count: int) -> str:
    """A number of bytes in words."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.1f} KB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def weight(outputs: Sequence[Mapping[str, Any]]) -> int:
    """About how many bytes outputs are, without parsing those that are not parsed."""
    known = getattr(outputs, "nbytes", None)
    return known if isinstance(known, int) else sum(_weight(output) for output in outputs)


def joined(value: Any) -> str:
    """A multi-line value of a notebook: one string or a list of lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(str, value))
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def image(kind: str, value: Any, title: str = "") -> Media | None:
    """An image of an output; None where it is damaged, or larger than the services take."""
    media = Media.decoded(kind, joined(value), title)
    return media if media is not None and 0 < len(media.data) <= _LARGEST_IMAGE else None


def _one(output: Mapping[str, Any], limit: int) -> tuple[str, Media | None]:
    match output.get("output_type"):
        case "stream":
            return (
                f"[{output.get('name', 'stdout')}]\n{clip(readable(joined(output.get('text'))), limit).rstrip()}",
                None,
            )
        case "error":
            trace = readable("\n".join(map(str, output.get("traceback") or ())))
            said = f"{output.get('ename')}: {output.get('evalue')}"
            return f"[error] {readable(said)}\n{clip(trace, limit)}".rstrip(), None
        case "display_data" | "execute_result" | "update_display_data":
            return _rich(output.get("data") or {}, limit)
        case other:
            return f"[output of unknown type {other!r}, {size(_weight(output))}]", None


def _rich(data: Mapping[str, Any], limit: int) -> tuple[str, Media | None]:
    for kind in IMAGES:
        if kind in data and (found := image(kind, data[kind])) is not None:
            return f"[{kind}, {size(len(found.data))}: the image is attached]", found
    text = joined(data.get("text/plain")) if "text/plain" in data else ""
    shown = "text/plain"
    for kind in ("text/markdown", "text/html", "text/latex"):
        if kind in data and (not text or _BARE_REPR.fullmatch(text.strip())):
            shown, text = kind, joined(data[kind])
            if kind == "text/html":
                text = _without_tags(text)
    others = [f"{kind} {size(_length(value))}" for kind, value in data.items() if kind not in {shown, "text/plain"}]
    if not text:
        return f"[{', '.join(others) or 'empty output'}]", None
    head = f"[result; also {', '.join(others)}]" if others else "[result]"
    return f"{head}\n{clip(readable(text), limit).rstrip()}", None


def _merged(outputs: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Streams of the same name in a row as one, so that a carriage return meets what it overwrites."""
    held: dict[str, Any] | None = None
    for output in outputs:
        if output.get("output_type") == "stream":
            if held is not None and held.get("name") == output.get("name"):
                held["text"] += joined(output.get("text"))
                continue
            if held is not None:
                yield held
            held = {**output, "text": joined(output.get("text"))}
            continue
        if held is not None:
            yield held
            held = None
        yield output
    if held is not None:
        yield held


def _without_tags(text: str) -> str:
    bare = html.unescape(_TAG.sub(" ", text))
    lines = (" ".join(line.split()) for line in bare.splitlines())
    return "\n".join(line for line in lines if line)


def _weight(output: Mapping[str, Any]) -> int:
    data = output.get("data")
    if isinstance(data, Mapping):
        return sum(_length(value) for value in data.values())
    return _length(output.get("text")) + sum(len(str(line)) for line in output.get("traceback") or ())


def _length(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(len(str(line)) for line in value) if isinstance(value, list) else len(joined(value))
