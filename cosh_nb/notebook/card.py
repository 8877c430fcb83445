"""A question in a cell: real buttons while it waits, one static row for ever after. All of it on the main thread.

Core ipywidgets only, so that it needs no front-end code of ours. The widgets are closed with the answer and the output
is replaced by plain HTML and text, so a saved notebook holds no widget state and no dead button.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from cosh_nb.notebook.place import Place
from cosh_nb.notebook.subshells import hush
from cosh_nb.render.style import bundle, style_html, whole

if TYPE_CHECKING:
    from cosh_nb.render.markup import Rendered

_STYLE = (
    "<style>.cn-card{overflow:visible}"
    ".cn-card .widget-html,.cn-card .widget-html-content{margin:0;height:auto;width:100%;line-height:inherit}"
    ".cn-card .cn-btns{flex-flow:row wrap;gap:6px;align-items:center;overflow:visible}"
    ".cn-card .jupyter-button{width:auto;max-width:100%;height:auto;min-height:24px;line-height:22px;margin:0;"
    "white-space:normal;overflow:visible}"
    ".cn-card .jupyter-button.mod-primary{background:var(--cn-act);color:var(--cn-act-fg)}"
    ".cn-card .jupyter-button.cn-quiet{background:transparent;border:1px solid var(--cn-edge)}"
    ".cn-card .widget-text,.cn-card .widget-textarea{margin:0;width:100%;height:auto}"
    ".cn-card .widget-textarea{margin:0 0 6px}.cn-card .cn-btns+.cn-btns{margin-top:6px}"
    ".cn-card .widget-checkbox,.cn-card .widget-checkbox label{margin:0 8px 0 0;width:auto;height:auto;"
    "line-height:20px;display:flex;align-items:center;gap:6px}.cn-card .widget-checkbox input{margin:0}"
    ".cn-card .cn-btns .widget-text{flex:1 1 180px;width:auto}"
    ".cn-card textarea{font:12.5px/18px var(--jp-code-font-family,monospace);min-height:72px}</style>"
)


class Output(Protocol):
    """The output of the cell in which a card stands."""

    def put(self, data: Mapping[str, Any]) -> None:
        """Show the card's bundle there."""
        ...

    def settle(self, row: Rendered) -> None:
        """Show its last row there instead."""
        ...


class OwnOutput:
    """An output that the card adds to the cell itself."""

    def __init__(self) -> None:
        self.display_id = uuid4().hex
        self._shown = False

    def put(self, data: Mapping[str, Any]) -> None:
        """Add it."""
        from IPython import display

        show: Any = display.display
        show(dict(data), raw=True, display_id=self.display_id, update=self._shown)
        self._shown = True

    def settle(self, row: Rendered) -> None:
        """Replace it."""
        self.put(bundle(row.html, row.text))


class Card:
    """One open card. `waiting` is what reads in its place where widgets are not drawn."""

    def __init__(self, waiting: Rendered, *, risk: bool = False) -> None:
        import ipywidgets

        hush()
        self._ipywidgets: Any = ipywidgets
        self._waiting = waiting
        self._box: Any = ipywidgets.VBox([])
        for name in ("cn", "cn-card", *(["risk"] if risk else [])):
            self._box.add_class(name)
        # A front end that draws the card counts its views of it; asked for by setting the count.
        self._box._view_count = 0  # noqa: SLF001  (the only way to learn it; asking._widgets looks whether it is there)
        self._place = Place()
        self._made: list[Any] = []
        self._output: Output = OwnOutput()
        self.open = True

    @property
    def drawn(self) -> bool:
        """Whether a front end shows it."""
        return bool(self._box._view_count)  # noqa: SLF001  (the same)

    def show(self, place: Place, output: Output | None = None) -> None:
        """Put it into the cell: into an output that is lent, else into one of its own."""
        self._place = place
        self._output = output or self._output
        data = dict(self._box._repr_mimebundle_() or {})
        data |= {"text/plain": self._waiting.text, "text/html": whole(self._waiting)["text/html"]}
        self._place.inside(lambda: self._output.put(data))

    def fill(self, head: str, *rows: Sequence[Any]) -> None:
        """Show this head and these rows of controls instead of what it held."""
        old, self._made = self._made, []
        children = [self._keep(self._ipywidgets.HTML(_STYLE + style_html() + head))]
        for row in rows:
            line = self._keep(self._ipywidgets.HBox(list(row)))
            line.add_class("cn-btns")
            children.append(line)
        self._made += [control for row in rows for control in row]
        self._box.children = children
        for widget in old:
            if widget not in self._made:
                _close(widget)

    def button(self, label: str, press: Callable[[], None], *, primary: bool = False, quiet: bool = False) -> Any:
        """A button with its whole text. It can be pressed once: the card changes with it."""
        made = self._ipywidgets.Button(
            description=label, tooltip=label, button_style="primary" if primary else "", layout={"width": "auto"}
        )
        if quiet:
            made.add_class("cn-quiet")
        made.on_click(lambda _: press() if self.open else None)
        return made

    def line(self, placeholder: str, enter: Callable[[], None]) -> Any:
        """One line of text; Enter calls `enter`."""
        made = self._ipywidgets.Text(placeholder=placeholder, layout={"width": "auto"})
        made.on_msg(lambda _, said, __: enter() if said.get("event") == "submit" and self.open else None)
        return made

    def text(self, value: str) -> Any:
        """A text of several lines to correct."""
        rows = min(max(value.count("\n") + 2, 3), 20)
        return self._ipywidgets.Textarea(value=value, rows=rows, layout={"width": "100%"})

    def check(self, label: str) -> Any:
        """A box to tick."""
        return self._ipywidgets.Checkbox(description=label, indent=False, layout={"width": "auto"})

    def settle(self, row: Rendered) -> None:
        """Replace it by one static row, and close its widgets. A second call replaces the row."""
        self._place.inside(lambda: self._output.settle(row))
        if not self.open:
            return
        self.open = False
        for widget in (*self._made, self._box):
            _close(widget)

    def _keep(self, widget: Any) -> Any:
        self._made.append(widget)
        return widget


def _close(widget: Any) -> None:
    """A widget, its layout and its style are three models; each would stay in the kernel's registry."""
    for part in (widget, getattr(widget, "layout", None), getattr(widget, "style", None)):
        if part is not None and hasattr(part, "close"):
            part.close()
