"""The contract of a tool: what the model reads, what the call touches, what it does.

A tool is a small class in its own file:

    class GlobInput(ToolInput):
        pattern: str = Field(description="...")

    class Glob(Tool[GlobInput]):
        name = "Glob"
        description = "..."
        kind, permission_level = ToolKind.READ_ONLY, PermissionLevel.READ_ONLY
        concurrency_safe = True

        def touches(self, call, ctx): ...
        async def execute(self, call, ctx): ...
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict

from cosh_tools.context import ToolContext
from cosh_tools.kinds import PermissionLevel, PermissionMode, ToolKind
from cosh_tools.results import InvalidInput, Media, PermissionDenied, ToolError, ToolResult
from cosh_tools.schema import draft07
from cosh_tools.touches import (
    Fetches,
    Needs,
    Opaque,
    PathTouch,
    Reads,
    Runs,
    RunsCode,
    Touch,
    Uses,
    Writes,
    describe,
)

__all__ = [
    "Fetches",
    "InvalidInput",
    "Media",
    "Needs",
    "NoInput",
    "Opaque",
    "PathTouch",
    "PermissionDenied",
    "PermissionLevel",
    "PermissionMode",
    "Reads",
    "Runs",
    "RunsCode",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolDefinition",
    "ToolError",
    "ToolInput",
    "ToolKind",
    "ToolResult",
    "Touch",
    "Uses",
    "Writes",
    "describe",
]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as the model declared it: `input` is the parsed JSON object, not yet validated."""

    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """What the model is told of a tool: `input_schema` is a JSON Schema draft-07 object."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


class ToolInput(BaseModel):
    """The arguments of a tool. Every field is described; unknown fields are set aside and reported."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class NoInput(ToolInput):
    """For tools that take no arguments."""


_TELLING = (
    "file_path", "path", "notebook_path", "command", "pattern", "url", "query", "subject", "description", "name",
    "skill", "task_id", "id", "to", "setting",
)  # fmt: skip

I = TypeVar("I", bound=ToolInput)  # noqa: E741  (the input of a tool)


class Tool(ABC, Generic[I]):
    """One thing the agent can do. Stateless: whatever lasts lives in the context."""

    name: ClassVar[str]
    description: ClassVar[str]
    kind: ClassVar[ToolKind]
    permission_level: ClassVar[PermissionLevel]
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names that rules, hooks and allow lists may use for this tool."""
    concurrency_safe: ClassVar[bool] = False
    """True where two such calls in a row may run at the same time."""
    always_allowed: ClassVar[bool] = False
    """True for the two tools that never ask (question and evidence)."""
    verb: ClassVar[str] = ""
    """What a card and a row call it, in the infinitive: "read", "run". Empty: the name."""
    keywords: ClassVar[tuple[str, ...]] = ()
    """Words by which ToolSearch finds it."""
    takes: ClassVar[type[ToolInput]] = NoInput

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in getattr(cls, "__orig_bases__", ()):
            origin, arguments = get_origin(base), get_args(base)
            if isinstance(origin, type) and issubclass(origin, Tool) and arguments and isinstance(arguments[0], type):
                cls.takes = arguments[0]

    def parse(self, given: Mapping[str, Any]) -> I:
        """The arguments as an input, checked. Raises pydantic's ValidationError or InvalidInput."""
        return cast("I", self.takes.model_validate(given))

    def touches(self, call: I, ctx: ToolContext) -> Sequence[Touch]:
        """What this call would read, write, run or fetch. May read the disk; changes nothing."""
        del call, ctx
        return ()

    @abstractmethod
    async def execute(self, call: I, ctx: ToolContext) -> ToolResult:
        """Do it. Raise ToolError for a failure that the model should read as a sentence."""

    def target(self, call: I, ctx: ToolContext) -> str:
        """The object of its row, short: a file, a command's first line. The default is the first field that says it."""
        del ctx
        for name in _TELLING:
            value = getattr(call, name, None)
            if isinstance(value, str) and value.strip():
                return value.strip().splitlines()[0]
        return ""

    def input_schema(self) -> Mapping[str, Any]:
        """JSON Schema draft-07 of the arguments, generated from the input class."""
        return self._definition.input_schema

    def to_definition(self) -> ToolDefinition:
        """Name, description and schema, the same object at every call."""
        return self._definition

    @cached_property
    def _definition(self) -> ToolDefinition:
        return ToolDefinition(self.name, self.description, draft07(self.takes))
