"""The lines of Claude Code's stream-json, as far as we write them."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from cosh_nb.headless.outgoing import Line, ShellEvidence, TokenUsage


class ClaudeLine(Line):
    """A line of this dialect: null is a value here."""

    keeps_null: ClassVar[bool] = True


class SystemInit(ClaudeLine):
    """What the session is."""

    type: Literal["system"] = "system"
    subtype: Literal["init"] = "init"
    cwd: str
    session_id: str
    tools: list[str]
    mcp_servers: list[dict[str, Any]] = Field(default_factory=list)
    model: str
    permissionMode: str  # noqa: N815 (the wire's word)
    slash_commands: list[str] = Field(default_factory=list)
    apiKeySource: str = "none"  # noqa: N815 (the wire's word)
    claude_code_version: str
    output_style: str = "default"
    agents: list[str] = Field(default_factory=list)
    skills: list[str] = Field(default_factory=list)
    plugins: list[dict[str, Any]] = Field(default_factory=list)
    uuid: str


class SystemStatus(ClaudeLine):
    """Something the client may show."""

    type: Literal["system"] = "system"
    subtype: Literal["status"] = "status"
    status: str
    level: str
    message: str
    session_id: str
    uuid: str


class AssistantLine(ClaudeLine):
    """A whole message of the model."""

    type: Literal["assistant"] = "assistant"
    message: dict[str, Any]
    parent_tool_use_id: str | None
    session_id: str
    uuid: str


class UserEcho(ClaudeLine):
    """A tool's result, or the person's own message played back."""

    type: Literal["user"] = "user"
    message: dict[str, Any]
    parent_tool_use_id: str | None
    session_id: str
    uuid: str
    isReplay: bool = False  # noqa: N815 (the wire's word)


class PartialLine(ClaudeLine):
    """An event of the model's stream, as the service sends it."""

    type: Literal["stream_event"] = "stream_event"
    event: dict[str, Any]
    parent_tool_use_id: str | None = None
    session_id: str
    uuid: str


class ResultLine(ClaudeLine):
    """The end of a request of the person."""

    type: Literal["result"] = "result"
    subtype: Literal["success", "error_max_turns", "error_during_execution"]
    is_error: bool
    duration_ms: int
    duration_api_ms: int
    num_turns: int
    result: str | None
    stop_reason: str | None
    session_id: str
    total_cost_usd: float | None
    usage: TokenUsage
    modelUsage: dict[str, Any]  # noqa: N815 (the wire's word)
    permission_denials: list[dict[str, Any]]
    errors: list[str]
    error_code: str | None
    uuid: str


class CanUseTool(ClaudeLine):
    """May this call run? Also the form in which the person is asked the model's questions."""

    subtype: Literal["can_use_tool"] = "can_use_tool"
    tool_name: str
    input: dict[str, Any]
    permission_suggestions: list[dict[str, Any]] = Field(default_factory=list)
    blocked_path: str | None = None
    decision_reason: str | None = None
    title: str | None = None
    display_name: str | None = None
    description: str | None = None
    tool_use_id: str | None = None
    agent_id: str | None = None


class HookCallback(ClaudeLine):
    """Run a hook of the client's own program."""

    subtype: Literal["hook_callback"] = "hook_callback"
    callback_id: str
    input: dict[str, Any]
    tool_use_id: str | None = None


class McpMessage(ClaudeLine):
    """A JSON-RPC message for an MCP server that lives in the client's own program."""

    subtype: Literal["mcp_message"] = "mcp_message"
    server_name: str
    message: dict[str, Any]


class RequestLine(ClaudeLine):
    """A request that waits for a control_response with the same id."""

    type: Literal["control_request"] = "control_request"
    request_id: str
    request: CanUseTool | HookCallback | McpMessage | ShellEvidence


class ResponseLine(Line):
    """The answer to a request of the client."""

    type: Literal["control_response"] = "control_response"
    response: dict[str, Any]


class CancelLine(Line):
    """A request to the client needs no answer any more."""

    type: Literal["control_cancel_request"] = "control_cancel_request"
    request_id: str
