"""Ignore files, judged by git itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosh_tools.search.ignore import Ignores, above, parse, repository
from cosh_tools.search.walk import Walk

NAMES = [
    "a",
    "b.py",
    "c.txt",
    "build",
    "foo",
    "bar",
    "x1",
    "[id]",
    "!odd",
    "#odd",
    "sp ace",
    "foo.bar.py",
    "Ünï",
    "b.pyc",
]
LINES = st.sampled_from(
    [
        *("*.py build/ /foo foo/ !b.py foo/bar **/x1 foo/** a/**/b.py * !*/ !c.txt b.p? [a-b] [!a]* *.py[co]").split(),
        *("\\#odd \\!odd sp\\ ace /* !/a ** foo/* !foo/bar a/b.py /a/ x* **/foo/** */c.txt [[:digit:]]* foo.*").split(),
        *("\\[id] Ü* a\\ /**/bar bar/**/ !foo/ *.* {a,foo} / // foo//bar").split(),
        *("# a comment", "", "   ", "c.txt  ", "sp\\ ace", "sp ace"),
    ]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rules=st.lists(LINES, max_size=6),
    inner=st.lists(LINES, max_size=4),
    where=st.sampled_from(["a", "foo", "build", "foo/bar"]),
)
def test_the_same_files_are_left_out_as_git_leaves_out(tmp_path_factory, rules, inner, where):
    root = forest(tmp_path_factory)
    (root / ".gitignore").write_text("\n".join(rules) + "\n")
    for old in root.rglob("*/.gitignore"):
        old.unlink()
    (root / where / ".gitignore").write_text("\n".join(inner))
    ours = {path for _whole, path in Walk(ignores=above(str(root))).in_order(str(root))}
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"], cwd=root, capture_output=True, check=True
    )
    assert ours == {name for name in listed.stdout.decode().split("\0") if name}


_GROWN: list[Path] = []


def forest(factory) -> Path:
    """A repository with a few hundred paths, made once."""
    if not _GROWN:
        root = factory.mktemp("repository")
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        (root / ".git" / "info" / "exclude").write_text("")
        for one in NAMES:
            for two in NAMES:
                if one in ("a", "build", "foo", "bar", "[id]", "sp ace"):
                    (root / one / two).mkdir(parents=True) if two in ("bar", "x1") else file(root / one / two)
            if one in ("b.py", "c.txt", "x1", "!odd", "#odd", "foo.bar.py", "Ünï", "b.pyc"):
                file(root / one)
        for deep in root.glob("*/*"):
            if deep.is_dir():
                for name in NAMES[:6]:
                    file(deep / name)
        _GROWN.append(root)
    return _GROWN[0]


def file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")


def hidden(root: Path, start: str = "") -> list[str]:
    """What a walk from `start` shows."""
    folder = str(root / start)
    return [path for _whole, path in Walk(ignores=above(folder)).in_order(folder)]


def test_rules_of_the_folders_above_reach_a_search_that_begins_below(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\n/src/gen\n/gen\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / ".gitignore").write_text("x.py\n/lib/y.py\n")
    for name in ("src/lib/a.log", "src/lib/x.py", "src/lib/y.py", "src/lib/gen", "src/gen", "src/lib/z.py"):
        file(tmp_path / name)
    assert hidden(tmp_path, "src/lib") == ["gen", "z.py"]
    assert hidden(tmp_path, "src") == [".gitignore", "lib/gen", "lib/z.py"]


def test_outside_a_repository_rules_begin_at_the_searched_folder(tmp_path: Path):
    (tmp_path / ".gitignore").write_text("*\n")
    file(tmp_path / "home" / "a.py")
    (tmp_path / "home" / ".gitignore").write_text("b.py\n")
    file(tmp_path / "home" / "b.py")
    assert repository(str(tmp_path / "home")) is None
    assert hidden(tmp_path, "home") == [".gitignore", "a.py"]


def test_a_repository_inside_another_starts_anew(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\n")
    file(tmp_path / "inner" / "a.log")
    (tmp_path / "inner" / ".git").write_text("gitdir: ../.git/worktrees/inner\n")
    assert hidden(tmp_path) == [".gitignore", "inner/a.log"]


def test_the_exclude_file_is_the_weakest_and_rgignore_the_strongest(tmp_path: Path):
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("a.txt\nb.txt\n")
    (tmp_path / ".gitignore").write_text("!a.txt\nc.txt\nd.txt\n")
    (tmp_path / ".ignore").write_text("!c.txt\ne.txt\n")
    (tmp_path / ".rgignore").write_text("!e.txt\n!d.txt\n")
    for name in "abcde":
        file(tmp_path / f"{name}.txt")
    assert [name for name in hidden(tmp_path) if name.endswith(".txt")] == ["a.txt", "c.txt", "d.txt", "e.txt"]


def test_a_linked_worktree_has_the_exclude_file_of_its_repository(tmp_path: Path):
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    for words in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"],
        ["worktree", "add", "-q", str(linked)],
    ):
        subprocess.run(["git", *words], cwd=main, check=True, capture_output=True)
    (main / ".git" / "info" / "exclude").write_text("secret.txt\n")
    file(linked / "secret.txt")
    file(linked / "open.txt")
    assert [name for name in hidden(linked) if not name.startswith(".git")] == ["open.txt"]


def test_files_that_cannot_be_read_or_are_no_text_hide_nothing(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").mkdir()
    (tmp_path / ".ignore").write_bytes(b"\xff\xfe[z\n*.log\n[\n")
    file(tmp_path / "a.py")
    file(tmp_path / "a.log")
    assert hidden(tmp_path) == [".ignore", "a.py"]


def test_a_huge_ignore_file_is_read_in_part(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("a.py\n" + "# filler\n" * 200_000 + "b.py\n")
    file(tmp_path / "a.py")
    file(tmp_path / "b.py")
    assert hidden(tmp_path) == [".gitignore", "b.py"]


def test_comments_blank_lines_and_nonsense_are_no_rules():
    assert [parse(line) for line in ("", "   ", "# x", "/", "!", "[z")] == [None] * 6
    assert Ignores().hides("a", "a", folder=False) is False


def test_git_is_there_to_judge():
    assert shutil.which("git"), "these tests compare with git"
