"""Grep: a regular expression in the contents of files."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from pydantic import AliasChoices, Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolError, ToolInput, ToolKind, ToolResult, Touch
from cosh_tools.files.places import printable
from cosh_tools.search.builtin import Builtin
from cosh_tools.search.engine import Answer, Engine, EngineUnusable, Mode, Query, search
from cosh_tools.search.filetypes import globs_of
from cosh_tools.search.kept import Kept
from cosh_tools.search.narrowing import counted_from, globs_in
from cosh_tools.search.ripgrep import ripgrep
from cosh_tools.search.told import cut, facts_of, lines_of, notes_on

HEAD = 250
COSH_MOST = 100
PATIENCE = 20.0
"""Seconds that one search may take."""


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
        globs = globs_in(call.glob)
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
        query = counted_from(query, ctx.working_dir)
        kept = Kept(query, ctx)
        answer = await _search(self.engine(), query, kept)
        shown = answer.rows[call.offset :]
        lines = lines_of(shown, query, ctx, numbers=call.numbers)
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
        lines += notes_on(answer, kept, query)
        return ToolResult.success("\n".join(lines)).with_metadata(
            facts_of(shown, answer, query, ctx), appliedLimit=call.head_limit or None, appliedOffset=call.offset
        )


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
        globs = globs_in(call.include)
        query = Query(
            pattern=call.pattern,
            root=str(_existing(given, ctx)),
            base=str(_existing(".", ctx)) if call.include else "",
            mode="content",
            globs=globs,
            hidden=any(not glob.startswith("!") for glob in globs),
            want=COSH_MOST,
            patience=PATIENCE,
        )
        kept = Kept(query, ctx)
        answer = await _search(self.engine(), query, kept)
        lines = [
            f"{printable(os.path.join(given, row.path)) if row.path else given}:{row.number}:{cut(row)}"
            for row in answer.rows
        ]
        if not lines:
            lines = ["No matches found." if answer.complete else "No matches found in the searched subset."]
        if not answer.complete:
            lines.append("[additional grep results omitted by output limits]")
        errors = notes_on(answer, kept, query)
        if errors:
            lines += ["[file errors]", *errors]
        count = len(answer.rows)
        return ToolResult.success("\n".join(lines)).with_metadata(summary=f"{count} line{'s' * (count != 1)}")


async def _search(engine: Engine, query: Query, kept: Kept) -> Answer:
    stopped = threading.Event()
    try:
        try:
            return await asyncio.to_thread(search, engine, query, kept.keep, stopped)
        except EngineUnusable:
            return await asyncio.to_thread(search, Builtin(), query, kept.keep, stopped)
    finally:
        stopped.set()


def _existing(path: str, ctx: ToolContext) -> Path:
    found = ctx.resolve_path(path)
    if not os.path.exists(found):
        raise ToolError(f"Path does not exist: {path}. The working directory is {ctx.working_dir}.")
    if not os.path.isdir(found) and not os.path.isfile(found):
        raise ToolError(f"{path} is neither a file nor a folder, so it cannot be searched.")
    return Path(os.path.realpath(found))
