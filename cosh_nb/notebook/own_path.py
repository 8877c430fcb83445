"""Which notebook this kernel runs for, in every front end that says so in one way or another."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosh_nb.notebook.bridge import OpenNotebook, Page
from cosh_nb.notebook.servers import OpenSession, plain


@dataclass(frozen=True, slots=True)
class Own:
    """The notebook of this kernel, and how it is known."""

    path: Path
    how: str


def from_variables(user_ns: Mapping[str, Any], environment: Mapping[str, str]) -> Own | None:
    """What VS Code and the Jupyter server tell the kernel itself. After a rename it may be a file that is gone."""
    named = user_ns.get("__vsc_ipynb_file__")
    if isinstance(named, str) and named:
        return Own(Path(named), "VS Code")
    for value in (environment.get("JPY_SESSION_NAME"), user_ns.get("__session__")):
        if isinstance(value, str) and value.endswith(".ipynb") and os.path.isabs(value) and Path(value).exists():  # noqa: PTH117  (a text that may be no path)
            return Own(Path(value), "the server's session name")
    return None


def from_sessions(sessions: Sequence[OpenSession], kernel: str) -> Own | None:
    """The document for which a server started this kernel."""
    for session in sessions:
        if kernel and session.kernel == kernel and session.type == "notebook":
            return Own(session.path, "the server")
    return None


def roots(page: Page, own: Own | None, sessions: Sequence[OpenSession], folder: Path) -> Sequence[Path]:
    """Folders that the page's paths may start from, the likeliest first."""
    found: list[Path] = []
    book = page.own
    if own is not None and book is not None:
        tail = Path(plain(book.path)).parts
        if own.path.parts[-len(tail) :] == tail:
            found.append(Path(*own.path.parts[: -len(tail)]))
    if page.root:
        found.append(Path(page.root).expanduser())
    if book is not None:
        # The server starts a kernel in the folder of its notebook.
        depth = len(Path(plain(book.path)).parts) - 1
        found.append(folder if depth == 0 else folder.parents[min(depth, len(folder.parents)) - 1])
    found += [session.path.parents[len(session.path.parts) - 2] for session in sessions[:1]]
    return list(dict.fromkeys(found))


def place_of(book: OpenNotebook, among: Sequence[Path]) -> Path | None:
    """Where a notebook of a page is on this machine; None where none of the folders has it."""
    name = plain(book.path)
    for root in among:
        if (root / name).exists():
            return root / name
    return None


def same(one: Path, two: Path) -> bool:
    """Whether two paths are the same file."""
    try:
        return one.samefile(two)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(two)


def in_colab() -> bool:
    """Whether this kernel is Google Colab's."""
    return "google.colab" in sys.modules
