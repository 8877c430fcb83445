"""Words to a plan: a request is understood as a whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from cosh_nb.providers.offline.code import variable_for
from cosh_nb.providers.offline.grammar_data import DATA
from cosh_nb.providers.offline.grammar_files import FILES
from cosh_nb.providers.offline.grammar_notebook import NOTEBOOK
from cosh_nb.providers.offline.intents import (
    IT,
    Append,
    ChangeCell,
    CreateFile,
    Help,
    InsertCell,
    InsertCellFor,
    Intent,
    ListFiles,
    ListVariables,
    Load,
    Plot,
    ReadFile,
    Replace,
    Rows,
    RunCells,
    RunCommand,
    RunPython,
    RunScript,
    Search,
    ShowCells,
    Statistic,
    SummariseTable,
    SummariseVariable,
)
from cosh_nb.providers.offline.patterns import match_clause
from cosh_nb.providers.offline.phrase import Found, Phrase, Unclear
from cosh_nb.providers.offline.words import LONGEST, LONGEST_REQUEST, Clause, clean, readings, sentence

HELP = Phrase(
    "help",
    "says what it can do",
    (
        "help [me]",
        "what can (you|i|it) (do|say|ask) [(for me|here)]",
        "what do you (understand|know|do)",
        "(how do you work|how does this work|who are you|what are you)",
        "(list|show) [me] (what you can do|your commands|the commands|all commands)",
        "(hi|hello|hey) [(there|cosh)]",
    ),
    lambda _found: Help(),
)

GRAMMAR: Sequence[Phrase] = (*FILES, *NOTEBOOK, *DATA, HELP)
"""Everything that can be said, in the order in which it is tried."""


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A request of which some part says nothing to the grammar. Nothing of it is done."""

    part: str
    """The first part that was not understood, as the person wrote it; "" where it is the whole request."""
    hint: str = ""


Plan = tuple[Intent, ...]


def understand(request: str) -> Plan | NotUnderstood:
    """The steps that the request says, or what was not understood. The finest cut that makes sense wins."""
    if len(request) > LONGEST_REQUEST:
        return NotUnderstood("", "It is too long for my grammar.")
    said = sentence(request)
    if len(said.text) > LONGEST:
        return NotUnderstood("", "It is too long for my grammar.")
    known: dict[str, Intent | Unclear | None] = {}
    missed: NotUnderstood | None = None
    for clauses in readings(said):
        plan = _plan(clauses, known)
        if not isinstance(plan, NotUnderstood):
            return plan
        if missed is None or (plan.hint and not missed.hint):
            missed = plan
    return missed or NotUnderstood("")


def _plan(clauses: Sequence[Clause], known: dict[str, Intent | Unclear | None]) -> Plan | NotUnderstood:
    steps: list[Intent] = []
    so_far = _Mentioned()
    for clause in clauses:
        if clause.text not in known:
            known[clause.text] = _meaning(clause)
        intent = known[clause.text]
        if intent is None and steps:
            intent = _same_again(steps[-1], clause)
        whole = "" if len(clauses) == 1 else clause.sentence.restore(clause.text)
        if intent is None:
            return NotUnderstood(whole, _advice(clause))
        if isinstance(intent, Unclear):
            return NotUnderstood(whole, str(intent))
        try:
            step = so_far.resolve(intent)
        except Unclear as unclear:
            return NotUnderstood(whole, str(unclear))
        so_far.note(step)
        if isinstance(step, RunCells) and step.id == IT and isinstance(steps[-1], InsertCell):
            steps[-1] = replace(steps[-1], run=True)
        else:
            steps.append(step)
    return tuple(steps)


def _meaning(clause: Clause, grammar: Sequence[Phrase] | None = None) -> Intent | Unclear | None:
    """What one clause means: the first pattern that matches and makes sense of its slots."""
    unclear: Unclear | None = None
    for phrase in grammar or GRAMMAR:
        for pattern in phrase.patterns:
            match = match_clause(pattern, clause.text)
            if match is None:
                continue
            try:
                intent = phrase.means(Found(match, clause))
            except Unclear as problem:
                unclear = unclear or problem
                continue
            if intent is not None:
                return intent
    return (_cell_for(clause) if grammar is None else None) or unclear


_CELL_FOR = (
    "(insert|add|append|create|make|write|put) [me] [(a|an|another|one)] [new] [(code|python)] cell "
    "[(here|below|at the (end|bottom) [of the notebook]|(after|below|under) cell {after:n})] (that|which|to) "
    "{task:text}"
)
_THIRD_PERSON = re.compile(
    r"^(loads?|imports?|reads?|plots?|charts?|draws?|shows?|graphs?|makes?|creates?|summari[sz]es?|describes?|"
    r"visuali[sz]es?|computes?|calculates?|prints?)\b",
    re.IGNORECASE,
)


def _cell_for(clause: Clause) -> Intent | Unclear | None:
    """A cell that plots revenue by month from sales.csv: the data grammar decides what the cell does."""
    match = match_clause(_CELL_FOR, clause.text)
    if match is None:
        return None
    task = _THIRD_PERSON.sub(lambda verb: verb[1].removesuffix("s"), match["task"])
    meaning = _meaning(Clause(clean(task), clause.sentence), DATA)
    match meaning:
        case Load() | Plot() | SummariseTable() | Statistic():
            source = "" if isinstance(meaning, Load) else meaning.source
            if source == IT:
                return Unclear("Say which file or variable the cell takes: a cell that plots revenue from sales.csv.")
            return InsertCellFor(meaning, Found(match, clause).number("after"))
        case Unclear():
            return meaning
        case _:
            return None


_ONLY_A_FILE = "[the] [(file|script)] {file:file}"


def _same_again(before: Intent, clause: Clause) -> Intent | None:
    """As in "read a.py and b.py": a clause that is only a file takes the verb of the one before."""
    match = match_clause(_ONLY_A_FILE, clause.text)
    if match is None:
        return None
    path = Found(match, clause)("file")
    match before:
        case ReadFile():
            return ReadFile(path, before.first, before.last, before.tail)
        case RunScript() if "." in path:
            return RunScript(path)
        case Load() if not before.name:
            return Load(path)
        case _:
            return None


@dataclass
class _Mentioned:
    """What earlier clauses named, so that "it" and "the data" mean something."""

    file: str = ""
    table: str = ""
    cell: bool = False

    def resolve(self, intent: Intent) -> Intent:
        """The intent with its "it" replaced. Raises Unclear where nothing was named."""
        match intent:
            case RunScript(path) if path == IT and self.cell:
                return RunCells(id=IT)
            case RunScript(path) | Replace(path=path) if path == IT:
                if not self.file:
                    raise Unclear("Say which file: I do not know what came before this request.")
                return replace(intent, path=self.file)
            case Plot(source=source) | Statistic(source=source) | SummariseTable(source) | Rows(source) if source == IT:
                if not self.table:
                    raise Unclear("Say of which file or variable: plot revenue by month from sales.csv.")
                return replace(intent, source=self.table)
            case SummariseVariable(name) if name == self.table:
                return SummariseTable(name)
            case _:
                return intent

    def note(self, intent: Intent) -> None:
        """Remember what the intent names."""
        match intent:
            case CreateFile(path=path) | Append(path=path) | RunScript(path):
                self.file, self.cell = path, False
            case ReadFile(path=path) | Replace(path=path) if path:
                self.file, self.cell = path, False
            case Load(path=path, name=name):
                self.table = name or variable_for(path)
            case Plot(source=source) | Statistic(source=source) | SummariseTable(source) | Rows(source):
                self.table = source
            case InsertCell() | InsertCellFor():
                self.cell = True
            case ReadFile() | Replace() | ListFiles() | Search() | RunCommand() | RunPython() | ChangeCell():
                pass
            case RunCells() | ShowCells() | ListVariables() | SummariseVariable() | Help():
                pass
            case _:
                assert_never(intent)


_ADVICE: Sequence[tuple[str, str]] = (
    (r"(delete|remove|erase|rm|drop|clear)\b", "I do not delete anything. A command can, if you allow it: run `rm x`."),
    (r"(undo|revert|take (it|that) back|again|repeat|redo|do (it|that|this) again)\b",
     "I keep nothing from one request to the next. %cosh /undo takes back a turn."),
    (r"(replace|change|substitute|rename)\b",
     "Say the old text, the new one and the file: replace foo by bar in a.py."),
    (r"(create|make|write)\b", "Say the file and what it holds: create hello.py that prints hi."),
    (r"(plot|draw|chart|graph|visuali[sz]e)\b",
     "Say the column and where it is: plot revenue by month from sales.csv."),
    (r"(run|execute)\b.*\btests?\b", "Say the command: run `pytest -q`."),
    (r"(run|execute)\b",
     "Put a command in backticks, or name a script or a cell: run `ls -l`, run hello.py, run cell 2."),
    (r"(search|find|grep|look)\b", "Say the text and where: search for TODO in *.py."),
    (r"(load|import)\b", "I load .csv, .tsv, .json, .parquet and .xlsx files: load sales.csv."),
    (r"(insert|add)\b.*\bcell\b", "Say what the cell holds: insert a cell with `x = 1`."),
    (r"(explain|why|fix|debug|refactor|translate|review|improve|optimi[sz]e|write)\b",
     "That takes a language model."),
)  # fmt: skip


def _advice(clause: Clause) -> str:
    text = re.sub(r"^(the|a|all)\s+", "", clause.text.lower())
    return next((advice for pattern, advice in _ADVICE if re.match(pattern, text)), "")


__all__ = ["GRAMMAR", "NotUnderstood", "Plan", "understand"]
