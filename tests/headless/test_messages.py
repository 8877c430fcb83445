"""What a client may send, and what a wrong line is told."""

from __future__ import annotations

import json

import pytest

from cosh_nb.headless import protocol as p
from cosh_nb.headless.protocol import BadLine, parse
from cosh_tools.kinds import PermissionMode


def test_the_seeds_approval_is_read_as_it_stands():
    line = (
        b'{"type":"control_response","response":{"subtype":"tool_approval","request_id":"apr-1",'
        b'"response":{"behavior":"allow"}}}'
    )

    match parse(line):
        case p.ControlResponseLine(response=envelope):
            assert (envelope.request_id, envelope.response.behavior) == ("apr-1", "allow")
        case other:
            pytest.fail(f"read as {other}")


def test_both_dialects_spell_a_changed_input_their_own_way():
    for name in ("updatedInput", "updated_input"):
        body = {"subtype": "success", "request_id": "apr-1", "response": {"behavior": "allow", name: {"command": "ls"}}}
        message = parse(json.dumps({"type": "control_response", "response": body}).encode())
        assert message.response.response.updated_input == {"command": "ls"}


@pytest.mark.parametrize("name", [*PermissionMode, "accept-edits", "BYPASS_PERMISSIONS", "dontAsk"])
def test_a_mode_may_be_given_under_any_of_its_names(name):
    message = parse(
        json.dumps(
            {
                "type": "control_request",
                "request_id": "1",
                "request": {"subtype": "config_override", "approval_mode": name},
            }
        ).encode()
    )

    assert isinstance(message, p.ControlRequestLine)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"hello", "not valid JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'{"a": 1}', "type is missing"),
        (b'{"type": "nonsense"}', "type is 'nonsense'"),
        (b'{"type": "user"}', "message is missing"),
        (b'{"type": "user", "message": {"content": 5}}', "message.content"),
        (b'{"type": "user", "message": {"role": "assistant", "content": "x"}}', "message.role"),
        (b'{"type": "control_request", "request": {"subtype": "nonsense"}}', "request.subtype is 'nonsense'"),
        (b'{"type": "control_request", "request": {}}', "request.subtype is missing"),
        (
            b'{"type": "control_request", "request": {"subtype": "config_override", "approval_mode": "loose"}}',
            "There is no mode 'loose'",
        ),
        (b'{"type": "control_response", "response": {"request_id": 7}}', "request_id"),
        (b'{"type": "user", "message": {"content": "\xff\xfe"}}', "not valid JSON"),
        (b'{"type": "user", "message": {"content": "a\x00b"}}', "not valid JSON"),
        (b"\x00\x00\x00", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'{"a":' * 100_000, "not valid JSON"),
    ],
)
def test_a_wrong_line_is_explained_in_a_sentence(line, says):
    found = parse(line)

    assert isinstance(found, BadLine)
    assert says in found.why
    assert found.why.endswith(".")
    assert len(found.why) < 600


def test_a_wrong_value_is_never_echoed():
    found = parse(b'{"type": "user", "message": {"content": {"token": "s3cret"}}}')

    assert isinstance(found, BadLine)
    assert "s3cret" not in found.why


def test_half_an_emoji_costs_one_character_not_the_message():
    message = parse(b'{"type": "user", "message": {"content": "all \\ud83d good"}}')

    assert message.message.content == "all ? good"


def test_fields_of_later_versions_are_ignored():
    message = parse(b'{"type": "user", "new": 1, "message": {"content": "x", "newer": {}}, "priority": "now"}')

    assert message.message.content == "x"


def test_a_request_that_cannot_be_read_can_still_be_refused_by_its_id():
    found = parse(b'{"type": "control_request", "request_id": "r-9", "request": {"subtype": "fly"}}')

    assert isinstance(found, BadLine)
    assert found.request_id == "r-9"
