"""`cosh-nb demo`: run the quickstart notebook in a real kernel, show what happens, and check that it happened."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosh_nb import quickstart
from cosh_nb.errors import CoshError

if TYPE_CHECKING:
    from nbformat import NotebookNode

Say = Callable[[str], None]

CELL_SECONDS = 120
START_SECONDS = 120

_NEEDS = ("nbclient", "nbconvert", "nbformat", "ipykernel")
_PICTURE = re.compile(r"data:image/|<svg\b|<img\b")


class DemoFailed(CoshError):
    """The demo could not run, or a step of it did not land."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must be true after the demo."""

    what: str
    landed: bool


def run(folder: Path | None, say: Say) -> bool:
    """Run it in `folder` (a new temporary one for None); whether every step landed. Raises DemoFailed."""
    _needs()
    try:
        notebook = quickstart.copy(folder)
    except OSError as error:
        raise DemoFailed(str(error)) from None
    say(f"The quickstart notebook, in {notebook.parent}, with the offline helper (not a language model).\n")
    book, problem = execute(notebook, say)
    page, no_page = _html(notebook, book)
    found = [Check("every cell ran", not problem), *checks(notebook.parent, book)]
    found.append(Check("the page was made" + (f": {no_page}" if no_page else ""), not no_page))
    say("")
    for check in found:
        say(f"{'ok     ' if check.landed else 'FAILED '} {check.what}")
    if problem:
        say(f"\n{problem}")
    say(f"\nThe executed notebook: {notebook}")
    if not no_page:
        say(f"The same as a page:    {page}")
    say(f"Open it and go on:     cosh-nb lab {notebook}")
    return all(check.landed for check in found)


def execute(notebook: Path, say: Say) -> tuple[NotebookNode, str]:
    """Execute the notebook where it is, telling each cell as it is done; the book, and what ended it early."""
    import nbformat
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    book = nbformat.read(notebook, as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    problem = ""
    with tempfile.TemporaryDirectory(prefix="cosh-demo-") as scratch:
        specs = KernelSpecManager(kernel_dirs=[str(_kernel_spec(Path(scratch)))], ensure_native_kernel=False)
        client = NotebookClient(
            book,
            km=AsyncKernelManager(kernel_spec_manager=specs, kernel_name="cosh-demo"),
            timeout=CELL_SECONDS,
            startup_timeout=START_SECONDS,
            resources={"metadata": {"path": str(notebook.parent)}},
            on_cell_start=lambda cell, cell_index: _tell_source(cell, cell_index, say),
            on_cell_executed=lambda cell, cell_index, execute_reply: _tell_outputs(cell, say),  # noqa: ARG005  (the names are nbclient's)
        )
        try:
            client.execute(env=_environment(Path(scratch)))
        except CellExecutionError as error:
            problem = f"A cell failed: {error.ename}: {error.evalue}"
        except CellTimeoutError:
            problem = f"A cell did not end within {CELL_SECONDS} s."
        except (DeadKernelError, RuntimeError) as error:
            problem = f"The kernel ended or did not start ({error}). `cosh-nb doctor` says what is missing."
    nbformat.write(book, notebook)
    return book, problem


def transcript(cell: NotebookNode) -> str:
    """What a cell shows, as text."""
    parts: list[str] = []
    for output in cell.outputs:
        match output.output_type:
            case "stream":
                parts.append(output.text)
            case "error":
                parts.append(f"{output.ename}: {output.evalue}")
            case _:
                parts.append(output.data.get("text/plain", ""))
    return "\n".join(part.rstrip() for part in parts if part.strip())


def checks(folder: Path, book: NotebookNode) -> Sequence[Check]:
    """One per claim that the notebook makes."""
    asked = [cell for cell in book.cells if cell.cell_type == "code" and cell.source.startswith("%%cosh")]
    shown = {cell.source.partition("\n")[2]: transcript(cell) for cell in asked}
    plot = next((cell for cell in asked if "plot" in cell.source), None)
    rows = len((folder / "sales.csv").read_text("utf-8").splitlines()) - 1
    length = next((cell for cell in book.cells if cell.source == "len(sales)"), None)
    return (
        Check("the offline helper answered every request", all("offline helper" in text for text in shown.values())),
        Check("it listed the files", "report.py" in shown.get("list the files here", "")),
        Check("it found the TODO", any("UNIT" in text for said, text in shown.items() if said.startswith("search"))),
        Check("hello.py was written", _text(folder / "hello.py") == 'print("hello from the notebook")\n'),
        Check("hello.py ran", any("\nhello from the notebook" in text for text in shown.values())),
        Check("report.py was changed", '"EUR"' in _text(folder / "report.py")),
        Check("report.py ran", any(re.search(r"north: +\d+ EUR", text) for text in shown.values())),
        Check("the plot is there", plot is not None and _has_picture(plot)),
        Check("the code ran in the notebook's kernel", length is not None and transcript(length) == str(rows)),
    )


# -- what it shows ----------------------------------------------------------------------------------------------------


def _tell_source(cell: Any, index: int, say: Say) -> None:
    if cell.cell_type == "code" and cell.source.strip():
        say(f"[{index}] " + cell.source.rstrip().replace("\n", "\n    "))


def _tell_outputs(cell: Any, say: Say) -> None:
    if cell.cell_type == "code":
        text = transcript(cell)
        say("\n".join(f"    | {line}".rstrip() for line in text.split("\n")) + "\n" if text else "")


def _has_picture(cell: Any) -> bool:
    bundles = [output.data for output in cell.outputs if "data" in output]
    return any(
        any(kind.startswith("image/") for kind in data) or _PICTURE.search(data.get("text/html", "")) is not None
        for data in bundles
    )


def _text(file: Path) -> str:
    return file.read_text("utf-8") if file.is_file() else ""


def _html(notebook: Path, book: NotebookNode) -> tuple[Path, str]:
    """The notebook as a page: where, and why there is none."""
    from nbconvert import HTMLExporter

    page = notebook.with_suffix(".html")
    try:
        body, _ = HTMLExporter().from_notebook_node(book)
        page.write_text(body, "utf-8")
    except Exception as error:  # noqa: BLE001  (templates and their filters may raise anything; the demo has run by then)
        return page, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'}"
    return page, ""


# -- where it runs -----------------------------------------------------------------------------------------------------


def _needs() -> None:
    from importlib.util import find_spec

    missing = [name for name in _NEEDS if find_spec(name) is None]
    if missing:
        raise DemoFailed(f"The demo needs {', '.join(missing)}. Install it: pip install 'cosh-nb[demo]'.")


def _kernel_spec(scratch: Path) -> Path:
    """A kernel that is this very Python: a kernel spec of the person's may name another one."""
    folder = scratch / "kernels" / "cosh-demo"
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=40"]
    (folder / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "demo", "language": "python"}))
    return folder.parent


def _environment(scratch: Path) -> dict[str, str]:
    """The person's environment with the offline helper and nothing of theirs that would change what happens."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COSH_")}
    return {
        **kept,
        "COSH_PROVIDER": "offline",
        "COSH_DATA_DIR": str(scratch / "data"),
        "COSH_CACHE_DIR": str(scratch / "cache"),
        "CLAUDE_CONFIG_DIR": str(scratch / "settings"),
        "MPLCONFIGDIR": kept.get("MPLCONFIGDIR") or str(scratch / "matplotlib"),
        "PYTHONUNBUFFERED": "1",
    }


__all__ = ["Check", "DemoFailed", "checks", "execute", "run", "transcript"]
