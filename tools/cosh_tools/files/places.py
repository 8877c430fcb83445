"""How a path is named to people."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext


def short(path: Path, ctx: ToolContext) -> str:
    """The path as seen from the working directory; whole where it lies elsewhere."""
    for base in (ctx.working_dir, Path(os.path.realpath(ctx.working_dir))):
        if path.is_relative_to(base):
            return printable(str(path.relative_to(base)))
    return printable(str(path))


def printable(path: str) -> str:
    """The path as text: a name may hold bytes that are no letters in any encoding, and those show as U+FFFD."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
