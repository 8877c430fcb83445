"""The lab extension as files: shipped, listed, copied, in step with the package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_editable, build_wheel

import cosh_nb
from cosh_nb.errors import CoshError
from cosh_nb.install_lab import NAME, copies, install, remove
from cosh_nb.notebook.bridge import COMM, PROTOCOL

ROOT = Path(cosh_nb.__file__).parents[1]
EXTENSION = ROOT / "cosh_nb" / "labextension"
SCRIPT = (EXTENSION / "static" / "cosh_nb.js").read_text("utf-8")


def test_page_and_kernel_speak_of_the_same_version_and_names():
    package = json.loads((EXTENSION / "package.json").read_bytes())

    assert package["version"] == cosh_nb.__version__
    assert package["jupyterlab"]["_build"]["load"] == f"static/cosh_nb.js?v={cosh_nb.__version__}"
    assert f"const VERSION = '{cosh_nb.__version__}';" in SCRIPT
    assert f"const PROTOCOL = {PROTOCOL};" in SCRIPT
    assert f"const BRIDGE = '{COMM}';" in SCRIPT
    assert f'version = "{cosh_nb.__version__}"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_the_script_holds_nothing_that_a_browser_would_have_to_fetch():
    assert not re.search(r"https?://(?!www\.w3\.org)", SCRIPT)
    assert "eval(" not in SCRIPT


@pytest.mark.parametrize("build", [build_wheel, build_editable], ids=["wheel", "editable"])
def test_pip_puts_it_where_jupyter_looks_and_jupyter_says_ok(tmp_path, monkeypatch, build):
    monkeypatch.chdir(ROOT)
    name = build(str(tmp_path))
    target = tmp_path / "site"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        for entry in wheel.namelist():
            if ".data/data/" in entry:
                place = target / entry.split(".data/data/", 1)[1]
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(wheel.read(entry))
    env = {**os.environ, "JUPYTER_PATH": str(target / "share" / "jupyter"), "JUPYTER_DATA_DIR": str(tmp_path / "none")}

    listed = subprocess.run(
        [sys.executable, "-m", "jupyter", "labextension", "list"],
        capture_output=True, text=True, timeout=60, env=env, check=True,
    ).stderr  # fmt: skip

    assert (target / "share/jupyter/labextensions/cosh-nb/static/cosh_nb.css").exists()
    plain = re.sub(r"\x1b\[[0-9;]*m", "", listed)
    assert f"cosh-nb v{cosh_nb.__version__} enabled OK (python, cosh-nb)" in plain


def test_install_lab_copies_renews_replaces_and_takes_away(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "none"))

    first = install()
    place = tmp_path / "data" / "labextensions" / NAME
    assert "copied" in first
    shipped = ["cosh_nb.css", "cosh_nb.js", "install.json", "package.json"]
    assert sorted(path.name for path in place.rglob("*") if path.is_file()) == shipped
    assert (place / "static" / "cosh_nb.css").read_bytes() == (ROOT / "cosh_nb" / "render" / "cosh.css").read_bytes()
    assert next(copy for copy in copies() if copy.folder == place).current
    assert "renewed" in install()
    (place / "package.json").write_text('{"version": "0.0.1"}')
    (place / "stale.txt").write_text("x")
    assert not next(copy for copy in copies() if copy.folder == place).current

    assert "replaced version 0.0.1" in install()

    assert not (place / "stale.txt").exists()
    assert [p.name for p in place.parent.iterdir()] == [NAME]
    assert "is gone" in remove()
    assert "no copy" in remove()


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("x")

    with pytest.raises(CoshError, match="could not be copied"):
        install(blocked / "labextensions")
