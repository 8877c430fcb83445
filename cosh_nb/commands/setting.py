"""Commands about settings and rights: config, permissions, doctor, clear."""

from __future__ import annotations

import asyncio
import json

from cosh_nb.commands import Command, Desk
from cosh_nb.commands.sessions import new
from cosh_nb.commands.tables import code
from cosh_nb.errors import UsageError
from cosh_nb.settings import UserSettings
from cosh_tools.fences import fenced


async def config(desk: Desk, arguments: str) -> str:
    """Show the settings in force, or write one into the user's file."""
    agent = desk.agent
    key, _, value = arguments.strip().partition(" ")
    if not key:
        shown = json.dumps(dict(agent.settings.values), indent=2, ensure_ascii=False)
        files = ", ".join(f"`{file}`" for file in agent.settings.sources) or "no file"
        return f"From {files}:\n\n{fenced(shown, 'json')}"
    settings = UserSettings(agent.settings)
    if not value.strip():
        return f"`{key}` is `{json.dumps(settings.get(key), ensure_ascii=False)}`."
    file = settings.set(key, _value(value.strip()))
    desk.reload()
    return f"`{key}` is now `{json.dumps(_value(value.strip()), ensure_ascii=False)}` in `{file}`."


async def permissions(desk: Desk, arguments: str) -> str:
    """Show rules and grants; forget a grant."""
    gate = desk.agent.gate
    word, _, rule = arguments.strip().partition(" ")
    if word == "forget":
        if gate.grants is None or not gate.grants.forget(rule.strip()):
            raise UsageError(f"No grant says {rule.strip()!r}. %cosh /permissions lists them.")
        return f"`{rule.strip()}` is forgotten; it asks again."
    if word:
        raise UsageError(f"/permissions takes forget RULE, not {word!r}.")
    rows = [f"| deny | {code(rule.text)} | settings |" for rule in gate.rules.deny]
    rows += [f"| ask | {code(rule.text)} | settings |" for rule in gate.rules.ask]
    rows += [f"| allow | {code(rule.text)} | settings |" for rule in gate.rules.allow]
    rows += [f"| allow | {code(rule.text)} | you, on a card |" for rule in (gate.grants.rules if gate.grants else ())]
    mode = f"The mode is `{desk.agent.state.permission_mode.value}`."
    if not rows:
        return f"{mode} No rule is in force and nothing was granted."
    return "\n".join([mode, "", "| | rule | from |", "|---|---|---|", *rows])


async def doctor(desk: Desk, arguments: str) -> str:
    """What is installed and what is missing."""
    del arguments
    from cosh_nb import doctor as check

    lines: list[str] = []
    await asyncio.to_thread(check.run, lines.append, desk.workspace)
    return fenced("\n".join(lines), "text")


def _value(text: str) -> object:
    """JSON where it is JSON, else the text as it stands."""
    try:
        return json.loads(text)
    except ValueError:
        return text


COMMANDS = (
    Command("config", "Shows the settings in force, or writes one into your own file.", config, "[key [value]]"),
    Command(
        "permissions", "Shows rules and grants; forget takes a grant back.", permissions, "[forget RULE]", ("forget",)
    ),
    Command("doctor", "Says what is installed, which model would answer, and what is missing.", doctor),
    Command("clear", "Begins a new conversation; the old one is kept (the same as /new).", new),
)
