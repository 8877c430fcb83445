"""Real bash runs random command lines; whatever it started must have been named, or the line called opaque."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.shell_commands import broken, rubble, well_formed
from support.shell_reading import Said

REAL = ("env", "xargs", "timeout", "nice", "bash", "sh")
RECORDED = ("rm", "git", "cat", "ls", "foo", "x", "y", "b", "E", "a")


class Sandbox:
    """A folder in which every program only writes down with which words it was started."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "log"
        self._count = 0
        self.bin = root / "bin"
        self.bin.mkdir()
        recorder = self.bin / "recorder"
        recorder.write_text('#!/bin/bash\nprintf \'%s\\x01\' "${0##*/}" "$@" $\'\\x02\' >> "$LOG"\n')
        recorder.chmod(0o755)
        for name in RECORDED:
            (self.bin / name).symlink_to("recorder")
        for name in REAL:
            (self.bin / name).symlink_to(str(shutil.which(name)))

    def folder(self) -> Path:
        folder = self.root / "work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def started(self, command: str, folder: Path) -> list[str]:
        """What ran, each as its words joined by blanks."""
        self._count += 1  # a log of its own, so that late writers of the command before do not count
        self.log = self.root / f"log{self._count}"
        self.log.touch()
        env = {"PATH": str(self.bin), "HOME": str(Path.home()), "LOG": str(self.log)}
        try:
            subprocess.run(
                ["bash", "-c", command], cwd=folder, env=env, timeout=5, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return []
        if re.search(r"&|<\(|>\(", command):
            self._quiet()
        runs = self.log.read_bytes().split(b"\x02\x01")
        return [" ".join(run.decode("utf-8", "replace").split("\x01")[:-1]) for run in runs if run]

    def _quiet(self) -> None:
        """Wait for what runs beside the shell: until the log has stood still for a moment."""
        deadline = time.monotonic() + 2
        size, still = -1, 0
        while still < 3 and time.monotonic() < deadline:
            time.sleep(0.005)
            now = self.log.stat().st_size
            still, size = (still + 1, now) if now == size else (0, now)


def _comparable(text: str) -> str:
    return re.sub(r"/dev/fd/\d+", "/dev/fd/N", text)


def _check(make: Callable[[random.Random], str], seed: int, count: int, root: Path) -> int:
    sandbox, dice, compared = Sandbox(root), random.Random(seed), 0
    for _ in range(count):
        command = make(dice)
        folder = sandbox.folder()
        said = Said(command, folder)
        if said.opaque:
            continue
        named = {_comparable(text) for text in said.runs}
        for run in sandbox.started(command, folder):
            compared += 1
            assert _comparable(run) in named, f"{command!r} ran {run!r} and named only {named}"
    return compared


@pytest.mark.parametrize(("make", "count"), [(well_formed, 200), (broken, 500)])
def test_what_bash_runs_was_named_before(make: Callable[[random.Random], str], count: int, tmp_path: Path):
    assert _check(make, 20, count, tmp_path) > 30


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("make", [well_formed, broken, rubble])
@pytest.mark.parametrize("seed", range(4))
def test_what_bash_runs_was_named_before_at_length(make: Callable[[random.Random], str], seed: int, tmp_path: Path):
    assert _check(make, seed, 2_000, tmp_path) > 0


@pytest.mark.parametrize("seed", range(2))
def test_random_commands_never_raise(seed: int, tmp_path: Path):
    dice = random.Random(seed)
    for _ in range(250):
        text = "".join(dice.choice((broken, rubble, well_formed, _letters))(dice) for _ in range(dice.randint(1, 2)))
        assert Said(text, tmp_path).runs


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_random_commands_never_raise_at_length(tmp_path: Path):
    dice = random.Random(99)
    for _ in range(4_000):
        text = "".join(dice.choice((broken, rubble, well_formed, _letters))(dice) for _ in range(dice.randint(1, 4)))
        assert Said(text, tmp_path).runs


def _letters(dice: random.Random) -> str:
    return "".join(
        chr(dice.choice((dice.randint(0, 127), dice.randint(0, 0x10FFFF)))) for _ in range(dice.randint(0, 60))
    )


def test_the_sandbox_itself_sees_what_runs(tmp_path: Path):
    sandbox = Sandbox(tmp_path)
    assert sandbox.started("rm 'a b' | cat; (git push) &", sandbox.folder()).count("git push") == 1
    assert os.environ.get("PATH") != str(sandbox.bin)
