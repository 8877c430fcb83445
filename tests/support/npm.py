"""Programs from npm for the tests, installed once into the tests' cache. Node is required: its absence is a failure."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from filelock import FileLock

PACKAGES = ("@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31")


def npm_program(name: str) -> str:
    """The path of a program of PACKAGES."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        raise AssertionError(
            "The tests of MCP need node and npm: install Node.js 20 or later (apt-get install nodejs npm)."
        )
    mark = hashlib.sha256("\n".join(PACKAGES).encode()).hexdigest()[:12]
    cache = Path(os.environ.get("COSH_TEST_CACHE") or Path.home() / ".cache" / "cosh-nb-tests")
    folder = cache / f"npm-{mark}"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock", timeout=300):
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES]
            done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
            assert done.returncode == 0, f"npm could not install the MCP servers: {done.stderr[-2000:]}"
            (folder / "done").touch()
    return str(folder / "node_modules" / ".bin" / name)
