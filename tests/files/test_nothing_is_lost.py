"""Write and Edit: what somebody else wrote is never overwritten, and a file is old or new, never less."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cosh_tools.contract import PermissionMode
from cosh_tools.files.atomic import PREFIX, ChangedMeanwhile, replace
from cosh_tools.files.opening import snapshot
from cosh_tools.hosts import MemoryReadState
from cosh_tools.results import ToolError
from support.desk import Desk

TESTS = Path(__file__).parents[1]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("tool", ["Write", "Edit", "write_file", "edit"])
async def test_a_file_that_changed_since_it_was_read_is_not_touched(desk: Desk, tool):
    path = desk.file("a.txt", "one\n")
    os.utime(path, ns=(1_000_000_000, 1_000_000_000))
    await desk("Read", file_path="a.txt")
    path.write_text("two\n")
    os.utime(path, ns=(1_000_000_000, 1_000_000_000))  # a time stamp proves nothing
    change = {"content": "x\n"} if tool.lower().startswith("write") else {"old_string": "t", "new_string": "x"}
    result = await desk(tool, file_path="a.txt", **change)
    assert result.is_error
    assert result.content == (
        "a.txt has been changed since it was read, by the user or by a program. Read it again, then change it."
    )
    assert path.read_text() == "two\n"


async def test_a_file_that_was_only_touched_may_be_edited(desk: Desk):
    path = desk.file("a.txt", "one\n")
    await desk("Read", file_path="a.txt")
    os.utime(path)
    assert not (await desk("Edit", file_path="a.txt", old_string="one", new_string="two")).is_error


async def test_a_large_file_that_changed_elsewhere_is_not_touched(desk: Desk):
    path = desk.folder / "big.txt"
    path.write_bytes(b"some line of text\n" * 2_500_000)
    _cool(path)
    await desk("Read", file_path="big.txt", offset=10, limit=5)
    assert desk.ctx.read_state.seen(path).startswith("part:")
    stamp = path.stat().st_mtime_ns
    with path.open("r+b") as file:
        file.seek(40_000_000)
        file.write(b"SOME")
    os.utime(path, ns=(stamp, stamp))
    result = await desk("Edit", file_path="big.txt", old_string="SOME", new_string="x")
    assert (result.is_error, "has been changed since it was read" in result.content) == (True, True)


async def test_a_large_file_that_stayed_is_edited_and_nothing_else_in_it_moves(desk: Desk):
    path = desk.folder / "big.txt"
    raw = b"some line of text\n" * 2_500_000
    path.write_bytes(raw[:30_000_000] + b"the needle\n" + raw[30_000_000:])
    _cool(path)
    await desk("Read", file_path="big.txt", limit=5)
    result = await desk("Edit", file_path="big.txt", old_string="the needle", new_string="a thread")
    assert not result.is_error, result.content
    assert path.read_bytes() == raw[:30_000_000] + b"a thread\n" + raw[30_000_000:]
    assert len(desk.ctx.read_state.seen(path)) == 64
    assert not (await desk("Edit", file_path="big.txt", old_string="a thread", new_string="two")).is_error


async def test_a_sub_agent_that_read_an_older_state_is_told(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    main = Desk(tmp_path)
    await main("Read", file_path="a.txt")
    helper = Desk(tmp_path, read_state=MemoryReadState(main.ctx.read_state.known))
    await main("Edit", file_path="a.txt", old_string="one", new_string="1")
    result = await helper("Edit", file_path="a.txt", old_string="two", new_string="2")
    assert (result.is_error, "has been changed since" in result.content) == (True, True)


async def test_of_edits_at_the_same_time_one_wins_and_the_others_are_told(tmp_path: Path):
    path = tmp_path / "a.txt"
    for _round in range(10):
        path.write_text("start\n")
        desks = [Desk(tmp_path) for _each in range(4)]
        for desk in desks:
            await desk("Read", file_path="a.txt")
        results = await asyncio.gather(
            *(
                desk("Edit", file_path="a.txt", old_string="start", new_string=f"agent {n}")
                for n, desk in enumerate(desks)
            )
        )
        won = [n for n, result in enumerate(results) if not result.is_error]
        assert len(won) == 1
        assert path.read_text() == f"agent {won[0]}\n"
        assert all("changed" in result.content for result in results if result.is_error)
    assert names(tmp_path) == ["a.txt"]


async def test_of_creations_at_the_same_time_one_wins(tmp_path: Path):
    results = await asyncio.gather(
        *(Desk(tmp_path)("Write", file_path="new/a.txt", content=f"agent {n}") for n in range(6))
    )
    won = [n for n, result in enumerate(results) if not result.is_error]
    assert (tmp_path / "new" / "a.txt").read_text() in {f"agent {n}" for n in won}
    losers = [result.content for result in results if result.is_error]
    assert all("created meanwhile" in said or "has not been read" in said for said in losers)
    assert names(tmp_path / "new") == ["a.txt"]


def test_a_change_in_the_last_moment_is_noticed_under_the_lock(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("read\n")
    known = path.stat()
    path.write_text("not read\n")
    with pytest.raises(ChangedMeanwhile):
        replace(path, [b"new\n"], known, "a.txt")
    with pytest.raises(ChangedMeanwhile):
        replace(path, [b"new\n"], None, "a.txt")
    assert path.read_text() == "not read\n"
    assert names(tmp_path) == ["a.txt"]


async def test_a_link_that_is_turned_after_the_approval_stops_the_call(tmp_path: Path):
    from cosh_tools.contract import ToolCall
    from cosh_tools.runner import Ready

    desk = Desk(tmp_path)
    desk.file("safe.txt", "")
    desk.file("other.txt", "")
    link = tmp_path / "link.txt"
    link.symlink_to("safe.txt")
    ready = await desk.runner.prepare(ToolCall("1", "Write", {"file_path": "link.txt", "content": "x"}))
    assert isinstance(ready, Ready)
    link.unlink()
    link.symlink_to("other.txt")
    result = await desk.runner.execute(ready)
    assert (result.is_error, "was not approved" in result.content) == (True, True)
    assert (tmp_path / "other.txt").read_text() == ""


async def test_a_link_out_of_the_workspace_asks(tmp_path: Path):
    (tmp_path / "work").mkdir()
    (tmp_path / "elsewhere.txt").write_text("x\n")
    desk = Desk(tmp_path / "work", mode=PermissionMode.ACCEPT_EDITS)
    (tmp_path / "work" / "link.txt").symlink_to(tmp_path / "elsewhere.txt")
    result = await desk("Edit", file_path="link.txt", old_string="x", new_string="y")
    assert (result.is_error, "outside the workspace" in result.content or "nobody" in result.content) == (True, True)
    assert (tmp_path / "elsewhere.txt").read_text() == "x\n"


def test_a_folder_that_is_exchanged_for_a_link_in_the_last_moment_is_noticed(tmp_path: Path):
    (tmp_path / "work").mkdir()
    (tmp_path / "elsewhere").mkdir()
    for folder in ("work", "elsewhere"):
        (tmp_path / folder / "a.txt").write_text("x\n")
    approved = tmp_path / "work" / "a.txt"
    known = approved.stat()
    (tmp_path / "work").rename(tmp_path / "moved")
    (tmp_path / "work").symlink_to("elsewhere")
    with pytest.raises(ToolError, match="was changed meanwhile"):
        replace(approved, [b"new\n"], known, "a.txt")
    with pytest.raises(ToolError, match="was exchanged"):
        snapshot(approved, "a.txt")
    assert [(tmp_path / folder / "a.txt").read_text() for folder in ("moved", "elsewhere")] == ["x\n", "x\n"]


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from support.desk import Desk

def main(kill_at):
    # The process dies at the n-th thing it asks of the system once the write has begun.
    seen, armed = 0, False
    def watch(event, args):
        nonlocal seen
        words = (sys.argv[1], "cosh-tmp", "a.txt")
        known = event.startswith("fcntl.") or any(word in str(each) for word in words for each in args)
        if armed and known:
            seen += 1
            if seen == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(watch)
    async def story():
        nonlocal armed
        desk = Desk(Path(sys.argv[1]))
        await desk("Read", file_path="a.txt")
        armed = True
        result = await desk("Write", file_path="a.txt", content="new\\n" * 20_000)
        armed = False
        return result.is_error
    return asyncio.run(story())

for kill_at in range(1, 80):
    folder = Path(sys.argv[1])
    (folder / "a.txt").write_bytes(b"old\\n" * 20_000)
    (folder / "a.txt").chmod(0o640)
    child = os.fork()
    if child == 0:
        os._exit(3 if main(kill_at) else 0)
    _pid, status = os.waitpid(child, 0)
    content = (folder / "a.txt").read_bytes()
    kind = {{b"old\\n" * 20_000: "old", b"new\\n" * 20_000: "new"}}.get(content, "LOST")
    print(kill_at, kind, oct((folder / "a.txt").stat().st_mode & 0o777), os.WIFSIGNALED(status), flush=True)
    for left in folder.glob(".cosh-tmp-*"):
        left.unlink()
    if not os.WIFSIGNALED(status):
        assert os.WEXITSTATUS(status) == 0
        break
else:
    raise AssertionError("the write never came to its end")
"""


