"""An agent that lives in the notebook.

    %load_ext cosh_nb
    %%cosh
    list the CSV files here and plot the largest

Loading costs the standard library and IPython only; everything else comes with the first request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from cosh_nb.own_tools import tool

__version__ = "0.1.0"

__all__ = ["__version__", "load_ipython_extension", "tool", "unload_ipython_extension"]

_LAZY = {"tool": "cosh_nb.own_tools"}


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext cosh_nb`: register the magics."""
    from cosh_nb.notebook import magics

    magics.load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext cosh_nb`: take them out again, end what runs."""
    from cosh_nb.notebook import magics

    magics.unload(shell)


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first used."""
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
