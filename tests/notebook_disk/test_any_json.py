"""Whatever valid notebook it is, however it is laid out: the cells are found, and an edit keeps every other byte."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosh_tools.hosts import CellEdit
from cosh_tools.notebook.disk import apply
from cosh_tools.notebook.scan import NotANotebook, _by_lines, _by_values, scan, verify
from cosh_tools.notebook.splice import Draft

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
TRICKY = st.sampled_from(["  },\n  {", '"outputs": [', "\n   ]", '{}[]\\"', "\u2028", "}\n ]", "\\u00e9", "\r\n"])
STRINGS = TEXT | TRICKY
VALUES = st.recursive(
    STRINGS | st.integers(-9, 9) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=6,
)
SOURCES = STRINGS | st.lists(STRINGS, max_size=3)
OUTPUTS = st.lists(st.fixed_dictionaries({"output_type": st.just("display_data"), "data": VALUES}), max_size=2)
CELLS = st.lists(
    st.fixed_dictionaries(
        {"cell_type": st.sampled_from(["code", "markdown", "raw"]), "source": SOURCES,
         "metadata": st.dictionaries(STRINGS, VALUES, max_size=2)},
        optional={"id": st.sampled_from(["a", "b", "c1", "cell-0"]), "outputs": OUTPUTS, "execution_count": st.none(),
                  "attachments": st.dictionaries(STRINGS, VALUES, max_size=1)},
    ),
    max_size=5,
)  # fmt: skip
LAYOUTS = st.sampled_from([None, 0, 1, 2, "\t", " "])


def laid_out(value: Any, luck: random.Random) -> str:
    """JSON with white space wherever it may be."""
    space = lambda: luck.choice(["", "", " ", "\n", "\n  ", "\t", "\r\n "])  # noqa: E731  (a word of this scene)
    if isinstance(value, dict):
        parts = [f"{space()}{json.dumps(k)}{space()}:{space()}{laid_out(v, luck)}{space()}" for k, v in value.items()]
        return "{" + (",".join(parts) or space()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(f"{space()}{laid_out(item, luck)}{space()}" for item in value) or space()) + "]"
    return json.dumps(value, ensure_ascii=luck.random() < 0.5)


def check(book: dict[str, Any], data: bytes) -> None:
    slow = _by_values(data, "x")
    fast = _by_lines(data)
    expected = [("".join(cell["source"]), cell["cell_type"], cell.get("id", "")) for cell in book["cells"]]
    for found in filter(None, (slow, fast, verify(scan(data, "x"), "x"))):
        assert [(cell.source, cell.type, cell.id) for cell in found.cells] == expected
        assert [json.loads(data[cell.start : cell.end]) for cell in found.cells] == book["cells"]
    if not book["cells"]:
        return
    at = len(book["cells"]) // 2
    draft = Draft.of(verify(scan(data, "x"), "x"))
    reports = apply(draft, [CellEdit("replace", f"cell-{at}", "ü = 1\n\ny")], {}, {})
    if reports[0].status != "landed":
        assert "cell-0" in [cell.get("id") for cell in book["cells"]]
        return
    new = b"".join(draft.parts())
    cell = scan(data, "x").cells[at]
    if reports[0].index == at:
        assert new[: cell.start] == data[: cell.start]
        assert new.endswith(data[cell.end :])
    after = json.loads(new)
    assert "".join(after["cells"][reports[0].index]["source"]).replace("\r\n", "\n") == "ü = 1\n\ny"
    others = [c for n, c in enumerate(after["cells"]) if n != reports[0].index]
    assert others == [c for n, c in enumerate(book["cells"]) if n != reports[0].index]


def story(cells: list[Any], layout: Any, seed: int) -> None:
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    check(book, json.dumps(book, indent=layout, ensure_ascii=False).encode("utf-8"))
    check(book, laid_out(book, random.Random(seed)).encode("utf-8"))


@settings(max_examples=120, derandomize=True, deadline=None)
@given(CELLS, LAYOUTS, st.integers(0, 10**6))
def test_cells_of_any_notebook_are_found_and_edited_alone(cells, layout, seed):
    story(cells, layout, seed)


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(CELLS, LAYOUTS, st.integers(0, 10**6))
def test_cells_of_very_many_notebooks_are_found_and_edited_alone(cells, layout, seed):
    story(cells, layout, seed)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 400))
def test_a_damaged_notebook_is_read_as_json_reads_it_or_refused(junk, start, length):
    cell = {"cell_type": "code", "metadata": {}, "source": ["a\n"], "outputs": [], "execution_count": None}
    book = {"cells": [cell] * 3, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    whole = json.dumps(book, indent=1).encode()
    data = whole[:start] + junk + whole[start + length :]
    try:
        found = verify(scan(data, "x"), "x")
    except NotANotebook:
        return
    book = json.loads(data)
    assert [cell.source for cell in found.cells] == ["".join(cell["source"]) for cell in book["cells"]]
