"""The order of the decision: deny beats ask beats allow, and what is not understood asks."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosh_tools.kinds import PermissionLevel, PermissionMode, ToolKind
from cosh_tools.policy.decide import Allow, Ask, Deny, Subject, decide
from cosh_tools.policy.grants import offers
from cosh_tools.policy.rules import BadRule, Rules, parse_rule, split_rules
from cosh_tools.touches import Fetches, Needs, Opaque, Reads, Runs, RunsCode, Writes

WORK = Path("/work space")
BASH = Subject("Bash", "Bash", ToolKind.SHELL_EXEC, PermissionLevel.EXECUTE)
EDIT = Subject("Edit", "Edit", ToolKind.FILE_EDIT, PermissionLevel.WRITE)
READ = Subject("Read", "Read", ToolKind.READ_ONLY, PermissionLevel.READ_ONLY)
PYTHON = Subject("Python", "Python", ToolKind.SHELL_EXEC, PermissionLevel.EXECUTE)


def rules(deny=(), ask=(), allow=()):
    return Rules(*(tuple(parse_rule(text, WORK) for text in texts) for texts in (deny, ask, allow)))


def runs(text):
    return Runs(text, tuple(text.split()))


def writes(name, **more):
    return Writes(name, WORK / name, **{"inside": True, "protected": False, "exists": True, **more})


def reads(name, **more):
    return Reads(name, WORK / name, **{"inside": True, "protected": False, "exists": True, **more})


def test_a_deny_rule_holds_even_in_trust():
    decision = decide(BASH, [runs("rm -rf build")], rules(deny=["Bash(rm:*)"]), PermissionMode.TRUST)
    assert decision == Deny("The rule Bash(rm:*) denies it.")


def test_an_ask_rule_asks_even_under_bypass():
    decision = decide(BASH, [runs("git push")], rules(ask=["Bash(git push:*)"]), PermissionMode.BYPASS)
    assert isinstance(decision, Ask)


def test_every_part_of_a_compound_must_be_covered():
    allowed = rules(allow=["Bash(git status:*)"])
    assert isinstance(decide(BASH, [runs("git status")], allowed, PermissionMode.DEFAULT), Allow)
    compound = [runs("git status"), runs("rm x")]
    assert isinstance(decide(BASH, compound, allowed, PermissionMode.DEFAULT), Ask)


def test_a_prefix_ends_at_a_word():
    allowed = rules(allow=["Bash(git:*)"])
    assert isinstance(decide(BASH, [runs("gitk")], allowed, PermissionMode.DEFAULT), Ask)


def test_an_allowed_command_does_not_cover_the_file_it_writes():
    touches = [runs("echo hi"), writes("out.txt")]
    assert isinstance(decide(BASH, touches, rules(allow=["Bash(echo:*)"]), PermissionMode.DEFAULT), Ask)
    both = rules(allow=["Bash(echo:*)", "Edit(/out.txt)"])
    assert isinstance(decide(BASH, touches, both, PermissionMode.DEFAULT), Allow)


def test_an_allowed_command_does_not_cover_a_key_that_it_reads():
    touches = [runs("cat .env"), reads(".env", protected=True)]
    decision = decide(BASH, touches, rules(allow=["Bash(cat:*)"]), PermissionMode.DEFAULT)
    assert isinstance(decision, Ask)
    assert not decision.lasting


def test_a_read_deny_reaches_the_shell():
    touches = [runs("cat secrets/a"), reads("secrets/a")]
    decision = decide(BASH, touches, rules(deny=["Read(./secrets/**)"], allow=["Bash"]), PermissionMode.TRUST)
    assert isinstance(decision, Deny)


def test_a_tool_wide_allow_covers_what_cannot_be_understood():
    touches = [Opaque("eval $x", "cannot be read in advance")]
    assert isinstance(decide(BASH, touches, rules(allow=["shell"]), PermissionMode.STRICT), Allow)
    assert isinstance(decide(BASH, touches, rules(allow=["Bash(eval:*)"]), PermissionMode.STRICT), Ask)


def test_a_protected_place_asks_where_edits_are_accepted():
    touch = writes(".git/config", protected=True)
    assert isinstance(decide(EDIT, [touch], Rules(), PermissionMode.ACCEPT_EDITS), Ask)
    assert isinstance(decide(EDIT, [writes("a.py")], Rules(), PermissionMode.ACCEPT_EDITS), Allow)


def test_a_tool_that_states_a_need_asks_in_a_mode_that_would_allow_it():
    config = Subject("Config", "Config", ToolKind.OTHER, PermissionLevel.NONE)
    assert isinstance(decide(config, [Needs("It changes your settings.")], Rules(), PermissionMode.DEFAULT), Ask)


def test_a_tool_without_level_is_judged_by_what_it_runs():
    enter = Subject("EnterWorktree", "EnterWorktree", ToolKind.OTHER, PermissionLevel.NONE)
    assert isinstance(decide(enter, [runs("make setup")], Rules(), PermissionMode.DEFAULT), Ask)
    assert isinstance(decide(enter, [runs("make setup")], Rules(), PermissionMode.PLAN), Deny)


def test_a_fetch_asks_per_host():
    fetch = Subject("WebFetch", "WebFetch", ToolKind.READ_ONLY, PermissionLevel.READ_ONLY)
    touch = Fetches("https://docs.x.org/a", "docs.x.org")
    assert isinstance(decide(fetch, [touch], Rules(), PermissionMode.DEFAULT), Ask)
    assert isinstance(
        decide(fetch, [touch], rules(allow=["WebFetch(domain:docs.x.org)"]), PermissionMode.DEFAULT), Allow
    )
    assert isinstance(decide(fetch, [touch], rules(allow=["WebFetch(domain:x.org)"]), PermissionMode.DEFAULT), Ask)


@pytest.mark.parametrize(
    ("rule", "path", "covered"),
    [
        ("Edit(/src/**)", "src/a/b.py", True),
        ("Edit(/src/**)", "srcx/a.py", False),
        ("Edit(./src/*.py)", "src/a.py", True),
        ("Edit(./src/*.py)", "src/deep/a.py", False),
        ("Edit(*.py)", "deep/a.py", True),
        ("Edit(src)", "src/a.py", True),
        ("Edit(/a[[]1].py)", "a[1].py", True),
        ("Edit(//etc/**)", "src/a.py", False),
        ("Edit(a?.py)", "ab.py", True),
    ],
)
def test_paths_follow_the_ignore_grammar(rule, path, covered):
    assert parse_rule(rule, WORK).matches(writes(path)) is covered


@pytest.mark.parametrize("text", ["", "Bash(", "Bash()", "Bash(x", "Bash(  )", "a b(c)"])
def test_a_broken_rule_is_an_error_that_shows_the_form(text):
    with pytest.raises(BadRule, match="Tool\\(what\\)"):
        parse_rule(text, WORK)


def test_a_comma_inside_parentheses_does_not_split():
    assert split_rules("Bash(echo a,b), Read ,,edit") == ["Bash(echo a,b)", "Read", "edit"]


def test_aliases_are_accepted_in_rules():
    assert parse_rule("shell(git:*)", WORK).tool == "Bash"
    assert isinstance(decide(READ, [reads("a")], rules(deny=["read_file"]), PermissionMode.TRUST), Deny)


def test_a_server_rule_covers_its_tools_and_no_other_servers():
    tool = Subject("mcp__git__log", "mcp__git__log", ToolKind.SHELL_EXEC, PermissionLevel.EXECUTE)
    assert isinstance(decide(tool, [], rules(allow=["mcp__git"]), PermissionMode.DEFAULT), Allow)
    assert isinstance(decide(tool, [], rules(allow=["mcp__git__*"]), PermissionMode.DEFAULT), Allow)
    assert isinstance(decide(tool, [], rules(allow=["mcp__gi"]), PermissionMode.DEFAULT), Ask)


def test_an_offered_grant_covers_the_call_it_was_offered_for():
    for subject, touches in [
        (BASH, [runs("git status -s")]),
        (BASH, [runs("ls -la")]),
        (EDIT, [writes("weird [name]*.py")]),
        (PYTHON, [RunsCode("1")]),
    ]:
        decision = decide(subject, touches, Rules(), PermissionMode.DEFAULT)
        assert isinstance(decision, Ask)
        for grant in offers(subject, touches, decision, PermissionMode.DEFAULT, WORK):
            after = decide(subject, touches, Rules(allow=grant.rules), PermissionMode.DEFAULT)
            assert isinstance(after, Allow), grant.label


def test_a_file_grant_covers_that_file_alone():
    grant = offers(EDIT, [writes("a*.py")], Ask("?"), PermissionMode.DEFAULT, WORK)[0]
    assert isinstance(decide(EDIT, [writes("ab.py")], Rules(allow=grant.rules), PermissionMode.DEFAULT), Ask)


@pytest.mark.parametrize(
    "touch",
    [
        Opaque("x", "why"),
        Needs("why"),
        Runs("rm -rf x", ("rm", "-rf", "x"), destructive=True),
        writes("a", deletes=True),
    ],
)
def test_what_is_dangerous_or_unclear_gets_no_lasting_grant(touch):
    reason = decide(BASH, [touch], Rules(), PermissionMode.DEFAULT)
    assert isinstance(reason, Ask)
    assert offers(BASH, [touch], reason, PermissionMode.DEFAULT, WORK) == ()


def test_modes_differ_in_the_grants_they_offer():
    touches = [runs("ls")]
    reason = decide(BASH, touches, Rules(), PermissionMode.BALANCED)
    offered = {
        mode: [grant.scope for grant in offers(BASH, touches, reason, mode, WORK)]
        for mode in (PermissionMode.BALANCED, PermissionMode.SUGGEST, PermissionMode.STRICT)
    }
    assert list(offered.values()) == [["session", "always"], ["session"], []]


SOME_RULES = st.lists(
    st.sampled_from(
        ["Bash", "Bash(ls:*)", "Bash(rm:*)", "Edit", "Edit(/src/**)", "Read(*.key)", "Python", "mcp__x", "*"]
    ),
    max_size=4,
)
SOME_TOUCHES = st.lists(
    st.sampled_from(
        [
            runs("ls"),
            runs("rm -rf x"),
            writes("src/a.py"),
            reads("a.key", protected=True),
            Opaque("$(x)", "unknown"),
            RunsCode("1"),
            Needs("n"),
            Fetches("http://x/", "x"),
        ]
    ),
    max_size=4,
)
STRENGTH = {Allow: 0, Ask: 1, Deny: 2}


@given(SOME_RULES, SOME_RULES, SOME_RULES, SOME_RULES, SOME_TOUCHES, st.sampled_from(list(PermissionMode)))
def test_a_deny_never_gets_weaker_by_more_rules(deny, ask, allow, more, touches, mode):
    before = decide(BASH, touches, rules(deny, ask, allow), mode)
    if isinstance(before, Deny):
        for extra in (
            rules([*deny, *more], ask, allow),
            rules(deny, [*ask, *more], allow),
            rules(deny, ask, [*allow, *more]),
        ):
            assert isinstance(decide(BASH, touches, extra, mode), Deny)


@given(SOME_RULES, SOME_RULES, SOME_RULES, SOME_TOUCHES, SOME_TOUCHES, st.sampled_from(list(PermissionMode)))
def test_a_deny_never_gets_weaker_by_more_commands(deny, ask, allow, touches, more, mode):
    if isinstance(decide(BASH, touches, rules(deny, ask, allow), mode), Deny):
        assert isinstance(decide(BASH, [*touches, *more], rules(deny, ask, allow), mode), Deny)


@given(SOME_RULES, SOME_RULES, SOME_TOUCHES, st.sampled_from(list(PermissionMode)))
def test_an_ask_rule_never_weakens_a_decision(ask, allow, touches, mode):
    before = decide(BASH, touches, rules((), (), allow), mode)
    after = decide(BASH, touches, rules((), ask, allow), mode)
    assert STRENGTH[type(after)] >= STRENGTH[type(before)]
