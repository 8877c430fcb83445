"""Style, types and layers are checked like behaviour."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


def test_the_linter_finds_nothing():
    done = run(sys.executable, "-m", "ruff", "check", ".")
    assert done.returncode == 0, done.stdout


def test_the_formatter_changes_nothing():
    done = run(sys.executable, "-m", "ruff", "format", "--check", ".")
    assert done.returncode == 0, done.stdout


@pytest.mark.timeout(600)
def test_the_types_are_strict_and_right():
    done = run(sys.executable, "-m", "mypy")
    assert done.returncode == 0, done.stdout


def test_imports_point_one_way():
    done = run(str(Path(sys.executable).with_name("lint-imports")))
    assert done.returncode == 0, done.stdout


def test_no_file_names_a_machine_or_a_registry():
    tracked = run("git", "ls-files").stdout.splitlines()
    words = ("/" + "work/", "pypi" + ".org", "registry.npmjs" + ".org", "files.pythonhosted" + ".org")
    for name in tracked:
        path = ROOT / name
        if not path.is_file() or path.suffix in {".png", ".pdf", ".gif", ".webp", ".jpg"}:
            continue
        text = path.read_text("utf-8", "replace")
        assert not [word for word in words if word in text], name
