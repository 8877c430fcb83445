"""Notebooks in a real JupyterLab whose first cell loads the tools into the kernel."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from support.lab import LabServer
from support.notebook_page import NotebookPage

TESTS = Path(__file__).parents[1]
LOAD = "%load_ext open_notebook.in_kernel"

Opens = Callable[..., NotebookPage]


def story(code: str) -> str:
    """A cell that runs the lines as a story of the agent."""
    body = "\n".join("    " + line for line in dedent(code).strip("\n").splitlines())
    return f"async def story():\n{body}\nagent(story())"


def said(page: NotebookPage, index: int) -> Any:
    """What the last `say` of a cell said."""
    text = page.cell(index).text
    try:
        return json.loads(text.splitlines()[-1])
    except (IndexError, ValueError):
        raise AssertionError(f"the cell says {text!r} {page.cell(index).error}") from None


def offer(server: LabServer, kernel_envs: dict[str, Path]) -> None:
    """Both kernels, with the tests on their path."""
    for name, python in kernel_envs.items():
        server.kernel(name, python, {"PYTHONPATH": str(TESTS)})


@pytest.fixture
def opens(lab: LabServer, kernel_envs: dict[str, Path]) -> Iterator[Opens]:
    """Open a notebook of these cells after a loading one; pages are closed and kernels ended afterwards."""
    yield from _opens(lab, kernel_envs)


@pytest.fixture
def plain_opens(plain_lab: LabServer, kernel_envs: dict[str, Path]) -> Iterator[Opens]:
    """The same where our lab extension is not installed."""
    yield from _opens(plain_lab, kernel_envs)


def _opens(server: LabServer, kernel_envs: dict[str, Path]) -> Iterator[Opens]:
    offer(server, kernel_envs)
    pages: list[NotebookPage] = []

    def open_(name: str, *cells: str, kernel: str = "ipykernel7", app: Any = "lab", load: bool = True) -> NotebookPage:
        page = server.open(server.notebook(name, [LOAD, *cells], kernel), app)
        pages.append(page)
        if load:
            page.run(0)
        return page

    yield open_
    for page in pages:
        page.close()
    server.shut_down_kernels()
