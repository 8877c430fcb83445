"""Grep: a regular expression in the contents of files."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolError, ToolInput, ToolKind, ToolResult, Touch
from cosh_tools.files.places import short
from cosh_tools.policy.protected import is_secret
from cosh_tools.search.builtin import Builtin
from cosh_tools.search.engine import Answer, Engine, Mode, Query, Row, search
from cosh_tools.search.filetypes import globs_of
from cosh_tools.search.globs import expand_braces
from cosh_tools.search.ignore import override_rules
from cosh_tools.search.ripgrep import ripgrep
from cosh_tools.touches import Reads

HEAD = 250
WIDEST = 500
"""Characters of a line that are shown."""
COSH_MOST = 100
PATIENCE = 20.0
"""Seconds that one search may take."""
_SNIFFED = 1 << 16
_MOST_SNIFFED = 256 << 20


class GrepInput(ToolInput):
    """What to look for, where, and how to show it."""

    pattern: str = Field(description="Regular expression in ripgrep's syntax; write \\{ for a literal brace.")
    path: str = Field("", description="The file or folder to search; the working directory when left out.")
    glob: str = Field("", description='Only files that match, for example "*.{ts,tsx}", "src/**/*.py" or "!*.min.js".')
    type: str = Field(
        "", description="Only files of this type: py, js, ts, rust, go, java, md, json, ipynb and others."
    )
    output_mode: Mode = Field(
        "files_with_matches", description="content: the lines; files_with_matches: paths; count: matches per file."
    )
    after: int = Field(0, ge=0, validation_alias=AliasChoices("-A", "after"), description="Lines after each match.")
    before: int = Field(0, ge=0, validation_alias=AliasChoices("-B", "before"), description="Lines before each match.")
    context: int = Field(
        0, ge=0, validation_alias=AliasChoices("-C", "context"), description="Lines before and after each match."
    )
    numbers: bool = Field(True, validation_alias=AliasChoices("-n", "numbers"), description="Show line numbers.")
    ignore_case: bool = Field(
        False, validation_alias=AliasChoices("-i", "ignore_case"), description="Do not tell a from A."
    )
    multiline: bool = Field(False, description="Let a match cross lines; . then matches a line's end too.")
    head_limit: int = Field(HEAD, ge=0, description="Most lines, files or counts to return; 0 for all. Default 250.")
    offset: int = Field(0, ge=0, description="Skip so many before the first that is returned.")


class GrepCoshInput(ToolInput):
    """What to look for, in cosh's terms."""

    pattern: str = Field(description="Regular expression to search for.")
    path: str = Field(".", description='File or directory to search (default ".").')
    include: str = Field("", description='Glob to filter files, for example "*.rs".')


class Grep(Tool[GrepInput]):
    """Searches contents."""

    name = "Grep"
    aliases = ("grep", "grep_search")
    description = (
        "Searches file contents with a regular expression (ripgrep's syntax). Returns the paths of files that match, "
        "or with output_mode the matching lines (content) or how many there are (count). Narrow it with glob or type. "
        "Hidden files are searched; binary files and what .gitignore names are not. Results come by path; page "
        "through them with offset and head_limit."
    )
    kind, permission_level = ToolKind.READ_ONLY, PermissionLevel.READ_ONLY
    concurrency_safe = True
    verb = "search"
    keywords = ("search", "find", "regex", "ripgrep", "rg", "contents", "text")

    def touches(self, call: GrepInput, ctx: ToolContext) -> Sequence[Touch]:
        """The file or folder that is searched."""
        return (ctx.reads(call.path or "."),)

    def target(self, call: GrepInput, ctx: ToolContext) -> str:
        """The pattern, and the folder where one is given."""
        del ctx
        return f"{call.pattern} in {call.path}" if call.path else call.pattern

    def engine(self) -> Engine:
        """Ripgrep where it is installed, else our own search."""
        return ripgrep() or Builtin()

    async def execute(self, call: GrepInput, ctx: ToolContext) -> ToolResult:
        """Search and list."""
        globs = _globs(call.glob)
        types = globs_of(call.type) if call.type else ()
        around = call.context if call.output_mode == "content" else 0
        content = call.output_mode == "content"
        query = Query(
            pattern=call.pattern,
            root=str(_existing(call.path or ".", ctx)),
            mode=call.output_mode,
            globs=globs,
            types=types,
            ignore_case=call.ignore_case,
            multiline=call.multiline,
            before=max(call.before, around) if content else 0,
            after=max(call.after, around) if content else 0,
            want=call.offset + call.head_limit if call.head_limit else None,
            patience=PATIENCE,
        )
        query = _with_base(query, ctx)
        filtered = _Filter(query, ctx)
        answer = await _search(self.engine(), query, filtered)
        shown = answer.rows[call.offset :]
        lines = _lines(shown, query, call, ctx)
        if not shown:
            where = call.path or str(ctx.working_dir)
            lines = [f'No matches found for pattern "{call.pattern}" in {where}']
            if answer.rows:
                lines = [f"No more results: there are {len(answer.rows)}, and offset is {call.offset}."]
        elif not answer.complete and not answer.timed_out:
            lines.append(
                f"... (results {call.offset + 1} to {call.offset + len(shown)}; there are more. "
                f"Go on with offset={call.offset + len(shown)}, or narrow the search.)"
            )
        lines += _notes(answer, filtered, query)
        return ToolResult.success("\n".join(lines)).with_metadata(_facts(shown, answer, call, query, ctx))


