"""Replay of a recording (the format: recording.py), and the recorder that makes one.

A notebook with `%%cosh --replay NAME` runs the same for every student, in CI and under nbclient: the answers come
from the file, the tools run for real. A request that is not in the recording fails and shows the difference, and so
does a tool that ends otherwise than it did: answers about what did not happen are never given.
"""

from __future__ import annotations

import difflib
import json
import re
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_nb.errors import ProviderError
from cosh_nb.events import (
    BlockDone,
    MessageEnd,
    MessageStart,
    ModelEvent,
    TextDelta,
    ThinkingDelta,
    ToolUseBegin,
    ToolUseDelta,
    ToolUseEnd,
    Usage,
)
from cosh_nb.providers.recording import (
    Answer,
    Key,
    Places,
    Recording,
    key_of,
    normal,
    read,
    recording_path,
    results_of,
    write,
)

if TYPE_CHECKING:
    from cosh_nb.providers.base import Provider, Request

__all__ = ["RecordedProvider", "Recorder", "recording_path"]

_SHOWN = 20
"""Lines of a difference that an error repeats."""
_PIECE = 4_000
"""Characters of a call's arguments in one event."""


class RecordedProvider:
    """Plays a recording. It keeps nothing between requests but the results that belong to the calls it played."""

    name = "recorded"

    def __init__(self, recording: Path | str, workspace: Path | None = None) -> None:
        self.file = recording if isinstance(recording, Path) else recording_path(recording, None, Path.cwd())
        self.recording = read(self.file)
        self.places = Places(workspace or _workspace_of(self.file))
        self.model = f"recording {self.file.stem}"
        self._results: dict[str, Mapping[str, Any]] = {}

    @property
    def label(self) -> str:
        """Says that no model answers now."""
        made = f", made with {self.recording.model}" if self.recording.model else ""
        return f"recording {self.file.stem}{made}; no model is asked"

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The recorded answer to this request. Raises ProviderError where there is none."""
        key = key_of(request, self.places)
        answers = self._answers(key)
        if key.rounds >= len(answers):
            raise ProviderError(
                f"The recording {self.file.stem} ends after {len(answers)} answers to this request, and the turn goes "
                "on. Record it again with %%cosh --record."
            )
        answer = answers[key.rounds]
        self._same_endings(results_of(request), answer.results, answers[key.rounds - 1] if key.rounds else None)
        after = answers[key.rounds + 1].results if key.rounds + 1 < len(answers) else ()
        for event in self._events(answer, after):
            yield event

    def result_of(self, call_id: str) -> Mapping[str, Any] | None:
        """What the call of this id gave when it was recorded (`is_error`, `content`); None for another call."""
        return self._results.get(call_id)

    async def close(self) -> None:
        """There is nothing to give back."""

    def _answers(self, key: Key) -> Sequence[Answer]:
        at = self.recording.find(key)
        if at is None:
            raise ProviderError(_not_recorded(self.file.stem, self.recording, key.prompt))
        return self.recording.turns[at].answers

    def _same_endings(
        self, now: Sequence[Mapping[str, Any]], then: Sequence[Mapping[str, Any]], calls: Answer | None
    ) -> None:
        """Contents may differ from run to run; whether a call failed may not."""
        named = [block for block in calls.blocks if block.get("type") == "tool_use"] if calls is not None else []
        for index, (here, there) in enumerate(zip(now, then, strict=False)):
            if bool(here["is_error"]) == bool(there["is_error"]):
                continue
            name = named[index]["name"] if index < len(named) else "A call"
            was = "failed" if there["is_error"] else "went well"
            said = _text_of(here["content"]).strip().split("\n")[0][:300]
            raise ProviderError(
                f"{name} {was} when {self.file.stem} was recorded, and now it did not: {said} The recorded answers "
                "speak of something that did not happen here, so the replay stops."
            )

    def _events(self, answer: Answer, results: Sequence[Mapping[str, Any]]) -> Iterator[ModelEvent]:
        yield MessageStart(self.model)
        calls = 0
        for block in self.places.show(list(answer.blocks)):
            match block:
                case {"type": "text", "text": str(text)}:
                    yield from map(TextDelta, re.findall(r"\s*\S+\s*|\s+", text))
                    yield BlockDone(block)
                case {"type": "thinking", "thinking": str(text)}:
                    # Shown, but not kept: its signature is good for one model and one conversation only.
                    yield ThinkingDelta(text)
                case {"type": "redacted_thinking"}:
                    pass
                case {"type": "tool_use", "id": str(recorded), "name": str(name), "input": dict(given)}:
                    call_id = f"replay_{uuid.uuid4().hex[:16]}"
                    if calls < len(results):
                        self._results[call_id] = self.places.show(results[calls])
                    calls += 1
                    problem = answer.problems.get(recorded)
                    raw = json.dumps(given, ensure_ascii=False)
                    yield ToolUseBegin(call_id, name)
                    for start in range(0, len(raw), _PIECE):
                        yield ToolUseDelta(call_id, raw[start : start + _PIECE])
                    yield ToolUseEnd(call_id, name, None if problem else given, problem or "")
                    yield BlockDone({**block, "id": call_id})
                case _:
                    yield BlockDone(block)
        yield MessageEnd(answer.stop_reason, detail=answer.detail)


class Recorder:
    """A provider that writes down what another one answers. Its file grows with every whole answer."""

    def __init__(
        self,
        provider: Provider,
        file: Path,
        workspace: Path | None = None,
        allow: Sequence[str] = (),
        *,
        shared: bool = False,
    ) -> None:
        self._provider, self._shared = provider, shared
        self.file = file
        self.places = Places(workspace or _workspace_of(file))
        self._allow = tuple(allow)
        self.name, self.model = provider.name, provider.model

    @property
    def label(self) -> str:
        """The provider's own, and that it is recorded."""
        return f"{self._provider.label}, recorded as {self.file.stem}"

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The provider's answer, unchanged; once it is whole it is in the file."""
        model, blocks, problems = self.model, [], {}
        stream = self._provider.stream(request)
        try:
            async for event in stream:
                match event:
                    case MessageStart(model=model):
                        pass
                    case BlockDone(block=block):
                        blocks.append(block)
                    case ToolUseEnd(id=call_id, input=None, problem=problem):
                        problems[call_id] = problem
                    case MessageEnd(stop_reason=reason, usage=usage, detail=detail):
                        # Written before the loop hears of the end: a turn that was seen is a turn that was kept.
                        self._keep(request, Answer(tuple(blocks), reason, model, (), problems, _counted(usage), detail))
                    case _:
                        pass
                yield event
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    async def close(self) -> None:
        """Close the provider behind it, unless others go on using it."""
        if not self._shared:
            await self._provider.close()

    def _keep(self, request: Request, answer: Answer) -> None:
        so_far = read(self.file) if self.file.exists() else Recording()
        answer = replace(
            answer,
            blocks=tuple(self.places.hide(list(answer.blocks))),
            results=tuple(self.places.hide(list(results_of(request)))),
        )
        allow = tuple(dict.fromkeys((*so_far.allow, *self._allow)))
        so_far = replace(so_far, provider=self.name, model=answer.model or self.model, allow=allow)
        write(self.file, so_far.with_answer(key_of(request, self.places), answer))


