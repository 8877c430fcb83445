"""The cell that a turn belongs to: what the turn shows lands there, whatever runs meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

T = TypeVar("T")


@dataclass(frozen=True)
class Place:
    """Where a turn shows things. Take it with `here` in the cell that starts the turn."""

    kernel: Any = None
    ident: Any = b""
    parent: Mapping[str, Any] = field(default_factory=dict)
    background: bool = False
    """The cell has ended (`-b`): nothing can be asked at a prompt there."""
    can_ask: bool = True
    """The front end that runs the cell said that it answers prompts. nbclient and papermill say that they do not."""

    @classmethod
    def here(cls, shell: InteractiveShell, *, background: bool = False) -> Place:
        """The cell that runs now."""
        kernel = getattr(shell, "kernel", None)
        if kernel is None:
            return cls(background=background)
        ident, parent = kernel._parent_ident["shell"], kernel.get_parent("shell")  # noqa: SLF001  (see pump.missing)
        return cls(kernel, ident, parent, background, bool(getattr(kernel, "_allow_stdin", False)))

    @property
    def client(self) -> str:
        """The front end's own id: a page that is loaded again has another one."""
        return str(self.parent.get("header", {}).get("session", ""))

    def inside(self, work: Callable[..., T], *args: Any) -> T:
        """Main thread: do `work` as if this cell ran, so that what it displays lands in it."""
        if self.kernel is None or not self.parent:
            return work(*args)
        kernel = self.kernel
        before = kernel._parent_ident["shell"], kernel.get_parent("shell")  # noqa: SLF001  (see pump.missing)
        kernel.set_parent(self.ident, self.parent, channel="shell")
        try:
            return work(*args)
        finally:
            kernel.set_parent(*before, channel="shell")

    def show(self, bundle: Mapping[str, Any], display_id: str | None = None) -> str:
        """Any thread: show a new output in the cell; its display id. Needs a kernel."""
        name = display_id or uuid4().hex
        self._send("display_data", bundle, name)
        return name

    def update(self, bundle: Mapping[str, Any], display_id: str) -> None:
        """Any thread: replace an output of the cell, wherever it is. Needs a kernel."""
        self._send("update_display_data", bundle, display_id)

    def _send(self, kind: str, bundle: Mapping[str, Any], display_id: str) -> None:
        kernel = self.kernel
        kernel.session.send(
            kernel.iopub_socket,
            kind,
            {"data": dict(bundle), "metadata": {}, "transient": {"display_id": display_id}},
            parent=dict(self.parent),
            ident=kernel._topic("display_data"),  # noqa: SLF001  (the name under which a kernel publishes)
        )
