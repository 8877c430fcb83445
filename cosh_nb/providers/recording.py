"""A recording: what a model answered to which requests, in a file that works on another machine.

The file is JSON lines in UTF-8, written atomically, `<notebook>.cosh/<name>.jsonl` beside the notebook:

    {"kind": "recording", "version": 1, "provider": "anthropic", "model": "...", "declared": {"allow": ["Write"]}}
    {"kind": "turn", "prompt": "plot revenue by month", "answers": [
        {"model": "...", "results": [], "blocks": [...], "problems": {}, "stop_reason": "tool_use", "usage": {...}},
        {"model": "...", "results": [{"is_error": false, "content": "..."}], "blocks": [...], ...}]}

A turn is one request of a person; each answer is one message of the model: `results` are the tool results that it
answers to, `blocks` its content in Anthropic's shape, `problems` names calls whose arguments were no JSON object.
The workspace and the home folder stand as ${workspace} and ${home}, so no path of the author's machine is in it.
`declared.allow` are rules in the settings' grammar; cosh_nb.replay says when they count.

Which turn a request means: the one with the same text. Where a text was asked several times, the n-th time counts,
and asking again at once is a new take of the same turn, when recording and when replaying.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_nb.errors import ProviderError, UsageError
from cosh_tools.own_files import write_atomic

if TYPE_CHECKING:
    from cosh_nb.events import StopReason
    from cosh_nb.messages import Message
    from cosh_nb.providers.base import Request

VERSION = 1

_NAME = re.compile(r"[\w][\w. -]*")
_GOES_ON = ("Continue exactly where you stopped.", "A stop hook asks to go on:", "[The user adds:]")
"""Texts of the loop that go on with a turn."""
_NOTES = ("[Hook context]", "[The user interrupted the turn.]", "[The answer above was cut off here.]")
"""Texts of the loop beside a person's own."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One message of the model, and the tool results that it answers to."""

    blocks: tuple[Mapping[str, Any], ...]
    stop_reason: StopReason
    model: str = ""
    results: tuple[Mapping[str, Any], ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    usage: Mapping[str, int] = field(default_factory=dict)
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One request and all answers until the model was done."""

    prompt: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """The content of a recording file."""

    turns: tuple[RecordedTurn, ...] = ()
    provider: str = ""
    model: str = ""
    allow: tuple[str, ...] = ()

    def find(self, key: Key) -> int | None:
        """The index of the turn that a request means; asked more often than recorded, the last take counts."""
        same = [index for index, turn in enumerate(self.turns) if turn.prompt == key.prompt]
        return same[min(key.nth, len(same) - 1)] if same else None

    def with_answer(self, key: Key, answer: Answer) -> Recording:
        """With one more answer; the first answer of a turn begins it anew."""
        same = [index for index, turn in enumerate(self.turns) if turn.prompt == key.prompt]
        turns = list(self.turns)
        if key.nth < len(same):
            at = same[key.nth]
            turns[at] = RecordedTurn(key.prompt, (*turns[at].answers[: key.rounds], answer))
        else:
            turns.append(RecordedTurn(key.prompt, (answer,)))
        return replace(self, turns=tuple(turns))


@dataclass(frozen=True, slots=True)
class Key:
    """Which answer a request is about: the text, the how-manieth time it is asked, and the round of that turn."""

    prompt: str
    nth: int
    rounds: int


def key_of(request: Request, places: Places) -> Key:
    """The key of a request, from its messages alone."""
    asked: list[str] = []
    last = -1
    for index, message in enumerate(request.messages):
        text = _prompt(message)
        if text is None:
            continue
        last = index
        if not asked or asked[-1] != text:
            asked.append(text)
    if not asked:
        return Key("", 0, 0)
    prompt = places.hide(asked[-1])
    nth = asked[:-1].count(asked[-1])
    return Key(prompt, nth, sum(message.role == "assistant" for message in request.messages[last:]))


def results_of(request: Request) -> tuple[Mapping[str, Any], ...]:
    """The tool results that came with this request."""
    last = request.messages[-1] if request.messages else None
    if last is None or last.role != "user":
        return ()
    return tuple(
        {"is_error": bool(block.get("is_error")), "content": block.get("content", "")} for block in last.results
    )


def normal(prompt: str) -> str:
    """A request as it is compared: line ends and space around it do not count."""
    return "\n".join(line.rstrip() for line in prompt.replace("\r\n", "\n").strip().split("\n"))


# -- places ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Places:
    """Where this machine keeps the workspace and home: hidden in a recording, put back at a replay."""

    workspace: Path

    def hide(self, value: Any) -> Any:
        """The value with paths of this machine replaced by ${workspace} and ${home}, in every text of it."""
        for folder, name in self._folders():
            value = _texts(value, re.compile(re.escape(folder) + r"(?![\w.-])"), f"${{{name}}}")
        return value

    def show(self, value: Any) -> Any:
        """The value with ${workspace} and ${home} as paths of this machine."""
        for folder, name in self._folders():
            value = _texts(value, re.compile(rf"\$\{{{name}\}}"), folder)
        return value

    def _folders(self) -> list[tuple[str, str]]:
        real, home = os.path.realpath(self.workspace), str(Path.home())
        folders = [(str(self.workspace), "workspace"), (real, "workspace"), (home, "home")]
        return [(folder, name) for folder, name in dict.fromkeys(folders) if len(folder) > 1]


def _texts(value: Any, pattern: re.Pattern[str], by: str) -> Any:
    match value:
        case str():
            return pattern.sub(lambda _found: by, value)
        case Mapping():
            return {key: _texts(item, pattern, by) for key, item in value.items()}
        case list() | tuple():
            return [_texts(item, pattern, by) for item in value]
        case _:
            return value


# -- files -------------------------------------------------------------------------------------------------------------


def recording_path(name: str, notebook: Path | None, folder: Path) -> Path:
    """Where the recording `name` is: `<notebook>.cosh/<name>.jsonl` beside the notebook.

    Where nobody tells the kernel which notebook it runs (nbclient, papermill), it is the only recording of that name
    beside any notebook of the folder, and `cosh.cosh/` where there is none yet. A name that ends in .jsonl is a path.
    Raises UsageError for what is no name, and where several could be meant.
    """
    if name.endswith(".jsonl"):
        return folder / Path(name).expanduser()
    if _NAME.fullmatch(name) is None:
        raise UsageError(f"{name!r} is no name for a recording. Use letters, digits, spaces, dots and dashes.")
    if notebook is not None:
        return notebook.parent / f"{notebook.stem}.cosh" / f"{name}.jsonl"
    found = sorted(folder.glob(f"*.cosh/{name}.jsonl"))
    if len(found) > 1:
        listed = ", ".join(str(file.relative_to(folder)) for file in found)
        raise UsageError(f"There are several recordings named {name}: {listed}. Name the file itself.")
    return found[0] if found else folder / "cosh.cosh" / f"{name}.jsonl"


def read(file: Path) -> Recording:
    """The recording in a file. Raises ProviderError, saying which line is damaged; a part is never replayed."""
    again = "Record it again with %%cosh --record, or take it from its source."
    try:
        lines = file.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise ProviderError(f"There is no recording {file}. Make one: %%cosh --record {file.stem}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ProviderError(f"The recording {file} cannot be read ({error}). {again}") from None
    if not lines:
        raise ProviderError(f"The recording {file} is empty. {again}")
    values = [_line(file, number, line, again) for number, line in enumerate(lines, 1)]
    head, *rest = values
    if head.get("kind") != "recording":
        raise ProviderError(f"{file} is not a recording: its first line does not say so. {again}")
    if head.get("version") != VERSION:
        raise ProviderError(
            f"The recording {file} has version {head.get('version')}, and this cosh_nb reads version {VERSION}. "
            "Update cosh_nb, or record it again."
        )
    try:
        return Recording(
            tuple(_turn(value) for value in rest),
            str(head.get("provider", "")),
            str(head.get("model", "")),
            tuple(str(rule) for rule in head.get("declared", {}).get("allow", ())),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ProviderError(f"The recording {file} is damaged: {type(error).__name__}: {error}. {again}") from None


def write(file: Path, recording: Recording) -> None:
    """Replace the file by the recording. Raises ProviderError where the place cannot be written."""
    head = {
        "kind": "recording",
        "version": VERSION,
        "provider": recording.provider,
        "model": recording.model,
        "declared": {"allow": list(recording.allow)},
    }
    turns = [{"kind": "turn", "prompt": t.prompt, "answers": [asdict(a) for a in t.answers]} for t in recording.turns]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (head, *turns))
    try:
        write_atomic(file, text, 0o644)
    except OSError as error:
        raise ProviderError(
            f"The recording {file} cannot be written ({error.strerror}). Name another: --record FOLDER/NAME.jsonl."
        ) from None


def _line(file: Path, number: int, line: str, again: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ProviderError(f"The recording {file} is damaged or cut off at line {number}. {again}")
    return value


def _turn(value: Mapping[str, Any]) -> RecordedTurn:
    if value["kind"] != "turn" or not isinstance(value["prompt"], str):
        raise ValueError("a line is no turn")
    return RecordedTurn(value["prompt"], tuple(_answer(answer) for answer in value["answers"]))


def _answer(value: Mapping[str, Any]) -> Answer:
    known = {name: value[name] for name in Answer.__dataclass_fields__ if name in value}
    for name in ("blocks", "results"):
        items: Sequence[Any] = known.get(name, ())
        if not all(isinstance(item, Mapping) for item in items):
            raise TypeError(f"{name} holds something that is no object")
        known[name] = tuple(items)
    return Answer(**known)


def _prompt(message: Message) -> str | None:
    """The request of a person that a message is; None for one that belongs to a turn that runs."""
    if message.role != "user" or message.results:
        return None
    texts = [str(block["text"]) for block in message.content if block.get("type") == "text"]
    texts = [text for text in texts if text.strip() and not text.startswith(_NOTES)]
    return None if not texts or texts[-1].startswith(_GOES_ON) else normal(texts[-1])
