"""What a client may send: one JSON object a line, told apart by `type` and `subtype`. Both dialects are accepted.

A line that is none of these is a `BadLine` with a sentence, never an exception. Unknown fields are ignored, unknown
types are not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

import orjson
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from cosh_tools.kinds import PermissionMode

PROTOCOL_VERSION = 1
"""The version that `initialize` may name; a client that names none is of the days before versions."""


class Part(BaseModel):
    """A piece of a message. Fields of later protocol versions are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


def _mode(value: Any) -> Any:
    """A mode under any of its spellings. "dontAsk" is `default` with nobody to ask; the host knows it by name."""
    if isinstance(value, str) and value != DONT_ASK:
        return PermissionMode.parse(value)
    return value


DONT_ASK = "dontAsk"
"""Claude Code's name for: allow what rules allow, deny everything that would ask."""
Mode = Annotated[PermissionMode | Literal["dontAsk"], BeforeValidator(_mode)]


# -- user ----------------------------------------------------------------------------------------------------------


class ShellContext(Part):
    """Where the client's shell stands: commands and relative paths of this message start there."""

    cwd: str | None = None
    env: dict[str, str] = Field(default_factory=dict)
    last_exit_code: int = 0


class UserContent(Part):
    """The message itself: text, or content blocks (text, image, document)."""

    role: Literal["user"] = "user"
    content: str | list[dict[str, Any]]


class UserLine(Part):
    """A request of the person. `session_id` may be empty, "default" or this session's own."""

    type: Literal["user"]
    message: UserContent
    session_id: str | None = None
    parent_tool_use_id: str | None = None
    shell_context: ShellContext | None = None
    uuid: str | None = None


# -- control_request -----------------------------------------------------------------------------------------------


class Capabilities(Part):
    """What the client can do."""

    can_handle_can_use_tool: bool = False
    can_handle_host_executed_shell: bool = False


class HookMatcher(Part):
    """Which of the client's own hooks run for an event (Claude Agent SDK)."""

    matcher: str | None = None
    callbacks: list[str] = Field(default_factory=list, validation_alias=AliasChoices("hookCallbackIds", "callbacks"))
    timeout: float | None = None
    on_failure: str = Field(default="continue", validation_alias=AliasChoices("onFailure", "on_failure"))


class Initialize(Part):
    """The handshake."""

    subtype: Literal["initialize"]
    protocol_version: int | None = None
    fire_session_start: bool = True
    capabilities: Capabilities | None = None
    hooks: dict[str, list[HookMatcher]] | None = None


class Interrupt(Part):
    """Stop the turn that runs; queued messages stay."""

    subtype: Literal["interrupt"]


class Shutdown(Part):
    """Stop everything and exit with 0."""

    subtype: Literal["shutdown"]


class ConfigOverride(Part):
    """Change the approval mode or the allow list of this session."""

    subtype: Literal["config_override"]
    approval_mode: Mode | None = None
    allowed_tools: list[str] | None = None


class SwitchModel(Part):
    """Another model from the next request on; none means the default (`set_model` in the newer dialect)."""

    subtype: Literal["switch_model", "set_model"]
    model: str | None = None


class ReloadConfig(Part):
    """Read the settings again."""

    subtype: Literal["reload_config"]


class SetPermissionMode(Part):
    """Another approval mode."""

    subtype: Literal["set_permission_mode"]
    mode: Mode


class Ask(Part):
    """A question of the newer dialect about the session."""

    subtype: Literal["mcp_status", "get_context_usage"]


class StopTask(Part):
    """Stop a background shell or agent."""

    subtype: Literal["stop_task"]
    task_id: str


class ToggleMcp(Part):
    """Switch an MCP server on or off, or connect it again."""

    subtype: Literal["mcp_toggle", "mcp_reconnect"]
    server: str = Field(validation_alias=AliasChoices("serverName", "server"))
    enabled: bool = True


class RewindFiles(Part):
    """Take files back to where they were at a message."""

    subtype: Literal["rewind_files"]
    user_message_id: str


Control = Annotated[
    Initialize
    | Interrupt
    | Shutdown
    | ConfigOverride
    | SwitchModel
    | ReloadConfig
    | SetPermissionMode
    | Ask
    | StopTask
    | ToggleMcp
    | RewindFiles,
    Field(discriminator="subtype"),
]


