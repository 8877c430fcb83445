"""A generated tree of 2,000 files with everything in it that a search may stumble over."""

from __future__ import annotations

import random
from pathlib import Path

_WORDS = "alpha beta gamma delta def return class import x1 42 foo_bar FooBar naïve straße 日本 end".split()
_NAMES = (
    "main.py",
    "util.PY",
    "app.ts",
    "index.js",
    "notes.md",
    "data.json",
    "run.sh",
    "Makefile",
    ".hidden",
    "a b.txt",
)
_FOLDERS = ("src", "lib", "[id]", "(x)", ".config", "build", "vendor", "deep", "Ünï", "a-b", "a.b", "a")
_IGNORES = (
    "build/\n*.log\n", "/vendor\n!keep.log\n", "# nothing\n\n*.md\n!notes.md\n", "lib/**/*.js\ntemp?.txt\n",
    "**/deep/\n", "foo/*\n!foo/bar\n", "[a-c].txt\n\\#odd\n*.PY\n", "src/lib\n", "a.b/\n/index.js\n",
)  # fmt: skip


def grow(root: Path, files: int = 2000, seed: int = 7) -> Path:
    """Make the tree."""
    chance = random.Random(seed)
    (root / ".git" / "info").mkdir(parents=True)
    (root / ".git" / "info" / "exclude").write_text("*.bak\n!alpha.bak\n")
    (root / ".git" / "config").write_text("alpha beta\n")
    folders = [root]
    while len(folders) < files // 12:
        folder = chance.choice(folders[-60:]) / chance.choice(_FOLDERS)
        if len(folder.relative_to(root).parts) < 7 and not folder.exists():
            folder.mkdir()
            folders.append(folder)
    for folder in folders:
        if chance.random() < 0.25:
            (folder / ".gitignore").write_text(chance.choice(_IGNORES))
        if chance.random() < 0.05:
            (folder / ".ignore").write_text(chance.choice(_IGNORES))
        if chance.random() < 0.03:
            (folder / ".rgignore").write_text(chance.choice(_IGNORES))
    made = 0
    while made < files:
        folder = chance.choice(folders)
        name = chance.choice(_NAMES)
        if chance.random() < 0.5:
            stem = chance.choice("abctemp") + chance.choice(["", "1", "x"])
            name = f"{stem}.{chance.choice(['txt', 'log', 'md', 'py', 'js', 'bak'])}"
        path = folder / name
        if path.exists():
            path = folder / f"{made}{name}"
        path.write_bytes(_content(chance))
        made += 1
    nested = root / "src" / "inner"
    (nested / ".git").mkdir(parents=True)
    (nested / ".gitignore").write_text("x.txt\n")
    (nested / "x.txt").write_text("alpha\n")
    (nested / "a.log").write_text("alpha\n")
    (root / "link.py").symlink_to(root / "src" / "inner" / "x.txt")
    (root / "loop").symlink_to(root)
    (root / "nowhere").symlink_to(root / "missing")
    return root


def _content(chance: random.Random) -> bytes:
    lines = [
        " ".join(chance.choices(_WORDS, k=chance.randint(0, 7))) + chance.choice(["", "", "", "\t", " "])
        for _ in range(chance.randint(0, 30))
    ]
    kind = chance.random()
    if kind < 0.05:
        lines.insert(chance.randint(0, len(lines)), "alpha " + "z" * chance.choice([600, 5000]) + " beta")
    ending = "\r\n" if 0.05 < kind < 0.15 else "\n"
    text = ending.join(lines) + (ending if lines and chance.random() < 0.8 else "")
    if kind < 0.18:
        return text.encode()
    if kind < 0.22 and text:
        return b"\xff\xfe" + text.encode("utf-16-le")
    if kind < 0.25 and text:
        return b"\xfe\xff" + text.encode("utf-16-be")
    if kind < 0.29 and text:
        return b"\xef\xbb\xbf" + text.encode()
    if kind < 0.33:
        return text.encode()[:200] + b"\0\x01\x02" + text.encode()
    if kind < 0.36:
        return text.encode("latin-1", "replace")
    return text.encode()
