"""What we say in the default dialect: every line is one of these, told apart by `type` and `subtype`.

The shapes of stream events, approvals and results are cosh-core's; `input` and `tool_use_id` stand beside
`tool_input`, so that clients of its newer versions read them too.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticSerializationError


class Line(BaseModel):
    """A line or a part of one. Fields that are None are left out, unless the class says otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    keeps_null: ClassVar[bool] = False

    def wire(self) -> bytes:
        """The line as JSON, without its newline. Half an emoji, which no JSON may hold, becomes a question mark."""
        drop = not self.keeps_null
        try:
            return self.model_dump_json(exclude_none=drop).encode()
        except PydanticSerializationError:
            values = self.model_dump(exclude_none=drop)
            return json.dumps(values, ensure_ascii=False, default=str).encode("utf-8", "replace")


# -- stream_event --------------------------------------------------------------------------------------------------


class TextDelta(Line):
    """More prose."""

    subtype: Literal["text_delta"] = "text_delta"
    content: str


class ThinkingDelta(Line):
    """More of the model's reasoning."""

    subtype: Literal["thinking_delta"] = "thinking_delta"
    content: str


class ToolUseBegin(Line):
    """A call begins to be declared."""

    subtype: Literal["tool_use_begin"] = "tool_use_begin"
    tool_name: str
    tool_use_id: str


class ToolUseDelta(Line):
    """A piece of its arguments as JSON text."""

    subtype: Literal["tool_use_delta"] = "tool_use_delta"
    content: str


class ToolUseEnd(Line):
    """The call is declared in full."""

    subtype: Literal["tool_use_end"] = "tool_use_end"


StreamEvent = Annotated[
    TextDelta | ThinkingDelta | ToolUseBegin | ToolUseDelta | ToolUseEnd, Field(discriminator="subtype")
]


class StreamEventLine(Line):
    """The answer as it arrives."""

    type: Literal["stream_event"] = "stream_event"
    event: StreamEvent


# -- whole messages ------------------------------------------------------------------------------------------------


class TextBlock(Line):
    """Prose."""

    type: Literal["text"] = "text"
    text: str


class ToolResultBlock(Line):
    """The answer to one call."""

    type: Literal["tool_result"] = "tool_result"
    tool_use_id: str
    is_error: bool
    content: str


class AssistantMessage(Line):
    """What the model said."""

    content: list[TextBlock]


class UserMessage(Line):
    """What the model is told."""

    role: Literal["user"] = "user"
    content: list[ToolResultBlock]


class AssistantLine(Line):
    """The prose of a message that calls no tool."""

    type: Literal["assistant"] = "assistant"
    session_id: str
    parent_tool_use_id: str | None = None
    message: AssistantMessage


class UserLine(Line):
    """One line for each declared call, with its result."""

    type: Literal["user"] = "user"
    session_id: str
    parent_tool_use_id: str | None = None
    message: UserMessage


# -- system --------------------------------------------------------------------------------------------------------


class Init(Line):
    """The session is ready."""

    type: Literal["system"] = "system"
    subtype: Literal["init"] = "init"
    session_id: str
    session_resumable: bool
    model: str
    tools: list[str]
    cwd: str
    approval_mode: str
    version: str


class Status(Line):
    """Something the client may show. `status` names it, `message` says it."""

    type: Literal["system"] = "system"
    subtype: Literal["status"] = "status"
    status: str
    message: str | None = None
    level: Literal["info", "warning", "error"] | None = None
    seconds: float | None = None
    error_code: str | None = None


class ModelSwitched(Line):
    """Another model answers from now on."""

    type: Literal["system"] = "system"
    subtype: Literal["model_switched"] = "model_switched"
    status: str
    model: str


class ConfigReloaded(Line):
    """The settings were read again."""

    type: Literal["system"] = "system"
    subtype: Literal["config_reloaded"] = "config_reloaded"
    status: Literal["config_reloaded"] = "config_reloaded"
    problems: list[str] = Field(default_factory=list)


SystemLine = Annotated[Init | Status | ModelSwitched | ConfigReloaded, Field(discriminator="subtype")]


# -- requests and answers --------------------------------------------------------------------------------------------


class Offer(Line):
    """A lasting grant that the answer may name by its scope."""

    label: str
    scope: Literal["session", "always"]


class CanUseTool(Line):
    """The question whether a call may run."""

    subtype: Literal["can_use_tool"] = "can_use_tool"
    tool_name: str
    tool_input: dict[str, Any]
    input: dict[str, Any]
    tool_use_id: str
    description: str | None = None
    diff: str | None = None
    grants: list[Offer] | None = None


class Option(Line):
    """One choice of a question."""

    label: str
    description: str | None = None


class AskUser(Line):
    """A question of the model to the person."""

    subtype: Literal["ask_user"] = "ask_user"
    question: str
    options: list[Option]
    allow_free_text: bool
    multi_select: bool


class ShellEvidence(Line):
    """The question what ran in the client's terminal, or what it printed."""

    subtype: Literal["shell_evidence"] = "shell_evidence"
    tool_use_id: str | None = None
    action: Literal["list_commands", "read_output"]
    limit: int | None = None
    cursor: str | None = None
    output_id: str | None = None
    direction: str | None = None
    lines: int | None = None


class ControlRequestLine(Line):
    """A request that waits for a control_response with the same id."""

    type: Literal["control_request"] = "control_request"
    request_id: str
    request: Annotated[CanUseTool | AskUser | ShellEvidence, Field(discriminator="subtype")]


class Ack(Line):
    """The answer to a request of the client."""

    subtype: Literal["success", "error"]
    request_id: str
    response: dict[str, Any] | None = None
    error: str | None = None


class ControlResponseLine(Line):
    """The answer to initialize."""

    type: Literal["control_response"] = "control_response"
    response: Ack


class RegistryResponseLine(Line):
    """The answer to a registry_request."""

    type: Literal["registry_response"] = "registry_response"
    request_id: str
    success: bool
    data: Any = None
    error: str | None = None


# -- result ----------------------------------------------------------------------------------------------------------


class TokenUsage(Line):
    """Tokens as the service counts them."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int


class ResultLine(Line):
    """The end of one request of the person: exactly one for each."""

    type: Literal["result"] = "result"
    subtype: Literal["success", "error"]
    is_error: bool
    result: str | None = None
    errors: list[str] | None = None
    error_code: str | None = None
    max_turns: int | None = None
    session_error_code: str | None = None
    session_error_phase: Literal["load", "persist"] | None = None
    session_id: str | None = None
    duration_ms: int
    num_turns: int
    usage: TokenUsage
    total_cost_usd: float | None = None
    model: str | None = None


Outgoing = Annotated[
    StreamEventLine
    | AssistantLine
    | UserLine
    | SystemLine
    | ControlRequestLine
    | ControlResponseLine
    | RegistryResponseLine
    | ResultLine,
    Field(discriminator="type"),
]
