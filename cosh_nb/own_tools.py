"""`@cosh_nb.tool`: a function of the person's becomes a tool of the agent.

    @cosh_nb.tool
    def revenue(month: str, year: int = 2026) -> float:
        '''Revenue of a month.

Args:
            month: Three letters, such as Jan.
            year: Four digits.
        '''

The signature gives the schema, the docstring the words. It runs on the kernel's main thread, where the person's code
belongs, and asks like any code. A function with an argument that nothing describes is refused.
"""

from __future__ import annotations

import inspect
import re
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from pydantic import Field, create_model

from cosh_tools.contract import (
    PermissionLevel,
    RunsCode,
    Tool,
    ToolContext,
    ToolInput,
    ToolKind,
    ToolResult,
    Touch,
)
from cosh_tools.registry import ToolRegistry

F = TypeVar("F", bound=Callable[..., Any])

SECONDS = 600.0
"""How long one call may take."""

_OWN: dict[str, Tool[Any]] = {}
_REGISTRIES: weakref.WeakSet[ToolRegistry] = weakref.WeakSet()
_WAITING: dict[str, tuple[Callable[..., Any], Mapping[str, Any]]] = {}

_SECTION = re.compile(r"^\s*(args|arguments|parameters|params)\s*:?\s*$", re.IGNORECASE)
_GOOGLE = re.compile(r"^\s*\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")
_NUMPY = re.compile(r"^(\w+)\s*:\s*\S.*$")
_REST = re.compile(r"^\s*:param\s+(?:[\w\[\], .]+\s+)?(\w+)\s*:\s*(.+)$")


def tool(function: F) -> F:
    """Make a function a tool; the function itself stays as it is.

    Raises TypeError where an argument has no description or cannot be sent as JSON.
    """
    made = _tool_of(function)
    _OWN[made.name] = made
    for registry in _REGISTRIES:
        registry.add(made)
    return function


def join(registry: ToolRegistry) -> None:
    """Give a registry the person's tools, those of now and those to come."""
    _REGISTRIES.add(registry)
    for made in _OWN.values():
        registry.add(made)


def call_waiting(token: str) -> Any:
    """Run the call that waits under `token`; the kernel runs this line on its main thread."""
    function, arguments = _WAITING.pop(token)
    return function(**arguments)


def descriptions(docstring: str) -> dict[str, str]:
    """What a docstring says of each argument: Google's, numpy's or reST's way."""
    found: dict[str, str] = {}
    lines = inspect.cleandoc(docstring).splitlines()
    inside = numpy = False
    last = ""
    for index, line in enumerate(lines):
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if rest := _REST.match(line):
            found[rest[1]] = rest[2].strip()
        elif _SECTION.match(line):
            inside, numpy, last = True, set(following.strip()) == {"-"}, ""
        elif inside and _ends(line, following, numpy):
            inside = False
        elif inside and numpy and (name := _NUMPY.match(line)):
            last = name[1]
            found[last] = ""
        elif inside and numpy and last and line.strip(" -"):
            found[last] = f"{found[last]} {line.strip()}".strip()
        elif inside and not numpy and (named := _GOOGLE.match(line)):
            last = named[1]
            found[last] = named[2].strip()
        elif inside and last and line.strip():
            found[last] = f"{found[last]} {line.strip()}"
    return {name: text for name, text in found.items() if text}


def _ends(line: str, following: str, numpy: bool) -> bool:
    """Whether another section begins here."""
    if numpy:
        return set(following.strip()) == {"-"}
    return bool(line.strip()) and not line.startswith((" ", "\t"))


def _tool_of(function: Callable[..., Any]) -> Tool[Any]:
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise TypeError("@cosh_nb.tool takes a named function: `def name(...):` with a docstring.")
    doc = inspect.getdoc(function) or ""
    said = re.split(r"\n\s*\n|\n\s*(?::param|Args:|Arguments:|Parameters)", doc, maxsplit=1)[0].strip()
    if not said:
        raise TypeError(f"{name} needs a docstring that says what it does: the model chooses by it.")
    takes = create_model(f"{name}_input", __base__=ToolInput, **_fields(function, descriptions(doc)))

    class FunctionTool(Tool[ToolInput]):
        kind, permission_level = ToolKind.SHELL_EXEC, PermissionLevel.EXECUTE
        verb = "call"

        def target(self, call: ToolInput, ctx: ToolContext) -> str:
            del ctx
            given = ", ".join(f"{key}={value!r}" for key, value in call.model_dump().items())
            return f"{name}({given})"[:120]

        def touches(self, call: ToolInput, ctx: ToolContext) -> Sequence[Touch]:
            return (RunsCode(self.target(call, ctx)),)

        async def execute(self, call: ToolInput, ctx: ToolContext) -> ToolResult:
            token = uuid.uuid4().hex
            _WAITING[token] = (function, {key: getattr(call, key) for key in type(call).model_fields})
            line = f"__import__('cosh_nb.own_tools', fromlist=['call_waiting']).call_waiting({token!r})"
            try:
                outcome = await ctx.kernel.run_code(line, SECONDS, ctx.progress)
            finally:
                _WAITING.pop(token, None)
            made = ToolResult(outcome.text or "It returned nothing.", outcome.status != "ok", media=outcome.media)
            return made.with_metadata(outputs=list(outcome.outputs))

    FunctionTool.name = name
    FunctionTool.description = " ".join(said.split())
    FunctionTool.takes = takes
    return FunctionTool()


def _fields(function: Callable[..., Any], described: Mapping[str, str]) -> dict[str, Any]:
    name = getattr(function, "__name__", "tool")
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{name}({parameter}) cannot be sent as JSON: use plain named arguments.")
        hint = hints.get(parameter.name, str)
        text = described.get(parameter.name) or _annotated(hint)
        if not text:
            raise TypeError(
                f"{name}: nothing describes the argument {parameter.name!r}. Add a line to the docstring, "
                f"`{parameter.name}: what it is`, under `Args:`."
            )
        required = parameter.default is parameter.empty
        fields[parameter.name] = (hint, Field(... if required else parameter.default, description=text))
    return fields


def _annotated(hint: Any) -> str:
    if get_origin(hint) is not Annotated:
        return ""
    return next((extra for extra in get_args(hint)[1:] if isinstance(extra, str)), "")
