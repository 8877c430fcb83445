"""The notebook that a call means, the host that has it, and which of its cells the model has read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from cosh_tools.hosts import CellView, NoNotebook, NotebookHost
from cosh_tools.notebook.steps import digest
from cosh_tools.results import ToolError

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext
    from cosh_tools.hosts import ReadState

_LONGEST = 20_000
_KEPT = 500

_texts: WeakKeyDictionary[ReadState, dict[Path, str]] = WeakKeyDictionary()
"""What the digests of a read-state stand for, as far as it is still in memory: a conflict shows both texts."""


def host_of(ctx: ToolContext) -> NotebookHost:
    """The session's notebook host; without one, notebooks are files."""
    if not isinstance(ctx.notebook, NoNotebook):
        return ctx.notebook
    from cosh_tools.notebook.disk import DiskNotebooks

    return DiskNotebooks()


def notebook_path(given: str, ctx: ToolContext) -> Path:
    """The absolute path. Raises ToolError where it does not name a notebook."""
    path = ctx.resolve_path(given)
    if path.suffix.lower() != ".ipynb":
        raise ToolError(f"{given} is not a notebook: the name must end with .ipynb. Use Read and Edit for other files.")
    return path


def name_of(cell: CellView) -> str:
    """How a cell is called: its id, or its position where it has none."""
    return cell.id or f"cell-{cell.index}"


def mark_read(ctx: ToolContext, path: Path, cells: Iterable[CellView]) -> None:
    """The model has now seen the whole source of these cells, under both of their names."""
    for cell in cells:
        for name in {name_of(cell), f"cell-{cell.index}"}:
            mark_source(ctx, path, name, cell.source)


def mark_source(ctx: ToolContext, path: Path, name: str, source: str) -> None:
    """The model knows the source of the cell called `name`."""
    key = _key(path, name)
    ctx.read_state.record(key, digest(source))
    texts = _texts.setdefault(ctx.read_state, {})
    texts.pop(key, None)
    texts[key] = source[:_LONGEST]
    if len(texts) > _KEPT:
        del texts[next(iter(texts))]


def known_digest(ctx: ToolContext, path: Path, name: str) -> str | None:
    """The digest of the source that the model last read; None where it never did."""
    return ctx.read_state.seen(_key(path, name))


def known_source(ctx: ToolContext, path: Path, name: str) -> str | None:
    """The source that the model last read, where it is still in memory."""
    found = _texts.get(ctx.read_state, {}).get(_key(path, name))
    return None if found is None or digest(found) != known_digest(ctx, path, name) else found


def _key(path: Path, name: str) -> Path:
    return Path(f"{os.path.realpath(path)}#{name}")
