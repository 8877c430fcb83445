"""What every area may ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.lab_fixtures import browser, kernel_envs, lab, plain_lab
from support.modelserver import ModelServer

__all__ = ["browser", "kernel_envs", "lab", "plain_lab"]


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A scripted model service on loopback; see support.modelserver."""
    with ModelServer() as server:
        yield server
