"""A real kernel with cosh_nb loaded, whose model service is the scripted one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kernel_client import KernelClient, kernel_client
from support.modelserver import ModelServer


@pytest.fixture
def kernel(tmp_path: Path, model_server: ModelServer) -> Iterator[KernelClient]:
    with kernel_client(tmp_path / "home", env=model_server.env()) as client:
        loaded = client.run("%load_ext cosh_nb")
        assert loaded.status == "ok", loaded.text
        yield client
