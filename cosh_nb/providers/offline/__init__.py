"""The embedded default: a rule-based provider that needs no key, no network and no model.

It understands a small language in plain words (grammar_*.py), plans a few steps (plan.py), and emits the same events
as a model, so that the real loop, policy, approvals, tools and rendering run. What it does not understand it says,
and touches nothing.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cosh_nb.events import (
    BlockDone,
    MessageEnd,
    MessageStart,
    ModelEvent,
    TextDelta,
    ToolUseBegin,
    ToolUseDelta,
    ToolUseEnd,
)
from cosh_nb.messages import scrub, text_block

if TYPE_CHECKING:
    from cosh_nb.providers.base import Request
    from cosh_nb.providers.offline.code import Libraries

__all__ = ["OfflineProvider", "can_do"]


class OfflineProvider:
    """Rules instead of a model. Stateless: the conversation it is given says where it stands."""

    name = "offline"
    model = "offline"

    def __init__(self, libraries: Libraries | None = None) -> None:
        self._libraries = libraries

    @property
    def label(self) -> str:
        """Says on every turn that this is no language model."""
        from cosh_nb.providers.offline.manual import LABEL

        return LABEL

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The next message, event by event, ending with MessageEnd."""
        # Loaded at the first request: a session with a real model never pays for the grammar.
        from cosh_nb.providers.offline.plan import next_reply
        from cosh_nb.providers.offline.scene import scene
        from cosh_nb.providers.offline.steps import Kit
        from cosh_nb.providers.offline.toolbox import Toolbox

        seen = scene(request)
        kit = Kit(seen, Toolbox(seen.tools, seen.notebook), self._libraries or installed())
        reply = next_reply(kit)
        yield MessageStart(self.model)
        if reply.text:
            text = scrub(reply.text)
            for piece in re.findall(r"\s*\S+\s*", text):
                yield TextDelta(piece)
            yield BlockDone(text_block(text))
        if reply.call is None:
            yield MessageEnd("end_turn")
            return
        call_id, name = f"offline_{uuid.uuid4().hex[:16]}", reply.call.tool
        given = json.loads(scrub(json.dumps(reply.call.input, ensure_ascii=False)))
        yield ToolUseBegin(call_id, name)
        yield ToolUseDelta(call_id, json.dumps(given, ensure_ascii=False))
        yield ToolUseEnd(call_id, name, given)
        yield BlockDone({"type": "tool_use", "id": call_id, "name": name, "input": given})
        yield MessageEnd("tool_use")

    async def close(self) -> None:
        """There is nothing to give back."""


def installed() -> Libraries:
    """What this process, which is the kernel in a notebook, can import."""
    from cosh_nb.providers.offline.code import Libraries

    return Libraries(pandas=find_spec("pandas") is not None, matplotlib=find_spec("matplotlib") is not None)


def can_do() -> list[tuple[str, str]]:
    """What can be said to it: an example, and what it does."""
    from cosh_nb.providers.offline.manual import can_do as from_the_grammar

    return from_the_grammar()