class ControlRequestLine(Part):
    """A request of the client to the session."""

    type: Literal["control_request"]
    request_id: str = ""
    request: Control


# -- answers ---------------------------------------------------------------------------------------------------------


class HostResult(Part):
    """What a command printed that the client ran itself, or the evidence it read."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    content: str = Field(default="", validation_alias=AliasChoices("llmContent", "llm_content", "content"))
    display: Any = Field(default=None, validation_alias=AliasChoices("returnDisplay", "return_display"))
    metadata: dict[str, Any] = Field(default_factory=dict)


class PermissionUpdate(Part):
    """A lasting change that the client gives with its yes (newer dialect)."""

    type: str
    rules: list[dict[str, Any]] = Field(default_factory=list)
    behavior: str | None = None
    mode: str | None = None
    directories: list[str] = Field(default_factory=list)
    destination: str = "session"


class Answer(Part):
    """The body of an answer. Which fields count depends on what was asked."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)

    behavior: str | None = None
    message: str | None = None
    interrupt: bool = False
    scope: str = "once"
    """"once", "session" or "always", as far as it was offered."""
    updated_input: dict[str, Any] | None = Field(
        default=None, validation_alias=AliasChoices("updatedInput", "updated_input")
    )
    updated_permissions: list[PermissionUpdate] | None = Field(
        default=None, validation_alias=AliasChoices("updatedPermissions", "updated_permissions")
    )
    result: HostResult | None = None
    answer: str | list[str] | None = None
    selected_options: list[int] | None = None


class AnswerEnvelope(Part):
    """Which request is answered. `subtype` is not checked but for "error"."""

    subtype: str = "success"
    request_id: str
    response: Answer | None = None
    error: str | None = None


class ControlResponseLine(Part):
    """An answer to a request of ours."""

    type: Literal["control_response"]
    response: AnswerEnvelope


class ApprovalReceiptLine(Part):
    """The client shows the question to a person, so no time-out runs any more."""

    type: Literal["approval_receipt"]
    request_id: str


class RegistryRequestLine(Part):
    """Look at tools, skills, hooks and MCP servers, or switch one on or off."""

    type: Literal["registry_request"]
    request_id: str
    domain: str
    action: str
    params: dict[str, Any] = Field(default_factory=dict)


class OtherLine(Part):
    """Lines of the newer dialect that need no answer."""

    type: Literal["control_cancel_request", "keep_alive"]


Incoming = UserLine | ControlRequestLine | ControlResponseLine | ApprovalReceiptLine | RegistryRequestLine | OtherLine


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no message: why, in one sentence. `request_id` where it was a request that can be refused."""

    why: str
    request_id: str = ""


def parse(line: bytes) -> Incoming | BadLine:
    """The message on a line."""
    if not isinstance(value := _json(line), dict):
        return value if isinstance(value, BadLine) else BadLine("The line is not a JSON object.")
    try:
        return _adapter().validate_python(value)
    except ValidationError as error:
        return BadLine(_explain(error), _request_id(value))


@cache
def _adapter() -> TypeAdapter[Incoming]:
    return TypeAdapter(Annotated[Incoming, Field(discriminator="type")])


def _json(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        try:
            # Half of an emoji (a lone surrogate escape) is valid JSON to most writers: keep the rest of the line.
            text = json.dumps(json.loads(line), ensure_ascii=False, allow_nan=False)
            return orjson.loads(text.encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return BadLine(f"The line is not valid JSON: {error.msg} at byte {error.pos}.")


def _explain(error: ValidationError) -> str:
    """The first problem in one sentence, with the field and without the value."""
    problem = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in problem["loc"][1:]) or "the line"
    match problem["type"]:
        case "union_tag_invalid":
            names = problem["ctx"]["expected_tags"]
            return f"{_tag_place(problem)} is {problem['ctx']['tag']!r:.80}; expected one of {names}."
        case "union_tag_not_found":
            return f"{_tag_place(problem)} is missing."
        case "missing":
            return f"{place} is missing."
        case _:
            return f"{place}: {problem['msg'].removeprefix('Value error, ').rstrip('.')}."


def _tag_place(problem: Any) -> str:
    return ".".join([*map(str, problem["loc"][1:]), problem["ctx"]["discriminator"].strip("'")])


def _request_id(value: dict[str, Any]) -> str:
    given = value.get("request_id") if value.get("type") == "control_request" else None
    return given if isinstance(given, str) else ""
