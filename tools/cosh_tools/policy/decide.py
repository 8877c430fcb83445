"""The decision on one call, as one pure function of the call, what it touches, the rules and the mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from cosh_tools.kinds import PermissionLevel, PermissionMode, ToolKind
from cosh_tools.policy.modes import ALLOWS_ALL, Verdict, verdict
from cosh_tools.policy.rules import Rules, first_match
from cosh_tools.touches import Fetches, Needs, Opaque, Reads, Runs, RunsCode, Touch, Uses, Writes, describe


@dataclass(frozen=True, slots=True)
class Subject:
    """The call as the policy sees it. `tool` is the canonical name; `known` is False for a tool nobody registered."""

    name: str
    tool: str
    kind: ToolKind
    level: PermissionLevel
    known: bool = True
    always_allowed: bool = False


@dataclass(frozen=True, slots=True)
class Allow:
    """It may run, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A person decides, and why it asks. `lasting` is False where only this one call may be allowed."""

    reason: str
    lasting: bool = True


@dataclass(frozen=True, slots=True)
class Deny:
    """It may not run, and why."""

    reason: str


Decision = Allow | Ask | Deny


def decide(call: Subject, touches: Sequence[Touch], rules: Rules, mode: PermissionMode) -> Decision:
    """Deny beats ask beats allow; what is not understood asks."""
    if not call.known:
        return Deny(f"There is no tool named {call.name!r}.")
    if rule := first_match(rules.deny, call.tool, touches):
        return Deny(f"The rule {rule.text} denies it.")
    if mode is PermissionMode.PLAN and _table(call, touches, mode) == "deny":
        return Deny("Plan mode is read-only. Finish the plan and leave plan mode first.")
    if call.always_allowed:
        return Allow("This tool never asks.")
    if rule := first_match(rules.ask, call.tool, touches):
        return Ask(f"The rule {rule.text} asks.", lasting=False)
    for rule in rules.allow:
        if rule.names(call.tool):
            return Allow(f"The rule {rule.text} allows it.")
    if mode in ALLOWS_ALL:
        return Allow(f"The mode {mode.value} allows everything.")
    if covering := _covering(touches, rules):
        return Allow(f"The rules {', '.join(covering)} allow it." if len(covering) > 1 else f"{covering[0]} allows it.")
    for touch in touches:
        if reason := _asks_always(touch):
            return reason
    match _table(call, touches, mode):
        case "allow":
            return Allow(f"The mode {mode.value} allows it.")
        case "ask":
            return Ask(f"The mode {mode.value} asks before a tool {_does(call, touches)}.")
        case "deny":
            return Deny(f"The mode {mode.value} denies it.")


def needs_cover(touch: Touch) -> bool:
    """Whether an allow rule must speak of this touch.

    Reading plainly inside the workspace needs none; what a command of the same call itself does there is covered by the
    rule that allows the command (a redirection is not: it is the shell's); commands without effect need none.
    """
    match touch:
        case Reads(inside=True, protected=False):
            return False
        case Writes(inside=True, protected=False, of=of) if of:
            return False
        case Runs(harmless=True):
            return False
        case _:
            return True


def to_cover(touches: Sequence[Touch]) -> list[Touch]:
    """The touches that allow rules must cover together; a call of harmless commands alone must have those covered."""
    needed = [touch for touch in touches if needs_cover(touch)]
    return needed or [touch for touch in touches if isinstance(touch, Runs)]


def _covering(touches: Sequence[Touch], rules: Rules) -> list[str]:
    """The allow rules that together cover every touch that needs it; empty when one is left or none is needed."""
    found: dict[str, None] = {}
    for touch in to_cover(touches):
        rule = next((rule for rule in rules.allow if rule.matches(touch)), None)
        if rule is None:
            return []
        found[rule.text] = None
    return list(found)


def _asks_always(touch: Touch) -> Ask | None:
    match touch:
        case Reads(as_given=path, protected=True):
            return Ask(f"{path} may hold keys or passwords.", lasting=False)
        case Writes(as_given=path, protected=True):
            return Ask(f"{path} is a protected place.", lasting=False)
        case Reads(inside=False) | Writes(inside=False):
            return Ask(f"{touch.as_given} is outside the workspace ({touch.real}).")
        case Opaque(why=why):
            return Ask(why, lasting=False)
        case Needs(why=why):
            return Ask(why, lasting=False)
        case Fetches(host=host):
            return Ask(f"It sends a request to {host}.")
        case Reads() | Writes() | Runs() | RunsCode() | Uses():
            return None
    assert_never(touch)


def _table(call: Subject, touches: Sequence[Touch], mode: PermissionMode) -> Verdict:
    """The strictest of what the mode's table says of the tool and of each effect that its touches show."""
    verdicts = {verdict(mode, call.kind, call.level)}
    for touch in touches:
        match touch:
            case Runs() | RunsCode() | Opaque():
                verdicts.add(verdict(mode, ToolKind.SHELL_EXEC, PermissionLevel.EXECUTE))
            case Writes():
                verdicts.add(verdict(mode, ToolKind.FILE_EDIT, PermissionLevel.WRITE))
            case Reads() | Fetches() | Needs() | Uses():
                pass
            case _:
                assert_never(touch)
    return "deny" if "deny" in verdicts else "ask" if "ask" in verdicts else "allow"


def _does(call: Subject, touches: Sequence[Touch]) -> str:
    for touch in touches:
        if isinstance(touch, Runs | RunsCode):
            return "runs something"
        if isinstance(touch, Writes):
            return describe(touch)
    return {
        ToolKind.FILE_EDIT: "changes files",
        ToolKind.SHELL_EXEC: "runs something",
        ToolKind.READ_ONLY: "reads",
        ToolKind.SHELL_EVIDENCE: "reads terminal output",
        ToolKind.OTHER: f"such as {call.name} acts",
    }[call.kind]