class GrepCosh(Tool[GrepCoshInput]):
    """cosh's face of Grep: matching lines, 100 at most."""

    name = "grep"
    description = "Search for a regex pattern in files. Returns matching lines with file paths and line numbers."
    kind, permission_level = ToolKind.READ_ONLY, PermissionLevel.READ_ONLY
    concurrency_safe = True
    verb = "search"

    def touches(self, call: GrepCoshInput, ctx: ToolContext) -> Sequence[Touch]:
        """The file or folder that is searched."""
        return (ctx.reads(call.path or "."),)

    def target(self, call: GrepCoshInput, ctx: ToolContext) -> str:
        """The pattern, and the folder where one is given."""
        del ctx
        return f"{call.pattern} in {call.path}" if call.path not in ("", ".") else call.pattern

    def engine(self) -> Engine:
        """Ripgrep where it is installed, else our own search."""
        return ripgrep() or Builtin()

    async def execute(self, call: GrepCoshInput, ctx: ToolContext) -> ToolResult:
        """Search as cosh does."""
        given = call.path or "."
        globs = _globs(call.include)
        query = Query(
            pattern=call.pattern,
            root=str(_existing(given, ctx)),
            base=str(ctx.working_dir) if call.include else "",
            mode="content",
            globs=globs,
            hidden=any(not glob.startswith("!") for glob in globs),
            want=COSH_MOST,
            patience=PATIENCE,
        )
        filtered = _Filter(query, ctx)
        answer = await _search(self.engine(), query, filtered)
        lines = [
            f"{os.path.join(given, row.path) if row.path else given}:{row.number}:{cut(row)}" for row in answer.rows
        ]
        if not lines:
            lines = ["No matches found." if answer.complete else "No matches found in the searched subset."]
        if not answer.complete:
            lines.append("[additional grep results omitted by output limits]")
        errors = _notes(answer, filtered, query)
        if errors:
            lines += ["[file errors]", *errors]
        count = len(answer.rows)
        return ToolResult.success("\n".join(lines)).with_metadata(summary=f"{count} line{'s' * (count != 1)}")


@dataclass
class _Filter:
    """Which files' rows are shown: not those that may not be read, binary ones, or of another type."""

    query: Query
    ctx: ToolContext
    withheld: list[str] = field(default_factory=list)
    binary: bool = False

    def __post_init__(self) -> None:
        query = self.query
        self._types = override_rules(query.types) if query.types and query.globs else None
        self._asked = is_secret(Path(query.root))  # the gate has decided on such a root as a whole

    def keep(self, path: str) -> bool:
        """Whether this file, from the root, is shown."""
        if not path:
            return not is_binary(self.query.root)  # the one file that the call names: the gate has decided on it
        whole = os.path.join(self.query.root, path)
        if self._types is not None and self._types.verdict(os.path.basename(path), path, folder=False) is None:
            return False
        if not self._readable(Path(whole)):
            self.withheld.append(path)
            return False
        return not is_binary(whole)

    def _readable(self, real: Path) -> bool:
        """Whether the policy would let the model read this file without a question."""
        secret = not self._asked and is_secret(real)
        says = self.ctx.gate.says("Grep", Reads(str(real), real, inside=True, protected=secret, exists=True))
        return says == "allow" or (says is None and not secret)


def is_binary(path: str) -> bool:
    """Whether a file has a NUL byte anywhere, and is not UTF-16. Engines look at the beginning, each in its own way."""
    try:
        with open(path, "rb", buffering=0) as file:
            read, piece = 0, file.read(_SNIFFED)
            if piece.startswith((b"\xff\xfe", b"\xfe\xff")):
                return False
            while piece and read < _MOST_SNIFFED:
                if b"\0" in piece:
                    return True
                read += len(piece)
                piece = file.read(1 << 20) if len(piece) >= _SNIFFED else b""
    except OSError:
        return False
    return False


def cut(row: Row) -> str:
    """The line, shortened around the match where it is long."""
    text = row.text
    if len(text) <= WIDEST:
        return text
    start = 0
    if row.column > WIDEST - 100:
        start = max(0, min(row.column - 101, len(text) - WIDEST))
    shown = text[start : start + WIDEST]
    before = "[...] " if start else ""
    far = f" (match at column {row.column:,})" if row.column > start + WIDEST else ""
    return f"{before}{shown} [... line cut{far}]"


