"""Write: whole files, in one step, in the spelling they have."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cosh_tools.contract import PermissionMode
from support.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_a_new_file_is_created_with_its_folders_and_the_result_counts(desk: Desk):
    result = await desk("Write", file_path="a/b/c.txt", content="one\ntwo")
    assert result.content == "Created a/b/c.txt (2 lines, 7 bytes)"
    assert (desk.folder / "a/b/c.txt").read_bytes() == b"one\ntwo"
    assert {name: result.metadata[name] for name in ("is_new", "lines", "bytes", "summary")} == {
        "is_new": True,
        "lines": 2,
        "bytes": 7,
        "summary": "+2 \N{MINUS SIGN}0",
    }
    assert result.metadata["diff"] == (
        "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n"
    )


async def test_a_file_must_have_been_read_before_it_is_overwritten(desk: Desk):
    desk.file("a.txt", "old\n")
    result = await desk("Write", file_path="a.txt", content="new\n")
    assert (result.is_error, result.content) == (True, "a.txt has not been read yet. Read it first, then change it.")
    assert (desk.folder / "a.txt").read_text() == "old\n"
    await desk("Read", file_path="a.txt")
    assert (await desk("Write", file_path="a.txt", content="new\n")).content == "Wrote a.txt (1 lines, 4 bytes)"


async def test_what_was_written_need_not_be_read_again(desk: Desk):
    await desk("Write", file_path="a.txt", content="one\n")
    assert not (await desk("Write", file_path="a.txt", content="two\n")).is_error
    assert not (await desk("Edit", file_path="a.txt", old_string="two", new_string="three")).is_error


async def test_an_empty_file_holds_nothing_to_lose_and_may_be_written_unread(desk: Desk):
    desk.file("a.txt", "")
    assert not (await desk("Write", file_path="a.txt", content="x\n")).is_error


@pytest.mark.parametrize(
    ("old", "content", "new"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny\r\n", b"x\r\ny\r\n"),
        (b"a\nb\n", "x\r\ny\n", b"x\ny\n"),
        (b"a\rb\r", "x\ny\n", b"x\ry\r"),
        (b"\xef\xbb\xbfa\n", "ü\n", b"\xef\xbb\xbf" + "ü\n".encode()),
        ("\ufeffa\r\n".encode("utf-16-le"), "ü\nz\n", "\ufeffü\r\nz\r\n".encode("utf-16-le")),
        ("Füße, café, Maß\n".encode("cp1252"), "Größe\n", "Größe\n".encode("cp1252")),
        (b"a\nb\n", "x", b"x\n"),
        (b"a\nb", "x", b"x"),
        (b"a\nb", "x\n", b"x\n"),
        (b"one line", "x\r\ny", b"x\r\ny"),
        (b"a\n", "", b""),
    ],
)  # fmt: skip
async def test_encoding_bom_line_endings_and_the_final_newline_are_kept(desk: Desk, old, content, new):
    path = desk.file("a.txt", old)
    await desk("Read", file_path="a.txt")
    result = await desk("Write", file_path="a.txt", content=content)
    assert not result.is_error, result.content
    assert path.read_bytes() == new


async def test_a_character_that_the_encoding_lacks_is_refused_by_name(desk: Desk):
    path = desk.file("a.txt", "Füße, café, Maß\n".encode("cp1252"))
    await desk("Read", file_path="a.txt")
    result = await desk("Write", file_path="a.txt", content="日本\n")
    assert (result.is_error, "'日' (U+65E5)" in result.content, "cp1252" in result.content) == (True, True, True)
    assert path.read_bytes() == "Füße, café, Maß\n".encode("cp1252")


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o640, 0o4711])
async def test_the_mode_of_a_file_is_kept(desk: Desk, mode):
    path = desk.file("run.sh", "old\n")
    path.chmod(mode)
    await desk("Read", file_path="run.sh")
    await desk("Write", file_path="run.sh", content="new\n")
    assert stat.S_IMODE(path.stat().st_mode) == mode


async def test_a_new_file_has_the_mode_that_the_umask_gives(desk: Desk):
    before = os.umask(0o027)
    try:
        await desk("Write", file_path="a.txt", content="x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((desk.folder / "a.txt").stat().st_mode) == 0o640


async def test_owner_and_attributes_are_kept_as_far_as_the_system_allows(desk: Desk):
    path = desk.file("a.txt", "old\n")
    if os.getuid() == 0:
        os.chown(path, 1234, 1235)
    try:
        os.setxattr(path, "user.origin", b"here")
        attributes = {"user.origin": b"here"}
    except OSError:
        attributes = {}  # this file system has none
    await desk("Read", file_path="a.txt")
    await desk("Write", file_path="a.txt", content="new\n")
    found = path.stat()
    assert (found.st_uid, found.st_gid) == ((1234, 1235) if os.getuid() == 0 else (os.getuid(), os.getgid()))
    assert {name: os.getxattr(path, name) for name in attributes} == attributes


async def test_a_link_stays_a_link_and_its_target_is_written(desk: Desk):
    target = desk.file("real/a.txt", "old\n")
    link = desk.folder / "link.txt"
    link.symlink_to("real/a.txt")
    await desk("Read", file_path="link.txt")
    await desk("Write", file_path="link.txt", content="new\n")
    assert (link.is_symlink(), target.read_text()) == (True, "new\n")


async def test_a_link_that_leads_nowhere_yet_is_followed_too(desk: Desk):
    link = desk.folder / "link.txt"
    link.symlink_to("later/a.txt")
    await desk("Write", file_path="link.txt", content="new\n")
    assert (link.is_symlink(), (desk.folder / "later/a.txt").read_text()) == (True, "new\n")


async def test_other_names_of_a_file_are_told_of(desk: Desk):
    path = desk.file("a.txt", "old\n")
    (desk.folder / "b.txt").hardlink_to(path)
    await desk("Read", file_path="a.txt")
    result = await desk("Write", file_path="a.txt", content="new\n")
    assert "1 other name(s) by hard links; they keep the old content" in result.content
    assert (desk.folder / "b.txt").read_text() == "old\n"


@pytest.mark.parametrize(
    ("path", "says"),
    [("new/", "names a folder"), ("src", "is a directory"), ("src/.", "names a folder"), ("a.txt/b", "not a folder"),
     ("x" * 300, "too long")],
)  # fmt: skip
async def test_what_is_no_place_for_a_file_is_an_error_and_leaves_nothing_behind(desk: Desk, path, says):
    (desk.folder / "src").mkdir()
    desk.file("a.txt", "x")
    result = await desk("Write", file_path=path, content="x")
    assert (result.is_error, says in result.content) == (True, True), result.content
    assert sorted(each.name for each in desk.folder.iterdir()) == ["a.txt", "src"]


@pytest.mark.parametrize(
    "mark", ["<REDACTED>", "<redacted: key>", "<SECRET>", "[REDACTED:token]", "YOUR_API_KEY", "your_openai_api_key",
             "YOUR_TOKEN", "XXX_API_KEY_XXX"],
)  # fmt: skip
async def test_a_placeholder_for_a_secret_is_refused_and_leaves_no_folder(desk: Desk, mark):
    result = await desk("Write", file_path="new/.config", content=f"key = {mark}\n")
    assert result.is_error
    assert result.content.startswith(f"Write refused: placeholder(s) detected: {mark}")
    assert not (desk.folder / "new").exists()


async def test_a_placeholder_that_is_there_already_may_stay(desk: Desk):
    desk.file("example.env.md", "key = YOUR_API_KEY\n")
    await desk("Read", file_path="example.env.md")
    assert not (await desk("Write", file_path="example.env.md", content="# doc\nkey = YOUR_API_KEY\n")).is_error


async def test_a_secret_is_written_as_asked_and_told_of_without_being_repeated(desk: Desk):
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    for call in (
        {"file_path": "a.cfg", "content": f"key = {key}\n"},
        {"file_path": "b.pem", "content": "-----BEGIN RSA " + "PRIVATE KEY-----\nx\n"},
    ):
        result = await desk("Write", **call)
        assert not result.is_error
        assert "(Warning: the content looks like it holds " in result.content
        assert key not in result.content
    again = await desk("Write", file_path="a.cfg", content=f"# the same\nkey = {key}\n")
    assert "Warning" not in again.content


async def test_a_notebook_is_referred_to_the_tool_for_notebooks(desk: Desk):
    result = await desk("Write", file_path="a.ipynb", content="{}")
    assert (result.is_error, "NotebookEdit" in result.content) == (True, True)


async def test_the_card_shows_the_change_before_it_is_made(desk: Desk):
    from cosh_tools.registry import load
    from cosh_tools.validate import validate

    desk.file("a.txt", "one\ntwo\nthree\n")
    await desk("Read", file_path="a.txt")
    tool = load("Write")
    call, _unknown = validate(tool, {"file_path": "a.txt", "content": "one\n2\nthree\n"})
    assert await tool.diff(call, desk.ctx) == ("--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n")
    assert (desk.folder / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_writing_outside_the_workspace_asks_even_where_edits_are_allowed(tmp_path: Path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "inside" / "door").symlink_to(tmp_path / "outside")
    desk = Desk(tmp_path / "inside", mode=PermissionMode.ACCEPT_EDITS)
    for path in (
        "../outside/a.txt",
        str(tmp_path / "outside" / "a.txt"),
        "door/a.txt",
        "door/new/a.txt",
        ".git/config",
    ):
        result = await desk("Write", file_path=path, content="x")
        assert (result.is_error, "nobody is there to ask" in result.content) == (True, True), path
    assert list((tmp_path / "outside").iterdir()) == []
    assert not (await desk("Write", file_path="sub/../a.txt", content="x")).is_error
