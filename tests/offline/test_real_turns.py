"""Requests in plain words through the real loop, policy, approvals and tools, with no key and no model."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cosh_nb import events as e
from cosh_nb import settings
from cosh_nb.agent import Agent, FrontEnd, TurnOptions
from cosh_nb.providers.offline import OfflineProvider, can_do
from cosh_nb.trust import Trust
from cosh_tools.hosts import Allowed, NobodyToAsk, Refused
from cosh_tools.kinds import PermissionMode
from cosh_tools.registry import ToolRegistry

SALES = "month,region,Revenue,when\nJan,north,10,2024-01-05\nJan,south,5,2024-01-20\nFeb,north,7,2024-02-01\n"


@dataclass
class Person:
    """Says yes, until `answers` say otherwise, one after another."""

    answers: list = field(default_factory=list)
    asked: list = field(default_factory=list)

    async def ask(self, request):
        self.asked.append(request)
        return self.answers.pop(0) if self.answers else Allowed()


@dataclass
class Scene:
    agent: Agent
    person: Person
    told: list = field(default_factory=list)

    async def ask(self, text, **options):
        self.told.clear()
        self.ended = await self.agent.run(text, self.told.append, TurnOptions(**options))
        return self.ended.text

    @property
    def rows(self):
        return [event.call.name for event in self.told if isinstance(event, e.ToolFinished)]

    def result_of(self, tool):
        return next(
            event.result for event in self.told if isinstance(event, e.ToolFinished) and event.call.name == tool
        )


@pytest.fixture
async def open_scene(tmp_path, monkeypatch):
    monkeypatch.setenv("COSH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COSH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.py").write_text("# TODO: more\nfoo = 1\nprint(foo)\n")
    (folder / "sales.csv").write_text(SALES)
    opened = []

    def make(registry=None, person=None, mode=PermissionMode.DEFAULT):
        person = person or Person()
        known = settings.load(folder, {}, trust=Trust(tmp_path / "trust.json"))
        opened.append(
            Agent(
                folder,
                known,
                FrontEnd(permission_handler=person),
                registry=registry or ToolRegistry.for_notebook(),
                provider=OfflineProvider(),
                mode=mode,
            )
        )
        return Scene(opened[-1], person)

    make.folder = folder
    yield make
    for agent in opened:
        await agent.close()


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


async def test_list_the_python_files_here(open_scene):
    (open_scene.folder / "sub").mkdir()
    (open_scene.folder / "sub" / "b.py").write_text("")
    scene = open_scene()

    said = await scene.ask("list the python files here")

    assert said == "2 Python files here and below:\n\n```\na.py\nsub/b.py\n```"
    assert scene.person.asked == []


async def test_create_a_file_that_prints_hi(open_scene):
    scene = open_scene()

    said = await scene.ask("create hello.py that prints hi")

    assert (open_scene.folder / "hello.py").read_text() == 'print("hi")\n'
    assert said == "I created `hello.py` (1 line)."
    assert [request.call.name for request in scene.person.asked] == ["Write"]


async def test_replace_foo_by_bar(open_scene):
    scene = open_scene()

    said = await scene.ask("replace foo by bar in a.py")

    assert (open_scene.folder / "a.py").read_text() == "# TODO: more\nbar = 1\nprint(bar)\n"
    assert scene.rows == ["Read", "Edit"]
    assert said == "I replaced `foo` by `bar` in `a.py` (2 places)."
    assert "-foo = 1" in scene.person.asked[0].diff


async def test_search_for_todo(open_scene):
    scene = open_scene()

    said = await scene.ask("search for TODO")

    assert "a.py:1:# TODO: more" in said
    assert scene.person.asked == []


async def test_load_and_plot_without_a_kernel_draws_into_a_file(open_scene):
    scene = open_scene()

    said = await scene.ask("load sales.csv and plot revenue by month")

    assert "drawn into `revenue_by_month.svg`" in said
    assert "Jan: 15" in said
    svg = (open_scene.folder / "revenue_by_month.svg").read_text()
    assert svg.startswith("<svg")
    assert svg.count("<rect") == 2


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ("what is the mean of revenue in sales.csv", "The mean of Revenue is `7.333333333333333`."),
        ("total revenue by region from sales.csv", "north: 17\nsouth: 5"),
        ("highest revenue by region in sales.csv", "north: 10\nsouth: 5"),
        ("how many rows does sales.csv have", "`3`"),
        ("show the first 2 rows of sales.csv", "'region': 'south'"),
        ("summarise sales.csv", "Revenue: 3 numbers, min 5, mean 7.33333, max 10"),
        ("what is the total revenue by year in sales.csv", "2024: 22"),
    ],
)
async def test_figures_of_a_table(open_scene, request_, says):
    scene = open_scene()

    assert says in await scene.ask(request_)


async def test_create_and_run(open_scene):
    scene = open_scene()

    said = await scene.ask('create "my prog.py" that prints "häl lo" and run it')

    assert said.endswith("It printed:\n\n```\nhäl lo\n```")
    assert [request.call.name for request in scene.person.asked] == ["Write", "Bash"]


async def test_append_keeps_what_was_there(open_scene):
    scene = open_scene()

    await scene.ask('append "x = 2" to a.py')

    assert (open_scene.folder / "a.py").read_text() == "# TODO: more\nfoo = 1\nprint(foo)\nx = 2\n"


async def test_replace_in_all_files_of_a_kind(open_scene):
    (open_scene.folder / "b.py").write_text("foo\n")
    (open_scene.folder / "c.txt").write_text("foo\n")
    scene = open_scene(mode=PermissionMode.ACCEPT_EDITS)

    await scene.ask("replace foo by bar in all python files")

    assert (open_scene.folder / "b.py").read_text() == "bar\n"
    assert (open_scene.folder / "c.txt").read_text() == "foo\n"
    assert "foo" not in (open_scene.folder / "a.py").read_text()


# -- nothing is guessed, nothing is touched ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_", ["write a poem to poem.txt", "tidy up", "create hello.py that prints hi and make it better", "run it"]
)
async def test_an_unknown_request_touches_nothing_and_says_what_can_be_said(open_scene, request_):
    scene = open_scene(mode=PermissionMode.BYPASS)
    before = files(open_scene.folder)

    said = await scene.ask(request_)

    assert scene.rows == []
    assert files(open_scene.folder) == before
    assert said.startswith("I did not understand that")
    assert "so I did nothing" in said
    assert all(" ".join(example.split()) in said for example, _ in can_do())
    assert "ANTHROPIC_API_KEY" in said
    assert "OLLAMA_HOST" in said


async def test_every_turn_says_that_it_is_no_language_model(open_scene):
    scene = open_scene()

    await scene.ask("list files")

    assert next(event.label for event in scene.told if isinstance(event, e.TurnStarted)) == (
        "offline helper, not a language model"
    )


async def test_help_lists_what_can_be_said(open_scene):
    scene = open_scene()

    said = await scene.ask("help")

    assert "`create hello.py that prints hi`: makes a new file" in said


async def test_a_file_that_exists_is_not_created_again(open_scene):
    for registry in (ToolRegistry.for_notebook(), ToolRegistry.with_defaults()):
        scene = open_scene(registry, mode=PermissionMode.BYPASS)

        said = await scene.ask("create a.py that prints hi")

        assert "exists already, and I did not touch it" in said
        assert "TODO" in (open_scene.folder / "a.py").read_text()


async def test_overwrite_is_said_and_then_done(open_scene):
    scene = open_scene()

    await scene.ask('overwrite a.py with "x = 1"')

    assert (open_scene.folder / "a.py").read_text() == "x = 1\n"
    assert scene.rows == ["Read", "Write"]


async def test_a_text_that_is_not_there_changes_nothing(open_scene):
    scene = open_scene(mode=PermissionMode.BYPASS)

    said = await scene.ask("replace nothing_like_it by bar in a.py")

    assert said == "`nothing_like_it` is not in `a.py`. Nothing was changed."
    assert scene.rows == ["Read"]


async def test_a_column_that_is_not_there_runs_no_code(open_scene):
    scene = open_scene(mode=PermissionMode.BYPASS)

    said = await scene.ask("plot profit by month from sales.csv")

    assert said == "There is no column `profit` in `sales.csv`. It has `month`, `Revenue`, `when`.".replace(
        "`month`, ", "`month`, `region`, "
    )
    assert scene.rows == ["Read"]


# -- answers of people ---------------------------------------------------------------------------------------------


async def test_a_denial_with_a_reason_is_respected_and_repeated(open_scene):
    scene = open_scene(person=Person([Refused("use another name")]))

    said = await scene.ask("create hello.py that prints hi and run it")

    assert "The reason given: use another name" in said
    assert "Not done after that: run `hello.py`." in said
    assert scene.rows == ["Glob", "Write"]
    assert not (open_scene.folder / "hello.py").exists()


async def test_a_denial_without_a_reason_is_said(open_scene):
    scene = open_scene(person=Person([Refused()]))

    assert await scene.ask("run `ls -l`") == "You did not allow it, so this was not done: running `ls -l`."


async def test_a_correction_of_the_person_is_what_runs(open_scene):
    scene = open_scene(person=Person([Allowed(input={"command": "echo corrected"})]))

    assert "corrected" in await scene.ask("run `ls -l`")


async def test_with_nobody_to_ask_it_says_what_to_type_and_that_works(open_scene):
    scene = open_scene(person=NobodyToAsk())

    said = await scene.ask("run `ls -l`")
    assert "`%%cosh --allowed-tools 'Bash(ls -l)'`" in said

    said = await scene.ask("run `ls -l`", allowed_tools="Bash(ls -l)")
    assert "a.py" in said


async def test_plan_mode_is_told_as_it_is(open_scene):
    scene = open_scene(mode=PermissionMode.PLAN)

    said = await scene.ask("create hello.py that prints hi")

    assert "Plan mode is read-only" in said
    assert not (open_scene.folder / "hello.py").exists()


async def test_a_path_outside_is_proposed_and_asked_about(open_scene, tmp_path):
    scene = open_scene(person=Person([Refused()]))

    await scene.ask(f"create {tmp_path}/outside.py that prints hi")

    assert "outside the workspace" in scene.person.asked[0].reason.reason
    assert not (tmp_path / "outside.py").exists()


async def test_what_is_typed_meanwhile_is_done_afterwards(open_scene):
    scene = open_scene()
    scene.agent.type_on("list the python files")

    said = await scene.ask("read sales.csv")

    assert scene.rows == ["Read", "Glob"]
    assert said.endswith("1 Python file here and below:\n\n```\na.py\n```")


async def test_a_failing_command_is_a_failed_step(open_scene):
    scene = open_scene(mode=PermissionMode.BYPASS)

    said = await scene.ask("run `ls nothing-here` and list files")

    assert "Running `ls nothing-here` failed:" in said
    assert "Not done after that: list every file." in said


async def test_a_file_that_closes_fences_stays_inside_its_own(open_scene):
    (open_scene.folder / "evil.md").write_text("```\n<script>alert(1)</script>\n````\n")
    scene = open_scene()

    said = await scene.ask("read evil.md")

    assert "`````markdown\n```\n<script>alert(1)</script>\n````\n`````" in said


# -- other sets of tools ----------------------------------------------------------------------------------------------


async def test_the_same_words_work_with_the_tools_of_cosh(open_scene):
    scene = open_scene(ToolRegistry.with_defaults())

    assert "`a.py`" in await scene.ask("replace foo by bar in a.py")
    assert scene.rows == ["read_file", "edit"]
    assert "1 Python file" in await scene.ask("list the python files here")
    assert scene.rows == ["shell"]
    assert "1 line with `TODO`" in await scene.ask("search for TODO in *.py")
    assert scene.rows == ["grep"]
    assert "printed:\n\n```\nhi\n```" in await scene.ask("create hello.py that prints hi and run it")
    assert scene.rows == ["read_file", "write_file", "shell"]
    assert "```\n3\n```" in await scene.ask("run this python: print(3)")
    assert scene.rows == ["shell"]


async def test_a_tool_that_is_missing_is_named(open_scene):
    scene = open_scene(ToolRegistry.for_notebook().only(["Read"]))

    said = await scene.ask("create hello.py that prints hi")

    assert said == "The tool for writing files (write_file) is not declared in this session."


async def test_without_a_kernel_code_runs_in_a_python_of_its_own(open_scene):
    scene = open_scene()

    said = await scene.ask("run this python: x = 20\nprint(x + 1)")

    assert scene.rows == ["Python", "Bash"]
    assert "21" in said


async def test_without_an_open_notebook_cells_are_left_alone(open_scene):
    scene = open_scene()

    assert await scene.ask("insert a cell with `x = 1`") == (
        "I do not see which notebook is open, so I leave cells alone."
    )