def _workspace_of(file: Path) -> Path:
    """The folder of the notebook that a recording stands beside."""
    folder = file.absolute().parent
    return folder.parent if folder.name.endswith(".cosh") else folder


def _counted(usage: Usage) -> dict[str, int]:
    return {name: count for name in Usage.__dataclass_fields__ if (count := getattr(usage, name))}


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if isinstance(part, Mapping) and part.get("type") == "text")


def _not_recorded(name: str, recording: Recording, prompt: str) -> str:
    """The sentence, and the difference to the recorded request that comes nearest."""
    prompts = [turn.prompt for turn in recording.turns]
    if not prompts:
        return f"The recording {name} holds no request yet. Record one with %%cosh --record {name}."
    nearest = max(prompts, key=lambda recorded: difflib.SequenceMatcher(None, recorded, prompt).ratio())
    lines = [
        line.rstrip()
        for line in difflib.ndiff(normal(nearest).split("\n"), prompt.split("\n"))
        if not line.startswith("? ")
    ]
    shown = "\n".join(lines[:_SHOWN]) + ("\n..." if len(lines) > _SHOWN else "")
    return (
        f"This request is not in the recording {name}. The nearest recorded one differs (- recorded, + asked):\n\n"
        f"{shown}\n\nAsk it as it was recorded, or record it with %%cosh --record {name}."
    )
