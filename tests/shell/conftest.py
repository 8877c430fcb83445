"""A workspace with its jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.shell_desk import ShellDesk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[ShellDesk]:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    made = ShellDesk(workspace)
    yield made
    await made.jobs.close()
