"""Hooks that people configured: commands with JSON on stdin and answers by exit code and JSON.

The contract is Claude Code's:

    "hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "...", "timeout": 60}]}]}

Exit 0 passes, 2 blocks with stderr as the reason; JSON on stdout may say more. A hook can only tighten: what it
allows is still judged by the policy, and input that it patched is judged again. A PreToolUse hook that fails
(another exit code, timeout, junk) blocks, unless it says `"fail_open": true`; failures of other events are told.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from cosh_nb.events import Event, Notice
from cosh_tools.hosts import HookVerdict
from cosh_tools.names import ALIASES, canonical

if TYPE_CHECKING:
    from cosh_tools.contract import ToolCall, ToolContext, ToolResult

HookEvent = Literal[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "Notification",
]
_EVENTS: Mapping[str, HookEvent] = {event: event for event in get_args(HookEvent)}
TIMEOUT = 60.0
"""Seconds that a hook may take, unless it says otherwise."""
MOST = 1_000_000
"""Bytes of output; a hook that writes more is ended and counts as failed."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One configured command. `timeout` in seconds; `where` names its settings file or extension."""

    event: HookEvent
    command: str
    matcher: str = ""
    timeout: float = TIMEOUT
    fail_open: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    where: str = "settings"

    def matches(self, name: str) -> bool:
        """Whether it is for the tool `name`, under whichever of its names the matcher says it."""
        if self.matcher in ("", "*"):
            return True
        names = {name, canonical(name), *(alias for alias, target in ALIASES.items() if target == canonical(name))}
        try:
            pattern = re.compile(self.matcher)
        except re.error:
            return self.matcher in names
        return any(pattern.fullmatch(one) for one in names)


@dataclass(frozen=True, slots=True)
class Said:
    """What one hook answered."""

    hook: Hook
    decision: Literal["pass", "ask", "deny"] = "pass"
    reason: str = ""
    output: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    failed: bool = False

    @property
    def specific(self) -> Mapping[str, Any]:
        """Its hookSpecificOutput."""
        found = self.output.get("hookSpecificOutput", self.output.get("hook_specific_output"))
        return found if isinstance(found, Mapping) else {}

    @property
    def stops(self) -> bool:
        """Whether it ends the turn (`"continue": false`)."""
        return self.output.get("continue") is False

    @property
    def context(self) -> str:
        """Text it adds for the model."""
        return str(self.specific.get("additionalContext") or self.specific.get("additional_context") or "")


