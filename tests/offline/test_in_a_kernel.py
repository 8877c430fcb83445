"""In a real kernel that has neither pandas nor matplotlib: tables are lists, charts are SVG, variables stay."""

from __future__ import annotations

import os
import subprocess
import sys

import nbformat

from cosh_nb import demo

CELLS = (
    "import sys\nfor name in ('pandas', 'matplotlib'):\n    sys.modules[name] = None\n%load_ext cosh_nb",
    "%%cosh --allowed-tools Python\nload sales.csv and plot revenue by month",
    "len(sales), type(sales).__name__",
    "%%cosh --allowed-tools Python\nwhat is the total revenue by region in sales",
    "%%cosh\nwhat variables are there",
    "%%cosh --allowed-tools Python\nplot profit by month from nothing",
    "%%cosh --allowed-tools Python\nrun this python: 1 / 0",
)


def test_tables_and_charts_without_libraries(tmp_path):
    (tmp_path / "sales.csv").write_text("month,region,revenue\nJan,n,10\nJan,s,5\nFeb,n,7\n")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "3", "language": "python"}
    nbformat.write(book, tmp_path / "nb.ipynb")
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}

    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", "nb.ipynb"],
        check=True, timeout=110, capture_output=True, cwd=tmp_path,
        env={**kept, "HOME": str(tmp_path / "home"), "COSH_PROVIDER": "offline"},
    )  # fmt: skip

    done = nbformat.read(tmp_path / "nb.ipynb", as_version=4)
    plot, length, total, variables, nothing, failed = (demo.transcript(cell) for cell in done.cells[1:])
    assert "revenue by month, drawn as an SVG" in plot
    assert "Jan: 15" in plot
    assert any("svg" in output.data.get("text/html", "") for output in done.cells[1].outputs)
    assert length == "(3, 'list')"
    assert "n: 17\n" in total
    assert "sales: list of 3 (dict)" in variables
    assert "There is no variable `nothing` in your kernel" in nothing
    assert "ZeroDivisionError" in failed
