"""Where cosh_nb keeps what is the person's: never in the workspace."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def data_folder() -> Path:
    """Sessions, grants and trust. `COSH_DATA_DIR` moves it."""
    return Path(os.environ.get("COSH_DATA_DIR") or platformdirs.user_data_dir("cosh-nb", appauthor=False))


def cache_folder() -> Path:
    """Snapshots and spilled output, which may be deleted at any time. `COSH_CACHE_DIR` moves it."""
    return Path(os.environ.get("COSH_CACHE_DIR") or platformdirs.user_cache_dir("cosh-nb", appauthor=False))


def claude_folder() -> Path:
    """The person's own settings, skills and agents. `CLAUDE_CONFIG_DIR` moves it."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
