"""Sentences and excerpts for what a step gave."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

SHOWN = 60
"""Lines of a file or an output that an answer repeats."""
LONGEST_LINE = 300


def count(number: int, noun: str) -> str:
    """A number and its noun: 1 file, 2 files, 2 files matching *.py."""
    if number == 1:
        return f"1 {noun}"
    head, _, rest = noun.partition(" ")
    if head == "file" and rest:
        return f"{number} files {rest}"
    return f"{number} {noun}s"


def code(text: str) -> str:
    """A short text as inline code, whatever backticks it holds."""
    line = text if "\n" not in text else text.partition("\n")[0] + " ..."
    marks = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{marks}{pad}{line}{pad}{marks}" if line else "``  ``"


def block(lines: Sequence[str], language: str = "", more: int = 0) -> str:
    """Lines in a fence that nothing in them can close; long ones cut, the rest counted."""
    shown = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..." for line in lines[:SHOWN]]
    left = len(lines) - len(shown) + more
    marks = "`" * max(3, max((len(run) for line in shown for run in re.findall(r"`+", line)), default=0) + 1)
    rest = f"\n{count(left, 'more line')}, not shown here." if left > 0 else ""
    return f"{marks}{language}\n" + "\n".join(shown) + f"\n{marks}{rest}"


def near(path: str, folder: Path | None) -> str:
    """A path as seen from the working directory."""
    if folder is not None and Path(path).is_relative_to(folder):
        return str(Path(path).relative_to(folder)) or "."
    return path


_NUMBERED = re.compile(r"^\s*\d+\t", re.MULTILINE)
_REST = re.compile(r"\n*\.\.\. \((\d+) more lines[^\n]*\)\s*$")


def file_lines(result: str) -> tuple[list[str], int]:
    """The lines of a Read result without their numbers, and how many more there are."""
    rest = _REST.search(result)
    body = _REST.sub("", result)
    if body.startswith("[File ") and body.rstrip().endswith("is empty]"):
        return [], 0
    lines = [_NUMBERED.sub("", line, count=1) for line in body.split("\n") if _NUMBERED.match(line)]
    return lines, int(rest[1]) if rest else 0


def language_of(path: str) -> str:
    """The fence's language for a file."""
    return {"py": "python", "sh": "bash", "js": "javascript", "md": "markdown", "ipynb": "", "yml": "yaml"}.get(
        suffix := path.rpartition(".")[2].lower(), suffix if suffix.isalpha() and len(suffix) < 8 else ""
    )


_EXIT = re.compile(
    r"\A\(no output\)|\n?\((?:no output, )?exit code[: ]+\d+[^\n]*\)\s*\Z|^\[The kernel's working directory [^\n]*$",
    re.MULTILINE,
)


def output_lines(result: str) -> list[str]:
    """What a command printed, without the words of the tool about its exit."""
    text = _EXIT.sub("", result).rstrip("\n")
    return text.split("\n") if text.strip() else []


_DENIED = re.compile(r"^(?:Tool call denied|Permission denied): (?P<reason>.*)", re.DOTALL)


def denial(result: str) -> str | None:
    """Why a call was not allowed, in the words of whoever said so; None for another error."""
    found = _DENIED.match(result)
    return found["reason"].strip() if found else None


def nobody_there(reason: str) -> bool:
    """Whether it was denied because nobody could be asked."""
    return "tell the user which rule would allow it" in reason
