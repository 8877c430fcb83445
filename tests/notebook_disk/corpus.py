"""Forty notebooks in the shapes that real ones have, and a few real ones that papermill ships for its own tests."""

from __future__ import annotations

import base64
import importlib.util
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TARGET = "target = 'this one'\nprint(target)\n"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40).decode()


@dataclass(frozen=True)
class Sample:
    """One notebook file. The cell to edit holds the text of TARGET."""

    name: str
    data: bytes


def code(source: Any, name: str | None = None, outputs: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    cell = {"cell_type": "code", "execution_count": 3 if outputs else None, "metadata": {}}
    cell |= {"outputs": outputs or [], "source": source}
    return sort(cell | more | ({"id": name} if name else {}))


def text(source: Any, name: str | None = None, kind: str = "markdown", **more: Any) -> dict[str, Any]:
    return sort({"cell_type": kind, "metadata": {}, "source": source} | more | ({"id": name} if name else {}))


def sort(cell: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(cell.items()))


def stream(*lines: str) -> dict[str, Any]:
    return {"name": "stdout", "output_type": "stream", "text": list(lines)}


def lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def book(cells: list[Any], minor: int = 5, **metadata: Any) -> dict[str, Any]:
    base = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": cells, "metadata": base | metadata, "nbformat": 4, "nbformat_minor": minor}


def plain_cells(ids: bool = True, source: Any = lines) -> list[Any]:
    names = ["a1b2c3d4", "first-code", "target_cell", "after-it", "the-end"] if ids else [None] * 5
    return [
        text(source("# Títle — ünïcode 漢字 🎉\n\nwith *text*"), names[0]),
        code(source("import pandas as pd\n"), names[1], [stream("one\n", "two\n")]),
        code(source(TARGET), names[2], [stream("this one\n")]),
        code(source("x = {'a': [1, 2]}\n# } ] , { [\n"), names[3]),
        text(source('the end \\ " \t'), names[4], "raw"),
    ]


def dump(value: Any, indent: int | str | None = 1, final: str = "\n", **options: Any) -> bytes:
    return (json.dumps(value, indent=indent, ensure_ascii=options.pop("ascii", False), **options) + final).encode()


def huge_outputs() -> list[Any]:
    big = [stream(*(f"row {i} of many\n" for i in range(20_000)))]
    image = [
        {"data": {"image/png": PNG * 40, "text/plain": ["<Figure>"]}, "metadata": {}, "output_type": "display_data"}
    ]
    cells = plain_cells()
    cells[1]["outputs"] = big
    return [*cells[:2], code("pass", "big", image), *cells[2:]]


def tricky_outputs() -> list[Any]:
    """Outputs that look like the structure around them."""
    fake = {"cells": [{"cell_type": "code", "outputs": [], "source": ["fake"]}]}
    data = {"application/json": fake, "text/plain": ['  },\n  {\n   "outputs": [\n   ]\n', " ]"]}
    result = {"data": data, "execution_count": 3, "metadata": {}, "output_type": "execute_result"}
    cells = plain_cells()
    cells[1]["outputs"] = [result, stream('"outputs": [\n', "]\n", "}\n")]
    return cells


def widgets() -> dict[str, Any]:
    state = {"model": {"model_name": "OutputModel", "state": {"outputs": [stream("in a widget\n")], "x": "}"}}}
    kept = {"application/vnd.jupyter.widget-state+json": {"state": state, "version_major": 2, "version_minor": 0}}
    return book(plain_cells(), widgets=kept)


def attached() -> list[Any]:
    cells = plain_cells()
    cells[0] = text(["![x](attachment:x.png)"], "a1b2c3d4", attachments={"x.png": {"image/png": PNG}})
    return cells


def samples() -> Iterator[Sample]:
    """The whole corpus."""
    for minor in range(6):
        yield Sample(f"nbformat-4.{minor}", dump(book(plain_cells(ids=minor >= 5), minor)))
    for indent in (0, 2, 3, 4, 8, "\t", " \t"):
        name = repr(indent).strip("'")
        yield Sample(f"indent-{name}", dump(book(plain_cells()), indent))
    yield Sample("one-line", dump(book(plain_cells()), None))
    yield Sample("one-line-tight", dump(book(plain_cells()), None, separators=(",", ":")))
    yield Sample("one-line-no-ids", dump(book(plain_cells(ids=False), 4), None, ""))
    yield Sample("no-final-newline", dump(book(plain_cells()), 1, ""))
    yield Sample("two-final-newlines", dump(book(plain_cells()), 1, "\n\n"))
    yield Sample("crlf", dump(book(plain_cells())).replace(b"\n", b"\r\n"))
    yield Sample("crlf-indent-2-no-final", dump(book(plain_cells()), 2, "").replace(b"\n", b"\r\n"))
    yield Sample("crlf-in-sources", dump(book(plain_cells(source=lambda s: lines(s.replace("\n", "\r\n"))))))
    yield Sample("escaped-unicode", dump(book(plain_cells()), ascii=True))
    yield Sample("escaped-one-line", dump(book(plain_cells()), None, ascii=True))
    yield Sample("string-sources", dump(book(plain_cells(source=str))))
    yield Sample("string-sources-4.2", dump(book(plain_cells(ids=False, source=str), 2), 2))
    mixed = plain_cells()
    mixed[2]["source"], mixed[3]["source"] = TARGET, "".join(mixed[3]["source"])
    yield Sample("mixed-sources", dump(book(mixed)))
    yield Sample("bom", b"\xef\xbb\xbf" + dump(book(plain_cells())))
    yield Sample("metadata-first", dump(dict(reversed(book(plain_cells()).items()))))
    yield Sample(
        "nbformat-first-indent-2", dump({**dict(sorted(book([]).items(), reverse=True)), "cells": plain_cells()}, 2)
    )
    unsorted = [dict(reversed(cell.items())) for cell in plain_cells()]
    yield Sample("source-before-outputs", dump(book(unsorted)))
    yield Sample("huge-outputs", dump(book(huge_outputs())))
    yield Sample("huge-outputs-one-line", dump(book(huge_outputs()), None))
    yield Sample("tricky-outputs", dump(book(tricky_outputs())))
    yield Sample("tricky-outputs-indent-4", dump(book(tricky_outputs()), 4))
    yield Sample("widgets-metadata", dump(widgets()))
    yield Sample("attachments", dump(book(attached())))
    strange = plain_cells()
    strange[1]["metadata"] = {"tags": ["parameters"], "collapsed": True, "nested": {"cells": [{"source": []}]}}
    yield Sample("cell-metadata", dump(book(strange, authors=[{"name": "Zoë", "cells": [{"not": "one"}]}])))
    yield Sample(
        "nan-in-output",
        dump(
            book(
                [
                    *plain_cells(),
                    code(
                        "1",
                        "nan",
                        [
                            {
                                "data": {"application/json": {"x": float("nan")}},
                                "metadata": {},
                                "output_type": "display_data",
                            }
                        ],
                    ),
                ]
            )
        ),
    )
    yield Sample("lone-surrogate", dump(book(plain_cells())).replace("ünïcode".encode(), b"\\ud83d lone"))
    yield Sample("missing-ids-in-4.5", dump(book(plain_cells(ids=False), 5)))
    yield Sample("spaces-around", b"\n  " + dump(book(plain_cells()), 1, " \n "))
    yield Sample("uneven-layout", _uneven())
    yield Sample("cells-on-own-lines", _cells_on_own_lines())
    yield Sample("misleading-layout", _misleading())


def papermill() -> list[Path]:
    """Real notebooks that the installed papermill ships."""
    found = importlib.util.find_spec("papermill")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).parent / "tests" / "notebooks"
    return sorted(path for path in folder.glob("*.ipynb") if json.loads(path.read_bytes()).get("nbformat") == 4)


def _uneven() -> bytes:
    """Written by several hands: indents differ from cell to cell."""
    one, two, _, four, five = (json.dumps(cell, ensure_ascii=False) for cell in plain_cells())
    pretty = json.dumps(plain_cells()[2], indent=3, ensure_ascii=False)
    return (
        '{ "cells" : [\n' + one + " ,\n\n   " + two + ",\n" + pretty + "\n, " + four + "\n,\n" + five
        + '\n] , "metadata":{ }, "nbformat":4,\n\n"nbformat_minor" : 5 }\n'
    ).encode()  # fmt: skip


def _cells_on_own_lines() -> bytes:
    rows = ",\n".join("  " + json.dumps(cell, ensure_ascii=False) for cell in plain_cells())
    return ('{\n "cells": [\n' + rows + '\n ],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n').encode()


def _misleading() -> bytes:
    """Valid JSON whose lines look as if a cell ended where none does."""
    whole = dump(book(plain_cells())).decode()
    nested = '"metadata": {"x": [\n  {"a": 1\n  },\n  {"b": 2\n  }\n ]},'
    return whole.replace('"metadata": {},', nested, 1).encode()