async def _search(engine: Engine, query: Query, filtered: _Filter) -> Answer:
    stopped = threading.Event()
    try:
        return await asyncio.to_thread(search, engine, query, filtered.keep, stopped)
    finally:
        stopped.set()


def _existing(path: str, ctx: ToolContext) -> Path:
    found = ctx.resolve_path(path)
    if not os.path.exists(found):
        raise ToolError(f"Path does not exist: {path}. The working directory is {ctx.working_dir}.")
    if not os.path.isdir(found) and not os.path.isfile(found):
        raise ToolError(f"{path} is neither a file nor a folder, so it cannot be searched.")
    return Path(os.path.realpath(found))


def _globs(text: str) -> tuple[str, ...]:
    """The patterns of a glob argument: several may stand with commas or spaces between them."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if char == "," and depth <= 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    out = []
    for part in parts:
        words = part.split()
        out += words if len(words) > 1 and all("*" in word for word in words) else [part.strip()]
    globs = tuple(glob.removeprefix("./") for glob in out if glob)
    override_rules(globs)  # a bad one is told before anything runs
    for glob in globs:
        expand_braces(glob)
    return globs


def _with_base(query: Query, ctx: ToolContext) -> Query:
    """Globs count from the searched folder, unless they name it from the working directory."""
    if not query.globs or not os.path.isdir(query.root):
        return query
    inner = os.path.relpath(query.root, os.path.realpath(ctx.working_dir))
    if not inner.startswith(".") and any(glob.lstrip("!/").startswith(inner + "/") for glob in query.globs):
        return replace(query, base=os.path.realpath(ctx.working_dir))
    return replace(query, globs=tuple(glob.replace(query.root + "/", "/", 1) for glob in query.globs))


def _lines(rows: Sequence[Row], query: Query, call: GrepInput, ctx: ToolContext) -> list[str]:
    names: dict[str, str] = {}
    lines: list[str] = []
    last: Row | None = None
    for row in rows:
        name = names.get(row.path)
        if name is None:
            name = names[row.path] = (
                short(Path(query.root) / row.path, ctx) if row.path else short(Path(query.root), ctx)
            )
        match call.output_mode:
            case "files_with_matches":
                lines.append(name)
            case "count":
                lines.append(f"{name}:{row.number}")
            case "content":
                if query.before + query.after and last is not None and _gap(last, row):
                    lines.append("--")
                lines.append(_content(row, name if row.path else "", numbers=call.numbers))
        last = row
    return lines


def _gap(last: Row, row: Row) -> bool:
    return last.path != row.path or row.number != last.number + 1


def _content(row: Row, name: str, *, numbers: bool) -> str:
    mark: Literal[":", "-"] = ":" if row.is_match else "-"
    head = f"{name}{mark}" if name else ""
    return f"{head}{row.number}{mark}{cut(row)}" if numbers else f"{head}{cut(row)}"


def _notes(answer: Answer, filtered: _Filter, query: Query) -> list[str]:
    notes = []
    if answer.timed_out:
        notes.append(
            f"(Stopped after {query.patience:g} s: the pattern or the folder is too much. "
            "These are the results until then; narrow the search.)"
        )
    if filtered.withheld:
        names = sorted(set(filtered.withheld))
        some = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        notes.append(
            f"(Matches in files that may not be read without asking are not shown: {some}. Name one as path to ask.)"
        )
    if answer.unreadable:
        notes.append(f"({answer.unreadable} files or folders could not be read.)")
    if not answer.rows and os.path.isfile(query.root) and _has_nul(query.root):
        notes.append("(The file is binary, and only text is searched. Use Bash `grep -a` for it.)")
    return notes


def _has_nul(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return b"\0" in file.read(_SNIFFED)
    except OSError:
        return False


def _facts(rows: Sequence[Row], answer: Answer, call: GrepInput, query: Query, ctx: ToolContext) -> dict[str, object]:
    files = [short(Path(query.root, path), ctx) for path in dict.fromkeys(row.path for row in rows)]
    matches = sum(row.number for row in rows) if call.output_mode == "count" else sum(row.is_match for row in rows)
    many = "" if answer.complete else "+"
    what = "file" if call.output_mode == "files_with_matches" else "match"
    count = len(files) if what == "file" else matches
    plural = "" if count == 1 and not many else ("s" if what == "file" else "es")
    return {
        "mode": call.output_mode,
        "numFiles": len(files),
        "filenames": files,
        "numLines": len(rows),
        "numMatches": matches,
        "truncated": not answer.complete,
        "appliedLimit": call.head_limit or None,
        "appliedOffset": call.offset,
        "summary": f"{count}{many} {what}{plural}",
    }
