"""Text in a Markdown fence that nothing in it can close."""

from __future__ import annotations

import re


def fenced(text: str, language: str = "") -> str:
    """The text between backticks: more of them than stand together anywhere in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
