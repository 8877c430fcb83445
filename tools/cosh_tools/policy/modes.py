"""The two mode tables of the seeds, exact. A cosh mode looks at the kind, a Claude mode at the level."""

from __future__ import annotations

from typing import Literal

from cosh_tools.kinds import PermissionLevel as L
from cosh_tools.kinds import PermissionMode as M
from cosh_tools.kinds import ToolKind as K

Verdict = Literal["allow", "ask", "deny"]

_BY_KIND: dict[M, dict[K, Verdict]] = {
    M.TRUST: dict.fromkeys(K, "allow"),
    M.AUTO: {**dict.fromkeys(K, "allow"), K.SHELL_EXEC: "ask"},
    **{
        mode: {
            K.READ_ONLY: "allow",
            K.FILE_EDIT: "ask",
            K.SHELL_EXEC: "ask",
            K.SHELL_EVIDENCE: "allow",
            K.OTHER: "ask",
        }
        for mode in (M.BALANCED, M.SUGGEST, M.STRICT)
    },
}

_BY_LEVEL: dict[M, dict[L, Verdict]] = {
    M.DEFAULT: {L.NONE: "allow", L.READ_ONLY: "allow", L.WRITE: "ask", L.EXECUTE: "ask", L.DANGEROUS: "ask"},
    M.ACCEPT_EDITS: {L.NONE: "allow", L.READ_ONLY: "allow", L.WRITE: "allow", L.EXECUTE: "ask", L.DANGEROUS: "ask"},
    M.BYPASS: dict.fromkeys(L, "allow"),
    M.PLAN: {L.NONE: "allow", L.READ_ONLY: "allow", L.WRITE: "deny", L.EXECUTE: "deny", L.DANGEROUS: "deny"},
}

ALLOWS_ALL = frozenset({M.TRUST, M.BYPASS})
"""Modes that ask nothing; deny and ask rules still hold in them."""


def verdict(mode: M, kind: K, level: L) -> Verdict:
    """What the mode's table says of a tool of this kind and level."""
    if mode in _BY_KIND:
        return _BY_KIND[mode][kind]
    return _BY_LEVEL[mode][level]


def scopes(mode: M) -> tuple[Literal["session", "always"], ...]:
    """Which lasting grants a card may offer in this mode, beside "once"."""
    match mode:
        case M.STRICT:
            return ()
        case M.SUGGEST:
            return ("session",)
        case _:
            return ("session", "always")
