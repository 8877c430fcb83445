"""The lab extension where the server does not see this environment: a copy in the user's own Jupyter folder.

`pip install` puts the extension beside the environment it installs into. Where the Jupyter server runs in another one,
`%cosh /install-lab` or `cosh-nb install-lab` copies it to the user's folder, which every server of that user reads.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from cosh_nb import __version__
from cosh_nb.errors import CoshError

NAME = "cosh-nb"


@dataclass(frozen=True, slots=True)
class Copy:
    """One installed copy of the extension, as a Jupyter server would find it."""

    folder: Path
    version: str

    @property
    def current(self) -> bool:
        """Whether it is the version of this package."""
        return self.version == __version__


def install(target: Path | None = None) -> str:
    """Copy the extension into the user's folder (or `target`), replacing an older one; a sentence about it.

    Raises CoshError where the folder cannot be written.
    """
    place = (target or user_folder()) / NAME
    before = _version(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        # A page that is loaded meanwhile finds the old files or the new ones.
        fresh = Path(tempfile.mkdtemp(prefix=f".{NAME}-", dir=place.parent))
        try:
            with as_file(files("cosh_nb")) as source:
                shutil.copytree(
                    source / "labextension", fresh, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
                )
                shutil.copy(source / "render" / "cosh.css", fresh / "static" / "cosh_nb.css")
            fresh.chmod(0o755)
            _exchange(fresh, place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise CoshError(
            f"The lab extension could not be copied to {place} ({error.strerror}). Make the folder writable, or run "
            "`pip install cosh-nb` in the environment of the Jupyter server."
        ) from None
    what = "copied" if before is None else "renewed" if before == __version__ else f"replaced version {before}"
    return f"The lab extension {__version__} is in {place} ({what}). Reload the page in the browser to use it."


def remove(target: Path | None = None) -> str:
    """Take the copy out of the user's folder again; a sentence about it."""
    place = (target or user_folder()) / NAME
    if not place.exists():
        return f"There is no copy of the lab extension in {place}."
    shutil.rmtree(place)
    return f"The copy of the lab extension in {place} is gone. Reload the page in the browser."


def copies() -> Sequence[Copy]:
    """Every copy that a Jupyter server of this environment sees; the first one is the one it loads."""
    from jupyter_core.paths import jupyter_path

    found = []
    for folder in jupyter_path("labextensions"):
        version = _version(Path(folder) / NAME)
        if version is not None:
            found.append(Copy(Path(folder) / NAME, version))
    return found


def user_folder() -> Path:
    """Where every Jupyter server of this user looks for extensions."""
    from jupyter_core.paths import jupyter_data_dir

    return Path(jupyter_data_dir()) / "labextensions"


def _exchange(fresh: Path, place: Path) -> None:
    aside = Path(f"{fresh}-old")
    if place.is_symlink():
        place.unlink()
    elif place.exists():
        place.rename(aside)
    try:
        fresh.rename(place)
    except OSError:
        if aside.exists():
            aside.rename(place)
        raise
    with contextlib.suppress(OSError):
        shutil.rmtree(aside)


def _version(folder: Path) -> str | None:
    try:
        return str(json.loads((folder / "package.json").read_bytes())["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


__all__ = ["Copy", "copies", "install", "remove", "user_folder"]
