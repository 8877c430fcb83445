"""What can be said of code, cells and variables."""

from __future__ import annotations

import json
import re

from cosh_nb.providers.offline.intents import (
    ChangeCell,
    InsertCell,
    Intent,
    ListVariables,
    RunCells,
    RunPython,
    ShowCells,
    SummariseVariable,
)
from cosh_nb.providers.offline.phrase import Found, Phrase, Unclear, plain

_RUN = "(run|execute|evaluate|eval)"
_ADD = "(insert|add|append|create|make|write|put)"
_CELL = "[me] [(a|an|another|one)] [new] [(code|python)] cell"
_TEXT_CELL = "[me] [(a|an|another|one)] [new] (markdown|text|heading) cell"
_PLACE = "(here|below|at the (end|bottom) [of the notebook]|(after|below|under) cell {after:n})"
_AT = f"[{_PLACE}]"
_SHOW = "(show|list|read|see|display|print|give)"
_ABOUT = "(summarise|summarize|describe|inspect|explain|examine|show|print|display)"
_THING = "(variable|dataframe|data frame|object|list|dict|array|table|value of)"

_IMPORTS = {
    "pandas": "import pandas as pd",
    "numpy": "import numpy as np",
    "matplotlib": "import matplotlib.pyplot as plt",
    "polars": "import polars as pl",
    "seaborn": "import seaborn as sns",
}


def _python(found: Found) -> Intent | None:
    return RunPython(found("code"))


def _insert(found: Found) -> Intent | None:
    after = found.number("after")
    if found("prints"):
        text = plain(found, "prints", 4, "what it should print")
        return InsertCell(f"print({json.dumps(text, ensure_ascii=False)})", after=after)
    if found("imports"):
        names = [name for name in re.split(r"[\s,]+|\band\b", found("imports")) if name]
        if not all(re.fullmatch(r"[A-Za-z_][\w.]*", name) for name in names):
            return None
        return InsertCell("\n".join(_IMPORTS.get(name, f"import {name}") for name in names), after=after)
    return InsertCell(found("code"), after=after)


def _insert_text(found: Found) -> Intent | None:
    if found("heading"):
        return InsertCell(f"# {plain(found, 'heading', 10, 'the heading')}", markdown=True, after=found.number("after"))
    return InsertCell(plain(found, "words", 12, "the text"), markdown=True, after=found.number("after"))


def _change(found: Found) -> Intent | None:
    return ChangeCell(_from_one(found.number("n")), found("code"))


def _run_cells(found: Found) -> Intent | None:
    if found("id"):
        _from_one(int(found("id")) if found("id").isdecimal() else 1)
        return RunCells(id=found("id"))
    if found("range"):
        first, last = map(int, re.findall(r"\d+", found("range")))
        if last < first:
            raise Unclear("The first cell comes before the last: run cells 1-3.")
        return RunCells(_from_one(first), last)
    number = found.number("n")
    return RunCells(_from_one(number), number) if number is not None else RunCells()


def _from_one(number: int | None) -> int:
    if not number:
        raise Unclear("Cells count from 1, from the top of the notebook.")
    return number


NOTEBOOK = (
    Phrase(
        "run this python: print(1 + 1)",
        "runs Python in your kernel",
        (
            (
                f"{_RUN} [(this|the|the following|following|some)] "
                "(python|code|python code|python snippet|snippet|expression|python expression) "
                "[in (the|my|this) (kernel|notebook)] {code:literal}"
            ),
            f"{_RUN} [this] {{code:literal}} (in|with|as) [(the|my)] (python|kernel|notebook)",
            "[in] python [,] [run] {code:literal}",
            "(evaluate|eval|calculate|compute) {code:literal}",
        ),
        _python,
    ),
    Phrase(
        "insert a cell with `x = 1`",
        "adds a code cell to the open notebook, at its end or after cell N",
        (
            (
                f"{_ADD} {_CELL} {_AT} [(with|containing|that contains|that holds|with the code|that runs|saying)] "
                "{code:literal}"
            ),
            f"{_ADD} {_CELL} (with|containing|that contains|that runs|with the code) {{code:literal}} {_AT}",
            f"{_ADD} {_CELL} (that|which|to) (prints|print|says) {{prints:text}} {_PLACE}",
            f"{_ADD} {_CELL} {_AT} (that|which|to) (prints|print|says) {{prints:text}}",
            f"{_ADD} {_CELL} {_AT} (that|which|to) (imports|import) {{imports:text}}",
            f"{_ADD} {{code:literal}} as [a] [new] cell {_AT}",
        ),
        _insert,
    ),
    Phrase(
        'insert a markdown cell saying "Results"',
        "adds a text cell",
        (
            f"{_ADD} {_TEXT_CELL} {_AT} (with the heading|with heading|titled|headed) {{heading:text}}",
            (
                f"{_ADD} {_TEXT_CELL} {_AT} "
                "[(saying|that says|with|containing|with the text|that reads|that contains)] {words:text}"
            ),
            f"{_ADD} {_TEXT_CELL} (saying|that says|with|containing|with the text) {{words:literal}} {_AT}",
        ),
        _insert_text,
    ),
    Phrase(
        "change cell 3 to `y = 2`",
        "replaces the source of a cell, counted from the top",
        (
            (
                "(change|replace|set|rewrite|update) [the] [(source|code|content|contents) of] cell {n:n} "
                "(to|with|by|into) {code:literal}"
            ),
        ),
        _change,
    ),
    Phrase(
        "run cell 2",
        "runs a cell, a range of cells, or all of them",
        (
            "(run|execute|rerun) [the] cell [number] {n:n} [again]",
            "(run|execute|rerun) [the] cells {range:range} [again]",
            "(run|execute|rerun) (all|all the|all of the|every|the whole|the) (cells|cell|notebook) [again]",
            "(run|execute|rerun) [the] cell [with] [(the|id|the id)] {id:id}",
        ),
        _run_cells,
    ),
    Phrase(
        "show the cells",
        "lists the cells of the open notebook",
        (
            f"{_SHOW} [me] [all] [(the|my|all the)] cells [(of|in) (the|this|my) notebook]",
            f"{_SHOW} [me] (the|this|my) notebook",
            "(what|which) cells (are there|are in (the|this|my) notebook|does (the|this|my) notebook have)",
            "(what is|what's) in (the|this|my) notebook",
        ),
        lambda _found: ShowCells(),
    ),
    Phrase(
        "what variables are there",
        "lists the variables of your kernel",
        (
            "(what|which) variables (are there|exist|are defined|do (i|we) have|are in (the|my) (kernel|notebook))",
            f"{_SHOW} [me] [all] [(the|my|all the|all my)] variables [(of|in) (the|this|my) (notebook|kernel)]",
        ),
        lambda _found: ListVariables(),
    ),
    Phrase(
        "summarise the variable df",
        "says what a variable holds",
        (
            f"{_ABOUT} [me] (the|my|a) {_THING} {{name:name}}",
            f"{_ABOUT} {_THING} {{name:name}}",
            "(summarise|summarize|describe|inspect|examine) {name:name}",
            "(give me|show) (a summary|an overview) of [the] [(variable|dataframe)] {name:name}",
            f"(what is|what's) [in] [the] {_THING} {{name:name}}",
            "what (type|kind|shape|size|columns|length) (is|does|has) [the] [variable] {name:name} [have]",
            "(what is|what's) the (type|shape|size|length) of [the] [variable] {name:name}",
        ),
        lambda found: SummariseVariable(found("name")),
    ),
)
"""The phrases, in the order in which they are tried."""
