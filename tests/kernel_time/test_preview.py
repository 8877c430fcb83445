"""What code would do, tried in a copy of the kernel: the real one stays as it is, to the last byte."""

from __future__ import annotations

import os
import socket

import psutil
import pytest

STATE = """
import os, threading
def fingerprint():
    names = sorted(name for name in globals() if not name.startswith('_'))
    shown = [(name, id(globals()[name])) for name in names] + [df.to_csv(), kept]
    files = sorted(filter(os.path.isabs, (os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')
                   if os.path.exists(f'/proc/self/fd/{n}'))))
    files = [name for name in files if 'profile_default' not in name and '/proc/' not in name]  # not the code's
    here = sorted((path, os.stat(path).st_mtime_ns) for path in os.listdir('.'))
    threads = sorted(thread.name for thread in threading.enumerate() if not thread.name.startswith(('cosh', 'asyncio')))
    return shown, files, here, threads, os.getcwd()
"""


@pytest.fixture
def room(room):
    room.ok("import pandas as pd\ndf = pd.DataFrame({'x': [1.0, 2.0]}); kept = [1]\n" + STATE)
    room.python("0", dry_run=True)  # the first turn opens what lasts
    return room


def preview(room, code, **more):
    """What a dry run says; nothing in the kernel, its files, threads and folder may differ after it."""
    process = psutil.Process(room.kernel.manager.provisioner.pid)
    before = room.value("fingerprint()")
    said = room.python(code, dry_run=True, **more)
    assert room.value("fingerprint()") == before
    kept = [child for child in process.children(recursive=True) if child.is_running()]
    assert len(kept) <= 5, kept  # the copies of five turns
    return said


def test_it_says_what_would_be_printed_and_which_variables_would_change(room):
    said = preview(room, "df['x'] *= 2\nkept.append(2)\nnew = {'a': 1}\nprint('sum', df.x.sum())\ndel pd")

    assert "It would print:\nsum 6.0" in said
    assert "~ df: pandas" in said
    assert "changed in place" in said
    assert "~ kept: list of 1" in said
    assert "+ new: dict of 1 with keys 'a'" in said
    assert "- pd: " in said


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("open('out.txt', 'w').write('x')", "would write out.txt"),
        ("df.to_csv('out.csv')", "would write out.csv"),
        (
            "import pyarrow as pa, pyarrow.parquet as pq\npq.write_table(pa.table({'x': [1]}), 'out.parquet')",
            "out.parquet",
        ),
        ("import ctypes\nprint(ctypes.CDLL(None).open(b'out.bin', 0o102, 0o644))", "-1"),
        ("!echo hello > out.txt", "Permission denied"),
        ("%%bash\necho hello > out.txt", "Permission denied"),
        ("import os; os.chmod('.', 0o777)", "would change the mode of ."),
        ("import os; os.kill(os.getppid(), 9)", "would signal process"),
        ("import os; k = os.getppid()\n!kill -9 {k} || echo it lives", "it lives"),
    ],
)
def test_it_writes_nothing_from_any_language(room, code, refused):
    said = preview(room, code)

    assert refused in said, said
    assert not [path for path in room.cwd.iterdir() if path.name.startswith("out")]


@pytest.mark.parametrize(
    "code",
    [
        "import socket; s = socket.socket(); s.connect(('127.0.0.1', PORT))",
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', PORT))",
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect('x')",
        "!bash -c 'echo x > /dev/tcp/127.0.0.1/PORT'",
    ],
)
def test_it_opens_no_socket(room, code):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        said = preview(room, code.replace("PORT", str(server.getsockname()[1])))
        with pytest.raises(TimeoutError):
            server.accept()

    assert "ermission denied" in said or "Refused" in said, said


def test_it_shows_errors_figures_programs_and_awaits(room):
    room.ok("import matplotlib.pyplot as plt")
    said = preview(
        room,
        "import asyncio\nawait asyncio.sleep(0.01)\nprint('slept')\n!echo from a program\n"
        "plt.plot([1, 2]); plt.show()\n1 / 0",
    )

    for part in ("slept", "from a program", "Figure", "ZeroDivisionError: division by zero"):
        assert part in said, said
    assert "input() is refused" in preview(room, "input()")
    assert "ended its whole process" in preview(room, "import os; os._exit(3)")


def test_what_never_ends_is_killed_with_all_that_it_started(room):
    marker = f"61.{os.getpid()}"
    said = preview(room, f"print('begun')\n!(setsid sleep {marker} &) >/dev/null 2>&1\nwhile True: pass", timeout=1)

    assert "begun" in said
    assert "it took longer than 1 s" in said
    assert not [p for p in psutil.process_iter(["cmdline"]) if marker in (p.info["cmdline"] or [])]


def test_memory_that_is_shared_with_others_is_a_reason_to_refuse(room):
    room.ok(
        "import mmap\nwith open('map.bin', 'wb') as f: f.write(b'0' * 4096)\n"
        "with open('map.bin', 'r+b') as f: shared = mmap.mmap(f.fileno(), 4096)"
    )
    said = room.python("shared[0] = 49", dry_run=True)
    room.ok("shared.close(); del shared, f")

    assert "shares writable memory" in said
    assert "map.bin" in said
    assert (room.cwd / "map.bin").read_bytes() == b"0" * 4096


@pytest.mark.parametrize("rounds", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_many_previews_in_a_row_leave_no_process_and_no_descriptor(room, rounds):
    from support.modelserver import call

    process = psutil.Process(room.kernel.manager.provisioner.pid)
    room.python("0", dry_run=True)
    before = process.num_fds(), process.num_threads(), len(process.children(recursive=True))
    room.turn(*[call("Python", {"code": f"kept.append({n}); print({n})", "dry_run": True}) for n in range(rounds)])

    def settled():  # the copy that takes the fingerprints of the turn ends by itself
        return len(process.children(recursive=True)) <= before[2] + 1

    room.kernel.wait(settled, 10, "end of the previews")
    after = process.num_fds(), process.num_threads()
    assert room.value("kept") == [1]
    assert after[0] <= before[0] + 4, (before, after)  # the pipes of one more turn's copy
    assert after[1] <= before[1] + 2
