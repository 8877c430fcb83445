"""Google Colab's own way to give the notebook, unsaved changes included. Read from its source; not run against it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_tools.hosts import CellView, NotebookView
from cosh_tools.notebook.scan import scan

if TYPE_CHECKING:
    from cosh_nb.notebook.mailbox import Mailbox


async def colab_view(path: Path, mailbox: Mailbox) -> NotebookView | None:
    """The notebook as Colab has it; None where it does not say."""
    try:
        answer = await asyncio.wait_for(asyncio.wrap_future(mailbox.call(_ask)), 10)
        document = answer["ipynb"]
        base = {"nbformat": 4, "nbformat_minor": 0, "metadata": {}}
        text = scan(json.dumps({**base, **document, "cells": list(document["cells"])}).encode(), path.name)
    except (TimeoutError, KeyError, TypeError, ImportError, AttributeError):
        return None
    cells = tuple(
        CellView(at, cell.id, cell.type, cell.source, cell.execution_count, cell.outputs, cell.metadata)
        for at, cell in enumerate(text.cells)
    )
    return NotebookView(path, cells, live=True, as_of="live (Colab)", metadata=text.top.get("metadata") or {})


def _ask() -> Mapping[str, Any]:
    from google.colab import _message  # type: ignore[import-not-found]  # only there

    answer: Mapping[str, Any] = _message.blocking_request("get_ipynb", timeout_sec=5)
    return answer
