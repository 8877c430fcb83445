"""Glob: files by name, newest first."""

from __future__ import annotations

import asyncio
import heapq
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolError, ToolInput, ToolKind, ToolResult, Touch
from cosh_tools.files.places import printable
from cosh_tools.search import globs
from cosh_tools.search.ignore import VCS, Ignores, above
from cosh_tools.touches import Reads

MOST = 250
_PATIENCE = 20.0
_FROM_DESCRIPTORS = os.scandir in os.supports_fd and hasattr(os, "O_DIRECTORY")


class GlobInput(ToolInput):
    """Which names, and where."""

    pattern: str = Field(min_length=1, description='Glob pattern, for example "**/*.py" or "src/*.{ts,tsx}".')
    path: str = Field("", description="The folder to search in; the working directory when left out.")
    no_ignore: bool = Field(False, description="Also list files that .gitignore leaves out.")


class Glob(Tool[GlobInput]):
    """Finds files by name."""

    name = "Glob"
    aliases = ("glob",)
    description = (
        "Finds files by name pattern and returns their paths, most recently changed first, 250 at most. * and ? stay "
        "within a name, ** crosses folders, {a,b} is either. Hidden files match; what .gitignore names is left out "
        "unless no_ignore is set. To search in contents use Grep."
    )
    kind, permission_level = ToolKind.READ_ONLY, PermissionLevel.READ_ONLY
    concurrency_safe = True
    verb = "find files"
    keywords = ("find", "files", "name", "pattern", "list", "ls")

    def touches(self, call: GlobInput, ctx: ToolContext) -> Sequence[Touch]:
        """The folder that is walked."""
        return (ctx.reads(str(_where(call, ctx)[0])),)

    def target(self, call: GlobInput, ctx: ToolContext) -> str:
        """The pattern, and the folder where one is given."""
        del ctx
        return f"{call.pattern} in {call.path}" if call.path else call.pattern

    async def execute(self, call: GlobInput, ctx: ToolContext) -> ToolResult:
        """Walk and list."""
        root, pattern = _where(call, ctx)
        if not root.is_dir():
            raise ToolError(f"Directory not found: {root}")
        stopped = threading.Event()
        try:
            found = await asyncio.to_thread(_find, str(root), pattern, not call.no_ignore, stopped)
        finally:
            stopped.set()
        return _report(call, root, found, ctx)


@dataclass
class Found:
    """What a walk found: paths with their times, and what it left out."""

    paths: list[tuple[int, str]] = field(default_factory=list)
    hidden_files: int = 0
    hidden_folders: list[str] = field(default_factory=list)
    unreadable: int = 0
    timed_out: bool = False


def _where(call: GlobInput, ctx: ToolContext) -> tuple[Path, str]:
    """The folder to walk and the pattern in it: plain folders at the pattern's beginning belong to the folder."""
    pattern = os.path.expanduser(call.pattern)
    root = Path("/") if pattern.startswith("/") else ctx.resolve_path(call.path or ".")
    segments = [part for part in pattern.split("/") if part not in ("", ".")]
    while len(segments) > 1 and not globs.has_magic(segments[0]):
        root /= segments.pop(0)
    if not segments or segments == [".."]:
        raise ToolError(
            f"Invalid glob pattern: {call.pattern!r} names no files. Add a name, for example {call.pattern}/*."
        )
    return Path(os.path.normpath(root)), "/".join(segments)


def _find(root: str, pattern: str, ignoring: bool, stopped: threading.Event) -> Found:
    glob = globs.Glob(pattern)
    found = Found()
    deadline = time.monotonic() + _PATIENCE
    todo: list[tuple[str, str, globs.States, Ignores | None]] = [
        (root, "", glob.start, above(root) if ignoring else None)
    ]
    while todo:
        if stopped.is_set() or time.monotonic() > deadline:
            found.timed_out = True
            break
        folder, prefix, states, ignores = todo.pop()
        handle = -1
        try:
            if _FROM_DESCRIPTORS:  # what is in the folder is then looked up in it, not on the long way from the root
                handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            with os.scandir(folder if handle < 0 else handle) as scan:
                _look(list(scan), folder, prefix, states, ignores, glob, found, todo)
        except OSError:
            found.unreadable += 1
        finally:
            if handle >= 0:
                os.close(handle)
    return found


