"""What is done for the phrases about code, cells and variables."""

from __future__ import annotations

import re
from collections.abc import Generator

from cosh_nb.providers.offline import answers
from cosh_nb.providers.offline.intents import ChangeCell, InsertCell, RunCells, RunPython, SummariseVariable
from cosh_nb.providers.offline.scene import Call, Outcome
from cosh_nb.providers.offline.steps import Kit, Recipe, Steps, Stop, accept, must

Ids = Generator[Call, Outcome, list[str]]
_NO_KERNEL = "no notebook kernel"
_CELL = re.compile(r'^<cell id="(?P<id>[^"\n]+)" index="(?P<index>\d+)" type="(?P<type>\w+)"', re.MULTILINE)
_INSERTED = re.compile(r"\b[Ii]nserted (?:\w+ )?cell ['`]?(?P<id>[\w.-]+)")


def run_python(kit: Kit, wish: RunPython) -> Recipe:
    """The code, word for word, and what it gave."""
    outcome = yield from python(kit, wish.code, "Running the code")
    return ran(outcome)


def python(kit: Kit, code: str, doing: str, outside: str | None = None) -> Steps:
    """Run code in the kernel; without one, `outside` (or the same code) in a Python of its own.

    Raises Stop where it was denied or failed.
    """
    if kit.kernel is not False and kit.tools.has_kernel:
        call = kit.tools.python(code)
        outcome = yield call
        if not (outcome.is_error and _NO_KERNEL in outcome.text):
            kit.kernel = True
            return accept(call, outcome, doing)
    kit.kernel = False
    return (yield from must(kit.tools.python_outside(code if outside is None else outside), doing))


def ran(outcome: Outcome) -> str:
    """What code gave, in the answer."""
    lines = answers.output_lines(outcome.text)
    if not lines:
        return "The code ran. It printed nothing."
    return f"The code ran. It gave:\n\n{answers.block(lines)}"


def insert_cell(kit: Kit, wish: InsertCell) -> Recipe:
    """A new cell where the person said."""
    anchor = ""
    if wish.after is not None:
        anchor = (yield from _ids(kit, wish.after, wish.after))[0]
    outcome = yield from must(kit.tools.insert(wish.source, markdown=wish.markdown, after=anchor), "Inserting the cell")
    where = f"after cell {wish.after}" if wish.after is not None else "at the end of the notebook"
    kind = "text cell" if wish.markdown else "cell"
    said = f"I inserted a {kind} {where}."
    if not wish.run:
        return said
    found = _INSERTED.search(outcome.text)
    if found is None:
        raise Stop(f"{said} I cannot see its id, so I did not run it.")
    ran_it = yield from must(kit.tools.run_cells([found["id"].rstrip(".")]), "Running the new cell")
    return f"{said} {ran(ran_it)}"


def change_cell(kit: Kit, wish: ChangeCell) -> Recipe:
    """Another source for a cell that was looked at first."""
    cell = (yield from _ids(kit, wish.number, wish.number))[0]
    yield from must(kit.tools.change(cell, wish.source), f"Changing cell {wish.number}")
    return f"I changed cell {wish.number} (`{cell}`), counted from the top."


def run_cells(kit: Kit, wish: RunCells) -> Recipe:
    """Cells by number, by id, or all code cells."""
    if wish.id:
        cells, what = [wish.id], f"cell {answers.code(wish.id)}"
    else:
        cells = yield from _ids(kit, wish.first, wish.last, code_only=True)
        what = "all code cells" if wish.first is None else f"cell {wish.first}"
        if wish.first is not None and wish.last != wish.first:
            what = f"cells {wish.first} to {wish.last}"
    outcome = yield from must(kit.tools.run_cells(cells), f"Running {what}")
    lines = answers.output_lines(outcome.text)
    shown = f" It gave:\n\n{answers.block(lines)}" if lines else ""
    return f"I ran {what}, counted from the top.{shown}" if not wish.id else f"I ran {what}.{shown}"


def show_cells(kit: Kit) -> Recipe:
    """The cells of the notebook, as the tool shows them."""
    outcome = yield from must(kit.tools.cells(), "Reading the notebook")
    return f"The notebook:\n\n{answers.block(outcome.text.rstrip().split(chr(10)))}"


def list_variables(kit: Kit) -> Recipe:
    """What exists in the kernel."""
    outcome = yield from must(kit.tools.variables(), "Looking at the variables")
    return answers.block(outcome.text.rstrip().split("\n"))


def summarise_variable(kit: Kit, wish: SummariseVariable) -> Recipe:
    """What one variable holds."""
    outcome = yield from must(kit.tools.variables([wish.name]), f"Looking at {wish.name}")
    _, _, sketch = outcome.text.rstrip().partition(f"{wish.name}: ")
    if sketch.startswith("not defined"):
        raise Stop(f"There is no variable {answers.code(wish.name)} in your kernel.")
    return f"{answers.code(wish.name)} is {answers.code(sketch or outcome.text)}."


def _ids(kit: Kit, first: int | None, last: int | None, *, code_only: bool = False) -> Ids:
    """The ids of cells that people count from 1; all where no number is given."""
    if first is None or last is None:
        wanted: list[str] = []
    else:
        wanted = [str(first - 1) if first == last else f"{first - 1}-{last - 1}"]
    what = f"cell {first}" if first == last else f"cells {first} to {last}"
    call = kit.tools.cells(wanted)
    outcome = yield call
    if outcome.is_error and "out of range" in outcome.text:
        count = re.search(r"has (\d+) cells?", outcome.text)
        there = f" It has {answers.count(int(count[1]), 'cell')}." if count else ""
        raise Stop(f"This notebook has no {what}.{there}")
    accept(call, outcome, "Reading the notebook")
    found = [(int(cell["index"]), cell["id"], cell["type"]) for cell in _CELL.finditer(outcome.text)]
    expected = None if first is None or last is None else list(range(first - 1, last))
    if expected is not None and [index for index, _, _ in found] != expected:
        raise Stop(f"I cannot make out {what} of this notebook. `show the cells` lists what is there.")
    ids = [name for _, name, kind in found if kind == "code" or not code_only]
    if not ids:
        raise Stop("There is no code cell to run." if code_only else "The notebook has no cells.")
    return ids
