"""What a look at variables says: bounded, fast, and nothing that a person wrote is called."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cosh_nb.notebook.sketch import sketch_all


class Trap:
    """Whatever asks it for anything ends the test."""

    calls = 0

    def _sprung(self, *_: object) -> str:
        Trap.calls += 1
        time.sleep(5)
        raise RuntimeError("asked")

    __repr__ = __str__ = __len__ = __iter__ = __bool__ = __hash__ = __getattr__ = __eq__ = _sprung


def look(value):
    """The text of one variable, made within its bounds."""
    Trap.calls = 0  # libraries may have asked while they made it
    started = time.perf_counter()
    said = sketch_all({"it": value}, ["it"], 60, {})
    took = time.perf_counter() - started
    assert len(said.encode()) < 2_048
    assert Trap.calls == 0
    return said, took


def wide():
    return pd.DataFrame(np.zeros((3, 10_000)), columns=[f"column_{i}" for i in range(10_000)])


def objects(*values):
    made = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        made[at] = value
    return made


def circular():
    made = {"name": "outer"}
    made["self"] = made
    return made


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: pd.DataFrame({"x": [1.5, None], "who": ["me", "you"]}), ("2, 2", "x float64", "missing: x 1", "'me'")),
        (wide, ("3, 10000", "column_0 float64", "9,976 more")),
        (lambda: pd.DataFrame({"o": objects(Trap(), 1, "a" * 900)}), ("o object", "<Trap>", "row 1: 1")),
        (lambda: pd.Series([1, None, 3.0]), ("missing: 1", "head: 1.0, nan, 3.0")),
        (lambda: pl.DataFrame({"a": [1, None], "b": ["x", "y"]}), ("a Int64", "missing: a 1", "row 0: 1, 'x'")),
        (lambda: pl.DataFrame({"a": [1]}).lazy(), ("LazyFrame (not computed)",)),
        (lambda: pa.table({"a": [1], "b": ["x"]}), ("columns a, b", "a int64")),
        (lambda: np.arange(1e6).reshape(1000, 1000), ("(1000, 1000), float64", "head: 0.0, 1.0")),
        (lambda: objects(Trap(), 1), ("<Trap>, 1",)),
        (lambda: {"a": {"b": {"c": {"d": 1}}}, "t": Trap()}, ("'a': dict of 1", "'c': dict of 1", "'t': <Trap>")),
        (circular, ("'self': dict, itself again",)),
        (Trap, ("Trap",)),
        (lambda: [Trap()] * 5, ("<Trap>",)),
        (lambda: {f"key {i} " + "x" * 500: "y" * 10_000 for i in range(5000)}, ("dict of 5,000", "4,988 more")),
        (lambda: [10**6000], ("a large int",)),
    ],
)  # fmt: skip
def test_each_kind_is_shown_in_under_2_kb(make, parts):
    said, _ = look(make())

    for part in parts:
        assert part in said, said


def test_a_large_frame_takes_no_longer_than_a_small_one():
    frame = pd.DataFrame(np.ones((2_000_000, 6)), columns=list("abcdef"))

    quickest = min(look(frame)[1] for _ in range(3))

    assert quickest < 0.05
