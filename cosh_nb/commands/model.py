"""Commands that choose who answers."""

from __future__ import annotations

from cosh_nb.commands import Command, Desk


async def model(desk: Desk, arguments: str) -> str:
    """Show the model or take another."""
    agent = desk.agent
    if not arguments:
        if agent.provider is None:
            await agent.use()
        assert agent.provider is not None  # noqa: S101  (use() sets it or raises)
        why = f" {agent.choice.reason}" if agent.choice is not None else ""
        return f"The model is {agent.provider.label}.{why} `%cosh /model NAME` takes another."
    provider = await agent.use(model=arguments.strip())
    return f"The model is now {provider.label}."


async def provider(desk: Desk, arguments: str) -> str:
    """Take another provider."""
    agent = desk.agent
    if not arguments:
        return await model(desk, "")
    name, _, wanted = arguments.strip().partition(" ")
    chosen = await agent.use(name, wanted.strip() or None)
    return f"Requests now go to {chosen.label}."


COMMANDS = (
    Command("model", "Shows the model, or takes another for this session.", model, "[name]"),
    Command(
        "provider",
        "Takes another provider for this session.",
        provider,
        "[anthropic|openai|offline] [model]",
        ("anthropic", "openai", "dashscope", "ollama", "offline"),
    ),
)
