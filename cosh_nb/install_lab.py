"""The lab extension's files: where they come from, where Jupyter looks for them, and putting them there.

A wheel brings them along (shared-data). An editable install does not, and a server in another environment has none.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

NAME = "cosh-nb"
_FOLDER = Path("share", "jupyter", "labextensions", NAME)


def source() -> Path:
    """The extension as it is shipped inside the package."""
    return Path(__file__).parent / "labextension"


def version(folder: Path) -> str:
    """The version of the extension in a folder; "" where there is none."""
    try:
        return str(json.loads((folder / "package.json").read_text("utf-8"))["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def installed() -> list[Path]:
    """Where a Jupyter server of this environment finds it, the place that counts first."""
    from jupyter_core.paths import jupyter_path

    places = dict.fromkeys(Path(folder) / NAME for folder in jupyter_path("labextensions"))
    return [place for place in places if version(place)]


def disabled() -> list[Path]:
    """The files that switch it off for JupyterLab."""
    from jupyter_core.paths import jupyter_config_path

    found = []
    for folder in jupyter_config_path():
        file = Path(folder) / "labconfig" / "page_config.json"
        try:
            listed = json.loads(file.read_text("utf-8")).get("disabledExtensions", {})
        except (OSError, ValueError, AttributeError):
            continue
        off = listed if isinstance(listed, list) else [name for name, value in dict(listed).items() if value]
        if NAME in off:
            found.append(file)
    return found


def install(*, user: bool = False) -> Path:
    """Copy it to where Jupyter looks, replacing what was there; the folder.

    Into this environment, or for all servers of this person. Raises OSError.
    """
    if user:
        from jupyter_core.paths import jupyter_data_dir

        target = Path(jupyter_data_dir()) / "labextensions" / NAME
    else:
        target = Path(sys.prefix) / _FOLDER
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{NAME}-"))
    try:
        shutil.copytree(source(), fresh / NAME)
        if target.is_symlink():
            target.unlink()
        elif target.exists():
            target.rename(fresh / "old")
        (fresh / NAME).rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target
