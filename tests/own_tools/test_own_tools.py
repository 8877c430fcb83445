"""A person's function as a tool."""

from typing import Annotated

import pytest

from cosh_nb.own_tools import _OWN, _WAITING, call_waiting, descriptions, join, tool
from cosh_tools.context import SessionState
from cosh_tools.contract import ToolCall, ToolContext
from cosh_tools.gate import Gate
from cosh_tools.hosts import CodeOutcome, NoKernel
from cosh_tools.kinds import PermissionMode
from cosh_tools.registry import ToolRegistry
from cosh_tools.runner import NotRun, Runner


class HereKernel(NoKernel):
    """Runs the line in this process, as the kernel's main thread would."""

    async def run_code(self, code, timeout, progress):
        try:
            return CodeOutcome("ok", repr(eval(code)))
        except ZeroDivisionError as error:
            return CodeOutcome("error", repr(error))


@pytest.fixture(autouse=True)
def forget():
    yield
    _OWN.clear()
    assert not _WAITING


@pytest.fixture
def runner(tmp_path):
    registry = ToolRegistry()
    join(registry)
    ctx = ToolContext(SessionState(tmp_path, tmp_path, PermissionMode.BYPASS), kernel=HereKernel())
    return Runner(registry, ctx, Gate())


async def test_a_function_becomes_a_tool_with_its_own_words(runner):
    @tool
    def revenue(month: str, year: int = 2026) -> float:
        """Revenue of a month.

        Args:
            month: Three letters,
                such as Jan.
            year: Four digits.
        """
        return year + len(month)

    assert revenue("Jan") == 2029
    definition = runner.registry.find("revenue").to_definition()
    assert definition.description == "Revenue of a month."
    assert definition.input_schema["properties"] == {
        "month": {"description": "Three letters, such as Jan.", "type": "string"},
        "year": {"default": 2026, "description": "Four digits.", "type": "integer"},
    }
    assert definition.input_schema["required"] == ["month"]
    assert (await runner.run(ToolCall("1", "revenue", {"month": "Jan", "year": "1"}))).content == "4"


async def test_it_asks_like_any_code(runner):
    @tool
    def wipe() -> None:
        """Wipes it."""

    runner.ctx.state.permission_mode = PermissionMode.DEFAULT
    assert isinstance(await runner.prepare(ToolCall("1", "wipe")), NotRun)


async def test_what_it_raises_is_an_error_result(runner):
    @tool
    def half(n: Annotated[int, "A number"]) -> float:
        """Halves it."""
        return 1 / n

    result = await runner.run(ToolCall("1", "half", {"n": 0}))
    assert result.is_error
    assert "ZeroDivisionError" in result.content


@pytest.mark.parametrize(
    "docstring",
    [
        "Does.\n\nArgs:\n    a: The first.\n    b (int): The second,\n        longer.\nReturns:\n    c: nothing",
        (
            "Does.\n\nParameters\n----------\na : str\n    The first.\nb : int\n    The second,\n    longer.\n\n"
            "Returns\n-------\nc : x\n    n"
        ),
        "Does.\n\n:param a: The first.\n:param int b: The second, longer.",
    ],
)
def test_three_ways_of_describing_arguments_are_read(docstring):
    assert descriptions(docstring) == {"a": "The first.", "b": "The second, longer."}


def test_an_argument_that_nothing_describes_is_refused():
    with pytest.raises(TypeError, match="'month'"):

        @tool
        def revenue(month: str) -> float:
            """Revenue."""


def test_a_function_without_words_is_refused():
    with pytest.raises(TypeError, match="docstring"):
        tool(lambda: 1)
    with pytest.raises(TypeError, match="docstring"):

        @tool
        def silent():
            pass


def test_star_arguments_are_refused():
    with pytest.raises(TypeError, match="named arguments"):

        @tool
        def many(*values: int) -> None:
            """Takes many."""


def test_a_call_that_does_not_wait_cannot_be_run():
    with pytest.raises(KeyError):
        call_waiting("nope")
