"""Grep: a pattern that never ends, a tree without end, and a call that is stopped."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import psutil
import pytest

from cosh_tools.search.builtin import Builtin
from cosh_tools.search.engine import Query, search
from cosh_tools.search.grep import Grep, GrepCosh
from cosh_tools.search.ripgrep import Ripgrep, ripgrep
from support.desk import Desk


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def every_file(path: str) -> bool:
    return path != ""


def test_a_catastrophic_pattern_is_ended_at_the_deadline_with_what_was_found(tmp_path: Path):
    (tmp_path / "a.txt").write_text("aaab\n")
    (tmp_path / "b.txt").write_text("a" * 60 + "!\n")
    before = children()
    started = time.monotonic()
    answer = search(
        Builtin(),
        Query("^(a+)+b?$", str(tmp_path), mode="content", patience=1.5),
        lambda _path: True,
        threading.Event(),
    )
    assert time.monotonic() - started < 10
    assert (answer.timed_out, answer.complete) == (True, False)
    assert [row.path for row in answer.rows] == ["a.txt"]
    assert children() <= before


async def test_the_model_is_told_that_a_search_was_ended(tmp_path: Path, monkeypatch):
    class Impatient(Builtin):
        def commands(self, query, *, in_order):
            return [["sleep", "60"]]

    class Slow(Grep):
        def engine(self):
            return Impatient()

    desk = Desk(tmp_path)
    desk.runner.registry.add(Slow())
    monkeypatch.setattr("cosh_tools.search.grep.PATIENCE", 0.3)
    result = await desk("Grep", pattern="x")
    assert "(Stopped after 0.3 s: the pattern or the folder is too much." in result.content


async def test_cosh_does_not_claim_that_nothing_is_there_when_a_search_was_ended(tmp_path: Path, monkeypatch):
    class Sleeping(Builtin):
        def commands(self, query, *, in_order):
            return [["sleep", "60"]]

    class Slow(GrepCosh):
        def engine(self):
            return Sleeping()

    desk = Desk(tmp_path)
    desk.runner.registry.add(Slow())
    monkeypatch.setattr("cosh_tools.search.grep.PATIENCE", 0.3)
    result = await desk("grep", pattern="x")
    assert result.content.startswith("No matches found in the searched subset.\n[additional grep results omitted")


@pytest.mark.parametrize("script", ["echo \"error: Found argument '--crlf' which wasn't expected\" >&2; exit 2", None])
async def test_a_ripgrep_that_is_too_old_or_cannot_run_is_replaced_by_our_own_search(tmp_path: Path, script):
    old = tmp_path / "bin" / "rg"
    old.parent.mkdir()
    if script is not None:
        old.write_text(f"#!/bin/sh\n{script}\n")
        old.chmod(0o755)
    (tmp_path / "a.txt").write_text("x\n")

    class Old(Grep):
        def engine(self):
            return Ripgrep(str(old))

    desk = Desk(tmp_path)
    desk.runner.registry.add(Old())
    assert (await desk("Grep", pattern="^x$")).content == "a.txt"


def test_ripgrep_needs_no_such_help_for_the_same_pattern(tmp_path: Path):
    (tmp_path / "b.txt").write_text("a" * 60 + "!\n")
    engine = ripgrep()
    assert engine is not None
    answer = search(engine, Query("^(a+)+b?$", str(tmp_path)), every_file, threading.Event())
    assert answer.complete


async def test_a_call_that_is_cancelled_leaves_no_process(tmp_path: Path):
    (tmp_path / "a.txt").write_text("a" * 80 + "!\n")

    class Endless(Grep):
        def engine(self):
            return Builtin()

    before = children()
    desk = Desk(tmp_path)
    desk.runner.registry.add(Endless())
    call = asyncio.create_task(desk("Grep", pattern="^(a+)+b?$", path="a.txt"))
    deadline = time.monotonic() + 5
    while children() <= before:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    call.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - started < 1
    deadline = time.monotonic() + 5
    while not children() <= before:
        assert time.monotonic() < deadline, "a search outlives its call"
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("builtin", [False, True])
def test_a_search_with_plenty_of_results_stops_early(tmp_path: Path, builtin):
    for number in range(400):
        (tmp_path / f"f{number:03}.txt").write_text("hit\n" * 2000)
    engine = Builtin() if builtin else ripgrep()
    assert engine is not None
    answer = search(
        engine, Query("hit", str(tmp_path), mode="content", want=100), lambda _path: True, threading.Event()
    )
    assert (len(answer.rows), answer.complete, answer.rows[0].path) == (100, False, "f000.txt")


async def test_a_pipe_in_the_tree_is_not_waited_for_and_one_that_is_named_is_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.txt").write_text("x\n")
    desk = Desk(tmp_path)
    assert (await desk("Grep", pattern="x")).content == "a.txt"
    result = await desk("Grep", pattern="x", path="pipe")
    assert (result.is_error, result.content) == (True, "pipe is neither a file nor a folder, so it cannot be searched.")
