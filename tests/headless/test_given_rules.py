from pathlib import Path

from cosh_nb.headless.lend import ClientApprover
from cosh_nb.headless.protocol import Answer
from cosh_tools.contract import ToolCall
from cosh_tools.hosts import ApprovalRequest, Grant
from cosh_tools.policy.decide import Ask
from cosh_tools.policy.rules import parse_rule

HERE = Path("/work space")


def rules(name, destination):
    return {"type": "addRules", "behavior": "allow", "destination": destination, "rules": [{"toolName": name}]}


def given(scope, *updates):
    offered = tuple(Grant("make", (parse_rule("Bash(make:*)", HERE),), scope) for scope in ("session", "always"))
    request = ApprovalRequest(ToolCall("c", "Bash", {"command": "make"}), "run", (), Ask("?"), offered)
    approver = ClientApprover(dialect=None, questions=None, limit=1, root=HERE)
    answer = Answer.model_validate({"behavior": "allow", "scope": scope, "updatedPermissions": list(updates)})
    return approver._allowed(request, answer).grant


def test_what_was_given_for_a_session_does_not_last_because_something_else_does():
    both = given("once", rules("Bash", "session"), rules("Read", "userSettings"))
    button = given("session", rules("Read", "userSettings"))

    assert ([rule.text for rule in both.rules], both.scope) == (["Bash", "Read"], "session")
    assert ([rule.text for rule in button.rules], button.scope) == (["Bash(make:*)", "Read"], "session")
    assert given("once", rules("Read", "userSettings")).scope == "always"
