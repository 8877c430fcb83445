"""What it costs to have the renderer at hand."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["turn", "cards", "text", "style"])
def test_rendering_loads_its_libraries_only_when_something_is_drawn(module):
    code = (
        f"import sys, cosh_nb.render.{module}\n"
        "heavy = ('markdown_it', 'pygments', 'pydantic', 'IPython', 'ipywidgets', 'httpx', 'nbformat', 'PIL')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.strip() == "[]"
