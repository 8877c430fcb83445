"""The grammar of what happens: model events come from a provider, loop events go to whoever draws.

Every event is a frozen value with a literal `kind`; `ModelEvent` and `Event` are the two unions to match over.
Data flows one way: model events -> loop -> events -> render.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from cosh_tools.contract import ToolCall, ToolResult
    from cosh_tools.hosts import ApprovalAnswer, ApprovalRequest

StopReason = Literal[
    "end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn", "model_context_window_exceeded"
]
"""Why a model message ended. Services that say it otherwise are translated by their provider."""

TurnEnd = Literal["done", "interrupted", "refused", "max_turns", "max_tokens", "stopped", "error"]
"""Why a turn ended. "stopped": a person answered a card with "just stop"."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model message. `input` excludes what came from or went into the cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: Usage) -> Usage:
        """The sum, field by field."""
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )

    @property
    def total(self) -> int:
        """All tokens that the service counted."""
        return self.input + self.output + self.cache_read + self.cache_write


# -- what a provider yields, in this order: MessageStart, blocks one after another, MessageEnd -------------------------


@dataclass(frozen=True, slots=True)
class MessageStart:
    """The service began to answer. `model` is the name it gave."""

    model: str
    kind: Literal["message_start"] = "message_start"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More prose of the block that is open, or the first of a new one."""

    text: str
    kind: Literal["text_delta"] = "text_delta"


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of the model's reasoning."""

    text: str
    kind: Literal["thinking_delta"] = "thinking_delta"


@dataclass(frozen=True, slots=True)
class ToolUseBegin:
    """The model starts to declare a call."""

    id: str
    name: str
    kind: Literal["tool_use_begin"] = "tool_use_begin"


@dataclass(frozen=True, slots=True)
class ToolUseDelta:
    """A piece of the call's arguments as JSON text."""

    id: str
    json: str
    kind: Literal["tool_use_delta"] = "tool_use_delta"


@dataclass(frozen=True, slots=True)
class ToolUseEnd:
    """The call is declared in full. `input` is None where the arguments were not a JSON object; `problem` says why."""

    id: str
    name: str
    input: Mapping[str, Any] | None
    problem: str = ""
    kind: Literal["tool_use_end"] = "tool_use_end"


@dataclass(frozen=True, slots=True)
class BlockDone:
    """One content block of the assistant message, complete and ready for the history (Anthropic wire shape)."""

    block: Mapping[str, Any]
    kind: Literal["block_done"] = "block_done"


@dataclass(frozen=True, slots=True)
class Waiting:
    """The provider waits: `why` in words ("rate limited", "no answer for 20 s"), until `seconds` from now if known."""

    why: str
    seconds: float | None = None
    attempt: int = 0
    kind: Literal["waiting"] = "waiting"


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """The terminal event of a stream. A stream that ends without it is an error, not an answer."""

    stop_reason: StopReason
    usage: Usage = Usage()
    detail: str = ""
    kind: Literal["message_end"] = "message_end"


ModelEvent = (
    MessageStart
    | TextDelta
    | ThinkingDelta
    | ToolUseBegin
    | ToolUseDelta
    | ToolUseEnd
    | BlockDone
    | Waiting
    | MessageEnd
)


# -- what the loop adds --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A request of the person was taken up. `label` names provider and model for the footer."""

    turn: int
    prompt: str
    model: str
    label: str = ""
    kind: Literal["turn_started"] = "turn_started"


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A call waits for a person."""

    request: ApprovalRequest
    kind: Literal["approval_asked"] = "approval_asked"


@dataclass(frozen=True, slots=True)
class ApprovalAnswered:
    """The question was answered, or ended another way."""

    request: ApprovalRequest
    answer: ApprovalAnswer
    kind: Literal["approval_answered"] = "approval_answered"


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """An approved call begins to run. `verb` and `target` are the row's words ("read", "sales.csv")."""

    call: ToolCall
    verb: str
    target: str
    decided: str = ""
    """Who allowed it, in words."""
    kind: Literal["tool_started"] = "tool_started"


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """Live output of a running call."""

    call_id: str
    text: str
    kind: Literal["tool_progress"] = "tool_progress"


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result. `ran` is False where it was refused, denied, malformed or skipped."""

    call: ToolCall
    result: ToolResult
    verb: str
    target: str
    seconds: float
    ran: bool = True
    decided: str = ""
    kind: Literal["tool_finished"] = "tool_finished"


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """An event of a sub-agent, to be folded under the call that started it."""

    call_id: str
    agent: str
    event: Event
    kind: Literal["agent_event"] = "agent_event"


@dataclass(frozen=True, slots=True)
class MessageDone:
    """A whole assistant message is in the history."""

    content: tuple[Mapping[str, Any], ...]
    stop_reason: StopReason
    usage: Usage
    kind: Literal["message_done"] = "message_done"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the person should know: a note, a warning, or an error with its next step."""

    level: Literal["info", "warning", "error"]
    text: str
    detail: str = ""
    kind: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over. `cost` in US dollars, None where a price is unknown; `seconds` wall time."""

    reason: TurnEnd
    usage: Usage
    seconds: float
    cost: float | None = None
    model: str = ""
    text: str = ""
    """The last prose of the assistant."""
    error: str = ""
    turns: int = 0
    """Model messages in this turn."""
    kind: Literal["turn_ended"] = "turn_ended"


Event = (
    MessageStart
    | TextDelta
    | ThinkingDelta
    | ToolUseBegin
    | ToolUseDelta
    | ToolUseEnd
    | Waiting
    | TurnStarted
    | ApprovalAsked
    | ApprovalAnswered
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | AgentEvent
    | MessageDone
    | Notice
    | TurnEnded
)
