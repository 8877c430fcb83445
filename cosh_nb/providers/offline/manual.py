"""What the helper says of itself. The grammar is the one source of what it can do."""

from __future__ import annotations

from cosh_nb.providers.offline.understand import GRAMMAR, NotUnderstood

LABEL = "offline helper, not a language model"

_MODELS = """\
For anything else, use a language model: set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` before Jupyter starts (a \
compatible server: `OPENAI_BASE_URL`), or start Ollama and set `OLLAMA_HOST`. `%cosh /model` then shows what is used."""


def can_do() -> list[tuple[str, str]]:
    """What can be said: an example, and what it does. `%cosh /help` and the README show this."""
    return [(phrase.example, phrase.what) for phrase in GRAMMAR if phrase.example]


def table() -> str:
    """The same as a Markdown table."""
    rows = [f"| {_code(example)} | {what} |" for example, what in can_do()]
    return "\n".join(["| you say | it |", "|---|---|", *rows])


def manual() -> str:
    """The whole of it, as Markdown."""
    lines = [f"- {_code(example)}: {what}" for example, what in can_do()]
    return "\n".join(
        [
            f"I am an {LABEL}: I understand a small set of plain sentences, and you approve what they change.",
            "",
            *lines,
            "",
            (
                "Several steps work too: `load sales.csv and plot revenue by month`. Put names with spaces, and texts "
                "that I should take word for word, in quotes or backticks; after `containing:`, `python:` or "
                "`command:` everything up to the end is taken as it is."
            ),
            "",
            _MODELS,
        ]
    )


def not_understood(missed: NotUnderstood) -> str:
    """An honest no: what was not understood, what helps, what can be said instead."""
    part = f" ({_code(missed.part)})" if missed.part else ""
    hint = f" {missed.hint}" if missed.hint else ""
    examples = "\n".join(f"- {_code(example)}" for example, _ in can_do())
    return (
        f"I did not understand that{part}, so I did nothing.{hint}\n\n"
        f"I am an {LABEL}. I understand sentences like these:\n\n{examples}\n\n{_MODELS}"
    )


def _code(text: str) -> str:
    line = " ".join(text.split())
    line = line if len(line) <= 120 else f"{line[:117]}..."
    return f"`` {line} ``" if "`" in line else f"`{line}`"
