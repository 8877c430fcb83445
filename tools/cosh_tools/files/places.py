"""How a path is named to people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext


def short(path: Path, ctx: ToolContext) -> str:
    """The path as seen from the working directory; whole where it lies elsewhere."""
    try:
        return str(path.relative_to(ctx.working_dir))
    except ValueError:
        return str(path)
