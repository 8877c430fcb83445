"""ripgrep as an engine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from cosh_tools.search.engine import WIDEST_SEEN, Query, target
from cosh_tools.search.ignore import VCS, repository

_ALWAYS = (
    "--no-config", "--color=never", "--no-heading", "--with-filename", "--null", "--no-mmap",
    "--no-require-git", "--no-ignore-global", "--no-follow",
)  # fmt: skip


class Ripgrep:
    """Searches with the `rg` at `path`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def commands(self, query: Query, *, in_order: bool) -> Sequence[Sequence[str]]:
        """The one command line for a query."""
        command = [self.path, *_ALWAYS]
        match query.mode:
            case "content":
                command += ["--line-number", f"--max-columns={WIDEST_SEEN}", "--max-columns-preview"]
                command += [f"--before-context={query.before}", f"--after-context={query.after}"]
            case "count":
                command += ["--count"]
            case "files_with_matches":
                command += ["--files-with-matches"]
        if query.per_file is not None and query.mode == "content":
            command.append(f"--max-count={query.per_file}")
        if query.ignore_case:
            command.append("--ignore-case")
        if query.multiline:
            command += ["--multiline", "--multiline-dotall"]  # not with --crlf: ripgrep 13 fails on the two together
        else:
            command += ["--crlf", "--column"] if query.mode == "content" else ["--crlf"]
        if query.hidden:
            command.append("--hidden")
        if query.no_ignore:
            command.append("--no-ignore")
        elif repository(query.root) is None:
            command.append("--no-ignore-parent")
        if query.types and not query.globs:
            command += [f"--type-add=wanted:{glob}" for glob in query.types] + ["--type=wanted"]
        command += [f"--glob={glob}" for glob in query.globs]
        command.append(f"--glob=!{{{','.join(sorted(VCS))}}}")
        if in_order:
            command += ["--sort=path"]
        return [[*command, "--regexp", query.pattern, "--", target(query)]]


def ripgrep() -> Ripgrep | None:
    """The installed ripgrep: on the path, or beside this Python, where the extra `rg` puts it. None without one."""
    path = shutil.which("rg") or shutil.which("rg", path=os.path.dirname(sys.executable))
    return Ripgrep(path) if path else None
