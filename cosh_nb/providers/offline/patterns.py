"""Patterns as people would write them down, compiled to regular expressions that match a whole clause.

    "(list|show) [me] [all] [the] {kind:word} files [in {folder:path}]"

A word stands for itself whatever its case, [..] may be left out, (a|b) is one of them, {name:type} is a slot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from cosh_nb.providers.offline.intents import Chart, Function
from cosh_nb.providers.offline.words import LITERAL

_PLACE = r"[^\s,;\x00\"`]+"

KINDS: Mapping[str, tuple[str, str]] = {
    "python": ("*.py", "Python file"),
    "py": ("*.py", "Python file"),
    "notebook": ("*.ipynb", "notebook"),
    "jupyter": ("*.ipynb", "notebook"),
    "ipynb": ("*.ipynb", "notebook"),
    "csv": ("*.csv", "CSV file"),
    "tsv": ("*.tsv", "TSV file"),
    "json": ("*.json", "JSON file"),
    "parquet": ("*.parquet", "Parquet file"),
    "markdown": ("*.md", "Markdown file"),
    "md": ("*.md", "Markdown file"),
    "text": ("*.txt", "text file"),
    "txt": ("*.txt", "text file"),
    "yaml": ("*.yaml", "YAML file"),
    "toml": ("*.toml", "TOML file"),
    "html": ("*.html", "HTML file"),
    "css": ("*.css", "CSS file"),
    "javascript": ("*.js", "JavaScript file"),
    "typescript": ("*.ts", "TypeScript file"),
    "rust": ("*.rs", "Rust file"),
    "shell": ("*.sh", "shell script"),
    "bash": ("*.sh", "shell script"),
    "sql": ("*.sql", "SQL file"),
    "png": ("*.png", "PNG image"),
    "svg": ("*.svg", "SVG image"),
    "pdf": ("*.pdf", "PDF"),
}
"""Kinds of files as people name them: the pattern, and what one of them is called."""

FUNCTIONS: Mapping[str, Function] = {
    "mean": "mean",
    "average": "mean",
    "avg": "mean",
    "sum": "sum",
    "total": "sum",
    "max": "max",
    "maximum": "max",
    "highest": "max",
    "largest": "max",
    "biggest": "max",
    "min": "min",
    "minimum": "min",
    "lowest": "min",
    "smallest": "min",
    "median": "median",
    "count": "count",
    "number": "count",
    "std": "standard deviation",
}
CHARTS: Mapping[str, Chart] = {
    "bar": "bar",
    "column": "bar",
    "line": "line",
    "scatter": "scatter",
    "histogram": "histogram",
    "hist": "histogram",
}

_NO_NAMES = "the|a|an|it|this|that|these|those|all|every|everything|cell|cells|file|files|me|my|data|code"

SLOTS: Mapping[str, str] = {
    "path": rf"(?:{LITERAL}|(?!(?:the|a|an|it|this|that|all)(?![^\s,;])){_PLACE})",
    "file": rf"(?:{LITERAL}|(?=[^\s,;]*(?:[./~]|(?:make|docker)file|readme|license|changelog)){_PLACE})",
    "glob": r"(?:[^\s,;\x00\"`]*[*?][^\s,;\x00\"`]*)",
    "ext": r"(?:\*?\.\w+)",
    "table": rf"(?:{LITERAL}|{_PLACE}\.(?:csv|tsv|json|parquet|xlsx))",
    "source": rf"(?:{LITERAL}|{_PLACE}\.(?:csv|tsv|json|parquet|xlsx)|(?!(?:{_NO_NAMES})\b)[^\W\d]\w*)",
    "script": rf"(?:{LITERAL}|{_PLACE}\.(?:py|sh|bash|js|mjs|r|rb|pl))",
    "name": rf"(?:(?!(?:{_NO_NAMES})\b)[^\W\d]\w*)",
    "column": rf"(?:{LITERAL}|(?!(?:the|a|an|it|this|that|by|from|in|of|for|per)(?![\w.%-]))[^\W\d][\w.%-]*)",
    "literal": LITERAL,
    "text": r"\S.*?",
    "token": rf"(?:{LITERAL}|\S+)",
    "word": r"[^\W\d][\w+#-]*",
    "kind": "(?:" + "|".join(KINDS) + ")",
    "func": "(?:" + "|".join(FUNCTIONS) + r"|standard\s+deviation)",
    "chart": "(?:" + "|".join(CHARTS) + ")",
    "all": "(?:all|every)",
    "below": r"(?:recursively|(?:and|including)\s+(?:below|(?:in\s+|its\s+)?sub-?(?:folders|directories)))",
    "empty": "(?:empty|blank)",
    "over": "(?:overwrite|rewrite)",
    "regex": r"(?:regex|pattern|regular\s+expression)",
    "anycase": r"(?:ignoring\s+(?:the\s+)?case|case[\s-]insensitive(?:ly)?|whatever\s+its\s+case)",
    "rows": r"(?:rows|lines|records|entries)",
    "n": r"\d{1,6}",
    "range": r"\d{1,6}\s*(?:-|\u2013|\.\.|to|through|until)\s*\d{1,6}",
    "id": r"[\w-]+",
    "command": r"(?:ls|pwd|git|pytest|pip3?|uv|ruff|mypy|npm|wc|grep|rg|du|df|uname|whoami|date|echo|jupyter)(?:\s.*)?",
}
"""What each type of slot takes."""

_TOKEN = re.compile(r"\{(?P<name>\w+):(?P<type>\w+)\}|(?P<mark>[\[\]()|])|(?P<word>[^\s\[\]()|{}]+)")


@lru_cache(maxsize=512)
def compiled(template: str) -> re.Pattern[str]:
    """The template as a pattern to `match_clause` with. Raises ValueError for a template that does not parse."""
    out = []
    for token in _TOKEN.finditer(template):
        if token["name"]:
            out.append(rf"\s+(?P<{token['name']}>{SLOTS[token['type']]})")
        elif token["word"]:
            # A comma or colon in a template stands directly behind the word before it.
            word = token["word"]
            out.append(re.escape(word) if word in {",", ":"} else r"\s+" + re.escape(word).replace("'", "['\u2019]?"))
        else:
            out.append({"[": "(?:", "]": ")?", "(": "(?:", ")": ")", "|": "|"}[token["mark"]])
    return re.compile("".join(out), re.IGNORECASE | re.DOTALL)


def match_clause(template: str, clause: str) -> re.Match[str] | None:
    """How the template matches the whole clause, or None."""
    return compiled(template).fullmatch(" " + clause)
