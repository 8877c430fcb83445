"""A provider for several agents at once: each conversation plays the script whose key its first message holds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from cosh_nb import events as e
from cosh_nb.messages import Message
from cosh_nb.providers.base import Request
from support.scripted import ScriptedProvider, Step

Script = Sequence[Sequence[Step] | Callable[[Request], Sequence[Step]]]


class Cast:
    """Roles by a word of their prompt. `requests` keeps what each role was asked."""

    name = "cast"
    model = "cast-1"
    label = "cast-1"

    def __init__(self, **scripts: Script) -> None:
        self._scripts = scripts
        self._playing: dict[str, ScriptedProvider] = {}
        self.at_work = 0
        self.most_at_work = 0

    def requests(self, word: str) -> list[Request]:
        return next((role.requests for prompt, role in self._playing.items() if word in prompt), [])

    async def stream(self, request: Request) -> AsyncIterator[e.ModelEvent]:
        first = prompt_of(request.messages)
        if first not in self._playing:
            script = next((script for word, script in self._scripts.items() if word in first), [])
            self._playing[first] = ScriptedProvider(script)
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            async for event in self._playing[first].stream(request):
                yield event
        finally:
            self.at_work -= 1

    async def close(self) -> None:
        pass


def prompt_of(messages: Sequence[Message]) -> str:
    """The request that a conversation began with."""
    return messages[0].text
