"""What an undo leaves alone, what it says when there is nothing to do, and what copies of the kernel may cost."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from support.kernel_client import kernel_client
from support.modelserver import ModelServer, call
from support.room import Room


def test_what_changed_since_the_turn_stays_and_is_named(room):
    (room.cwd / "mine.txt").write_text("before")
    (room.cwd / "other.txt").write_text("before")
    room.ok("a, b = [1], [2]")
    room.turn(
        call("Bash", {"command": "echo turn > mine.txt; echo turn > other.txt"}),
        call("Python", {"code": "a.append(0); b.append(0); c = 1"}),
    )
    (room.cwd / "mine.txt").write_text("since")
    room.ok("a.append(7)")

    said = room.ok("%cosh /undo")

    assert (room.cwd / "mine.txt").read_text() == "since"
    assert (room.cwd / "other.txt").read_text() == "before"
    assert room.value("(a, b, 'c' in globals())") == ([1, 0, 7], [2], False)
    assert "Changed since, and therefore left: `mine.txt`, `variable a`" in said


def test_undo_with_nothing_to_undo_and_undo_twice_say_so(room):
    room.turn(call("Write", {"file_path": "once.txt", "content": "x"}))
    while "is taken back" in (said := room.kernel.run("%cosh /undo").text):
        assert not (room.cwd / "once.txt").exists()

    assert "There is nothing more to undo" in said
    assert "takes the number of a turn" in room.fails("%cosh /undo x")
    assert "is not kept" in room.fails("%cosh /undo 9999")
    assert "is taken back already" in room.fails("%cosh /undo 1")


def test_a_full_disk_while_keeping_files_lets_the_work_go_on_and_the_undo_name_it(room):
    (room.cwd / "big.txt").write_text("a" * 200_000)
    (room.cwd / "big.txt").touch()
    room.ok(
        "import resource; old = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, old[1]))"
    )
    try:
        room.turn(call("Write", {"file_path": "small.txt", "content": "x"}), call("Bash", {"command": "rm big.txt"}))
    finally:
        room.ok("resource.setrlimit(resource.RLIMIT_FSIZE, old)")

    said = room.ok("%cosh /undo")

    assert not (room.cwd / "small.txt").exists()
    assert "big.txt: it could not be kept" in said
    assert not list((room.kernel.cwd / "..").resolve().glob("**/snapshots/*/.*"))


def test_many_turns_leave_five_copies_and_none_outlives_a_killed_kernel(tmp_path):
    with ModelServer() as server, kernel_client(tmp_path, env=server.env()) as kernel:
        kernel.run("%load_ext cosh_nb")
        room = Room(kernel, server)
        room.ok("rows = []")
        for number in range(7):
            room.python(f"rows.append({number})")
        pid = kernel.manager.provisioner.pid
        kernel.wait(lambda: len(psutil.Process(pid).children()) <= 5, 10, "end of the copies for fingerprints")
        copies = psutil.Process(pid).children()
        assert len(copies) == 5
        assert room.ok("%cosh /checkpoints").count("kept, ") == 5
        assert "Variables were left alone" in room.ok("%cosh /undo 1")
        assert "Turn 7 is taken back" in room.ok("%cosh /undo 7")
        assert room.value("rows") == [0, 1, 2, 3, 4, 5]

        os.kill(pid, signal.SIGKILL)
        _, alive = psutil.wait_procs(copies, timeout=10)

    assert not alive


@pytest.mark.slow
def test_a_large_frame_that_was_changed_in_place_comes_back(room):
    room.ok(
        "import numpy as np, pandas as pd\n"
        "df = pd.DataFrame({f'c{i}': np.arange(6_250_000.0) + i for i in range(10)})\nhead = float(df.c3[5])",
        120,
    )
    (room.cwd / "one.txt").write_text("1")
    (room.cwd / "two.txt").write_text("2")
    room.turn(
        call("Bash", {"command": "echo x > one.txt; echo x > two.txt"}),
        call("Python", {"code": "df *= -1"}),
        timeout=120,
    )
    assert room.value("float(df.c3[5]) == -head")

    said = room.ok("%cosh /undo", 120)

    assert "`df`" in said
    assert room.value("(float(df.c3[5]) == head, df.shape)") == (True, (6_250_000, 10))
    assert (room.cwd / "one.txt").read_text() == "1"