def _look(
    entries: list[os.DirEntry[str]],
    folder: str,
    prefix: str,
    states: globs.States,
    ignores: Ignores | None,
    glob: globs.Glob,
    found: Found,
    todo: list[tuple[str, str, globs.States, Ignores | None]],
) -> None:
    """The files of one folder that match, and the folders to go on with."""
    if ignores is not None:
        ignores = ignores.inside(folder, prefix, [entry.name for entry in entries if entry.name[0] == "."])
    takes, add = glob.takes(states), found.paths.append
    hidden = ignores.hides_any if ignores is not None and ignores.everything else _nothing
    inner_states, folder = glob.enter, f"{folder.rstrip('/')}/"
    for entry in entries:
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            inner = inner_states(states, name)
            if not inner or name in VCS:
                continue
            if hidden(name, prefix, folder=True):
                found.hidden_folders.append(prefix + name)
            else:
                todo.append((folder + name, f"{prefix}{name}/", inner, ignores))
        elif takes(name) and (not entry.is_symlink() or not entry.is_dir()):
            if hidden(name, prefix, folder=False):
                found.hidden_files += 1
            else:
                try:
                    add((entry.stat().st_mtime_ns, folder + name))
                except OSError:
                    add((0, folder + name))  # a link that leads nowhere still has a name


def _nothing(name: str, prefix: str, *, folder: bool) -> bool:
    del name, prefix, folder
    return False


def _report(call: GlobInput, root: Path, found: Found, ctx: ToolContext) -> ToolResult:
    newest = sorted(heapq.nlargest(MOST, found.paths), key=lambda pair: (-pair[0], pair[1]))
    more = len(found.paths) - len(newest)
    newest = [pair for pair in newest if not _denied(pair[1], ctx)]
    lines = [printable(path) for _time, path in newest]
    if more:
        lines.append(f"... and {more} more files (showing first {MOST})")
    if not newest:
        lines.append(f'No files matched pattern "{call.pattern}" in {root}')
        if "/" not in call.pattern and "**" not in call.pattern:
            lines.append(f'(Only this folder was searched; "**/{call.pattern}" searches the folders in it too.)')
    lines += _notes(found)
    count = len(found.paths)
    return ToolResult.success("\n".join(lines)).with_metadata(
        summary=f"{count} file{'s' * (count != 1)}",
        numFiles=count,
        filenames=[printable(path) for _time, path in newest],
        truncated=more > 0,
        hidden_files=found.hidden_files,
        hidden_folders=len(found.hidden_folders),
    )


def _denied(path: str, ctx: ToolContext) -> bool:
    """Whether a rule forbids to read the file: then its name is not told either."""
    real = Path(path)
    return ctx.gate.says("Glob", Reads(path, real, inside=True, protected=False, exists=True)) == "deny"


def _notes(found: Found) -> list[str]:
    notes = []
    hidden = []
    if found.hidden_files:
        hidden.append(f"{found.hidden_files} matching file{'s' * (found.hidden_files != 1)}")
    if found.hidden_folders:
        names = sorted(map(printable, found.hidden_folders))
        some = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        hidden.append(f"{len(names)} folder{'s' * (len(names) != 1)} ({some})")
    if hidden:
        notes.append(f"(Ignore files hid {' and '.join(hidden)}; no_ignore shows them.)")
    if found.unreadable:
        notes.append(f"({found.unreadable} folder{'s' * (found.unreadable != 1)} could not be read.)")
    if found.timed_out:
        notes.append(f"(Stopped after {_PATIENCE:.0f} s: the list is not complete. Search in a smaller folder.)")
    return notes
