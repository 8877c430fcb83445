"""Commands about conversations: list, resume, fork, begin anew."""

from __future__ import annotations

from datetime import datetime

from cosh_nb.commands import Command, Desk
from cosh_nb.commands.tables import cell
from cosh_nb.errors import SessionError, UsageError
from cosh_nb.render.markup import count
from cosh_nb.session import Session, SessionInfo, is_open, sessions


async def list_sessions(desk: Desk, arguments: str) -> str:
    """The stored sessions of this folder."""
    del arguments
    found = sessions(desk.workspace)
    if not found:
        return "No session of this folder is stored yet."
    rows = [f"| `{info.id[:8]}` | {_when(info)} | {info.turns} | {cell(info.title)} |" for info in found[:20]]
    more = f"\n\n{len(found) - 20} older ones are stored too." if len(found) > 20 else ""
    return "\n".join(["| session | last used | turns | begins with |", "|---|---|---|---|", *rows]) + more


async def resume(desk: Desk, arguments: str) -> str:
    """Go on with a stored session."""
    agent = desk.agent
    wanted = arguments.strip() or _latest(desk)
    if agent.session.id.startswith(wanted):
        return f"Session `{agent.session.id[:8]}` is the one that is open."
    agent.start_session(Session.resume(agent.workspace, wanted))
    last = next((message.text for message in reversed(agent.session.messages) if message.role == "assistant"), "")
    excerpt = f" It ended with: {last.strip().splitlines()[0][:200]}" if last.strip() else ""
    return f"Session `{agent.session.id[:8]}` goes on, {count(agent.session.turns, 'turn')} so far.{excerpt}"


async def fork(desk: Desk, arguments: str) -> str:
    """Go on with a copy of a session."""
    agent = desk.agent
    if arguments.strip() and not agent.session.id.startswith(arguments.strip()):
        source = Session.read(agent.workspace, arguments.strip())
    else:
        source = agent.session
    agent.start_session(source.fork())
    return f"This is now session `{agent.session.id[:8]}`, a copy of `{source.id[:8]}`."


async def new(desk: Desk, arguments: str) -> str:
    """Begin anew."""
    del arguments
    old = desk.agent.session
    desk.agent.start_session(Session.new(desk.agent.workspace))
    kept = f" `%cosh /resume {old.id[:8]}` goes back." if old.messages else ""
    return f"A new session.{kept}"


async def replay(desk: Desk, arguments: str) -> str:
    """What a recording holds, and how to play it."""
    from cosh_nb.providers.recording import read, recording_path

    name = arguments.strip()
    if not name:
        raise UsageError("Name a recording: %cosh /replay NAME. %%cosh --record NAME makes one.")
    file = recording_path(name, desk.agent.front.notebook.current(), desk.workspace)
    recording = read(file)
    prompts = "\n".join(f"{number}. {turn.prompt.strip()}" for number, turn in enumerate(recording.turns, 1))
    made = f", made with {recording.model}" if recording.model else ""
    return f"`{file.name}`{made}. Play a request with `%%cosh --replay {name}` above it, word for word:\n\n{prompts}"


async def compact(desk: Desk, arguments: str) -> str:
    """Summarise the beginning of the conversation."""
    agent = desk.agent
    before = len(agent.session.messages)
    if not await agent.compact(arguments.strip()):
        return "The conversation is still short; there is nothing to summarise."
    return f"{before} messages became {len(agent.session.messages)}. The stored session keeps them all."


async def context(desk: Desk, arguments: str) -> str:
    """How full the model's window is."""
    del arguments
    return desk.agent.window()


def _latest(desk: Desk) -> str:
    for info in sessions(desk.workspace):
        if info.id != desk.agent.session.id and info.turns and not is_open(info):
            return info.id
    raise SessionError("There is no earlier session of this folder to resume.")


def _when(info: SessionInfo) -> str:
    return f"{datetime.fromtimestamp(info.updated).astimezone():%Y-%m-%d %H:%M}"


COMMANDS = (
    Command("sessions", "Lists the stored conversations of this folder.", list_sessions),
    Command("resume", "Goes on with a stored conversation, the last one if none is named.", resume, "[session]"),
    Command("fork", "Goes on with a copy of this or a stored conversation.", fork, "[session]"),
    Command(
        "compact", "Summarises the beginning of the conversation, keeping what you name.", compact, "[what to keep]"
    ),
    Command("replay", "Shows what a recording holds and how to play it.", replay, "NAME"),
    Command("context", "Shows how full the model's window is.", context),
    Command("new", "Begins a new conversation; the old one is kept.", new),
)
