"""Nine tools under five modes, with and without an allow list: the seed's table, through the real gate."""

from __future__ import annotations

import pytest

from support.headless_client import Headless
from support.modelserver import call

CALLS = {
    "read_file": {"path": "a.txt"},
    "grep": {"pattern": "one"},
    "edit": {"path": "a.txt", "old_string": "one", "new_string": "two"},
    "write_file": {"path": "b.txt", "content": "x"},
    "shell": {"command": "true"},
    "skill": {"action": "list"},
    "todo": {"action": "add", "text": "x"},
    "ask_user_question": {"question": "Which?"},
    "cosh_shell_evidence": {"action": "list_commands"},
}
READ, EDIT, SHELL, OTHER = {"read_file", "grep"}, {"edit", "write_file"}, {"shell"}, {"skill", "todo"}
ASKS = {
    "trust": set(),
    "auto": SHELL,
    "balanced": EDIT | SHELL | OTHER,
    "suggest": EDIT | SHELL | OTHER,
    "strict": EDIT | SHELL | OTHER,
}


def play(tmp_path, model_server, *flags: str) -> tuple[set[str], dict[str, dict]]:
    """Let the model call all nine at once; which ones asked, and the result of each."""
    model_server.script([call(name, given, id=name) for name, given in CALLS.items()], "Done.")
    asked = set()
    with Headless(tmp_path, model_server.env(), "--enable-shell-evidence-tool", *flags) as cosh:
        (cosh.workspace / "a.txt").write_text("one\n")
        cosh.user("do it all")
        while True:
            line = cosh.until(lambda line: line["type"] in ("control_request", "result"))
            if line["type"] == "result":
                break
            match line["request"]:
                case {"subtype": "can_use_tool", "tool_name": name}:
                    asked.add(name)
                    cosh.answer(line, {"behavior": "deny", "message": "no"})
                case {"subtype": "ask_user"}:
                    cosh.answer(line, {"answer": "this one"})
                case {"subtype": "shell_evidence"}:
                    body = {"llmContent": "ls", "metadata": {"excerpt_status": "available"}}
                    cosh.answer(line, {"behavior": "shell_evidence", "result": body})
        assert line["is_error"] is False, cosh.story()
        results = [block for said in cosh.of("user") for block in said["message"]["content"]]
    assert [block["tool_use_id"] for block in results] == list(CALLS)
    return asked, {block["tool_use_id"]: block for block in results}


@pytest.mark.parametrize("mode", ASKS)
def test_which_tools_ask(tmp_path, model_server, mode):
    asked, results = play(tmp_path, model_server, "--approval-mode", mode)

    assert asked == ASKS[mode]
    for name, block in results.items():
        assert block["is_error"] is (name in asked), (name, block)


@pytest.mark.parametrize("mode", ASKS)
def test_a_tool_on_the_allow_list_asks_under_no_mode(tmp_path, model_server, mode):
    asked, results = play(tmp_path, model_server, "--approval-mode", mode, "--allowed-tools", "shell,edit")

    assert asked == ASKS[mode] - {"shell", "edit"}
    assert results["shell"]["is_error"] is False
    assert results["edit"]["is_error"] is False


def test_an_allow_list_of_all_asks_nothing_under_the_strictest_mode(tmp_path, model_server):
    asked, results = play(tmp_path, model_server, "--mode", "strict", "--allowed-tools", ",".join(CALLS))

    assert asked == set()
    assert not [name for name, block in results.items() if block["is_error"]]


def test_a_deny_list_holds_even_in_trust(tmp_path, model_server):
    asked, results = play(tmp_path, model_server, "--mode", "trust", "--disallowed-tools", "shell,edit")

    assert asked == set()
    # A rule that denies Edit denies every tool that edits.
    assert {name for name, block in results.items() if block["is_error"]} == {"shell", "edit", "write_file"}
