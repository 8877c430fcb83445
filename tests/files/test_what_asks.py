"""Read, Write and Edit: what asks a person first, in the modes in which the rest does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from cosh_tools.contract import PermissionMode
from support.desk import Desk

ASKED = "nobody is there to ask"


@pytest.mark.parametrize("mode", [PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS, PermissionMode.BALANCED])
async def test_reading_inside_the_workspace_asks_nothing_and_outside_or_keys_ask(tmp_path: Path, mode):
    (tmp_path / "work").mkdir()
    desk = Desk(tmp_path / "work", mode=mode)
    (tmp_path / "elsewhere.txt").write_text("x\n")
    (tmp_path / "work" / "door.txt").symlink_to(tmp_path / "elsewhere.txt")
    desk.file("a.txt", "x\n")
    assert not (await desk("Read", file_path="a.txt")).is_error
    for name in (".env", ".ssh/id_ed25519", "server.pem", ".netrc"):
        desk.file(name, "secret\n")
        result = await desk("Read", file_path=name)
        assert (ASKED in result.content, "secret" in result.content) == (True, False), name
    for name in ("../elsewhere.txt", "door.txt", str(tmp_path / "elsewhere.txt")):
        assert ASKED in (await desk("Read", file_path=name)).content, name


@pytest.mark.parametrize(
    "path",
    (
        ".env .git/hooks/pre-commit .ssh/authorized_keys .claude/settings.json .bashrc .mcp.json key.pem "
        ".vscode/tasks.json /etc/hosts ~/.profile ../x.txt"
    ).split(),
)
async def test_protected_places_ask_before_they_are_written_even_where_edits_are_allowed(
    tmp_path: Path, monkeypatch, path
):
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    desk = Desk(tmp_path / "work", mode=PermissionMode.ACCEPT_EDITS)
    for tool, change in (("Write", {"content": "x"}), ("Edit", {"old_string": "", "new_string": "x"})):
        result = await desk(tool, file_path=path, **change)
        assert (result.is_error, ASKED in result.content) == (True, True), result.content
    assert not (await desk("Write", file_path="a.txt", content="x")).is_error


async def test_an_added_directory_counts_as_inside(tmp_path: Path):
    (tmp_path / "work").mkdir()
    (tmp_path / "data").mkdir()
    desk = Desk(tmp_path / "work", mode=PermissionMode.ACCEPT_EDITS)
    assert ASKED in (await desk("Write", file_path="../data/a.txt", content="x")).content
    desk.ctx.state.extra_roots.append(tmp_path / "data")
    assert not (await desk("Write", file_path="../data/a.txt", content="x")).is_error


async def test_plan_mode_reads_and_searches_and_writes_nothing(tmp_path: Path):
    desk = Desk(tmp_path, mode=PermissionMode.PLAN)
    desk.file("a.txt", "x\n")
    for tool, given in (("Read", {"file_path": "a.txt"}), ("Glob", {"pattern": "*"}), ("Grep", {"pattern": "x"})):
        assert not (await desk(tool, **given)).is_error
    assert "Plan mode is read-only" in (await desk("Write", file_path="b.txt", content="x")).content
    assert not (tmp_path / "b.txt").exists()
