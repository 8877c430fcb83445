"""Commands that write the conversation to a file."""

from __future__ import annotations

import asyncio
import shlex
from datetime import datetime
from pathlib import Path

from cosh_nb.commands import Command, Desk
from cosh_nb.errors import UsageError
from cosh_nb.export import WRITERS, About


async def export(desk: Desk, arguments: str) -> str:
    """Write this conversation as Markdown, a page, a notebook or JSON."""
    agent = desk.agent
    session = agent.session
    if not session.messages:
        raise UsageError("There is nothing to export yet: this conversation is empty.")
    form, file = _wanted(arguments, session.id, desk.workspace)
    if file.exists():
        raise UsageError(f"{file.name} is there already. Name another file: %cosh /export {form} NAME.")
    if not file.parent.is_dir():
        raise UsageError(f"There is no folder {file.parent}. Make it, or name a file in another one.")
    first = next((message.text for message in session.messages if message.role == "user" and message.text), "")
    title = first.strip().splitlines()[0][:120] if first.strip() else About().title
    label = agent.provider.label if agent.provider is not None else ""
    about = About(title, session.id, label, f"{datetime.now().astimezone():%Y-%m-%d %H:%M}")
    text = await asyncio.to_thread(WRITERS[form], tuple(session.messages), about)
    try:
        with file.open("x", encoding="utf-8", errors="replace", newline="\n") as out:
            out.write(text)
    except OSError as error:
        raise UsageError(f"{file} could not be written: {error.strerror or error}.") from None
    return f"This conversation is in `{file}` ({len(text.encode('utf-8', 'replace')):,} bytes)."


def _wanted(arguments: str, session: str, workspace: Path) -> tuple[str, Path]:
    """The form and the file that were asked for: "html", "talk.md", "ipynb notes/talk.ipynb", or nothing."""
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.split()
    forms = {"markdown": "md", "notebook": "ipynb", **{form: form for form in WRITERS}}
    form = forms.get(words[0].lower(), "") if words else "md"
    names = words[1:] if form and words else words
    if len(names) > 1:
        raise UsageError(f"One file, please: %cosh /export [{'|'.join(WRITERS)}] [FILE]. Quote a name with spaces.")
    if not names:
        return form, workspace / f"cosh-{session[:8]}-{datetime.now().astimezone():%Y%m%d-%H%M%S}.{form}"
    file = workspace / Path(names[0]).expanduser()
    form = form or forms.get(file.suffix.lstrip(".").lower(), "")
    if not form:
        raise UsageError(
            f"{names[0]} does not say a form. Choose one of {', '.join(WRITERS)}: %cosh /export html {names[0]}."
        )
    return form, file if file.suffix else file.with_suffix(f".{form}")


COMMANDS = (
    Command(
        "export",
        "Writes this conversation to a file: Markdown, a page that stands alone, a notebook, or JSON.",
        export,
        f"[{'|'.join(WRITERS)}] [file]",
        tuple(WRITERS),
    ),
)
