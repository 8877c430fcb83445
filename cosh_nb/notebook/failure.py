"""How a cell fails: with one sentence and no traceback of ours, so that Run All and papermill stop there."""

from __future__ import annotations

from cosh_nb.errors import CoshError


class Failed(CoshError):
    """The cell could not do what was asked. What happened is above it or in its sentence."""

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines in place of a traceback."""
        return [f"cosh: {self}"]
