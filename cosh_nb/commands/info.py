"""Commands that tell: help, status, tools, cost, version."""

from __future__ import annotations

from cosh_nb import __version__, commands
from cosh_nb.commands import Command, Desk
from cosh_nb.commands.tables import cell, code
from cosh_nb.errors import UsageError
from cosh_nb.render.markup import count
from cosh_nb.typed import FLAGS, SWITCHES


async def show_help(desk: Desk, arguments: str) -> str:
    """All commands, or one."""
    every = commands.table()
    if arguments.strip() == "offline":
        from cosh_nb.providers.offline.manual import manual  # the grammar is loaded where it is wanted

        return manual()
    if arguments:
        command = every.get(arguments.strip().lstrip("/"))
        if command is None:
            raise UsageError(f"There is no command /{arguments}. %cosh /help lists them.")
        return f"`%cosh {command.shown}`: {command.summary}"
    lines = [
        "Write `%%cosh` and a request in plain words below it, or `%cosh request` in one line.",
        "",
        "| command | what it does |",
        "|---|---|",
        *(f"| {code(f'%cosh {command.shown}')} | {cell(command.summary, 200)} |" for command in every.values()),
        "",
        f"Options before the request: {', '.join(f'`{flag}`' for flag in (*FLAGS, *SWITCHES))}.",
        "`{name}` puts a variable's value into the request, `@path` attaches a file.",
    ]
    if desk.agent.provider is not None and desk.agent.provider.name == "offline":
        from cosh_nb.providers.offline.manual import manual  # the same

        lines += ["", manual()]
    return "\n".join(lines)


async def status(desk: Desk, arguments: str) -> str:
    """Where things stand."""
    del arguments
    agent = desk.agent
    settings = agent.settings
    provider, turns = agent.provider, count(agent.session.turns, "turn")
    lines = [
        f"- Workspace: `{agent.workspace}`{'' if settings.trusted else ' (not trusted: `%cosh /trust` says more)'}",
        f"- Working directory: `{agent.ctx.working_dir}`",
        f"- Mode: `{agent.state.permission_mode.value}`",
        f"- Model: {provider.label if provider else 'chosen with the first request'}",
        f"- Session: `{agent.session.id[:8]}`, {turns}, {agent.session.usage.total:,} tokens",
        f"- Tools: {len(agent.registry.names())}",
    ]
    if agent.choice is not None:
        lines.append(f"- Why this model: {agent.choice.reason}")
    lines += [f"- Problem: {problem}" for problem in settings.problems]
    if settings.ignored:
        lines.append(f"- Ignored, because this folder is not trusted: {'; '.join(settings.ignored)}")
    return "\n".join(lines)


async def tools(desk: Desk, arguments: str) -> str:
    """The tools of this session."""
    del arguments
    rows = [
        f"| `{tool.name}` | {tool.kind.value} | {tool.permission_level.value} | {cell(_first(tool.description), 200)} |"
        for tool in desk.agent.registry.tools()
    ]
    return "\n".join(["| tool | kind | level | what it does |", "|---|---|---|---|", *rows])


async def cost(desk: Desk, arguments: str) -> str:
    """Tokens and dollars, per model."""
    del arguments
    rows = desk.agent.costs.table()
    if not rows:
        return "Nothing was asked of a model yet."
    lines = ["| model | answers | input | cached | output | cost |", "|---|--:|--:|--:|--:|--:|"]
    for row in rows:
        usage, dollars = row.usage, "not known" if row.dollars is None else f"${row.dollars:.4f}"
        cached = f"{usage.cache_read:,}"
        asked = f"{usage.input + usage.cache_write:,}"
        lines.append(f"| `{row.model}` | {row.answers} | {asked} | {cached} | {usage.output:,} | {dollars} |")
    total = desk.agent.costs.total()
    known = f"${total:.4f} in all" if total is not None else "The price of a model is not known, so there is no sum"
    return "\n".join(lines) + f"\n\n{known}."


async def version(desk: Desk, arguments: str) -> str:
    """The version."""
    del desk, arguments
    return f"cosh_nb {__version__}"


def _first(text: str) -> str:
    return text.strip().split("\n", 1)[0].split(". ", 1)[0].rstrip(".")


COMMANDS = (
    Command("help", "Shows what you can type.", show_help, "[command]"),
    Command("status", "Shows workspace, mode, model, session and what was ignored.", status),
    Command("tools", "Lists the tools with their kinds and levels.", tools),
    Command("cost", "Shows tokens and cost of this session, per model.", cost),
    Command("version", "Shows the version.", version),
)
