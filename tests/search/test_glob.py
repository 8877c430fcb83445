"""Glob: files by name, newest first."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from cosh_tools.contract import PermissionMode
from cosh_tools.search.glob import _find
from support.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def names(desk: Desk, pattern: str, **given) -> list[str]:
    result = await desk("Glob", pattern=pattern, **given)
    assert not result.is_error, result.content
    return sorted(path.removeprefix(f"{desk.folder}/") for path in result.content.split("\n"))


async def test_the_newest_files_come_first_with_their_whole_paths(desk: Desk):
    for age, name in enumerate(("new.py", "middle.py", "old.py")):
        os.utime(desk.file(name, ""), (1_700_000_000 - age, 1_700_000_000 - age))
    result = await desk("Glob", pattern="*.py")
    assert result.content == "\n".join(str(desk.folder / name) for name in ("new.py", "middle.py", "old.py"))
    assert result.metadata["summary"] == "3 files"


async def test_the_newest_250_are_chosen_from_all_and_the_rest_counted(desk: Desk):
    for number in range(300):
        path = desk.file(f"d{number % 7}/f{number:03}.txt", "")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    lines = (await desk("Glob", pattern="**/*.txt")).content.split("\n")
    assert len(lines) == 251
    assert [line.rpartition("/")[2] for line in lines[:2]] == ["f299.txt", "f298.txt"]
    assert lines[249].endswith("f050.txt")
    assert lines[250] == "... and 50 more files (showing first 250)"


TREE = (
    "a.py b.pyi src/a.ts src/b.tsx src/deep/er/c.ts src/deep/d.js [id]/page.tsx (x)/page.tsx x{1}.txt .hidden "
    ".cfg/z.ts node.test.ts Ünï/ü.txt a-b/c.ts"
).split()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", "a.py"),
        ("*.p{y,yi}", "a.py b.pyi"),
        ("*", ".hidden a.py b.pyi node.test.ts x{1}.txt"),
        ("**/*.ts", ".cfg/z.ts a-b/c.ts node.test.ts src/a.ts src/deep/er/c.ts"),
        ("src/**/*.{ts,tsx}", "src/a.ts src/b.tsx src/deep/er/c.ts"),
        ("src/*", "src/a.ts src/b.tsx"),
        ("src/*/*", "src/deep/d.js"),
        ("src/**", "src/a.ts src/b.tsx src/deep/d.js src/deep/er/c.ts"),
        ("**/deep/**/*.ts", "src/deep/er/c.ts"),
        ("src/deep/d.js", "src/deep/d.js"),
        ("./src/a.ts", "src/a.ts"),
        ("[id]/*.tsx", "[id]/page.tsx"),
        ("**/[id]/page.tsx", "[id]/page.tsx"),
        ("(x)/*", "(x)/page.tsx"),
        ("*{1}*", "x{1}.txt"),
        ("x\\{1\\}.txt", "x{1}.txt"),
        (".h*", ".hidden"),
        ("?.py", "a.py"),
        ("[!a].*", "b.pyi"),
        ("[a-b].py*", "a.py b.pyi"),
        ("*.test.*", "node.test.ts"),
        ("Ünï/*", "Ünï/ü.txt"),
        ("{src/a,a-b/c}.ts", "a-b/c.ts src/a.ts"),
        ("{a.py,src/{a,b}.ts*}", "a.py src/a.ts src/b.tsx"),
        ("**/**/c.ts", "a-b/c.ts src/deep/er/c.ts"),
        ("src/../a.py", "a.py"),
    ],
)
async def test_patterns_mean_what_a_shell_means(desk: Desk, pattern, found):
    for name in TREE:
        desk.file(name, "")
    assert await names(desk, pattern) == found.split()


async def test_a_folder_with_odd_letters_may_be_the_place_to_search(desk: Desk):
    for folder in ("[id]", "(x)", "a*b", "{c}", "a b"):
        desk.file(f"{folder}/page.tsx", "")
        assert await names(desk, "*.tsx", path=folder) == [f"{folder}/page.tsx"]


async def test_an_absolute_pattern_and_home_are_understood(desk: Desk, monkeypatch):
    monkeypatch.setenv("HOME", str(desk.folder))
    desk.file("src/a.py", "")
    assert await names(desk, f"{desk.folder}/src/*.py") == ["src/a.py"]
    assert await names(desk, "~/src/*.py") == ["src/a.py"]


async def test_folders_are_not_listed_and_links_to_files_are(desk: Desk):
    desk.file("src/a.py", "")
    (desk.folder / "b.py").symlink_to("src/a.py")
    (desk.folder / "gone.py").symlink_to("nowhere")
    (desk.folder / "dir.py").mkdir()
    (desk.folder / "linked.py").symlink_to("src")
    (desk.folder / "round").symlink_to(".")
    assert await names(desk, "**/*.py") == ["b.py", "gone.py", "src/a.py"]


async def test_ignored_files_are_left_out_and_counted_and_can_be_asked_for(desk: Desk):
    (desk.folder / ".git").mkdir()
    desk.file(".gitignore", "node_modules/\n*.log\n/dist\n")
    for name in ("a.js", "node_modules/x/b.js", "dist/c.js", "d.log", "e.log", ".git/hooks/f.js"):
        desk.file(name, "")
    shown = (await desk("Glob", pattern="**/*.js")).content
    assert shown == (f"{desk.folder}/a.js\n(Ignore files hid 2 folders (dist, node_modules); no_ignore shows them.)")
    assert "(Ignore files hid 2 matching files and 2 folders" in (await desk("Glob", pattern="**/*.log")).content
    assert await names(desk, "**/*.js", no_ignore=True) == ["a.js", "dist/c.js", "node_modules/x/b.js"]
    assert await names(desk, "**/*.js", path="node_modules") == ["node_modules/x/b.js"]


async def test_nothing_found_is_said_with_what_would_search_deeper(desk: Desk):
    desk.file("src/a.py", "")
    result = await desk("Glob", pattern="*.py")
    assert (result.is_error, result.content.split("\n")) == (
        False,
        [
            f'No files matched pattern "*.py" in {desk.folder}',
            '(Only this folder was searched; "**/*.py" searches the folders in it too.)',
        ],
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [({"pattern": "*", "path": "nowhere"}, "Directory not found: "),
     ({"pattern": "nowhere/*.py"}, "Directory not found: "),
     ({"pattern": "[z"}, "Invalid glob pattern: '[z' opens a ["), ({"pattern": "*/../x"}, "goes up after a wildcard"),
     ({"pattern": ""}, "Invalid input for Glob: pattern"), ({"pattern": "/"}, "names no files"),
     ({"pattern": "{a,b}" * 10}, "more than 512 alternatives")],
)  # fmt: skip
async def test_what_cannot_be_searched_is_an_error(desk: Desk, given, says):
    result = await desk("Glob", **given)
    assert (result.is_error, says in result.content) == (True, True), result.content


async def test_what_a_rule_denies_to_read_is_not_listed(tmp_path: Path):
    desk = Desk(tmp_path, deny=("Read(./private/**)",))
    desk.file("private/a.txt", "")
    desk.file("public/a.txt", "")
    assert (await desk("Glob", pattern="**/*.txt")).content == f"{tmp_path}/public/a.txt"


async def test_listing_outside_the_workspace_asks(tmp_path: Path, tmp_path_factory):
    desk = Desk(tmp_path, mode=PermissionMode.DEFAULT)
    outside = tmp_path_factory.mktemp("outside")
    for given in ({"pattern": f"{outside}/*"}, {"pattern": "*", "path": str(outside)}, {"pattern": "../*"}):
        result = await desk("Glob", **given)
        assert (result.is_error, "nobody is there to ask" in result.content) == (True, True), given


def test_a_walk_that_is_not_wanted_any_more_ends(tmp_path: Path):
    for number in range(50):
        (tmp_path / f"d{number}").mkdir()
    stopped = threading.Event()
    stopped.set()
    found = _find(str(tmp_path), "**/*", ignoring=True, stopped=stopped)
    assert (found.paths, found.timed_out) == ([], True)
