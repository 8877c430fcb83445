"""Searching contents: what is asked, what comes back, and the seam behind which an engine searches."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from cosh_tools.results import ToolError
from cosh_tools.search.dialect import BadPattern, translate, with_either_ending, without_needless_escapes

Mode = Literal["content", "files_with_matches", "count"]

WIDEST_SEEN = 4096
"""Characters of a line that an engine passes on."""
_READ = 1 << 18
_STDERR = 1 << 16


@dataclass(frozen=True, slots=True)
class Query:
    """One search. `globs` and `types` narrow the files; a `want` of None means all rows."""

    pattern: str
    root: str
    """An absolute folder, or one file, which is searched whatever the globs and ignore files say."""
    base: str = ""
    """The folder from which globs with a slash count; the root where it is empty."""
    mode: Mode = "files_with_matches"
    globs: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    ignore_case: bool = False
    multiline: bool = False
    before: int = 0
    after: int = 0
    hidden: bool = True
    no_ignore: bool = False
    per_file: int | None = None
    want: int | None = None
    patience: float = 20.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an answer: a file, a file and its count, or a line of a file."""

    path: str
    """From the root; empty where the root is the file."""
    number: int = 0
    """The line's number, or the count."""
    text: str = ""
    is_match: bool = True
    column: int = 0
    """Where the first match begins, in bytes from 1; 0 for a context line."""


@dataclass
class Answer:
    """The rows found. Not `complete` where the search ended before the files did."""

    rows: list[Row] = field(default_factory=list)
    complete: bool = True
    timed_out: bool = False
    unreadable: int = 0


class Engine(Protocol):
    """Something that searches: commands whose output has ripgrep's form."""

    def commands(self, query: Query, *, in_order: bool) -> Sequence[Sequence[str]]:
        """The command lines that together search. `in_order`: one, and its rows come by path."""
        ...


class EngineUnusable(ToolError):
    """The program cannot be run, or is too old to understand what it is asked."""


def target(query: Query) -> str:
    """How the root is named on a command line that runs in the base: it is also what paths in the output begin with."""
    if not query.base or query.base == query.root:
        return "./" if os.path.isdir(query.root) else query.root
    inner = os.path.relpath(query.root, query.base)
    return query.root if inner.startswith("..") else f"./{inner}"


Keep = Callable[[str], bool]
"""Whether the rows of a file (its path from the root) are wanted; asked once per file."""


def search(engine: Engine, query: Query, keep: Keep, stopped: threading.Event) -> Answer:
    """All rows, or the first `want` in the order of paths. Blocks; setting `stopped` ends it at once.

    Every thread of ripgrep searches as it likes, which is fast and in no order. That is fine as long as everything
    was found, because then it can be sorted here. Where there is more than wanted, the first rows by path are asked
    for again in order: such a search ends soon, since there is so much to find.
    """
    query = _ready(query)
    answer = _run(engine.commands(query, in_order=False), query, keep, stopped)
    if not answer.complete and not answer.timed_out and not stopped.is_set():
        answer = _run(engine.commands(query, in_order=True), query, keep, stopped)
    answer.rows.sort(key=lambda row: row.path.split("/"))
    return answer


def _ready(query: Query) -> Query:
    """The query with lines crossed only where the pattern can, and then over either kind of line ending."""
    query = replace(query, pattern=without_needless_escapes(query.pattern))
    if not query.multiline:
        return query
    pattern = with_either_ending(query.pattern)
    try:
        crosses = translate(pattern, ignore_case=query.ignore_case, multiline=True).crosses_lines
    except BadPattern:
        crosses = True  # the engine may know better, or will say what is wrong
    return replace(query, pattern=pattern) if crosses else replace(query, multiline=False)


def _run(commands: Sequence[Sequence[str]], query: Query, keep: Keep, stopped: threading.Event) -> Answer:
    answer = Answer()
    deadline = time.monotonic() + query.patience
    running: list[_Running] = []
    try:
        with selectors.DefaultSelector() as ready:
            for command in commands:
                running.append(_Running(command, query, keep, answer))
                running[-1].register(ready)
            while ready.get_map():
                left = deadline - time.monotonic()
                if left <= 0 or stopped.is_set():
                    answer.complete, answer.timed_out = False, left <= 0
                    return answer
                for key, _events in ready.select(min(left, 0.1)):
                    chunk = os.read(key.fd, _READ)
                    if not chunk:
                        ready.unregister(key.fileobj)
                    elif not key.data(chunk):
                        answer.complete = False
                        return answer
        for each in running:
            each.judge()
        return answer
    finally:
        for each in running:
            each.end()


