"""Read and Edit in front of things that are no readable files."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from support.desk import Desk
from support.nobody import as_nobody, open_folder


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_a_folder_is_said_to_be_one(desk: Desk):
    (desk.folder / "src").mkdir()
    result = await desk("Read", file_path="src")
    assert result.is_error
    assert result.content == "src is a directory, not a file. List it with Bash `ls` or with Glob."


async def test_a_pipe_is_refused_at_once_and_never_waited_for(desk: Desk):
    os.mkfifo(desk.folder / "pipe")
    result = await desk("Read", file_path="pipe")
    assert (result.is_error, "named pipe (FIFO)" in result.content) == (True, True)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/random", "/dev/stdin", "/dev/tty", "/dev/full"])
async def test_a_device_is_refused_and_never_read(desk: Desk, device):
    result = await desk("Read", file_path=device)
    assert result.is_error
    assert "Only regular files are read." in result.content or "not found" in result.content


async def test_a_socket_is_refused(desk: Desk):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(desk.folder / "s"))
        result = await desk("Read", file_path="s")
    assert "a socket. Only regular files are read." in result.content


async def test_links_in_a_circle_are_an_error_and_no_hang(desk: Desk):
    (desk.folder / "a").symlink_to("b")
    (desk.folder / "b").symlink_to("a")
    result = await desk("Read", file_path="a")
    assert (result.is_error, "circles" in result.content) == (True, True)


@pytest.mark.parametrize(("path", "says"), [("a\0b", "not a path"), ("x" * 300, "too long"), ("", "file_path")])
async def test_a_path_that_is_none_is_an_error(desk: Desk, path, says):
    result = await desk("Read", file_path=path)
    assert (result.is_error, says in result.content) == (True, True), result.content


async def test_a_file_used_as_a_folder_is_an_error(desk: Desk):
    desk.file("a.txt", "x")
    result = await desk("Read", file_path="a.txt/b")
    assert result.content == "File not found: a.txt/b (a part of the path is a file, not a folder)."


def test_what_the_operating_system_denies_is_said_to_be_denied():
    with open_folder() as folder:
        (folder / "closed").mkdir()
        (folder / "closed" / "in.txt").write_text("x")
        (folder / "secret.txt").write_text("x\n")
        (folder / "secret.txt").chmod(0o600)
        (folder / "readonly.txt").write_text("x\n")
        (folder / "readonly.txt").chmod(0o444)
        (folder / "open").mkdir(mode=0o777)
        (folder / "open").chmod(0o777)
        (folder / "open" / "fixed.txt").write_text("x\n")
        (folder / "open" / "fixed.txt").chmod(0o444)
        (folder / "writable.txt").write_text("x\n")
        (folder / "writable.txt").chmod(0o666)
        (folder / "closed").chmod(0o700)
        said = as_nobody(
            """
for name in ("secret.txt", "closed/in.txt", "readonly.txt"):
    print(name, (await desk("Read", file_path=name)).content.strip())
print("edit", (await desk("Edit", file_path="readonly.txt", old_string="x", new_string="y")).content)
print("fixed", (await desk("Read", file_path="open/fixed.txt")).content.strip(),
      (await desk("Write", file_path="open/fixed.txt", content="y")).content)
await desk("Read", file_path="writable.txt")
print("folder", (await desk("Write", file_path="writable.txt", content="y")).content)
print("new", (await desk("Write", file_path="deep/new.txt", content="y")).content)
print("glob", (await desk("Glob", pattern="**/*.txt")).content)
print("grep", (await desk("Grep", pattern="x")).content)
""",
            folder,
        )
        assert "secret.txt The operating system denies access to secret.txt." in said
        assert "closed/in.txt The operating system denies access to closed/in.txt." in said
        assert "readonly.txt 1\tx" in said
        assert "edit readonly.txt is read-only for this user. Nothing was written." in said
        assert "fixed 1\tx open/fixed.txt is read-only for this user. Nothing was written." in said
        assert (
            "folder The operating system denies writing in the folder of writable.txt. The file is as it was." in said
        )
        assert "new Failed to create directory" in said
        assert "(1 folder could not be read.)" in said
        assert "(2 files or folders could not be read.)" in said
        assert (folder / "open" / "fixed.txt").read_text() == "x\n"
        assert (folder / "writable.txt").read_text() == "x\n"
        assert sorted(p.name for p in folder.iterdir()) == [
            "closed",
            "open",
            "readonly.txt",
            "secret.txt",
            "writable.txt",
        ]
