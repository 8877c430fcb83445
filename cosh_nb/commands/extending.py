"""Commands about what people added: skills, MCP servers, hooks."""

from __future__ import annotations

from cosh_nb.commands import Command, Desk, Serves
from cosh_nb.commands.tables import cell, code
from cosh_nb.errors import UsageError


async def skills(desk: Desk, arguments: str) -> str:
    """The skills of this folder and of the user."""
    del arguments
    desk.agent.skills.refresh()
    every = desk.agent.skills.all()
    rows = [f"| `/{skill.name}` | {skill.level} | {cell(skill.description)} |" for skill in every]
    told = [f"- {problem}" for problem in desk.agent.skills.problems]
    if not rows:
        rows = ["No skill is here yet. Write one as `.claude/skills/NAME/SKILL.md`."]
    else:
        rows = ["| skill | from | what it is for |", "|---|---|---|", *rows]
    return "\n".join([*rows, "", *told])


async def mcp(desk: Desk, arguments: str) -> str:
    """The MCP servers, their states and tools; or lend this kernel's own tools to an agent outside."""
    if arguments.strip():
        return await _lend(desk, arguments.strip())
    servers = desk.agent.mcp
    await servers.start()
    lines = []
    for connection in servers.connections():
        config = connection.config
        why = f": {connection.problem}" if connection.problem and connection.state != "ready" else ""
        names = ", ".join(f"`{tool.name}`" for tool in connection.tools[:20])
        more = f" and {len(connection.tools) - 20} more" if len(connection.tools) > 20 else ""
        lines.append(
            f"- **{config.name}** ({config.transport}, {config.where}): {connection.state}{why}. {names}{more}"
        )
    lines += [f"- {problem}" for problem in servers.problems]
    return "\n".join(lines) or "No MCP server is configured. Add one under `mcpServers` in settings or in `.mcp.json`."


async def _lend(desk: Desk, word: str) -> str:
    if word not in {"serve", "stop"}:
        raise UsageError(f"/mcp takes serve or stop, not {word!r}.")
    if not isinstance(desk, Serves):
        raise UsageError("Only a notebook has a kernel to serve.")
    if word == "serve":
        return await desk.serve()
    return "It no longer listens." if await desk.end_serving() else "It was not listening."


async def extensions(desk: Desk, arguments: str) -> str:
    """The extensions at work, and why others are not."""
    del arguments
    agent = desk.agent
    lines = [
        f"- **{one.name}** {one.version}: {len(one.hooks)} hooks, {len(one.servers)} MCP servers, "
        f"{len(one.skills)} skill folders, {len(one.context)} context files (`{one.folder}`)"
        for one in agent.extensions
    ]
    lines += [f"- {problem}" for problem in agent.problems if "extension" in problem]
    return "\n".join(lines) or "No extension is installed. They lie in `~/.copilot-shell/extensions/NAME/`."


async def hooks(desk: Desk, arguments: str) -> str:
    """The hooks in force."""
    del arguments
    rows = [
        f"| {hook.event} | {code(hook.matcher or '*')} | {code(hook.command, 120)} | {hook.where} |"
        for hook in desk.agent.hooks.hooks
    ]
    if not rows:
        return "No hook is in force."
    return "\n".join(["| event | for | command | from |", "|---|---|---|---|", *rows])


COMMANDS = (
    Command("skills", "Lists the skills; `/name` runs one.", skills),
    Command(
        "mcp",
        "Lists the MCP servers; serve lends this notebook's tools to an agent outside (`cosh-nb mcp`), stop ends that.",
        mcp,
        "[serve|stop]",
        ("serve", "stop"),
    ),
    Command("extensions", "Lists the extensions and what they bring.", extensions),
    Command("hooks", "Lists the hooks in force.", hooks),
)
