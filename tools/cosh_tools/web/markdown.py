"""A web page as Markdown."""

from __future__ import annotations

import re
from typing import Any

from cosh_tools.web.cleaning import cleaned

_BLANKS = re.compile(r"[ \t]*\n(?:[ \t]*\n){2,}")


def to_markdown(html: str, base: str) -> tuple[str, bool]:
    """The page as Markdown, links made absolute, and whether all of it is there. Blocks; run it in a thread."""
    from markdownify import MarkdownConverter

    small, whole = cleaned(html, base)
    converter = MarkdownConverter(heading_style="ATX", bullets="-", code_language_callback=_language)
    return _BLANKS.sub("\n\n", str(converter.convert(small))).strip(), whole


def _language(element: Any) -> str | None:
    """The language of a code block, from the class that highlighters put there."""
    for node in (element, *element.find_all("code", limit=1)):
        for name in node.get("class") or ():
            if name.startswith(("language-", "lang-")):
                return str(name.partition("-")[2])
    return None
