"""A source tree of 50,000 files and a gigabyte, made once and kept in the system's folder for temporary files."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from pathlib import Path

FILES = 50_000
NEEDLE = "needle_in_the_hay"
_VERSION = "cosh-bench-tree-1"
_REST = b"words and more words " * 4 + b"until the end.....\n"
_NAMES = [".py"] * 38 + [".js"] * 20 + [".md"] * 12 + [".json"] * 10 + [".txt"] * 20


def big_tree() -> Path:
    """The tree; 19,000 of its files are Python, and one line in all of them holds the needle."""
    root = Path(tempfile.gettempdir()) / _VERSION
    if not (root / "whole").exists():
        shutil.rmtree(root, ignore_errors=True)
        _grow(root / "tree")
        (root / "whole").touch()
    return root / "tree"


def big_file(name: str, size: int) -> Path:
    """A text of numbered lines, each 113 bytes long, of at least `size` bytes."""
    path = Path(tempfile.gettempdir()) / f"{_VERSION}-{name}"
    if not path.exists() or path.stat().st_size < size:
        with path.open("wb") as out:
            for start in range(0, size // 113 + 1, 50_000):
                count = min(50_000, size // 113 + 1 - start)
                out.write(b"".join(b"%09d %s" % (line, _REST) for line in range(start, start + count)))
        os.sync()
    return path


def _grow(root: Path) -> None:
    chance = random.Random(4)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(3000)]
    lines = [" ".join(chance.choices(words, k=chance.randint(1, 12))) for _ in range(20_000)]
    made = 0
    for number in range(FILES // 40):
        folder = root / f"pkg{number % 25:02}" / f"mod{number // 25:02}" / ("sub" if number % 3 == 0 else "")
        folder.mkdir(parents=True)
        for each in range(40):
            start, count = chance.randint(1, 19_400), chance.randint(20, 1030)
            text = "\n".join(lines[start : start + count // 2] + lines[: count // 2]) + "\n"
            (folder / f"file{each:02}{_NAMES[made % 100]}").write_text(text)
            made += 1
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("*.pyc\n__pycache__/\nnode_modules/\nbuild/\n*.log\n/dist\n")
    with (root / "pkg07" / "mod13" / "file03.py").open("a") as file:
        file.write(f"{NEEDLE} = 42\n")