@dataclass
class CommandHooks:
    """The hooks of one session (hosts.HookHost and hooks.TurnHooks)."""

    hooks: Sequence[Hook]
    workspace: Path
    session_id: str = ""
    transcript: Path | None = None
    mode: Callable[[], str] = lambda: "default"
    tell: Callable[[Event], None] = lambda _event: None
    _started: bool = False
    _revised: bool = False

    async def before(self, call: ToolCall, ctx: ToolContext) -> HookVerdict:
        """PreToolUse: the strictest answer, the patched input, and context for the model."""
        facts = {"tool_name": call.name, "tool_input": dict(call.input), "tool_use_id": call.id}
        said = await self.fire("PreToolUse", facts, name=call.name, cwd=ctx.working_dir)
        if not said:
            return HookVerdict()
        deny = [one for one in said if one.decision == "deny" or one.stops]
        ask = [one for one in said if one.decision == "ask"]
        first = (deny or ask or [Said(said[0].hook)])[0]
        reason = str(first.output.get("stopReason") or first.reason) if first.stops else first.reason
        return HookVerdict(
            decision="deny" if deny else "ask" if ask else "pass",
            reason=reason,
            input=_patched(call.input, said),
            context="\n".join(one.context for one in said if one.context),
            stop=any(one.stops for one in said),
        )

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> ToolResult:
        """PostToolUse, or PostToolUseFailure where the call failed."""
        facts: dict[str, Any] = {"tool_name": call.name, "tool_input": dict(call.input), "tool_use_id": call.id}
        event: HookEvent = "PostToolUseFailure" if result.is_error else "PostToolUse"
        if result.is_error:
            facts["error"] = result.content
        facts["tool_response"] = {"content": result.content, "llmContent": result.content, "is_error": result.is_error}
        for one in await self.fire(event, facts, name=call.name, cwd=ctx.working_dir):
            replaced = one.specific.get("updatedToolResponse")
            if isinstance(replaced, str):
                result = type(result)(replaced, result.is_error, result.metadata)
            if one.decision == "deny":
                result = type(result)(f"Blocked by hook: {one.reason}", is_error=True, metadata=result.metadata)
            if one.context:
                result = result.with_note(f"[Hook context] {one.context}")
        return result

    async def prompt(self, text: str) -> tuple[str, str]:
        """SessionStart before the first prompt, then UserPromptSubmit."""
        context = []
        if not self._started:
            self._started = True
            context += [one.context or one.text for one in await self.fire("SessionStart", {"source": "startup"})]
        for one in await self.fire("UserPromptSubmit", {"prompt": text}):
            if one.decision != "pass" or one.stops:
                return one.reason or str(one.output.get("stopReason") or "no reason given"), ""
            context.append(one.context or one.text)
        return "", "\n".join(piece for piece in context if piece)

    async def stop(self, text: str) -> str:
        """Stop: a block sends the model on, once in a row knowing that it was sent on before."""
        active, self._revised = self._revised, False
        for one in await self.fire("Stop", {"last_assistant_message": text, "stop_hook_active": active}):
            if one.decision == "deny" and not one.stops:
                self._revised = True
                return one.reason or "no reason given"
        return ""

    async def fire(
        self, event: HookEvent, facts: Mapping[str, Any], *, name: str = "", cwd: Path | None = None
    ) -> list[Said]:
        """Run all hooks of an event that match, at the same time; their answers in the order they are written."""
        chosen = [hook for hook in self.hooks if hook.event == event and (not name or hook.matches(name))]
        if not chosen:
            return []
        payload = {
            "session_id": self.session_id,
            "transcript_path": str(self.transcript or ""),
            "cwd": str(cwd or self.workspace),
            "permission_mode": self.mode(),
            "hook_event_name": event,
            **facts,
        }
        data = json.dumps(payload, default=str).encode("utf-8", "replace")
        said = list(await asyncio.gather(*(self._run(hook, data, cwd or self.workspace) for hook in chosen)))
        for one in said:
            self._report(one)
        return said

    def _report(self, said: Said) -> None:
        message = said.output.get("systemMessage", said.output.get("system_message"))
        if message:
            self.tell(Notice("info", f"Hook: {message}"))
        if said.failed:
            what = "It blocked the call." if said.decision == "deny" else "It was passed over."
            self.tell(Notice("warning", f"A {said.hook.event} hook of {said.hook.where} {said.reason}. {what}"))

    async def _run(self, hook: Hook, data: bytes, cwd: Path) -> Said:
        env = {**os.environ, "CLAUDE_PROJECT_DIR": str(self.workspace), "COSH_RUNTIME": "cosh-nb", **hook.env}
        try:
            process = await asyncio.create_subprocess_exec(
                "sh",
                "-c",
                hook.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            return _failed(hook, f"could not start ({error.strerror})")
        try:
            async with asyncio.timeout(hook.timeout):
                out, err = await _talk(process, data)
                code = await process.wait()
        except TimeoutError:
            return _failed(hook, f"did not end within {hook.timeout:g} s")
        except _TooMuchError:
            return _failed(hook, f"wrote more than {MOST:,} bytes")
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(TimeoutError):  # a child that left the group may hold the pipes
                await asyncio.wait_for(process.communicate(), 1)
        return _answer(hook, code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def configured(settings: Mapping[str, Any], where: str, *, milliseconds: bool = False) -> tuple[list[Hook], list[str]]:
    """The hooks of a `hooks` object, and a sentence for each entry that cannot be used."""
    hooks: list[Hook] = []
    problems: list[str] = []
    for name, groups in settings.items():
        event = _EVENTS.get(name)
        if event is None:
            problems.append(f"There is no hook event {name!r}; it stands in {where} and never fires.")
            continue
        for group in groups if isinstance(groups, list) else [groups]:
            for entry in group.get("hooks", [group]) if isinstance(group, Mapping) else ():
                command = entry.get("command") if isinstance(entry, Mapping) else None
                if not isinstance(command, str) or entry.get("type", "command") != "command":
                    problems.append(f"A {event} hook in {where} is not a command, so it never fires.")
                    continue
                timeout = entry.get("timeout", 0)
                seconds = float(timeout) / (1000 if milliseconds else 1) if isinstance(timeout, int | float) else 0.0
                hooks.append(
                    Hook(
                        event=event,
                        command=command,
                        matcher=str(group.get("matcher") or ""),
                        timeout=seconds if seconds > 0 else TIMEOUT,
                        fail_open=entry.get("fail_open") is True,
                        env={str(key): str(value) for key, value in dict(entry.get("env") or {}).items()},
                        where=where,
                    )
                )
    return hooks, problems


class _TooMuchError(Exception):
    pass


async def _talk(process: asyncio.subprocess.Process, data: bytes) -> tuple[bytes, bytes]:
    assert process.stdin is not None  # noqa: S101  (it was asked for)
    assert process.stdout is not None  # noqa: S101  (it was asked for)
    assert process.stderr is not None  # noqa: S101  (it was asked for)

    async def write(to: asyncio.StreamWriter) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            to.write(data)
            await to.drain()
        to.close()

    async def read(source: asyncio.StreamReader) -> bytes:
        kept = bytearray()
        while piece := await source.read(65_536):
            kept += piece
            if len(kept) > MOST:
                raise _TooMuchError
        return bytes(kept)

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(write(process.stdin))
            out, err = group.create_task(read(process.stdout)), group.create_task(read(process.stderr))
    except* _TooMuchError:
        raise _TooMuchError from None
    return out.result(), err.result()


def _answer(hook: Hook, code: int, out: str, err: str) -> Said:
    if code == 2:
        return Said(hook, "deny", err.strip() or out.strip() or "no reason given")
    if code != 0:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        return _failed(hook, how)
    text = out.strip()
    if not text.startswith("{"):
        return Said(hook, text=text)
    try:
        output = json.loads(text)
    except ValueError:
        return _failed(hook, "answered with JSON that does not parse")
    return _decided(hook, output)


def _decided(hook: Hook, output: Mapping[str, Any]) -> Said:
    said = Said(hook, output=output)
    word = said.specific.get("permissionDecision", output.get("decision", ""))
    reason = str(said.specific.get("permissionDecisionReason") or output.get("reason") or "")
    match word:
        case "" | "approve" | "allow" | "passthrough":
            return said
        case "ask":
            return Said(hook, "ask", reason, output)
        case "block" | "deny" | "reject":
            return Said(hook, "deny", reason, output)
        case _:
            return _failed(hook, f"gave the unknown decision {word!r}")


def _failed(hook: Hook, how: str) -> Said:
    """A PreToolUse hook that fails blocks, unless it says otherwise."""
    blocks = hook.event == "PreToolUse" and not hook.fail_open
    return Said(hook, "deny" if blocks else "pass", how, failed=True)


def _patched(given: Mapping[str, Any], said: Sequence[Said]) -> Mapping[str, Any] | None:
    """The input after all patches: `updatedInput` replaces it, `tool_input` is merged into it."""
    patched: dict[str, Any] | None = None
    for one in said:
        whole, part = one.specific.get("updatedInput"), one.specific.get("tool_input")
        if isinstance(whole, Mapping):
            patched = dict(whole)
        if isinstance(part, Mapping):
            patched = _merged(patched if patched is not None else dict(given), part)
    return patched


def _merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(base)
    for key, value in patch.items():
        have = out.get(key)
        out[key] = _merged(have, value) if isinstance(have, Mapping) and isinstance(value, Mapping) else value
    return out
