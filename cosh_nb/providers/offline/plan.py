"""A plan: the steps of a request, one after another, until they are done or one of them cannot be."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import assert_never

from cosh_nb.providers.offline import answers, recipes_data, recipes_files, recipes_notebook
from cosh_nb.providers.offline.intents import (
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
from cosh_nb.providers.offline.manual import manual, not_understood
from cosh_nb.providers.offline.scene import Call, Outcome
from cosh_nb.providers.offline.steps import Kit, Recipe, Stop
from cosh_nb.providers.offline.toolbox import NoTool
from cosh_nb.providers.offline.understand import NotUnderstood, Plan, understand


@dataclass
class Talk:
    """What was said and not yet sent."""

    waiting: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """One more paragraph."""
        self.waiting.append(text)

    def take(self) -> str:
        """Everything since the last time."""
        text = "\n\n".join(self.waiting)
        self.waiting.clear()
        return text


@dataclass(frozen=True, slots=True)
class Reply:
    """The next message: prose, and the call that it makes, if any."""

    text: str
    call: Call | None


def next_reply(kit: Kit) -> Reply:
    """Run the plan over the outcomes so far, up to the next call or the end."""
    talk = Talk()
    script = _everything(kit, talk)
    try:
        call = next(script)
        for outcome in kit.scene.outcomes:
            if outcome.tool != call.tool:
                return Reply("The tools changed while I worked, so I stopped. Say the request again.", None)
            talk.take()
            call = script.send(outcome)
    except StopIteration:
        return Reply(talk.take(), None)
    return Reply(talk.take(), call)


Script = Generator[Call, Outcome, None]


def _everything(kit: Kit, talk: Talk) -> Script:
    """The request, then what the person added while it ran."""
    for request in (kit.scene.prompt, *kit.scene.added):
        plan = understand(request)
        if isinstance(plan, NotUnderstood):
            talk.say(not_understood(plan))
            return
        if not (yield from _steps(kit, talk, plan)):
            return


def _steps(kit: Kit, talk: Talk, plan: Plan) -> Generator[Call, Outcome, bool]:
    """Whether all steps were done."""
    if len(plan) > 1:
        steps = "\n".join(f"{number}. {describe(step)}" for number, step in enumerate(plan, 1))
        talk.say(f"{len(plan)} steps:\n\n{steps}")
    for number, step in enumerate(plan, 1):
        try:
            answer = yield from _recipe(kit, step)
        except (Stop, NoTool) as stop:
            talk.say(str(stop))
            if left := plan[number:]:
                talk.say("Not done after that: " + "; ".join(describe(step) for step in left) + ".")
            return False
        talk.say(answer)
    return True


def _recipe(kit: Kit, step: Intent) -> Recipe:
    match step:
        case ListFiles():
            return (yield from recipes_files.list_files(kit, step))
        case ReadFile():
            return (yield from recipes_files.read_file(kit, step))
        case Search():
            return (yield from recipes_files.search(kit, step))
        case CreateFile():
            return (yield from recipes_files.create_file(kit, step))
        case Append():
            return (yield from recipes_files.append(kit, step))
        case Replace():
            return (yield from recipes_files.replace_text(kit, step))
        case RunCommand():
            return (yield from recipes_files.run_command(kit, step))
        case RunScript():
            return (yield from recipes_files.run_script(kit, step))
        case RunPython():
            return (yield from recipes_notebook.run_python(kit, step))
        case InsertCell():
            return (yield from recipes_notebook.insert_cell(kit, step))
        case ChangeCell():
            return (yield from recipes_notebook.change_cell(kit, step))
        case RunCells():
            return (yield from recipes_notebook.run_cells(kit, step))
        case ShowCells():
            return (yield from recipes_notebook.show_cells(kit))
        case ListVariables():
            return (yield from recipes_notebook.list_variables(kit))
        case SummariseVariable():
            return (yield from recipes_notebook.summarise_variable(kit, step))
        case InsertCellFor():
            return (yield from recipes_data.insert_cell_for(kit, step))
        case Load():
            return (yield from recipes_data.load(kit, step))
        case SummariseTable():
            return (yield from recipes_data.summarise_table(kit, step))
        case Rows():
            return (yield from recipes_data.rows(kit, step))
        case Statistic():
            return (yield from recipes_data.statistic(kit, step))
        case Plot():
            return (yield from recipes_data.plot(kit, step))
        case Help():
            return manual()
        case _:
            assert_never(step)


def describe(step: Intent) -> str:
    """A step in a few words."""
    code = answers.code
    match step:
        case ListFiles(what=what):
            return f"list every {what}"
        case ReadFile(path=path):
            return f"read {code(path)}"
        case Search(text=text):
            return f"search for {code(text)}"
        case CreateFile(path=path, overwrite=overwrite):
            return f"{'overwrite' if overwrite else 'create'} {code(path)}"
        case Append(path=path):
            return f"add a line to {code(path)}"
        case Replace(old=old, new=new):
            return f"replace {code(old)} by {code(new)}"
        case RunCommand(command):
            return f"run {code(command)}"
        case RunScript(path):
            return f"run {code(path)}"
        case RunPython():
            return "run the code"
        case InsertCell() | InsertCellFor():
            return "insert a cell"
        case ChangeCell(number=number):
            return f"change cell {number}"
        case RunCells(first=first, last=last, id=name):
            if name or first is None:
                return f"run cell {code(name)}" if name else "run all cells"
            return f"run cell {first}" if first == last else f"run cells {first} to {last}"
        case ShowCells():
            return "show the cells"
        case ListVariables():
            return "list the variables"
        case SummariseVariable(name):
            return f"summarise {code(name)}"
        case Load(path=path):
            return f"load {code(path)}"
        case SummariseTable(source):
            return f"summarise {code(source)}"
        case Rows(source=source):
            return f"show rows of {code(source)}"
        case Statistic(function=function, column=column):
            return f"compute the {function} of {code(column)}" if column else "count the rows"
        case Plot(column=column, by=by):
            return f"plot {code(column)} by {code(by)}" if by else f"plot {code(column)}"
        case Help():
            return "say what I can do"
        case _:
            assert_never(step)
