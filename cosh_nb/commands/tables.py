"""Texts of others in a Markdown table: they make no columns and no lines of their own."""

from __future__ import annotations

import re

from cosh_nb.render.markup import shorten


def cell(text: str, most: int = 120) -> str:
    """The text on one line, cut where it is long."""
    return shorten(text, most).replace("|", "\\|")


def code(text: str, most: int = 400) -> str:
    """The same as code, whatever backticks it holds."""
    shown = cell(text, most)
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", shown)), default=0) + 1)
    room = " " if len(ticks) > 1 else ""
    return f"{ticks}{room}{shown}{room}{ticks}"
