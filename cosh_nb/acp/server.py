"""The agent's side of the protocol: handshake, sessions, prompts, modes."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from acp import PROTOCOL_VERSION
from acp.exceptions import RequestError
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    SessionCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
)

from cosh_nb import __version__
from cosh_nb.acp.draw import replay
from cosh_nb.acp.sessions import AcpSession, failure
from cosh_nb.errors import CoshError
from cosh_nb.session import Session, sessions
from cosh_tools.fences import tagged
from cosh_tools.kinds import PermissionMode as M

if TYPE_CHECKING:
    from acp.interfaces import Client

_MODES = {
    M.DEFAULT: ("Ask", "Reads freely, asks before it changes or runs something."),
    M.ACCEPT_EDITS: ("Accept edits", "Edits files without asking, asks before it runs something."),
    M.PLAN: ("Plan", "Reads only, and makes a plan."),
    M.BYPASS: ("Bypass permissions", "Never asks. Deny rules still hold."),
    M.AUTO: ("auto", "cosh: asks before shell commands only."),
    M.BALANCED: ("balanced", "cosh: asks before everything but reading."),
    M.SUGGEST: ("suggest", "cosh: as balanced, and every edit is shown as a diff first."),
    M.STRICT: ("strict", "cosh: as balanced, and nothing is allowed for longer than once."),
    M.TRUST: ("trust", "cosh: never asks. Deny rules still hold."),
}


class Server:
    """What the package's connection calls (acp.Agent)."""

    def __init__(self) -> None:
        self.sessions: dict[str, AcpSession] = {}
        self._client: Client | None = None

    def on_connect(self, conn: Client) -> None:
        """The client is there."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Agree on the version and say what can be done."""
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION) or PROTOCOL_VERSION,
            agent_info=Implementation(name="cosh-nb", title="cosh", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                mcp_capabilities=McpCapabilities(http=True, sse=True),
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                session_capabilities=SessionCapabilities(list=SessionListCapabilities()),
            ),
            auth_methods=[],
        )

    async def new_session(
        self, cwd: str, additional_directories: list[str] | None = None, mcp_servers: Any = None, **_: Any
    ) -> NewSessionResponse:
        """An empty conversation in a folder."""
        folder = _folder(cwd)
        opened = self._open(folder, Session.new(folder), additional_directories, mcp_servers)
        return NewSessionResponse(session_id=opened.id, modes=_modes(opened))

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: Any = None,
        additional_directories: list[str] | None = None,
        **_: Any,
    ) -> LoadSessionResponse:
        """A stored conversation, shown from its start."""
        folder = _folder(cwd)
        if session_id in self.sessions:
            await self.sessions.pop(session_id).close()
        if not any(info.id == session_id for info in sessions(folder)):
            raise RequestError.resource_not_found(session_id)
        try:
            stored = Session.resume(folder, session_id)
        except CoshError as error:
            raise failure(error) from None
        opened = self._open(folder, stored, additional_directories, mcp_servers)
        for update in replay(stored.messages):
            opened.updates.put_nowait(update)
        await opened.updates.join()
        return LoadSessionResponse(modes=_modes(opened))

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> ListSessionsResponse:
        """The stored conversations of a folder, newest first."""
        folder = _folder(cwd or str(Path.cwd()))
        return ListSessionsResponse(
            sessions=[
                SessionInfo(
                    session_id=info.id,
                    cwd=str(folder),
                    title=info.title or None,
                    updated_at=datetime.fromtimestamp(info.updated, UTC).isoformat(),
                )
                for info in sessions(folder)
            ]
        )

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        """Another permission mode."""
        try:
            mode = M.parse(mode_id)
        except ValueError as error:
            raise RequestError(-32602, str(error)) from None
        self._session(session_id).set_mode(mode)
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        """Take one turn."""
        text, media = _content(prompt)
        if not text.strip() and not media:
            raise RequestError(-32602, "The prompt holds no words. Say what is wanted.")
        return await self._session(session_id).prompt(text or "Look at what is attached.", media)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """End the running turn."""
        if session_id in self.sessions:
            self.sessions[session_id].cancel()

    async def authenticate(self, method_id: str, **_: Any) -> None:
        """Nothing to do: keys come from the environment and the settings."""
        raise RequestError(-32602, f"There is no login named {method_id!r:.80}. Set a key in the environment.")

    async def close(self) -> None:
        """End every session."""
        for session in self.sessions.values():
            await session.close()
        self.sessions.clear()

    def _open(self, folder: Path, session: Session, roots: list[str] | None, servers: list[Any] | None) -> AcpSession:
        if self._client is None:
            raise RequestError.internal_error({"details": "no client is connected"})
        try:
            given = [Path(root) for root in roots or ()]
            opened = AcpSession.open(self._client, folder, session, given, _servers(servers or ()))
        except CoshError as error:
            raise failure(error) from None
        self.sessions[opened.id] = opened
        return opened

    def _session(self, session_id: str) -> AcpSession:
        session = self.sessions.get(session_id)
        if session is None:
            raise RequestError.resource_not_found(session_id)
        return session


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if not folder.is_absolute() or not folder.is_dir():
        raise RequestError(-32602, f"cwd is {cwd!r:.200}; it must be an absolute path of a folder that exists.")
    return Path(os.path.realpath(folder))


def _modes(session: AcpSession) -> SessionModeState:
    return SessionModeState(
        current_mode_id=session.agent.state.permission_mode.value,
        available_modes=[
            SessionMode(id=mode.value, name=name, description=text) for mode, (name, text) in _MODES.items()
        ],
    )


def _servers(given: Sequence[Any]) -> dict[str, Any]:
    """The client's MCP servers, as settings have them."""
    found: dict[str, Any] = {}
    for server in given:
        pairs = {
            pair.name: pair.value for pair in getattr(server, "env", None) or getattr(server, "headers", None) or ()
        }
        if hasattr(server, "command"):
            found[server.name] = {"command": server.command, "args": list(server.args), "env": pairs}
        elif hasattr(server, "url"):
            found[server.name] = {"type": server.type, "url": server.url, "headers": pairs}
    return found


def _content(prompt: list[Any]) -> tuple[str, list[dict[str, Any]]]:
    """The words, and images in the service's shape. What is attached stands fenced, as data."""
    texts: list[str] = []
    media: list[dict[str, Any]] = []
    for block in prompt:
        match block.type:
            case "text":
                texts.append(block.text)
            case "image":
                media.append(_image(block.data, block.mime_type))
            case "resource_link":
                texts.append(f"@{_path(block.uri)}")
            case "resource":
                texts.append(_attached(block.resource))
            case other:
                raise RequestError(-32602, f"Content of type {other!r} cannot be part of a prompt here.")
    return "\n\n".join(text for text in texts if text), media


def _image(data: str, mime_type: str) -> dict[str, Any]:
    try:
        base64.b64decode(data, validate=True)
    except binascii.Error:
        raise RequestError(-32602, "The image is not valid base64.") from None
    return {"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}}


def _attached(resource: Any) -> str:
    text = getattr(resource, "text", None)
    if text is None:
        return f"@{_path(resource.uri)}"
    return tagged("attached", text, uri=str(resource.uri))


def _path(uri: str) -> str:
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri
