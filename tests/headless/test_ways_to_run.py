"""One request, a pipe, flags, stored sessions, and what a client changes on the way."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.headless_client import COMMAND, Headless, environment
from support.modelserver import call

PEER = Path(__file__).parent.parent / "support" / "mcp_peer.py"


def run(tmp_path, model, *arguments: str, given: bytes | None = b"", **more) -> subprocess.CompletedProcess[bytes]:
    """The command from start to end."""
    workspace = tmp_path / "workspace"
    workspace.mkdir(exist_ok=True)
    return subprocess.run(
        [*COMMAND, *arguments],
        input=given,
        capture_output=True,
        cwd=workspace,
        env=environment(tmp_path / "home", model),
        timeout=60,
        check=False,
        **more,
    )


def lines(done: subprocess.CompletedProcess[bytes]) -> list[dict]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_one_request_on_the_command_line(tmp_path, model_server):
    model_server.script("Two files.")

    done = run(tmp_path, model_server.env(), "list the files")

    assert done.returncode == 0, done.stderr
    assert lines(done)[-1]["result"] == "Two files."
    assert model_server.requests[0]["messages"][0]["content"][0]["text"] == "list the files"


def test_one_request_from_a_pipe(tmp_path, model_server):
    model_server.script("Two files.")

    done = run(tmp_path, model_server.env(), given=b"list the files\nplease\n")

    assert done.returncode == 0, done.stderr
    assert lines(done)[-1]["result"] == "Two files."
    assert model_server.requests[0]["messages"][0]["content"][0]["text"].strip() == "list the files\nplease"


def test_one_request_from_a_file(tmp_path, model_server):
    model_server.script("Two files.")
    (tmp_path / "prompt.txt").write_text("list the files")

    with (tmp_path / "prompt.txt").open("rb") as stdin:
        done = run(tmp_path, model_server.env(), given=None, stdin=stdin)

    assert lines(done)[-1]["result"] == "Two files."


def test_messages_from_a_pipe_that_closes_are_all_answered(tmp_path, model_server):
    model_server.script("One.", "Two.")
    given = b"".join(
        json.dumps({"type": "user", "message": {"role": "user", "content": text}}).encode() + b"\n"
        for text in ("first", "second")
    )

    done = run(tmp_path, model_server.env(), given=given)

    assert [line["result"] for line in lines(done) if line["type"] == "result"] == ["One.", "Two."]
    assert done.returncode == 0


def test_nothing_at_all_is_fine(tmp_path, model_server):
    done = run(tmp_path, model_server.env(), given=b"")

    assert (done.returncode, done.stdout) == (0, b"")


def test_text_whose_input_stays_open_is_a_client_that_speaks_wrongly(tmp_path, model_server):
    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.raw(b"hello there\n")
        result = cosh.result(within=15)
        assert cosh.ends() == 1

    assert result["error_code"] == "InvalidJsonlInput"
    assert not model_server.requests


def test_one_request_that_fails_ends_with_1(tmp_path, model_server):
    from support.modelserver import status

    model_server.script(status(401))

    done = run(tmp_path, model_server.env(), "hello")

    assert done.returncode == 1
    assert lines(done)[-1]["is_error"] is True


def test_one_request_with_nobody_to_ask_is_told_so(tmp_path, model_server):
    model_server.script([call("shell", {"command": "touch made"})], "I could not.")

    done = run(tmp_path, model_server.env(), "make it")

    assert done.returncode == 0
    assert lines(done)[-1]["result"] == "I could not."
    assert not (tmp_path / "workspace" / "made").exists()


def test_one_request_that_may_edit_and_run(tmp_path, model_server):
    model_server.script(
        [call("write_file", {"path": "a.txt", "content": "x\n"}), call("shell", {"command": "cat a.txt"})], "Done."
    )

    done = run(tmp_path, model_server.env(), "--allowed-tools", "shell,write_file", "make it")

    assert done.returncode == 0
    results = [line["message"]["content"][0] for line in lines(done) if line["type"] == "user"]
    assert [block["is_error"] for block in results] == [False, False]
    assert results[1]["content"] == "x\n"


def test_what_prints_beside_the_protocol_goes_to_stderr(tmp_path, model_server):
    model_server.script("Fine.")
    home = tmp_path / "home"
    home.mkdir()
    site = tmp_path / "site"
    site.mkdir()
    (site / "cosh_stray.py").write_text(
        "import os, threading, time\n"
        "def later():\n"
        "    while not os.path.exists('go'):\n"
        "        time.sleep(0.02)\n"
        "    print('stray print')\n"
        "    os.write(1, b'stray write\\n')\n"
        "    os.system('echo stray child')\n"
        "threading.Thread(target=later, daemon=True).start()\n"
    )
    (site / "sitecustomize.py").write_text("import cosh_stray\n")

    with Headless(tmp_path, model_server.env(), env={"PYTHONPATH": str(site)}) as cosh:
        cosh.control("initialize")
        cosh.until(lambda line: line.get("subtype") == "init")
        (cosh.workspace / "go").touch()
        cosh.until_errors("stray child")
        cosh.user("hi")
        cosh.result()

    assert "stray print" in cosh.errors
    assert "stray write" in cosh.errors


@pytest.mark.parametrize(
    ("closed", "code", "answer"),
    [("<&-", 0, "Fine."), ("2>&-", 0, "Fine."), (">&-", 74, None), ("<&- 2>&-", 0, "Fine.")],
)
def test_a_stream_that_was_closed_before_it_started(tmp_path, model_server, closed, code, answer):
    model_server.script("Fine.")
    (tmp_path / "home").mkdir()
    command = f"{shlex.join(COMMAND)} hello {closed}"

    done = subprocess.run(
        ["sh", "-c", command],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(tmp_path / "home", model_server.env()),
        timeout=60,
        check=False,
    )

    assert done.returncode == code
    assert [line["result"] for line in lines(done) if line["type"] == "result"] == ([answer] if answer else [])


@pytest.mark.parametrize(
    "arguments",
    [["--mode", "loose", "x"], ["--no-such-flag", "x"], ["--tools", "nonsense", "x"], ["--allowed-tools", "a b(", "x"]],
)
def test_wrong_arguments_end_with_2_and_a_sentence(tmp_path, model_server, arguments):
    done = run(tmp_path, model_server.env(), *arguments)

    assert done.returncode == 2
    assert done.stderr.decode().startswith("cosh-nb: ")
    assert b"Traceback" not in done.stderr


def test_unknown_tools_are_also_told_on_the_wire(tmp_path, model_server):
    done = run(tmp_path, model_server.env(), "--tools", "shell,nonsense")

    assert lines(done)[-1]["error_code"] == "InvalidToolSelection"


def test_help_is_for_people(tmp_path, model_server):
    done = run(tmp_path, model_server.env(), "--help")

    assert done.returncode == 0
    assert b"--approval-mode" in done.stdout


def test_only_some_tools(tmp_path, model_server):
    model_server.script("Fine.")

    run(tmp_path, model_server.env(), "--tools", "read_file,grep", "hello")

    assert [tool["name"] for tool in model_server.requests[0]["tools"]] == ["grep", "read_file"]


def test_the_other_toolset(tmp_path, model_server):
    model_server.script("Fine.")

    run(tmp_path, model_server.env(), "--toolset", "claude", "hello")

    names = {tool["name"] for tool in model_server.requests[0]["tools"]}
    assert {"Read", "Edit", "Bash", "Grep", "TodoWrite"} <= names
    assert not {"read_file", "shell"} & names


def test_a_session_goes_on_where_it_ended(tmp_path, model_server):
    model_server.script("My name is cosh.", "As I said: cosh.", "Again.")

    first = run(tmp_path, model_server.env(), "who are you?")
    session = lines(first)[-1]["session_id"]
    second = run(tmp_path, model_server.env(), "--resume", session, "say it again")
    third = run(tmp_path, model_server.env(), "--continue", "--fork-session", "and again")

    assert lines(second)[-1]["session_id"] == session
    assert lines(third)[-1]["session_id"] != session
    assert [len(request["messages"]) for request in model_server.requests] == [1, 3, 5]


def test_a_session_that_is_not_there_is_an_error_in_words(tmp_path, model_server):
    done = run(tmp_path, model_server.env(), "--resume", "nonsense", "hello")

    result = lines(done)[-1]
    assert (result["session_error_phase"], done.returncode) == ("load", 1)
    assert "nonsense" in result["errors"][0]


def test_a_turn_has_its_limit(tmp_path, model_server):
    model_server.script(*[[call("grep", {"pattern": f"x{n}"})] for n in range(3)])

    done = run(tmp_path, model_server.env(), "--max-turns", "2", "search")

    result = lines(done)[-1]
    assert (result["error_code"], result["max_turns"], result["num_turns"]) == ("max_turns", 2, 2)


def test_another_system_prompt_and_an_appendix(tmp_path, model_server):
    model_server.script("A.", "B.")

    run(tmp_path, model_server.env(), "--system-prompt", "You are a pirate.", "hello")
    run(tmp_path, model_server.env(), "--append-system-prompt", "Say ahoy.", "hello")

    own, longer = (json.dumps(request["system"]) for request in model_server.requests)
    assert "You are a pirate." in own
    assert "You are cosh" not in own
    assert "You are cosh" in longer
    assert "Say ahoy." in longer


def test_modes_models_and_settings_change_on_the_way(tmp_path, model_server):
    touch = call("shell", {"command": "touch made"})
    model_server.script([touch], "One.", [touch], "Two.", "Three.")

    with Headless(tmp_path, model_server.env()) as cosh:
        cosh.control("config_override", approval_mode="trust")
        assert cosh.until(lambda line: line["type"] == "system")["status"] == "config_override_applied"
        cosh.user("make it")
        assert cosh.result()["result"] == "One."
        cosh.control("config_override", approval_mode="strict", allowed_tools=["shell"])
        cosh.user("make it")
        assert cosh.result()["result"] == "Two."
        cosh.control("switch_model", model="claude-haiku-5-5")
        switched = cosh.until(lambda line: line.get("subtype") == "model_switched")
        cosh.user("and now?")
        cosh.result()
        (cosh.workspace / ".claude").mkdir()
        (cosh.workspace / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Bash"]}}')
        cosh.control("reload_config")
        cosh.until(lambda line: line.get("subtype") == "config_reloaded")
        model_server.script([touch], "Denied.")
        cosh.user("make it")
        cosh.result()

    assert not cosh.of("control_request")
    assert (switched["model"], switched["status"]) == ("claude-haiku-5-5", "model_switched:claude-haiku-5-5")
    assert model_server.requests[4]["model"] == "claude-haiku-5-5"
    assert "denies it" in cosh.of("user")[-1]["message"]["content"][0]["content"]


def test_the_inventory_is_listed_and_switched(tmp_path, model_server):
    skill = tmp_path / "home" / ".claude" / "skills" / "tidy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tidy\ndescription: Tidies up.\n---\nTidy everything.\n")
    model_server.script("Fine.")

    with Headless(tmp_path, model_server.env()) as cosh:

        def ask(domain: str, action: str, **params):
            cosh.send(
                {"type": "registry_request", "request_id": "r", "domain": domain, "action": action, "params": params}
            )
            return cosh.until(lambda line: line["type"] == "registry_response")

        tools = ask("tools", "list")["data"]["tools"]
        assert {tool["name"]: tool["kind"] for tool in tools} == {
            "ask_user_question": "Other",
            "edit": "FileEdit",
            "grep": "ReadOnly",
            "read_file": "ReadOnly",
            "shell": "ShellExec",
            "skill": "Other",
            "todo": "Other",
            "write_file": "FileEdit",
        }
        assert "command" in ask("tools", "detail", name="shell")["data"]["input_schema"]["properties"]
        assert ask("tools", "disable", name="todo")["data"]["enabled"] is False
        assert ask("skills", "list")["data"]["skills"] == [
            {"name": "tidy", "description": "Tidies up.", "enabled": True}
        ]
        assert "Tidy everything." in ask("skills", "detail", name="tidy")["data"]["text"]
        assert ask("skills", "disable", name="tidy")["data"]["enabled"] is False
        assert ask("skills", "enable", name="tidy")["data"]["enabled"] is True
        assert ask("hooks", "list")["data"] == {"hooks": []}
        assert ask("mcp", "list")["data"] == {"servers": []}
        for domain, action in (("nonsense", "list"), ("tools", "burn"), ("tools", "detail"), ("mcp", "detail")):
            refused = ask(domain, action)
            assert refused["success"] is False
            assert refused["error"].endswith(".")
        cosh.user("hello")
        cosh.result()

    assert "todo" not in [tool["name"] for tool in model_server.requests[0]["tools"]]


def test_a_server_given_on_the_command_line_is_there_and_can_be_switched(tmp_path, model_server):
    peer = {"mcpServers": {"peer": {"command": sys.executable, "args": [str(PEER)]}}}
    model_server.script([call("mcp__peer__add", {"a": 2, "b": 40})], "It is 42.", "Gone.")

    flags = ("--mcp-config", json.dumps(peer), "--allowed-tools", "mcp__peer")
    with Headless(tmp_path, model_server.env(), *flags) as cosh:
        cosh.user("add them")
        cosh.result()
        asked = {"type": "registry_request", "request_id": "r", "domain": "mcp"}
        cosh.send({**asked, "action": "list"})
        [row] = cosh.until(lambda line: line["type"] == "registry_response")["data"]["servers"]
        cosh.send({**asked, "action": "disable", "params": {"name": "peer"}})
        off = cosh.until(lambda line: line["type"] == "registry_response")["data"]
        cosh.user("and now?")
        cosh.result()

    assert cosh.of("user")[0]["message"]["content"][0]["content"] == "42"
    assert (row["name"], row["state"], row["enabled"]) == ("peer", "ready", True)
    assert "mcp__peer__add" in row["tools"]
    assert off["enabled"] is False
    assert "mcp__peer__add" in [tool["name"] for tool in model_server.requests[0]["tools"]]
    assert "mcp__peer__add" not in [tool["name"] for tool in model_server.requests[2]["tools"]]


def test_one_registry_request_and_the_end(tmp_path, model_server):
    given = b'{"type":"registry_request","request_id":"r1","domain":"tools","action":"list","params":{}}\n'

    done = run(tmp_path, model_server.env(), "--registry", given=given)

    [answer] = lines(done)
    assert (answer["type"], answer["request_id"], answer["success"]) == ("registry_response", "r1", True)
    assert done.returncode == 0
