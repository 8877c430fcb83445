"""A session survives crashes, other kernels and full disks."""

import json
import os
import subprocess
import sys
from itertools import pairwise

import pytest

from cosh_nb.errors import SessionError
from cosh_nb.events import TurnEnded, Usage
from cosh_nb.messages import Message, result_block, text_block, user
from cosh_nb.session import LOST, Session, repair, sessions
from cosh_tools.results import Media, ToolResult


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("COSH_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def call(call_id="c1"):
    return Message(
        "assistant", (text_block("I look"), {"type": "tool_use", "id": call_id, "name": "Read", "input": {}})
    )


def answer(call_id="c1", text="ok"):
    return Message("user", (result_block(call_id, ToolResult.success(text)),))


def test_a_session_comes_back_as_it_was(work):
    first = Session.new(work)
    for message in (user("hello"), call(), answer(), Message("assistant", (text_block("done"),))):
        first.add(message)
    first.store("todos", [{"id": "1"}])
    first.end_turn(TurnEnded("done", Usage(10, 5), 1.0, model="m"))
    first.close()

    again = Session.resume(work, first.id[:6])

    assert [message.content for message in again.messages] == [message.content for message in first.messages]
    assert (again.turns, again.usage, again.load("todos")) == (1, Usage(10, 5), [{"id": "1"}])
    again.close()


def test_the_file_is_the_owners_alone(work):
    session = Session.new(work)
    session.add(user("hello"))
    assert session.file.stat().st_mode & 0o777 == 0o600
    session.close()


def test_a_line_that_a_crash_cut_is_skipped_and_its_call_answered(work):
    session = Session.new(work)
    session.add(user("hello"))
    session.add(call())
    session.add(answer())
    session.close()
    whole = session.file.read_bytes()
    session.file.write_bytes(whole[:-20])

    again = Session.resume(work, session.id)

    assert again.messages[-1].results[0]["content"] == LOST
    again.close()


def test_a_second_kernel_is_told_and_can_fork(work):
    session = Session.new(work)
    session.add(user("hello"))
    code = (
        "import sys; from pathlib import Path\n"
        "from cosh_nb.session import Session; from cosh_nb.errors import SessionError\n"
        "try: Session.resume(Path(sys.argv[1]), sys.argv[2])\n"
        "except SessionError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(work), session.id], capture_output=True, text=True, timeout=60, check=True
    )
    assert "open in another kernel" in done.stdout
    fork = session.fork()
    assert fork.id != session.id
    assert fork.messages[0].text == "hello"
    fork.close()
    session.close()


def test_sessions_are_listed_newest_first_with_their_first_words(work):
    for index, words in enumerate(("first", "second")):
        session = Session.new(work)
        session.add(user(words))
        session.close()
        os.utime(session.file, (1000 + index, 1000 + index))
    assert [info.title for info in sessions(work)] == ["second", "first"]


def test_an_unknown_session_is_a_sentence(work):
    with pytest.raises(SessionError, match="/sessions"):
        Session.resume(work, "nope")


def test_lone_surrogates_are_replaced_before_they_are_stored(work):
    session = Session.new(work)
    session.add(user("bad \ud800 text"))
    session.close()
    assert json.loads(session.file.read_text().splitlines()[1])["content"][0]["text"] == "bad ? text"


def test_a_full_disk_is_said_once_and_the_session_goes_on_in_memory(tmp_path):
    script = (
        "from pathlib import Path; import os; from cosh_nb.session import Session; from cosh_nb.messages import user\n"
        "s = Session.new(Path('/'))\n"
        "s.add(user('small'))\n"
        "s.add(user('x' * 3_000_000)); print(s.problem)\n"
        "s.add(user('after')); print(len(s.messages))\n"
    )
    mount = tmp_path / "small"
    mount.mkdir()
    command = f'mount -t tmpfs -o size=1m none {mount} && COSH_DATA_DIR={mount} {sys.executable} -c "$SCRIPT"'
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", command],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "SCRIPT": script},
        check=False,
    )
    assert "goes on in memory only" in done.stdout, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "3"


def test_repair_answers_calls_drops_orphans_and_keeps_the_rest():
    broken = [user("a"), call("x"), call("y"), answer("z"), user("b"), call("w")]
    fixed = repair(broken)
    for before, after in pairwise(fixed):
        if before.role == "assistant" and before.calls:
            assert [block["tool_use_id"] for block in after.results] == [block["id"] for block in before.calls]
    assert fixed[-1].results
    assert not any(block["tool_use_id"] == "z" for message in fixed for block in message.results)
    assert [m.content for m in repair(fixed)] == [m.content for m in fixed]


def test_images_of_a_result_are_sent_after_its_text():
    block = result_block("c", ToolResult.success("a plot", Media("image/png", b"\x89PNG")))
    assert [part["type"] for part in block["content"]] == ["text", "image"]
