"""Two small environments with a real ipykernel 6.31 and the newest 7, and the project as it is installed here.

Each is a plain virtual environment that holds only its ipykernel; everything else comes, after it on the path, from the
environment that runs the tests. They are cached, so that only the first run downloads.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from filelock import FileLock

WANTED = {"ipykernel6": "ipykernel==6.31.*", "ipykernel7": "ipykernel>=7,<8"}
"""Kernel name -> what pip installs into its environment."""

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def kernel_python(name: str) -> Path:
    """The interpreter of the environment called `name`, built if it is not there yet."""
    folder = _cache() / f"{name}-{_key(name)}"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    _cache().mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock", timeout=300):
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _build(folder, python, WANTED[name])
            (folder / "complete").touch()
    return python


def _build(folder: Path, python: Path, wanted: str) -> None:
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    own = Path(_run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
    shared = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    # addsitedir, not a plain path: the .pth file of an editable install must be read too.
    (own / "zz_tests.pth").write_text("import site; " + "; ".join(f"site.addsitedir({path!r})" for path in shared))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--ignore-installed"]
    _run([*pip, wanted, "nest-asyncio"])
    found = _run([str(python), "-c", "import ipykernel, cosh_nb; print(ipykernel.__file__)"]).strip()
    if not found.startswith(str(own)):
        raise AssertionError(f"{folder.name} would run the ipykernel of {found}, not its own.")


def _run(command: list[str]) -> str:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=env)
    if done.returncode:
        raise AssertionError(
            f"The test environments need pip and its index: `{' '.join(command)}` ended with {done.returncode}:\n"
            f"{done.stderr[-2000:]}"
        )
    return done.stdout


def _cache() -> Path:
    return Path(os.environ.get("COSH_TEST_CACHE") or Path.home() / ".cache" / "cosh-nb-tests")


def _key(name: str) -> str:
    parts = [_PROJECT.read_text("utf-8"), WANTED[name], sys.version, sys.prefix]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
