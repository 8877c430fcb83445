"""Runs a piece of a test as a user without rights: root never meets "permission denied"."""

from __future__ import annotations

import contextlib
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]

_DROP = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
import concurrent.futures.thread, encodings.idna, os
from support.desk import Desk
desk = Desk(Path.cwd())
if os.getuid() == 0:
    # Everything is imported by now: where Python lives may be closed to the other user.
    os.setgroups([]); os.setgid({gid}); os.setuid({uid})
"""


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that everyone may enter; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        yield folder


def as_nobody(script: str, folder: Path, *, timeout: float = 30) -> str:
    """What the body of an async function prints that has a `desk` in `folder`. Fails with its traceback."""
    nobody = pwd.getpwnam("nobody")
    body = "".join(f"    {line}\n" for line in script.strip().splitlines())
    start = _DROP.format(tests=str(TESTS), uid=nobody.pw_uid, gid=nobody.pw_gid)
    done = subprocess.run(
        [sys.executable, "-c", f"{start}\nasync def main():\n{body}\nasyncio.run(main())"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
