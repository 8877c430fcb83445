"""Fixtures for what runs in a real browser and a real kernel. Import them in a conftest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import Browser
from support.kernels import WANTED, kernel_python
from support.lab import LabServer


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless Chromium for the whole run."""
    chromium = Browser()
    yield chromium
    chromium.close()


@pytest.fixture(scope="session")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """One JupyterLab with our extension; tests open notebooks of their own names in it."""
    server = LabServer.start(tmp_path_factory.mktemp("lab"), browser)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def plain_lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A JupyterLab without our extension."""
    server = LabServer.start(tmp_path_factory.mktemp("plain_lab"), browser, extension=False)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def kernel_envs() -> dict[str, Path]:
    """Kernel name -> interpreter: "ipykernel6" runs ipykernel 6.31, "ipykernel7" the newest 7."""
    return {name: kernel_python(name) for name in WANTED}
