"""An agent without a kernel (headless) does not overwrite what somebody has open in JupyterLab."""

from __future__ import annotations

import pytest

from cosh_nb.notebook.closed import ClosedNotebooks
from notebook_disk.scene import Desk

pytestmark = pytest.mark.browser


async def test_an_open_notebook_is_refused_and_the_same_one_closed_is_edited(lab, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(lab.home / "runtime"))
    page = lab.open(lab.notebook("headless.ipynb", ["x = 1"]))
    desk = Desk.at(lab.root, notebook=ClosedNotebooks())
    try:
        seen = await desk.read("headless.ipynb")
        refused = await desk.edit("headless.ipynb", edit_mode="insert", new_source="y = 1")
    finally:
        page.close()
        lab.shut_down_kernels()
    landed = await desk.edit("headless.ipynb", edit_mode="insert", new_source="y = 1")

    assert f"open on {lab.url}/, so unsaved changes are not seen" in seen.content
    assert refused.is_error
    assert f"it is open on {lab.url}/, and unsaved work there could be lost" in refused.content
    assert "Written on disk" in landed.content
    assert ["".join(cell["source"]) for cell in desk.cells("headless.ipynb")] == ["x = 1", "y = 1"]
