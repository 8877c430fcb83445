"""The quickstart workspace: a notebook, a table and a script, copied to where they may be changed."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

NOTEBOOK = "01_quickstart.ipynb"
FILES = (NOTEBOOK, "sales.csv", "report.py")


def source() -> Path:
    """Where the originals are: in the installed package, or beside it in a checkout. Raises FileNotFoundError."""
    package = Path(__file__).parent
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if (folder / NOTEBOOK).is_file():
            return folder
    raise FileNotFoundError(f"The quickstart notebook is missing in {package}. Install cosh-nb again.")


def copy(folder: Path | None = None) -> Path:
    """Copy the workspace into `folder`, or into a new temporary one; the notebook's path.

    Raises FileExistsError where the folder holds one of the files already.
    """
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="cosh-quickstart-"))
    folder.mkdir(parents=True, exist_ok=True)
    if there := [name for name in FILES if (folder / name).exists()]:
        raise FileExistsError(f"{folder} holds {', '.join(there)} already. Name an empty folder.")
    for name in FILES:
        shutil.copyfile(source() / name, folder / name)
    return folder / NOTEBOOK
