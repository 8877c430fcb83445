"""What a call would touch, said before it runs. The policy judges these values and nothing else.

`touches()` of a tool may read the disk to fill them; `decide()` only looks at them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import assert_never


@dataclass(frozen=True, slots=True)
class PathTouch:
    """A place in the file system.

    `as_given` is what the model wrote; `real` has symlinks and the working directory resolved, also for a path
    that does not exist yet; `inside` means within the workspace or an added directory; `protected` names a place
    that always asks (keys, `.git/`, settings).
    """

    as_given: str
    real: Path
    inside: bool
    protected: bool
    exists: bool


@dataclass(frozen=True, slots=True)
class Reads(PathTouch):
    """The call reads a file or lists a folder."""


@dataclass(frozen=True, slots=True)
class Writes(PathTouch):
    """The call creates, changes or deletes a file. `deletes` is True where content is lost.

    `of` names the command whose own effect this is: inside the workspace, a rule that allows the command allows it.
    """

    deletes: bool = False
    of: str = ""


@dataclass(frozen=True, slots=True)
class Runs:
    """One simple command of a shell call: `words` are literal, `text` is what a rule's prefix is compared with.

    A `harmless` one (`echo`, `true`, `cd` inside the workspace) needs no rule beside those of its neighbours.
    """

    text: str
    words: tuple[str, ...]
    shell: str = "Bash"
    destructive: bool = False
    harmless: bool = False


@dataclass(frozen=True, slots=True)
class RunsCode:
    """Code for an interpreter that nobody can read in advance (Python in the kernel, cells of a notebook)."""

    code: str
    language: str = "python"


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part of a call whose effect cannot be told. It asks; only a tool-wide allow covers it."""

    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Fetches:
    """A request that leaves this machine."""

    url: str
    host: str


@dataclass(frozen=True, slots=True)
class Needs:
    """A tool states that this very call needs a person, and why (Config set, leaving plan mode)."""

    why: str


@dataclass(frozen=True, slots=True)
class Uses:
    """A named skill, sub-agent or MCP server (`Skill(name)`, `Task(name)` in a rule)."""

    tool: str
    name: str


Touch = Reads | Writes | Runs | RunsCode | Opaque | Fetches | Needs | Uses


def describe(touch: Touch) -> str:
    """One touch in words, for a card or a refusal."""
    match touch:
        case Writes(as_given=path, deletes=True):
            return f"deletes {path}"
        case Writes(as_given=path):
            return f"writes {path}"
        case Reads(as_given=path):
            return f"reads {path}"
        case Runs(text=text):
            return f"runs `{text}`"
        case RunsCode(language=language):
            return f"runs {language} code"
        case Opaque(why=why):
            return why
        case Fetches(url=url):
            return f"fetches {url}"
        case Needs(why=why):
            return why
        case Uses(name=name):
            return f"uses {name}"
    assert_never(touch)