class _Running:
    """One process that searches, and what it says."""

    def __init__(self, command: Sequence[str], query: Query, keep: Keep, answer: Answer) -> None:
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=query.base or (query.root if os.path.isdir(query.root) else os.path.dirname(query.root)),
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise EngineUnusable(f"The search could not be started: {error.strerror or error}.") from None
        self._rows = _Rows(query, keep, answer)
        self._answer = answer
        self._said = bytearray()

    def register(self, ready: selectors.BaseSelector) -> None:
        """Listen to both of its pipes."""
        for pipe, take in ((self._process.stdout, self._rows.feed), (self._process.stderr, self._complaint)):
            if pipe is not None:
                ready.register(pipe, selectors.EVENT_READ, take)

    def judge(self) -> None:
        """Its end: code 2 is a bad pattern (raises ToolError), or only some files that could not be read."""
        if self._process.wait(timeout=5) in (0, 1):
            return
        said = self._said.decode("utf-8", "replace").strip()
        lines = said.splitlines()
        unreadable = [line for line in lines if "(os error " in line]
        if lines and len(unreadable) == len(lines):
            self._answer.unreadable += len(unreadable)
            return
        if _NOT_KNOWN.match(said):
            raise EngineUnusable(f"This ripgrep is too old: {lines[0]}.")
        raise ToolError(_mistake(said or f"the search ended with code {self._process.returncode}"))

    def end(self) -> None:
        """Gone, with whatever it started."""
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (OSError, AttributeError):
                self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _complaint(self, chunk: bytes) -> bool:
        self._said += chunk[: _STDERR - len(self._said)]
        return True


_NOT_KNOWN = re.compile(r"(?:rg: |error: )(?:Found argument|unrecognized flag|unexpected argument)")
"""How different ages of ripgrep say that they do not know an option."""


def _mistake(said: str) -> str:
    """What is wrong with the pattern or the glob, as one sentence for the model."""
    what = re.sub(r"^(rg: )?((error: )?regex parse error:\s*)?", "", said)
    kind = "glob" if "glob" in what.partition("\n")[0] else "regex"
    hint = (
        " Set multiline to true to search across lines."
        if 'literal "\\n"' in what or "literal '\"\\n\"'" in what
        else ""
    )
    return f"Invalid {kind}: {what[:1000]}{hint}"


class _Rows:
    """Takes ripgrep's output apart: `path NUL number : column : text`, context lines with dashes, counts, paths."""

    _MATCH = re.compile(rb"(\d+):(\d+):")
    _PLAIN = re.compile(rb"(\d+)([:-])")

    def __init__(self, query: Query, keep: Keep, answer: Answer) -> None:
        self.mode, self.want, self.answer = query.mode, query.want, answer
        self._is_file = not os.path.isdir(query.root)
        self._prefix = target(query).rstrip("/") + "/"
        self._keep, self._kept_path, self._kept = keep, b"", False
        self._path = ""
        self._rest = b""

    def feed(self, chunk: bytes) -> bool:
        """Take a piece of output; False when there are more rows than wanted."""
        end = b"\0" if self.mode == "files_with_matches" else b"\n"
        lines = (self._rest + chunk).split(end)
        self._rest = lines.pop()
        return all(self._line(line) for line in lines)

    def _line(self, line: bytes) -> bool:
        path, separator, rest = line.partition(b"\0")
        if self.mode == "files_with_matches":
            return self._add(path, 0, "", is_match=True, column=0)
        if not separator:
            return True  # a "--" between groups; the numbers say the same
        if self.mode == "count":
            return self._add(path, int(rest), "", is_match=True, column=0)
        found = self._MATCH.match(rest)
        if found is not None:
            text = rest[found.end() :]
            return self._add(path, int(found[1]), _shown(text), is_match=True, column=int(found[2]))
        plain = self._PLAIN.match(rest)
        if plain is None:
            return True
        return self._add(path, int(plain[1]), _shown(rest[plain.end() :]), is_match=plain[2] == b":", column=0)

    def _add(self, path: bytes, number: int, text: str, *, is_match: bool, column: int) -> bool:
        if path != self._kept_path:
            self._kept_path = path
            self._path = "" if self._is_file else os.fsdecode(path).removeprefix(self._prefix)
            self._kept = self._keep(self._path)
        if not self._kept:
            return True
        if self.want is not None and len(self.answer.rows) >= self.want:
            return False
        self.answer.rows.append(Row(self._path, number, text, is_match, column))
        return True


_OMITTED = re.compile(r" \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$")


def _shown(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace").removesuffix("\r")
    return _OMITTED.sub("", text)[:WIDEST_SEEN] if len(raw) > WIDEST_SEEN else text
