"""The seed's transcript, and everything that a client may answer."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from cosh_nb.headless.outgoing import Outgoing
from support.headless_client import Headless
from support.modelserver import call, text


def shell(command: str, **more):
    return call("shell", {"command": command, **more}, chunk=1000)


def told(model_server) -> list[dict]:
    """The results that the model got with the latest request."""
    return [block for block in model_server.requests[-1]["messages"][-1]["content"] if block["type"] == "tool_result"]


@pytest.mark.parametrize(
    ("subtype", "response"),
    [
        ("tool_approval", {"behavior": "allow"}),
        ("success", {"behavior": "allow", "updatedInput": {"command": "df -h"}, "toolUseID": "tu-1"}),
    ],
    ids=["the seed's answer", "the newer one"],
)
def test_the_seeds_transcript_line_by_line(tmp_path, model_server, subtype, response):
    model_server.script([call("shell", {"command": "df -h"}, id="tu-1", chunk=1000)], "The disk is fine.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("how full is the disk?")
        asked = cosh.request("can_use_tool")
        assert cosh.of("stream_event") == [
            {
                "type": "stream_event",
                "event": {"subtype": "tool_use_begin", "tool_name": "shell", "tool_use_id": "tu-1"},
            },
            {"type": "stream_event", "event": {"subtype": "tool_use_delta", "content": '{"command": "df -h"}'}},
            {"type": "stream_event", "event": {"subtype": "tool_use_end"}},
        ]
        assert asked["request_id"] == "apr-1"
        assert asked["request"]["tool_name"] == "shell"
        assert asked["request"]["tool_input"] == asked["request"]["input"] == {"command": "df -h"}
        assert asked["request"]["tool_use_id"] == "tu-1"
        cosh.answer(asked, response, subtype)
        result = cosh.result()
        cosh.close_input()
        lines = cosh.rest()

    assert result["subtype"] == "success"
    assert result["result"] == "The disk is fine."
    assert result["usage"]["output_tokens"] > 0
    assert result["total_cost_usd"] is not None
    assert result["duration_ms"] > 0
    [answered] = [line for line in lines if line["type"] == "user"]
    [block] = answered["message"]["content"]
    assert (block["type"], block["tool_use_id"], block["is_error"]) == ("tool_result", "tu-1", False)
    assert block["content"].startswith("Filesystem")
    assert told(model_server)[0]["content"] == block["content"]
    assert cosh.code == 0
    for line in lines:
        TypeAdapter(Outgoing).validate_python(line)


def test_the_handshake_says_what_each_side_can_do(tmp_path, model_server):
    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.control("initialize", "i1", protocol_version=1, capabilities={"can_handle_can_use_tool": True})
        cosh.control("shutdown")
        ack, init = cosh.rest()

    assert ack["response"]["request_id"] == "i1"
    assert ack["response"]["response"]["protocol_version"] == 1
    assert ack["response"]["response"]["capabilities"]["can_handle_can_use_tool"] is True
    assert (init["type"], init["subtype"]) == ("system", "init")
    assert init["tools"] == [
        "ask_user_question",
        "edit",
        "grep",
        "read_file",
        "shell",
        "skill",
        "todo",
        "write_file",
    ]
    assert init["approval_mode"] == "balanced"
    assert cosh.code == 0


def test_another_protocol_version_is_refused(tmp_path, model_server):
    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.control("initialize", "i1", protocol_version=7)
        [refused] = cosh.rest()

    assert refused["response"]["subtype"] == "error"
    assert refused["response"]["request_id"] == "i1"
    assert cosh.code == 65


@pytest.mark.parametrize(
    ("response", "says"),
    [
        ({"behavior": "deny", "message": "not now"}, "Tool call denied: not now"),
        ({"behavior": "deny"}, "Tool call denied: no reason given"),
        ({"behavior": "ask"}, "the client does not decide and no person is here"),
        ({"behavior": "allow_forever"}, "unknown response 'allow_forever'"),
        ({}, "unknown response None"),
    ],
)
def test_a_no_is_told_to_the_model_and_the_turn_goes_on(tmp_path, model_server, response, says):
    model_server.script([shell("touch made")], "I go on without it.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("make it")
        cosh.answer(cosh.request("can_use_tool"), response)
        result = cosh.result()

    assert says in told(model_server)[0]["content"]
    assert told(model_server)[0]["is_error"] is True
    assert result["is_error"] is False
    assert not (cosh.workspace / "made").exists()


def test_a_no_that_also_interrupts_ends_the_turn(tmp_path, model_server):
    model_server.script([shell("touch made"), shell("touch second")])

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("make them")
        cosh.answer(cosh.request("can_use_tool"), {"behavior": "deny", "message": "stop", "interrupt": True})
        result = cosh.result()

    assert result["error_code"] == "stopped"
    assert len(cosh.of("user")) == 2
    assert not list(cosh.workspace.iterdir())


def test_the_client_may_correct_the_command(tmp_path, model_server):
    model_server.script([shell("touch wrong")], "Done.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("make it")
        asked = cosh.request("can_use_tool")
        cosh.answer(asked, {"behavior": "allow", "updatedInput": {"command": "touch right"}})
        cosh.result()

    assert [path.name for path in cosh.workspace.iterdir()] == ["right"]


def test_a_grant_for_the_session_is_not_asked_for_again(tmp_path, model_server):
    model_server.script([shell("touch one")], [shell("touch one")], "Done.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("make it twice")
        asked = cosh.request("can_use_tool")
        assert {offer["scope"] for offer in asked["request"]["grants"]} == {"session", "always"}
        cosh.answer(asked, {"behavior": "allow", "scope": "session"})
        cosh.result()

    assert len(cosh.of("control_request")) == 1
    assert not any(result.get("is_error") for result in told(model_server))


def test_strict_grants_nothing_for_longer_than_once(tmp_path, model_server):
    model_server.script([shell("touch one")], [shell("touch one")], "Done.")
    update = {"type": "addRules", "behavior": "allow", "destination": "session", "rules": [{"toolName": "Bash"}]}

    with Headless(tmp_path, model_server.env(), "--approval-mode", "strict") as cosh:
        cosh.user("make it twice")
        for answer in ({"scope": "always"}, {"updatedPermissions": [update]}):
            asked = cosh.request("can_use_tool")
            assert "grants" not in asked["request"]
            cosh.answer(asked, {"behavior": "allow", **answer})
        cosh.result()

    assert len(cosh.of("control_request")) == 2


def test_suggest_shows_an_edit_as_a_diff_first(tmp_path, model_server):
    model_server.script([call("edit", {"path": "a.txt", "old_string": "one", "new_string": "two"})], "Done.")

    with Headless(tmp_path, model_server.env(), "--approval-mode", "suggest") as cosh:
        (cosh.workspace / "a.txt").write_text("one\n")
        cosh.user("change it")
        asked = cosh.request("can_use_tool")
        cosh.answer(asked, {"behavior": "allow"})
        cosh.result()

    assert "-one" in asked["request"]["diff"]
    assert "+two" in asked["request"]["diff"]
    assert (cosh.workspace / "a.txt").read_text() == "two\n"


def ran(text: str, code: int = 0) -> dict:
    about = {"command": "touch made", "status": "completed", "exit_code": code}
    return {"behavior": "host_executed_shell", "result": {"llmContent": text, "returnDisplay": None, "metadata": about}}


@pytest.mark.parametrize("code", [0, 3])
def test_a_command_that_the_client_ran_itself_is_not_run_again(tmp_path, model_server, code):
    model_server.script([shell("touch made")], "Done.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("make it")
        cosh.answer(cosh.request("can_use_tool"), ran("ran over there", code))
        cosh.result()

    assert told(model_server)[0]["content"] == "ran over there"
    assert told(model_server)[0].get("is_error", False) is (code != 0)
    assert len(cosh.of("user")) == 1
    assert not (cosh.workspace / "made").exists()


def test_only_a_shell_command_can_be_run_by_the_client(tmp_path, model_server):
    model_server.script([call("write_file", {"path": "made", "content": "x"})], [shell("touch made")], "Done.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("make it")
        cosh.answer(cosh.request("can_use_tool"), ran("ran over there"))
        cosh.answer(cosh.request("can_use_tool"), {"behavior": "host_executed_shell"})
        cosh.result()

    texts = [line["message"]["content"][0]["content"] for line in cosh.of("user")]
    assert "only valid for shell tools" in texts[0]
    assert "without a result" in texts[1]
    assert not (cosh.workspace / "made").exists()


def test_a_stale_or_foreign_answer_is_ignored_and_the_first_right_one_counts(tmp_path, model_server):
    model_server.script([shell("touch made")], "Done.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("make it")
        asked = cosh.request("can_use_tool")
        cosh.answer({"request_id": "apr-99"}, {"behavior": "deny"})
        cosh.answer({"request_id": "apr-0"}, {"behavior": "deny"})
        cosh.answer(asked, {"behavior": "allow"})
        cosh.answer(asked, {"behavior": "deny", "message": "too late"})
        result = cosh.result()

    assert result["is_error"] is False
    assert (cosh.workspace / "made").exists()


def test_questions_come_one_at_a_time_in_call_order(tmp_path, model_server):
    model_server.script([shell("touch one"), shell("touch two"), shell("touch three")], "Done.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("make them")
        for name in ("one", "two", "three"):
            asked = cosh.request("can_use_tool")
            assert asked["request"]["tool_input"] == {"command": f"touch {name}"}
            assert not (cosh.workspace / name).exists()
            cosh.answer(asked, {"behavior": "allow"})
        cosh.result()

    assert len(list(cosh.workspace.iterdir())) == 3


def test_the_models_question_reaches_the_person(tmp_path, model_server):
    question = {"question": "Which env?", "options": [{"label": "dev"}, {"label": "prod", "description": "careful"}]}
    model_server.script([call("ask_user_question", question)], [call("ask_user_question", question)], "Done.")

    with Headless(tmp_path, model_server.env(), "--approval-mode", "strict") as cosh:
        cosh.user("deploy")
        asked = cosh.request("ask_user")
        assert asked["request"] == {
            "subtype": "ask_user",
            "question": "Which env?",
            "options": [{"label": "dev"}, {"label": "prod", "description": "careful"}],
            "allow_free_text": True,
            "multi_select": False,
        }
        cosh.answer(asked, {"answer": "dev"})
        cosh.answer(cosh.request("ask_user"), {})
        cosh.result()

    first, second = (line["message"]["content"][0] for line in cosh.of("user"))
    assert first["content"] == "dev"
    assert "did not answer" in second["content"]


def test_evidence_is_read_in_the_clients_terminal(tmp_path, model_server):
    ref = "terminal-output://s1/c2"
    model_server.script(
        [call("cosh_shell_evidence", {"action": "list_commands"}, id="t1")],
        [call("cosh_shell_evidence", {"action": "read_output", "output_id": ref, "lines": 50}, id="t2")],
        "Done.",
    )

    with Headless(tmp_path, model_server.env(), "--enable-shell-evidence-tool", "--approval-mode", "strict") as cosh:
        cosh.user("why did it fail?")
        first = cosh.request("shell_evidence")
        assert first["request"] == {
            "subtype": "shell_evidence",
            "tool_use_id": "t1",
            "action": "list_commands",
            "limit": 20,
        }
        about = {"action": "list_commands", "excerpt_status": "available", "is_error": False}
        cosh.answer(first, {"behavior": "shell_evidence", "result": {"llmContent": f"make {ref}", "metadata": about}})
        second = cosh.request("shell_evidence")
        assert second["request"] == {
            "subtype": "shell_evidence",
            "tool_use_id": "t2",
            "action": "read_output",
            "output_id": ref,
            "direction": "tail",
            "lines": 50,
        }
        about = {"action": "read_output", "excerpt_status": "unavailable"}
        cosh.answer(second, {"behavior": "shell_evidence", "result": {"llmContent": "gone", "metadata": about}})
        cosh.result()

    listed, read = (line["message"]["content"][0] for line in cosh.of("user"))
    assert (listed["content"], listed["is_error"]) == (f"make {ref}", False)
    assert (read["content"], read["is_error"]) == ("gone", True)


def test_the_evidence_tool_is_there_only_where_it_was_asked_for(tmp_path, model_server):
    model_server.script([call("cosh_shell_evidence", {"action": "list_commands"})], "Done.")

    with Headless(tmp_path, model_server.env(), "--approval-mode", "trust") as cosh:
        cosh.user("why did it fail?")
        cosh.result()

    assert "cosh_shell_evidence" not in [tool["name"] for tool in model_server.requests[0]["tools"]]
    assert "Unknown tool" in told(model_server)[0]["content"]


def test_thoughts_and_prose_stream_as_they_come(tmp_path, model_server):
    from support.modelserver import thinking

    model_server.script([thinking("Let me think about it."), text("Hello, world.")])

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("hi")
        cosh.result()

    events = [line["event"] for line in cosh.of("stream_event")]
    assert "".join(e["content"] for e in events if e["subtype"] == "thinking_delta") == "Let me think about it."
    assert "".join(e["content"] for e in events if e["subtype"] == "text_delta") == "Hello, world."
    [said] = cosh.of("assistant")
    assert said["message"]["content"] == [{"type": "text", "text": "Hello, world."}]


def test_a_message_for_another_session_is_refused_and_the_session_kept(tmp_path, model_server):
    model_server.script("Still here.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user("hi", session_id="somebody-else")
        refused = cosh.result()
        cosh.user("hi", session_id="default")
        taken = cosh.result()
        cosh.user("hi", session_id=taken["session_id"])
        model_server.script("And again.")
        again = cosh.result()

    assert (refused["error_code"], refused["session_id"]) == ("foreign_session", taken["session_id"])
    assert [taken["is_error"], again["is_error"]] == [False, False]


def test_a_message_starts_where_the_clients_shell_stands(tmp_path, model_server):
    model_server.script([shell("pwd; echo $STAGE")], "Done.", "No.")

    with Headless(tmp_path, model_server.env(), "--approval-mode", "trust") as cosh:
        (cosh.workspace / "sub").mkdir()
        context = {"cwd": str(cosh.workspace / "sub"), "env": {"STAGE": "two"}, "last_exit_code": 4}
        cosh.user("where?", shell_context=context)
        cosh.result()
        cosh.user("where?", shell_context={"cwd": "/no/such/folder"})
        refused = cosh.result()

    assert told(model_server)[0]["content"].split() == [str(cosh.workspace / "sub"), "two"]
    assert "exited with 4" in model_server.requests[0]["messages"][0]["content"][0]["text"]
    assert refused["error_code"] == "bad_shell_context"


def test_an_image_goes_to_the_model_and_an_unknown_block_does_not(tmp_path, model_server):
    model_server.script("A pixel.")
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.user([{"type": "text", "text": "what is it?"}, image])
        cosh.result()
        cosh.user([{"type": "hologram"}])
        refused = cosh.result()
        cosh.user("  ")
        empty = cosh.result()

    assert image in model_server.requests[0]["messages"][0]["content"]
    assert (refused["error_code"], empty["error_code"]) == ("bad_content", "empty_request")
    assert len(model_server.requests) == 1
