"""What a dialect is: it turns events, requests and ends into lines. It decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, assert_never

from cosh_nb.events import Event, TurnEnded
from cosh_nb.headless.outgoing import Line
from cosh_nb.headless.protocol import Answer, UserLine
from cosh_tools.hosts import ApprovalRequest, Question


@dataclass(frozen=True, slots=True)
class Facts:
    """What a client is told of the session."""

    session_id: str
    resumable: bool
    model: str
    tools: tuple[str, ...]
    cwd: str
    mode: str
    version: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request of the person has no answer. `code` is for programs, `text` for people."""

    code: str
    text: str
    phase: Literal["load", "persist"] | None = None
    """Set where the session could not be loaded or kept."""


def why(ended: TurnEnded) -> Failure | None:
    """What went wrong in a turn, by its end; None where it is done."""
    match ended.reason:
        case "done":
            return None
        case "interrupted":
            return Failure("interrupted", "The turn was interrupted.")
        case "stopped":
            return Failure("stopped", "The turn was stopped.")
        case "refused":
            return Failure("refused", "The model declined to answer. Put it another way.")
        case "max_tokens":
            return Failure("max_tokens", "The answer met the model's length limit. Ask it to continue.")
        case "max_turns":
            return Failure("max_turns", f"The turn met its limit of {ended.turns} model calls. Raise --max-turns.")
        case "error":
            return Failure("turn_failed", ended.error or "The turn failed.")
        case other:
            assert_never(other)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is asked of the client's terminal."""

    tool_use_id: str | None
    action: Literal["list_commands", "read_output"]
    limit: int | None = None
    cursor: str | None = None
    output_id: str | None = None
    direction: str | None = None
    lines: int | None = None


class Dialect(Protocol):
    """One way to say it."""

    @property
    def name(self) -> Literal["cosh", "claude"]:
        """Which one it is."""
        ...

    def initialized(self, request_id: str, facts: Facts) -> Iterable[Line]:
        """The answer to a handshake that was taken."""
        ...

    def turn_begins(self, facts: Facts, line: UserLine) -> Iterable[Line]:
        """Before the first event of a turn."""
        ...

    def event(self, event: Event, session_id: str) -> Iterable[Line]:
        """What happened."""
        ...

    def result(self, ended: TurnEnded, facts: Facts | None, failure: Failure | None) -> Line:
        """The end of a request of the person."""
        ...

    def request(self, request_id: str, body: Line) -> Line:
        """A request to the client around its body."""
        ...

    def permission(self, request: ApprovalRequest) -> Line:
        """The body that asks whether a call may run."""
        ...

    def questions(self, questions: Sequence[Question]) -> Sequence[Line]:
        """The bodies that put questions to the person."""
        ...

    def answers(self, questions: Sequence[Question], answers: Sequence[Answer]) -> list[list[str]] | None:
        """What the person chose, a list for each question; None where they declined."""
        ...

    def evidence(self, evidence: Evidence) -> Line:
        """The body that asks for terminal output."""
        ...

    def done(self, request_id: str, what: str, body: dict[str, Any], facts: Facts) -> Iterable[Line]:
        """A request of the client was carried out. `what` is its subtype."""
        ...

    def failed(self, request_id: str, why: str) -> Iterable[Line]:
        """A request of the client could not be carried out."""
        ...

    def ignored(self, why: str) -> Iterable[Line]:
        """A line that came in the middle of a turn could not be read."""
        ...

    def cancelled(self, request_id: str) -> Iterable[Line]:
        """A request to the client needs no answer any more."""
        ...
