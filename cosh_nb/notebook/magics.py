"""`%cosh` and `%%cosh`: registered at load, everything behind them is loaded with the first request."""

from __future__ import annotations

import contextlib
import importlib
import threading
from typing import TYPE_CHECKING, Any

from IPython.core.magic import MAGIC_NO_VAR_EXPAND_ATTR

from cosh_nb.notebook import completion
from cosh_nb.notebook.ledger import Ledger

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from cosh_nb.notebook.desk import NotebookDesk

NAME = "cosh"


class Magics:
    """The magics of one shell and, from the first request on, the desk behind them."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.warm: threading.Thread | None = None
        kernel = getattr(shell, "kernel", None)
        self.ledger = Ledger(kernel.session) if kernel is not None else None
        self._desk: NotebookDesk | None = None

    @property
    def desk(self) -> NotebookDesk:
        """Made with the first request, in the folder where the kernel then is."""
        if self._desk is None:
            try:
                from cosh_nb.notebook.desk import NotebookDesk
            except ImportError:
                # Where the warm-up meets a broken installation first, Python calls the name missing here: only a
                # second look, after it, says what really is.
                if self.warm is not None:
                    self.warm.join(10)
                from cosh_nb.notebook.desk import NotebookDesk

            self._desk = NotebookDesk(self.shell, self.ledger)
        return self._desk

    def after_cell(self, *_: Any) -> None:
        """Load what the first request needs in a thread, once the cell that loaded us is done."""
        self.shell.events.unregister("post_run_cell", self.after_cell)
        self.warm = threading.Thread(target=_warm_up, name="cosh-warm-up", daemon=True)
        self.warm.start()

    def close(self) -> None:
        """End what runs."""
        if self._desk is not None:
            self._desk.close()
            self._desk = None
        if self.ledger is not None:
            self.ledger.close()


_LOADED: dict[int, Magics] = {}


def load(shell: InteractiveShell) -> None:
    """Register `%cosh` and `%%cosh`. A second load changes nothing."""
    if id(shell) in _LOADED:
        return
    magics = Magics(shell)
    _LOADED[id(shell)] = magics

    def cosh(line: str, cell: str | None = None) -> None:
        """Ask the agent: `%cosh request`, `%cosh /command`, or `%%cosh [options]` with the request below."""
        magics.desk.run(line, cell)

    # Braces and dollars of a request are the person's own; typed.fill replaces names that exist.
    setattr(cosh, MAGIC_NO_VAR_EXPAND_ATTR, True)
    shell.register_magic_function(cosh, "line_cell", NAME)  # type: ignore[arg-type]  # typed as if it were unbound
    shell.input_transformers_cleanup.append(one_line)
    shell.events.register("post_run_cell", magics.after_cell)
    completion.install(shell)


def unload(shell: InteractiveShell) -> None:
    """Take the magics out and end what runs."""
    magics = _LOADED.pop(id(shell), None)
    if magics is None:
        return
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(NAME, None)
    if one_line in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(one_line)
    if magics.after_cell in shell.events.callbacks["post_run_cell"]:
        shell.events.unregister("post_run_cell", magics.after_cell)
    completion.remove(shell)
    magics.close()


def loaded(shell: InteractiveShell) -> Magics | None:
    """The magics of a shell, if they are loaded."""
    return _LOADED.get(id(shell))


def one_line(lines: list[str]) -> list[str]:
    """Two requests that IPython would not hand to us as they are.

    One that ends in `?` looks to it like a call for help on its last word; a `%%cosh` with nothing below is refused.
    """
    text = "".join(lines).strip()
    if "\n" in text:
        return lines
    for start, needs_question in ((f"%{NAME} ", True), (f"%%{NAME} ", False)):
        if f"{text} ".startswith(start) and (text.endswith("?") or not needs_question):
            return [f"get_ipython().run_line_magic({NAME!r}, {text.removeprefix(start.strip()).strip()!r})\n"]
    return lines


def _warm_up() -> None:
    """Import what a first request needs. A failure is not shown here: the request itself meets it, with its words."""
    with contextlib.suppress(Exception):
        importlib.import_module("cosh_nb.notebook.desk").warm_up()
