"""What the helper has in front of it: the request of the person, the results so far, the tools, the notebook."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cosh_nb.messages import Block, Message
    from cosh_nb.providers.base import Request

_ADDED = re.compile(r"\[The user adds:\] ?")
_NOT_THE_PERSON = ("[Hook context]", "[The user interrupted the turn.]", "[The answer above was cut off here.]")


@dataclass(frozen=True, slots=True)
class Call:
    """One call to make."""

    tool: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call gave, as a model would read it."""

    tool: str
    text: str
    is_error: bool
    images: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """The turn so far. `outcomes` are the results since `prompt`, in order; `added` is what was typed meanwhile."""

    prompt: str
    added: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    tools: frozenset[str]
    folder: Path | None
    notebook: str


def scene(request: Request) -> Scene:
    """Read it off the request."""
    start = next((at for at in reversed(range(len(request.messages))) if _asks(request.messages[at])), None)
    prompt = "" if start is None else _ADDED.sub("", _typed(request.messages[start])[-1])
    turn = () if start is None else request.messages[start + 1 :]
    facts = dict(re.findall(r"^(Workspace|Working directory|Notebook): (.+)$", request.volatile, re.MULTILINE))
    folder = facts.get("Working directory") or facts.get("Workspace")
    return Scene(
        prompt=prompt,
        added=tuple(_ADDED.sub("", text) for message in turn if message.role == "user" for text in _added(message)),
        outcomes=_outcomes(turn),
        tools=frozenset(tool.name for tool in request.tools),
        folder=Path(folder) if folder else None,
        notebook=facts.get("Notebook", ""),
    )


def _asks(message: Message) -> bool:
    return message.role == "user" and not message.results and bool(_typed(message))


def _typed(message: Message) -> list[str]:
    """The person's own words; attachments come before them, notes of hooks after."""
    texts = [block["text"] for block in message.content if block.get("type") == "text"]
    return [text for text in texts if text.strip() and not text.startswith(_NOT_THE_PERSON)]


def _added(message: Message) -> list[str]:
    return [text for text in _typed(message) if _ADDED.match(text)]


def _outcomes(turn: Sequence[Message]) -> tuple[Outcome, ...]:
    names: dict[str, str] = {}
    found: list[Outcome] = []
    for message in turn:
        names |= {block["id"]: block["name"] for block in message.calls}
        found += [_outcome(block, names.get(block["tool_use_id"], "")) for block in message.results]
    return tuple(found)


def _outcome(block: Block, tool: str) -> Outcome:
    content = block.get("content", "")
    if isinstance(content, str):
        return Outcome(tool, content, bool(block.get("is_error")))
    texts = [part["text"] for part in content if part.get("type") == "text"]
    images = any(part.get("type") == "image" for part in content)
    return Outcome(tool, "\n".join(texts), bool(block.get("is_error")), images)
