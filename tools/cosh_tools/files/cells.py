"""A notebook as the model reads it: cells with ids, types, sources and outputs, images beside the text."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cosh_tools.hosts import CellView, NotebookView
from cosh_tools.results import Media, ToolError

if TYPE_CHECKING:
    from pathlib import Path

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_OUTPUT_LIMIT = 10_000
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def view_of(path: Path, raw: bytes) -> NotebookView:
    """The cells of a notebook file as last saved. Raises ToolError."""
    try:
        whole = json.loads(raw) if raw.strip() else {"cells": []}
        found = whole["cells"] if "cells" in whole else whole["worksheets"][0]["cells"]
        cells = tuple(_cell(index, cell) for index, cell in enumerate(found))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ToolError(f"{path.name} is no readable notebook: {type(error).__name__}: {error}.") from None
    return NotebookView(path, cells, live=False, as_of="as last saved", metadata=whole.get("metadata", {}))


def cells_as_text(cells: Sequence[CellView], most: int) -> tuple[str, tuple[Media, ...], int]:
    """The cells as tagged text, their images, and how many cells fitted into `most` characters."""
    parts: list[str] = []
    media: list[Media] = []
    size = 0
    for cell in cells:
        text, images = _cell_as_text(cell)
        if parts and size + len(text) > most:
            break
        parts.append(text)
        media += images
        size += len(text)
    return "\n".join(parts), tuple(media), len(parts)


def _cell_as_text(cell: CellView) -> tuple[str, list[Media]]:
    count = f' execution_count="{cell.execution_count}"' if cell.execution_count is not None else ""
    text = f'<cell id="{cell.id}" index="{cell.index}" type="{cell.type}"{count}>\n{cell.source}\n</cell>'
    outputs: list[str] = []
    media: list[Media] = []
    for output in cell.outputs:
        said, images = _output(output, f"output of cell {cell.id}")
        media += images
        if said:
            outputs.append(said)
    if outputs:
        text += f'\n<output cell="{cell.id}">\n' + "\n".join(outputs) + "\n</output>"
    return text, media


def _output(output: Mapping[str, Any], title: str) -> tuple[str, list[Media]]:
    match output.get("output_type"):
        case "stream":
            return _short(_text(output.get("text"))), []
        case "error":
            trace = _text(output.get("traceback"), "\n") or f"{output.get('ename')}: {output.get('evalue')}"
            return _short(trace), []
        case _:
            data = output.get("data") or {}
            images = [image for kind in _IMAGES if (image := _image(kind, data.get(kind), title)) is not None]
            said = _text(data.get("text/plain")) or _text(data.get("text/markdown")) or _text(data.get("text/latex"))
            if not said and not images and data:
                said = f"[{', '.join(data)}]"
            return _short(said), images


def _image(kind: str, value: Any, title: str) -> Media | None:
    if value is None:
        return None
    try:
        return Media(kind, base64.b64decode(_text(value)), title)
    except (binascii.Error, ValueError):
        return None


def _short(text: str) -> str:
    text = _ANSI.sub("", text).rstrip("\n")
    if len(text) <= _OUTPUT_LIMIT:
        return text
    half = _OUTPUT_LIMIT // 2
    return f"{text[:half]}\n... ({len(text) - 2 * half} characters left out) ...\n{text[-half:]}"


def _cell(index: int, cell: Mapping[str, Any]) -> CellView:
    return CellView(
        index=index,
        id=str(cell.get("id") or f"cell-{index}"),
        type=str(cell.get("cell_type", "code")),
        source=_text(cell.get("source", cell.get("input"))),
        execution_count=cell.get("execution_count"),
        outputs=tuple(cell.get("outputs") or ()),
    )


def _text(value: Any, joint: str = "") -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else joint.join(map(str, value))
