"""The oldest JupyterLab and Notebook that are supported, and one with real-time collaboration, in their own places."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from open_notebook.conftest import LOAD, offer, said, story
from support.lab import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]

WANTED = {
    "oldest": ("jupyterlab==4.2.*", "notebook==7.2.*", "ipywidgets"),
    "collaboration": ("jupyterlab==4.6.*", "jupyter-collaboration", "ipywidgets"),
}

EDITS = """
await read()
names = [name for name, _ in await cells()]
done = [
    await edit(cell_id=names[2], new_source="x = 'changed'"),
    await edit(edit_mode="insert", after=names[2], new_source="# text", cell_type="markdown"),
    await edit(cell_id=names[4], edit_mode="move", before=names[2]),
    await edit(cell_id=names[3], edit_mode="delete"),
    await edit(cell_id=names[5], cell_type="markdown"),
    await run(names[4]),
]
seen = await read()
say([[[r.is_error, r.content] for r in done], seen.content[:200], await cells()])
"""


def server_python(name: str) -> Path:
    """The interpreter of an environment that holds only a Jupyter server, built if it is not there yet."""
    cache = Path(os.environ.get("COSH_TEST_CACHE") or Path.home() / ".cache" / "cosh-nb-tests")
    key = hashlib.sha256(f"{WANTED[name]}{sys.version}".encode()).hexdigest()[:12]
    folder = cache / f"server-{name}-{key}"
    python = folder / "bin" / "python"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock", timeout=600):
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
            install = [str(python), "-m", "pip", "install", "-q", *WANTED[name]]
            done = subprocess.run(install, capture_output=True, text=True, timeout=600, check=False)
            assert done.returncode == 0, f"pip could not install {WANTED[name]}:\n{done.stderr[-2000:]}"
            (folder / "complete").touch()
    return python


@pytest.fixture(scope="module", params=list(WANTED))
def server(request, browser, tmp_path_factory, kernel_envs):
    lab = LabServer.start(tmp_path_factory.mktemp("server"), browser, python=server_python(request.param))
    offer(lab, kernel_envs)
    yield lab
    lab.stop()


@pytest.mark.parametrize("kernel", ["ipykernel7", "ipykernel6"])
@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_the_open_notebook_is_edited_live(server, request, app, kernel):
    if app == "notebook" and "collaboration" in request.node.callspec.id:
        app = "lab"  # that server has no Notebook; the second round is another document
    name = f"{request.node.callspec.id.replace('-', '_')}.ipynb"
    cells = [LOAD, story(EDITS), "x = 1", "gone = 1", "print('moved and run')", "to_text = 1"]
    page = server.open(server.notebook(name, cells, kernel), app)
    try:
        page.run(0)
        page.run(1)

        done, seen, told = said(page, 1)
        assert [content for error, content in done if error] == []
        assert "(live" in seen
        model = page.js("return panel.context.model.toJSON().cells.map(c => [c.id, c.source, c.cell_type]);")
        assert [source for _, source, _ in model][2:] == [
            "print('moved and run')",
            "x = 'changed'",
            "# text",
            "to_text = 1",
        ]
        assert [kind for _, _, kind in model][2:] == ["code", "code", "markdown", "markdown"]
        assert [tuple(cell) for cell in told] == [(name, source) for name, source, _ in model]
        assert "moved and run" in page.cell(2).text
        page.select(3)
        for _ in range(12):
            page.command("notebook:undo-cell-action")
        assert "gone = 1" in [cell.source for cell in page.cells()]
        assert page.js("return document.querySelectorAll('.jp-Dialog').length;") == 0
    finally:
        page.close()
