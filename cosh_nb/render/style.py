"""The look, and the bundle that a front end is sent. The style goes out once per cell; text reads without it."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from cosh_nb.render.markup import Rendered


@cache
def css() -> str:
    """The style sheet on a few lines, as it stands in an output."""
    sheet = files("cosh_nb.render").joinpath("cosh.css").read_text("utf-8")
    sheet = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    return re.sub(r"\s*\n\s*", "", sheet)


def style_html() -> str:
    """The `<style>` element, for the first output of a cell."""
    return f"<style>{css()}</style>"


def framed(html: str) -> str:
    """Our HTML with the class that all our rules start from."""
    return f'<div class="cn">{html}</div>' if html else ""


def bundle(html: str, text: str) -> dict[str, str]:
    """What `display` is given: HTML and plain text. Never text/markdown: pages run scripts in it."""
    return {"text/html": framed(html), "text/plain": text}


def whole(rendered: Rendered) -> dict[str, str]:
    """A bundle that stands alone, style included: for the answer of a command, or a card beside no turn."""
    return {"text/html": style_html() + framed(rendered.html), "text/plain": rendered.text}
