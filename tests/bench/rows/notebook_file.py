"""One cell of a closed 49 MB notebook, and the list of its cells: CPU, against reading and writing the file."""

from __future__ import annotations

import base64
import json
import random
import tempfile
import time
from pathlib import Path

import nbformat
import orjson

from cosh_tools.hosts import CellEdit
from cosh_tools.notebook.disk import edit_file, read_view
from cosh_tools.notebook.format import outline
from tests.bench.report import Line, medians

CELLS, MEGABYTES, ROUNDS = 2000, 49, 9


def measure() -> list[Line]:
    """Milliseconds of CPU; the median."""
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "big.ipynb"
        path.write_bytes(notebook())
        new = Path(home) / "new.ipynb"
        count = iter(range(10**6))

        def edit() -> None:
            source = f"x = {next(count)}\n"
            report = edit_file(path, [CellEdit("replace", f"{CELLS // 2 + 1:08x}", source)], {}, {})[0]
            assert report.status == "landed", report.text  # a number of nothing is no number

        def whole() -> None:
            """What a writer with orjson has to do at least: read, parse, change, write (and every byte is new)."""
            book = orjson.loads(path.read_bytes())
            book["cells"][CELLS // 2 + 1]["source"] = ["x"]
            new.write_bytes(orjson.dumps(book, option=orjson.OPT_INDENT_2))

        def through_nbformat() -> None:
            book = nbformat.read(path, as_version=4)
            book.cells[CELLS // 2 + 1].source = "x"
            nbformat.write(book, new)

        took = medians(
            {
                "edit": lambda: spent(edit),
                "copy": lambda: spent(lambda: new.write_bytes(path.read_bytes())),
                "whole": lambda: spent(whole),
                "list": lambda: spent(lambda: outline(read_view(path))),
                "read": lambda: spent(path.read_bytes),
            },
            ROUNDS,
        )
        peer = min(spent(through_nbformat) for _ in range(2))
    return [
        Line(
            "one cell of a 49 MB, 2,000-cell notebook, CPU", took["edit"], "ms", 170, took["copy"], "read and write",
            judge="ours", extra={"orjson, whole file ms": took["whole"], "nbformat ms": peer},
        ),
        Line("list of its cells, CPU", took["list"], "ms", 80, took["read"], "read", judge="ours"),
    ]  # fmt: skip


def spent(work: object) -> float:
    """Milliseconds of CPU of this process."""
    began = time.process_time()
    work()  # type: ignore[operator]  (a callable of no arguments)
    return (time.process_time() - began) * 1e3


def notebook() -> bytes:
    """Text, images, tables and JSON among the outputs, as Jupyter writes them."""
    luck = random.Random(49)
    cells = [_cell(at, luck) for at in range(CELLS)]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    data = json.dumps(book, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"
    assert abs(len(data) / 1e6 - MEGABYTES) < 5, len(data)
    return data


def _cell(at: int, luck: random.Random) -> dict[str, object]:
    name = f"{at:08x}"
    if at % 5 == 0:
        return {"cell_type": "markdown", "id": name, "metadata": {}, "source": [f"# Step {at}\n", "naïve café\n"]}
    rich: dict[str, object] = {"text/plain": ["x"]}
    match at % 5:
        case 1:
            rows = [f"line {n} of the log, with a number {luck.random()}\n" for n in range(400)]
            return _code(at, name, {"name": "stdout", "output_type": "stream", "text": rows})
        case 2:
            rich["image/png"] = base64.b64encode(luck.randbytes(22_000)).decode()
        case 3:
            rich["text/html"] = [f'<tr><td class="x">{n}</td><td>{luck.random()}</td></tr>\n' for n in range(440)]
        case _:
            rich["application/json"] = {"values": [luck.random() for _ in range(1150)]}
    return _code(at, name, {"data": rich, "metadata": {}, "output_type": "display_data"})


def _code(at: int, name: str, output: dict[str, object]) -> dict[str, object]:
    source = [f"x = {at}\n", "print('hello')\n"] * 5
    return {
        "cell_type": "code", "execution_count": at, "id": name, "metadata": {}, "outputs": [output], "source": source,
    }  # fmt: skip
