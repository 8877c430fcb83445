"""One open notebook in JupyterLab or Notebook 7: run, click, read what a person sees, save, stop, reload."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from support.browser import Browser

T = TypeVar("T")

_PANEL = "window.jupyterapp.shell.currentWidget"
_READY = """() => {
  const app = window.jupyterapp, panel = app && app.shell.currentWidget, context = panel && panel.context;
  if (!context || !context.isReady || !panel.content) return false;
  const kernel = context.sessionContext.session && context.sessionContext.session.kernel;
  return !!kernel && kernel.status === 'idle' && kernel.connectionStatus === 'connected';
}"""
_BUTTONS = """() => [...document.querySelectorAll('.jp-OutputArea :is(button, input, textarea)')]
  .filter(e => e.offsetParent !== null)
  .map(e => ({
    tag: e.tagName.toLowerCase(), text: (e.innerText || e.placeholder || '').trim(), disabled: e.disabled
  }))"""


@dataclass(frozen=True)
class Cell:
    """One cell as the front end's model holds it."""

    source: str
    count: int | None
    outputs: tuple[Mapping[str, Any], ...]

    @property
    def text(self) -> str:
        """Streams, plain text of rich outputs and errors, in order, stripped."""
        return "\n".join(filter(None, (_plain(output).strip() for output in self.outputs)))

    @property
    def html(self) -> str:
        """All text/html of its outputs."""
        return "\n".join(
            _joined(output.get("data", {}).get("text/html", "")) for output in self.outputs if "data" in output
        )

    @property
    def error(self) -> str:
        """The first error as "Name: value", or nothing."""
        errors = [o for o in self.outputs if o["output_type"] == "error"]
        return f"{errors[0]['ename']}: {errors[0]['evalue']}" if errors else ""

    @property
    def mimetypes(self) -> set[str]:
        """Every mime type among its outputs."""
        return {kind for output in self.outputs for kind in output.get("data", {})}


