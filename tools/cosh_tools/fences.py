"""Text of others between marks that nothing in it can close: Markdown fences for people, tags for the model."""

from __future__ import annotations

import re


def fenced(text: str, language: str = "") -> str:
    """The text between backticks: more of them than stand together anywhere in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def tagged(name: str, text: str, **attributes: str) -> str:
    """The text between `<name>` and `</name>`; an end mark inside it is made harmless, and nothing else is changed."""
    inside = re.sub(rf"<(?=/{name}\b)", r"<\\", text, flags=re.IGNORECASE)
    words = "".join(f' {key}="{_one_line(value)}"' for key, value in attributes.items())
    return f"<{name}{words}>\n{inside}\n</{name}>"


def _one_line(value: str) -> str:
    return re.sub(r"\s", " ", value).replace('"', "'")
