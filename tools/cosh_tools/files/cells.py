"""A notebook as the model reads it: cells with ids, types, sources and outputs, images beside the text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cosh_tools.hosts import CellView, NotebookView
from cosh_tools.notebook.access import name_of
from cosh_tools.notebook.outputs import image, joined
from cosh_tools.results import IMAGES, Media, ToolError
from cosh_tools.terminal import readable

if TYPE_CHECKING:
    from pathlib import Path

_OUTPUT_LIMIT = 10_000


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
    name = name_of(cell)
    text = f'<cell id="{name}" index="{cell.index}" type="{cell.type}"{count}>\n{cell.source}\n</cell>'
    outputs: list[str] = []
    media: list[Media] = []
    for output in cell.outputs:
        said, images = _output(output, f"output of cell {name}")
        media += images
        if said:
            outputs.append(said)
    if outputs:
        text += f'\n<output cell="{name}">\n' + "\n".join(outputs) + "\n</output>"
    return text, media


def _output(output: Mapping[str, Any], title: str) -> tuple[str, list[Media]]:
    match output.get("output_type"):
        case "stream":
            return _short(joined(output.get("text"))), []
        case "error":
            trace = "\n".join(map(str, output.get("traceback") or ()))
            return _short(trace or f"{output.get('ename')}: {output.get('evalue')}"), []
        case _:
            data = output.get("data") or {}
            found = (image(kind, data[kind], title) for kind in IMAGES if kind in data)
            images = [one for one in found if one is not None]
            said = joined(data.get("text/plain")) or joined(data.get("text/markdown")) or joined(data.get("text/latex"))
            if not said and not images and data:
                said = f"[{', '.join(data)}]"
            return _short(said), images


def _short(text: str) -> str:
    text = readable(text).rstrip("\n")
    if len(text) <= _OUTPUT_LIMIT:
        return text
    half = _OUTPUT_LIMIT // 2
    return f"{text[:half]}\n... ({len(text) - 2 * half} characters left out) ...\n{text[-half:]}"


def _cell(index: int, cell: Mapping[str, Any]) -> CellView:
    return CellView(
        index=index,
        id=str(cell.get("id") or f"cell-{index}"),
        type=str(cell.get("cell_type", "code")),
        source=joined(cell.get("source", cell.get("input"))),
        execution_count=cell.get("execution_count"),
        outputs=tuple(cell.get("outputs") or ()),
    )
