"""What a person is asked, and what is left when it is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from cosh_nb.render import cards
from cosh_tools.contract import ToolCall
from cosh_tools.hosts import Allowed, ApprovalRequest, Choice, Grant, Question, RanElsewhere, Refused, Undecided
from cosh_tools.policy.decide import Ask
from cosh_tools.policy.rules import parse_rule
from cosh_tools.touches import Fetches, Needs, Opaque, Reads, Runs, RunsCode, Uses, Writes
from render.safe_html import PAYLOADS, words, wrong

HERE = Path("/home/ada/sales")


def request(name, given, *touches, verb="", why="The mode default asks.", **more):
    return ApprovalRequest(
        ToolCall("c1", name, given), verb or name.lower(), touches, Ask(why), working_dir=HERE, **more
    )


def runs(command, **more):
    return Runs(command, tuple(command.split()), **more)


def path(kind, name, **more):
    facts = {"inside": True, "protected": False, "exists": True} | more
    return kind(name, HERE / name, **facts)


PIP = request("Bash", {"command": "pip install -q x"}, runs("pip install -q x"), verb="run")
GRANTS = (
    Grant("Run `pip install` all session", (parse_rule("Bash(pip install:*)", HERE),), "session"),
    Grant("Always: Bash(pip install:*)", (parse_rule("Bash(pip install:*)", HERE),), "always"),
)


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        (PIP, "Run this command?"),
        (request("Python", {"code": "1/0"}, RunsCode("1/0")), "Run this Python?"),
        (request("Edit", {"file_path": "a.py"}, path(Writes, "a.py")), "Change a.py?"),
        (request("Write", {"file_path": "b.py"}, path(Writes, "b.py", exists=False)), "Create b.py?"),
        (request("Edit", {"file_path": "/home/ada/sales/a.py"}, path(Writes, "/home/ada/sales/a.py")), "Change a.py?"),
        (request("WebFetch", {"url": "https://x.org/a"}, Fetches("https://x.org/a", "x.org")), "Fetch from x.org?"),
        (request("Read", {"file_path": "~/.ssh/id"}, path(Reads, "~/.ssh/id", inside=False)), "Read ~/.ssh/id?"),
        (request("NotebookEdit", {"cell_id": "cell-3"}, path(Writes, "n.ipynb")), "Change cell-3?"),
        (request("NotebookEdit", {"edit_mode": "insert"}, path(Writes, "n.ipynb")), "Insert a new cell?"),
        (
            request("NotebookEdit", {"cell_id": "abc", "edit_mode": "delete"}, path(Writes, "n.ipynb")),
            "Delete cell abc?",
        ),
        (request("NotebookRun", {"cells": ["cell-1", "cell-2"]}, RunsCode("")), "Run 2 cells?"),
        (request("ExitPlanMode", {"plan": "# Do"}, Needs("x")), "Start on this plan?"),
        (
            request("mcp__github__create_issue", {"title": "x"}, Uses("mcp", "github: create_issue")),
            "Use github: create_issue?",
        ),
        (request("Config", {"setting": "model"}, Needs("It changes settings."), verb="configure"), "Configure model?"),
        (request("EnterWorktree", {}, Needs("x"), verb="enter worktree"), "Enter worktree?"),
        (request("Task", {"description": "Find callers"}, Uses("Task", "explore")), "Start an agent: Find callers?"),
        (request("NotebookEdit", {"edits": [{}, {}]}, path(Writes, "n.ipynb")), "Make 2 changes to cells?"),
        (request("NotebookEdit", {"cell_id": "a", "edit_mode": "move"}, path(Writes, "n.ipynb")), "Move cell a?"),
    ],
)
def test_the_title_is_a_question_with_the_verb(asked, title):
    assert cards.question(asked) == title


def test_the_card_shows_the_whole_command_and_why_it_asks():
    command = "echo one\nrm two  # three " + "x" * 3_000
    card = cards.head(
        request("Bash", {"command": command}, Opaque(command, "It cannot be read."), why="It cannot be read.")
    )

    assert command in words(card.html)
    assert command.splitlines()[1] in card.text
    assert "It cannot be read." in words(card.html)
    assert "Runs in /home/ada/sales." in words(card.html)


def test_the_card_names_what_else_the_command_touches():
    out = Writes("../out.csv", Path("/home/ada/out.csv"), inside=False, protected=False, exists=False)
    touches = (runs("sort a.csv"), path(Reads, "a.csv"), out)
    card = cards.head(request("Bash", {"command": "sort a.csv > ../out.csv"}, *touches))

    assert "reads a.csv" in words(card.html)
    assert "writes ../out.csv (/home/ada/out.csv)" in words(card.html)


def test_an_edit_shows_its_change_and_nothing_of_its_arguments():
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    card = cards.head(request("Edit", {"file_path": "a.py", "old_string": "x = 1"}, path(Writes, "a.py"), diff=diff))

    assert 'class="diff"' in card.html
    assert "old_string" not in card.html
    assert "1 + x = 2" in card.text


def test_arguments_of_an_unknown_tool_are_names_and_values_never_json():
    given = {"title": "A bug", "labels": ["a", "b"], "draft": False, "count": 3, "nested": {"k": "v"}}
    card = cards.head(request("mcp__github__create_issue", given, Uses("mcp", "github")))

    assert "title: A bug" in card.text
    assert "{" not in card.text
    assert "[" not in card.text
    assert "&quot;" not in card.html


def test_the_words_of_the_agent_are_marked_as_its_own():
    card = cards.head(request("Bash", {"command": "x", "description": "Safe, press Run"}, runs("x")))

    assert "The agent says: “Safe, press Run”" in card.text


def test_buttons_stand_least_grant_first():
    asked = request("Bash", {"command": "pip install -q x"}, runs("pip install -q x"), grants=GRANTS)

    assert cards.buttons(asked) == [
        ("once", "Run once", True),
        ("grant:0", "Run pip install all session", False),
        ("grant:1", "Always: Bash(pip install:*)", False),
        ("edit", "Edit", False),
        ("no", "Don’t run", False),
    ]


def test_a_destructive_call_offers_no_first_and_nothing_lasting():
    asked = request("Bash", {"command": "rm -r x"}, runs("rm -r x", destructive=True), grants=GRANTS, destructive=True)

    assert [button.key for button in cards.buttons(asked)] == ["no", "once"]
    assert not any(button.primary for button in cards.buttons(asked))


@pytest.mark.parametrize(
    ("asked", "yes", "no"),
    [
        (request("Edit", {}, path(Writes, "a.py")), "Change", "Don’t change"),
        (request("Write", {}, path(Writes, "a.py", exists=False)), "Create", "Don’t create"),
        (request("WebFetch", {}, Fetches("https://x.org", "x.org")), "Fetch once", "Don’t fetch"),
        (request("Python", {"code": ""}, RunsCode("")), "Run once", "Don’t run"),
        (request("NotebookEdit", {"edit_mode": "insert"}, path(Writes, "n.ipynb")), "Insert", "Don’t insert"),
        (request("mcp__x__y", {}, Needs("x"), verb="mcp__x__y"), "Use once", "Don’t use"),
        (request("Config", {}, Needs("x"), verb="configure"), "Configure once", "Don’t configure"),
    ],
)
def test_buttons_say_the_verb(asked, yes, no):
    labels = [button.label for button in cards.buttons(asked)]

    assert (labels[0], labels[-1]) == (yes, no)


def test_only_what_is_text_can_be_edited_on_the_card():
    assert cards.editable_text(PIP) == ("command", "pip install -q x")
    assert cards.editable_text(request("Edit", {}, path(Writes, "a.py"))) is None


@pytest.mark.parametrize(
    ("answer", "row"),
    [
        (Allowed(), "✓ Run pip install -q x · you allowed it once, 13:42"),
        (Allowed(GRANTS[0]), "✓ Run pip install -q x · you allowed it for the session, 13:42"),
        (Allowed(GRANTS[1]), "✓ Run pip install -q x · you allowed it always, 13:42"),
        (Allowed(input={"command": "ls"}), "✓ Run pip install -q x · you changed and allowed it, 13:42"),
        (Refused("use altair"), "⊘ Not run pip install -q x · you: “use altair”, 13:42"),
        (Refused(), "⊘ Not run pip install -q x · you said no, 13:42"),
        (Refused(stop=True), "⊘ Not run pip install -q x · you stopped the turn, 13:42"),
        (Refused("…", by="nobody to ask"), "⊘ Not run pip install -q x · nobody to ask, 13:42"),
        (Undecided(), "⊘ Not run pip install -q x · nobody decided, 13:42"),
    ],
)
def test_every_end_leaves_one_row_that_says_who_decided(answer, row):
    assert cards.answered(PIP, answer, "13:42").text == row


def test_a_command_that_the_client_ran_says_so():
    from cosh_tools.results import ToolResult

    assert (
        cards.answered(PIP, RanElsewhere(ToolResult.success(""))).text == "✓ Ran pip install -q x · run by the client"
    )


def test_questions_show_their_choices_and_their_answers():
    asked = [Question("Which library?", "Plot", (Choice("altair", "declarative"), Choice("matplotlib")))]

    assert cards.ask_card(asked).text == "Which library?\n  1. altair: declarative\n  2. matplotlib"
    assert cards.ask_answered(asked, [["altair"]]).text == "✓ Asked Which library? · altair"
    assert cards.ask_answered(asked, None).text == "⊘ Asked Which library? · no answer"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_that_acts_survives_on_a_card(payload):
    asked = [
        request("Bash", {"command": payload, "description": payload}, runs(payload), why=payload, agent=payload),
        request("Python", {"code": payload}, RunsCode(payload, payload), why=payload),
        request("Edit", {"file_path": payload}, path(Writes, "a"), why=payload, diff=f"@@ -1 +1 @@\n-{payload}\n+x\n"),
        request("mcp__x__y", {payload: [payload], "k": {payload: payload}}, Uses("mcp", payload), why=payload),
        request("ExitPlanMode", {"plan": payload}, Needs(payload), why=payload),
    ]
    for one in asked:
        assert wrong(cards.card(one, payload).html) == []
        assert wrong(cards.answered(one, Refused(payload), "13:42").html) == []
    assert wrong(cards.ask_card([Question(payload, payload, (Choice(payload, payload),))]).html) == []


def test_a_command_cannot_hide_its_direction():
    card = cards.head(request("Bash", {"command": "rm \u202ecod.exe\u200b"}, runs("x")))

    assert "⟨U+202E⟩" in words(card.html)
    assert "⟨U+200B⟩" in words(card.html)


def test_a_command_of_five_megabytes_is_bounded_and_says_so():
    card = cards.head(request("Bash", {"command": "x" * 5_000_000}, runs("x")))

    assert len(card.html) < 200_000
    assert "not shown" in card.text
