"""The tables of README that the code knows better: `python tests/support/readme.py` writes them anew."""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def tools() -> str:
    """Every tool with the name cosh gives it, kind, level and first sentence."""
    from cosh_tools.names import canonical
    from cosh_tools.registry import ToolRegistry

    cosh = {canonical(name): name for name in ToolRegistry.with_defaults(shell_evidence=True).names()}
    rows = []
    for tool in ToolRegistry.for_notebook().tools():
        alias = cosh.get(tool.name, "")
        alias = f"`{alias}`" if alias and alias != tool.name else ""
        text = _first_sentence(tool.description)
        rows.append(f"| `{tool.name}` | {alias} | {tool.kind.value} | {tool.permission_level.value} | {text} |")
    return "\n".join(["| tool | cosh's name | kind | level | what it does |", "|---|---|---|---|---|", *rows])


def commands() -> str:
    """Every command and what it does."""
    from cosh_nb.commands import table

    rows = [f"| `%cosh {_cell(command.shown)}` | {_cell(command.summary)} |" for command in table().values()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


BLOCKS = {"tools": tools, "commands": commands}


def with_tables(text: str) -> str:
    """README with its generated blocks as they should be."""
    for name, make in BLOCKS.items():
        pattern = re.compile(rf"(<!-- {name}: generated[^>]*-->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda found, make=make: found[1] + make() + found[2], text)
    return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _first_sentence(text: str) -> str:
    first = re.split(r"(?<=[.:])\s", " ".join(text.split()), maxsplit=1)[0].rstrip(":.")
    return _cell(first)


if __name__ == "__main__":
    sys.path.insert(0, str(README.parent / "tests"))
    README.write_text(with_tables(README.read_text("utf-8")), "utf-8")