def test_kill_9_at_any_step_of_a_write_leaves_the_old_or_the_new_content(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED.format(tests=str(TESTS)), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    steps = [line.split() for line in done.stdout.splitlines()]
    assert len(steps) > 7, done.stdout
    assert {mode for _step, _kind, mode, _killed in steps} == {"0o640"}
    assert {kind for _step, kind, _mode, killed in steps if killed == "True"} == {"old", "new"}
    assert steps[-1][1] == "new"


@pytest.mark.parametrize("rounds", [6, pytest.param(200, marks=pytest.mark.slow)])
def test_kill_9_at_any_moment_of_a_write_leaves_the_old_or_the_new_content(tmp_path: Path, rounds):
    path = tmp_path / "a.txt"
    old, new = b"old\n" * 2_000_000, b"new\n" * 2_000_000
    script = (
        "import sys, os\nfrom pathlib import Path\nfrom cosh_tools.files.atomic import replace\n"
        "path = Path(sys.argv[1])\nnew = b'new\\n' * 2_000_000\nprint('ready', flush=True)\n"
        "replace(path, [new], path.stat(), 'a.txt')\n"
    )
    for each in range(rounds):
        path.write_bytes(old)
        with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            deadline = time.perf_counter() + 0.03 * each / rounds
            while time.perf_counter() < deadline:
                pass
            child.send_signal(signal.SIGKILL)
        assert path.read_bytes() in (old, new)
        for left in tmp_path.glob(f"{PREFIX}*"):
            left.unlink()


FULL = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from support.desk import Desk

async def main():
    desk = Desk(Path(sys.argv[1]))
    desk.file("a.txt", "old\\n")
    await desk("Read", file_path="a.txt")
    print((await desk("Write", file_path="a.txt", content="x" * 900_000)).content)
    print((await desk("Write", file_path="deep/er/new.txt", content="x" * 900_000)).content)
    print((await desk("Edit", file_path="a.txt", old_string="old", new_string="y" * 900_000)).content)
    print(repr((desk.folder / "a.txt").read_text()), sorted(each.name for each in desk.folder.iterdir()))
    print((await desk("Edit", file_path="a.txt", old_string="old", new_string="small")).content)

asyncio.run(main())
"""


def test_a_full_disk_is_told_and_the_file_stays_as_it_was(tmp_path: Path):
    assert shutil.which("unshare"), "this test needs unshare (util-linux)"
    inside = f'mount -t tmpfs -o size=400k tmpfs "$1" && exec "{sys.executable}" -c "$2" "$1"'
    rights = ["-m"] if os.getuid() == 0 else ["-rm"]
    done = subprocess.run(
        ["unshare", *rights, "sh", "-c", inside, "sh", str(tmp_path), FULL.format(tests=str(TESTS))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    full = "The disk is full, so {} was not written. The file is as it was. Free some space, then try again."
    assert said[0] == full.format("a.txt")
    assert said[1] == full.format("deep/er/new.txt")
    assert said[2] == full.format("a.txt")
    assert said[3] == "'old\\n' ['a.txt']"
    assert said[4] == "Successfully edited a.txt (1 replacement)."


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def _cool(path: Path) -> None:
    """A file that was changed in the last tenth of a second is hashed in full."""
    deadline = time.monotonic() + 5
    while time.time_ns() - path.stat().st_ctime_ns < 150_000_000:
        assert time.monotonic() < deadline
        time.sleep(0.01)
