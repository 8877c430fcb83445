"""Commands about what may be done: mode, trust, stop."""

from __future__ import annotations

from cosh_nb.commands import Command, Desk
from cosh_nb.errors import UsageError
from cosh_nb.trust import Trust
from cosh_tools.kinds import PermissionMode


async def mode(desk: Desk, arguments: str) -> str:
    """Show the mode or take another."""
    agent = desk.agent
    if not arguments:
        names = ", ".join(f"`{one.value}`" for one in PermissionMode)
        return f"The mode is `{agent.state.permission_mode.value}`. `%cosh /mode NAME` takes another: {names}."
    try:
        wanted = PermissionMode.parse(arguments)
    except ValueError as error:
        raise UsageError(str(error)) from None
    agent.set_mode(wanted)
    return f"The mode is now `{wanted.value}`."


async def trust(desk: Desk, arguments: str) -> str:
    """Show what the folder asks for, trust it, or take the trust back."""
    record = Trust.load()
    match arguments.strip():
        case "yes":
            record.grant(desk.workspace)
            desk.reload()
            return f"`{desk.workspace}` is trusted as it is now. A change of what it brings asks again."
        case "no":
            record.withdraw(desk.workspace)
            desk.reload()
            return f"`{desk.workspace}` is not trusted: it contributes deny and ask rules only."
        case "":
            return _trust_report(desk, record)
        case other:
            raise UsageError(f"/trust takes yes or no, not {other!r}.")


def _trust_report(desk: Desk, record: Trust) -> str:
    settings = desk.agent.settings
    if record.covers(desk.workspace):
        return f"`{desk.workspace}` is trusted. `%cosh /trust no` takes that back."
    changed = " It was trusted with other content; that has changed." if record.changed(desk.workspace) else ""
    if not settings.ignored:
        return f"`{desk.workspace}` brings nothing that needs trust.{changed}"
    asks = "\n".join(f"- {item}" for item in settings.ignored)
    return (
        f"`{desk.workspace}` is not trusted.{changed} It asks for this, and all of it is ignored:\n\n{asks}\n\n"
        "`%cosh /trust yes` takes it as it is now."
    )


async def stop(desk: Desk, arguments: str) -> str:
    """End the running turn."""
    del arguments
    return "The turn is stopped." if desk.stop() else "No turn is running."


COMMANDS = (
    Command("mode", "Shows the permission mode, or takes another.", mode, "[name]", tuple(PermissionMode)),
    Command(
        "trust", "Shows what this folder asks for; yes trusts it, no takes it back.", trust, "[yes|no]", ("yes", "no")
    ),
    Command("stop", "Ends the turn that runs in the background.", stop),
)
