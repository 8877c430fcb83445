"""Every cell of both tables, through `decide` itself."""

from pathlib import Path

import pytest

from cosh_tools.kinds import PermissionLevel, PermissionMode, ToolKind
from cosh_tools.policy.decide import Allow, Ask, Deny, Subject, decide
from cosh_tools.policy.rules import Rules
from cosh_tools.touches import Reads

KINDS = ["ReadOnly", "FileEdit", "ShellExec", "ShellEvidence", "Other"]
BY_KIND = {
    "trust": "allow allow allow allow allow",
    "auto": "allow allow ask allow allow",
    "balanced": "allow ask ask allow ask",
    "suggest": "allow ask ask allow ask",
    "strict": "allow ask ask allow ask",
}
LEVELS = ["None", "ReadOnly", "Write", "Execute", "Dangerous"]
BY_LEVEL = {
    "default": "allow allow ask ask ask",
    "acceptEdits": "allow allow allow ask ask",
    "bypassPermissions": "allow allow allow allow allow",
    "plan": "allow allow deny deny deny",
}
WORDS = {Allow: "allow", Ask: "ask", Deny: "deny"}


def cells(table, columns):
    return [
        (mode, column, cell) for mode, row in table.items() for column, cell in zip(columns, row.split(), strict=True)
    ]


@pytest.mark.parametrize(("mode", "kind", "expected"), cells(BY_KIND, KINDS))
def test_a_cosh_mode_decides_by_the_kind(mode, kind, expected):
    subject = Subject("x", "x", ToolKind(kind), PermissionLevel.DANGEROUS)
    assert WORDS[type(decide(subject, (), Rules(), PermissionMode(mode)))] == expected


@pytest.mark.parametrize(("mode", "level", "expected"), cells(BY_LEVEL, LEVELS))
def test_a_claude_mode_decides_by_the_level(mode, level, expected):
    subject = Subject("x", "x", ToolKind.SHELL_EXEC, PermissionLevel(level))
    assert WORDS[type(decide(subject, (), Rules(), PermissionMode(mode)))] == expected


@pytest.mark.parametrize("mode", PermissionMode)
def test_the_question_and_the_evidence_never_ask(mode):
    subject = Subject("ask_user_question", "AskUserQuestion", ToolKind.OTHER, PermissionLevel.NONE, always_allowed=True)
    assert isinstance(decide(subject, (), Rules(), mode), Allow)


@pytest.mark.parametrize("mode", PermissionMode)
def test_an_unknown_tool_is_denied_in_every_mode(mode):
    subject = Subject("nope", "nope", ToolKind.OTHER, PermissionLevel.NONE, known=False)
    decision = decide(subject, (), Rules(), mode)
    assert isinstance(decision, Deny)
    assert "nope" in decision.reason


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "balanced", "auto", "plan"])
def test_reading_outside_the_workspace_asks(mode):
    outside = Reads("../x", Path("/elsewhere/x"), inside=False, protected=False, exists=True)
    subject = Subject("Read", "Read", ToolKind.READ_ONLY, PermissionLevel.READ_ONLY)
    decision = decide(subject, (outside,), Rules(), PermissionMode(mode))
    assert isinstance(decision, Ask)
    assert "outside" in decision.reason