@dataclass
class NotebookPage:
    """Acts on one page. Every wait is bounded and says what it waited for."""

    browser: Browser
    page: Page
    url: str
    app: Literal["lab", "notebook"]
    console: list[str] = field(default_factory=list)
    """Warnings and errors of the page."""
    requests: list[tuple[str, str]] = field(default_factory=list)
    """(kind, address) of every request: "image", "script", "fetch", ..."""

    def load(self) -> None:
        """Go to the notebook and wait until its kernel is idle."""
        self.do(self._listen)
        self.do(lambda page: page.goto(self.url))
        self.wait_js(_READY, 60, "the notebook did not open with an idle kernel")

    def reload(self, *, wait: bool = True) -> None:
        """Load the page again. `wait=False` where the kernel is known to be busy: waits for the document only."""
        self.do(lambda page: page.reload())
        ready = _READY if wait else _READY.replace("kernel.status === 'idle'", "kernel.status !== 'unknown'")
        self.wait_js(ready, 60, "the notebook did not open again")

    def close(self) -> None:
        """Close the page with its context; kernels go on."""
        self.do(lambda page: page.context.close())

    # -- acting ------------------------------------------------------------------------------------------------

    def do(self, work: Callable[[Page], T], timeout: float = 90) -> T:
        """Run `work(page)` with Playwright's own page: `notebook.do(lambda page: page.keyboard.press("Tab"))`."""
        return self.browser.do(work, self.page, timeout=timeout)

    def js(self, code: str, argument: Any = None) -> Any:
        """Evaluate JavaScript in the page; `panel` is the notebook panel, `arg` the argument."""
        wrapped = f"async (arg) => {{ const panel = {_PANEL}; {code} }}"
        return self.do(lambda page: page.evaluate(wrapped, argument))

    def command(self, name: str, arguments: Any = None) -> None:
        """Run a command of the application and wait for it."""
        self.js("await window.jupyterapp.commands.execute(arg[0], arg[1] || {});", [name, arguments])

    def select(self, index: int) -> None:
        """Make cell `index` the active one."""
        self.js("panel.content.deselectAll(); panel.content.activeCellIndex = arg;", index)

    def run(self, index: int, timeout: float = 60, *, wait: bool = True) -> None:
        """Run one cell. `wait=False` returns at once; `wait_done()` waits later."""
        self.select(index)
        self._start("notebook:run-cell")
        if wait:
            self.wait_done(timeout)

    def run_all(self, timeout: float = 60, *, wait: bool = True) -> None:
        """Run all cells. `wait=False` returns at once; `wait_done()` waits later."""
        self._start("notebook:run-all-cells")
        if wait:
            self.wait_done(timeout)

    def wait_done(self, timeout: float = 60) -> None:
        """Wait until the last `run` or `run_all` of this page has ended."""
        self.wait_js("() => window.coshTestRun === 'done'", timeout, "the cells did not end")

    def wait_idle(self, timeout: float = 60) -> None:
        """Wait until the kernel has answered a request that was queued behind everything else."""
        self.js(f"window.coshTestIdle = false; {_PANEL}.context.sessionContext.session.kernel.requestKernelInfo()"
                ".then(() => { window.coshTestIdle = true; });")  # fmt: skip
        self.wait_js("() => window.coshTestIdle === true", timeout, "the kernel did not become free")

    def interrupt(self) -> None:
        """Press Stop."""
        self.js("await panel.context.sessionContext.session.kernel.interrupt();")

    def restart(self) -> None:
        """Restart the kernel without a dialog and wait until it is idle."""
        self.js("await panel.context.sessionContext.session.kernel.restart();")
        self.wait_js(_READY, 60, "the kernel did not restart")

    def save(self) -> None:
        """Save the notebook."""
        self.js("await panel.context.save();")

    def click(self, text: str | re.Pattern[str], timeout: float = 20) -> None:
        """Click the button with exactly this text in an output, as soon as it can be clicked."""

        def press(page: Page) -> None:
            exact = text if isinstance(text, re.Pattern) else re.compile(rf"^\s*{re.escape(text)}\s*$")
            button = page.locator(".jp-OutputArea button:visible").filter(has_text=exact)
            button.last.click(timeout=timeout * 1000)

        from playwright.sync_api import TimeoutError as Late

        try:
            self.do(press)
        except Late:
            raise AssertionError(f"No button {text!r} could be clicked within {timeout:g} s. {self._state()}") from None

    def type_into(self, placeholder: str, text: str, *, enter: bool = False) -> None:
        """Type into the field with this placeholder, key by key."""

        def type_it(page: Page) -> None:
            fields = page.locator(".jp-OutputArea input:visible, .jp-OutputArea textarea:visible")
            field = fields.and_(page.get_by_placeholder(placeholder)).last
            field.click()
            field.press_sequentially(text, delay=15)
            if enter:
                field.press("Enter")

        self.do(type_it)

    # -- seeing ------------------------------------------------------------------------------------------------

    def cells(self) -> list[Cell]:
        """All cells of the open document, unsaved changes included."""
        found = self.js("return panel.context.model.toJSON().cells;")
        return [
            Cell(_joined(cell["source"]), cell.get("execution_count"), tuple(cell.get("outputs", ()))) for cell in found
        ]

    def cell(self, index: int) -> Cell:
        """One cell."""
        return self.cells()[index]

    def status(self) -> str:
        """What the kernel indicator says: "idle", "busy", ..."""
        return str(self.js("return panel.context.sessionContext.session.kernel.status;"))

    def buttons(self) -> list[str]:
        """The texts of the buttons in outputs that can be clicked."""
        found = self.do(lambda page: page.evaluate(_BUTTONS))
        return [item["text"] for item in found if item["tag"] == "button" and not item["disabled"]]

    def controls(self) -> list[Mapping[str, Any]]:
        """Every visible button, input and textarea in outputs: tag, text, disabled."""
        found: list[Mapping[str, Any]] = self.do(lambda page: page.evaluate(_BUTTONS))
        return found

    def image_requests(self) -> list[str]:
        """The addresses of images that the page asked for, the application's own and data: URLs left out."""
        self.js("return 1;")  # lets Playwright deliver what it has heard
        own = self.url.split("/", 3)[2]
        return [
            url for kind, url in self.requests if kind == "image" and own not in url and not url.startswith("data:")
        ]

    # -- waiting -----------------------------------------------------------------------------------------------

    def wait_js(self, condition: str, timeout: float, what: str) -> None:
        """Wait until a JavaScript function returns something true."""
        from playwright.sync_api import TimeoutError as Late

        try:
            self.do(lambda page: page.wait_for_function(condition, timeout=timeout * 1000), timeout=timeout + 30)
        except Late:
            raise AssertionError(f"{what} within {timeout:g} s. {self._state()}") from None

    def wait_for(self, condition: Callable[[], T], timeout: float = 20, what: str = "it did not happen") -> T:
        """Poll until `condition()` is true; what it returned."""
        end = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"{what} within {timeout:g} s. {self._state()}")
            time.sleep(0.05)

    def wait_text(self, index: int, text: str, timeout: float = 20) -> None:
        """Wait until the outputs of a cell contain a text."""
        self.wait_for(
            lambda: text in self.cell(index).text or text in self.cell(index).html,
            timeout, f"cell {index} never showed {text!r}",
        )  # fmt: skip

    def wait_button(self, text: str, timeout: float = 20) -> None:
        """Wait until a button of this text can be clicked."""
        self.wait_for(lambda: text in self.buttons(), timeout, f"no button {text!r}")

    def _start(self, command: str) -> None:
        self.js(
            "window.coshTestRun = 'running';"
            "window.jupyterapp.commands.execute(arg).finally(() => { window.coshTestRun = 'done'; });",
            command,
        )

    def _listen(self, page: Page) -> None:
        page.on("request", lambda request: self.requests.append((request.resource_type, request.url)))
        page.on(
            "console",
            lambda said: (
                self.console.append(f"{said.type}: {said.text[:500]}") if said.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: self.console.append(f"pageerror: {error}"[:500]))

    def _state(self) -> str:
        try:
            cells = "\n".join(f"[{cell.count}] {cell.source[:60]!r} -> {cell.text[-800:]!r}" for cell in self.cells())
            return f"Kernel {self.status()}; buttons {self.buttons()}; cells:\n{cells}\nconsole: {self.console[-5:]}"
        except Exception as error:  # noqa: BLE001  (the page may be gone; the first failure matters)
            return f"(the page could not be read: {error}; console: {self.console[-5:]})"


def _plain(output: Mapping[str, Any]) -> str:
    match output["output_type"]:
        case "stream":
            return _joined(output["text"])
        case "error":
            return f"{output['ename']}: {output['evalue']}"
        case _:
            return _joined(output["data"].get("text/plain", ""))


def _joined(text: Any) -> str:
    return "".join(text) if isinstance(text, list) else str(text)
