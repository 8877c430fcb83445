"""A real JupyterLab (and Notebook 7, same server) with folders of its own, and a notebook page to act on.

notebook = lab.open(lab.notebook("first.ipynb", ["1 + 1"]))
notebook.run_all()
assert notebook.cell(0).text == "2"
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import nbformat

from cosh_nb.install_lab import install as install_lab
from support.browser import Browser
from support.notebook_page import NotebookPage

REPOSITORY = Path(__file__).parents[2]
NEWS = "@jupyterlab/apputils-extension:announcements"
EXTENSION = REPOSITORY / "cosh_nb" / "labextension"


@dataclass
class LabServer:
    """One running server. Its root folder is what the person sees; nothing of the real home is read."""

    home: Path
    browser: Browser
    process: subprocess.Popen[bytes]
    url: str
    token: str

    @classmethod
    def start(
        cls, home: Path, browser: Browser, *, extension: bool = True, python: Path | str = sys.executable
    ) -> LabServer:
        """Start the JupyterLab of `python` in `home`, with our lab extension unless `extension` is False."""
        for name in ("root", "data", "config", "runtime", "user"):
            (home / name).mkdir(parents=True, exist_ok=True)
        _switch_off(home / "config", [NEWS] if extension else [NEWS, "cosh-nb"])
        if extension:
            install_lab(home / "data" / "labextensions")
        port, token = _free_port(), secrets.token_hex(16)
        command = [
            str(python), "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
            f"--ServerApp.root_dir={home / 'root'}", f"--IdentityProvider.token={token}", "--ServerApp.port_retries=0",
            "--ServerApp.allow_root=True", "--LabApp.extension_manager=readonly", "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True", "--KernelSpecManager.ensure_native_kernel=True",
        ]  # fmt: skip
        with (home / "server.log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=home / "root", env=environment(home), stdout=log, stderr=log, start_new_session=True
            )
        server = cls(home, browser, process, f"http://127.0.0.1:{port}", token)
        try:
            server.wait_for(server._answers, 90, "JupyterLab did not answer")
        except BaseException:
            server.stop()
            raise
        return server

    @property
    def root(self) -> Path:
        """The folder that the server shows."""
        return self.home / "root"

    def kernel(self, name: str, python: Path | str = sys.executable, env: Mapping[str, str] | None = None) -> str:
        """Offer a kernel of that name which runs `python` with these environment variables; its name."""
        folder = self.home / "data" / "kernels" / name
        folder.mkdir(parents=True, exist_ok=True)
        argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": argv, "display_name": name, "language": "python", "env": dict(env or {})}
        (folder / "kernel.json").write_text(json.dumps(spec))
        return name

    def notebook(self, name: str, cells: Sequence[str], kernel: str = "python3") -> str:
        """Write a notebook of code cells ("# " cells that start with `%md ` are Markdown); its name."""
        book = nbformat.v4.new_notebook()
        book.metadata["kernelspec"] = {"name": kernel, "display_name": kernel, "language": "python"}
        for cell in cells:
            is_text = cell.startswith("%md ")
            book.cells.append(nbformat.v4.new_markdown_cell(cell[4:]) if is_text else nbformat.v4.new_code_cell(cell))
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(book, path)
        return name

    def saved(self, name: str) -> Any:
        """The notebook as it is on disk."""
        return nbformat.read(self.root / name, as_version=4)

    def open(self, name: str, app: Literal["lab", "notebook"] = "lab", **options: Any) -> NotebookPage:
        """Open a notebook in a fresh browser context and wait until its kernel is idle.

        `options` go to the browser context: `viewport`, `color_scheme`, ...
        """
        page = NotebookPage(self.browser, self.browser.page(**options), self.address(name, app), app)
        try:
            page.load()
        except BaseException:
            page.close()
            raise
        return page

    def address(self, name: str, app: Literal["lab", "notebook"] = "lab") -> str:
        """The URL of a notebook."""
        place = f"/lab/tree/{name}?reset&" if app == "lab" else f"/notebooks/{name}?"
        return f"{self.url}{place}token={self.token}"

    def api(self, path: str, method: str = "GET") -> Any:
        """The server's own REST interface: `api("kernels")`."""
        head = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(f"{self.url}/api/{path}", method=method, headers=head)
        with urllib.request.urlopen(request, timeout=10) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def shut_down_kernels(self) -> None:
        """End every kernel of this server, so that the next test starts clean."""
        for session in self.api("sessions"):
            self.api(f"sessions/{session['id']}", "DELETE")
        for kernel in self.api("kernels"):
            self.api(f"kernels/{kernel['id']}", "DELETE")

    def log(self) -> str:
        """What the server wrote."""
        return (self.home / "server.log").read_text("utf-8", "replace")

    def stop(self) -> None:
        """End the server and every kernel it started."""
        if self.process.poll() is None:
            with contextlib.suppress(OSError, ValueError):  # it may hang or be half up: killed below
                self.shut_down_kernels()
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)

    def wait_for(self, ready: Callable[[], bool], seconds: float, what: str) -> None:
        """Poll until `ready()`; fails with `what` and the end of the server's log."""
        end = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"{what} within {seconds} s. The log ends with:\n{self.log()[-3000:]}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            return bool(self.api("status"))
        except (OSError, urllib.error.URLError):
            return False


def environment(home: Path) -> dict[str, str]:
    """The environment of a person who has just arrived: no keys, no settings, a home of their own."""
    private = ("COSH_", "ANTHROPIC_", "OPENAI_", "DASHSCOPE_", "OLLAMA_", "JUPYTER", "JPY_", "PYTEST_", "IPYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(private)}
    return kept | {
        "HOME": str(home / "user"),
        "XDG_CACHE_HOME": str(home / "user" / ".cache"),
        "XDG_CONFIG_HOME": str(home / "user" / ".config"),
        "XDG_DATA_HOME": str(home / "user" / ".local" / "share"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "config" / "lab" / "user-settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "config" / "lab" / "workspaces"),
        "IPYTHONDIR": str(home / "user" / ".ipython"),
        "MPLCONFIGDIR": str(home / "user" / ".matplotlib"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


def _switch_off(config: Path, extensions: Sequence[str]) -> None:
    """JupyterLab asks about news from the network at its first start; a test wants the notebook.

    Where the project is installed, its lab extension is there too: a server without it must switch it off.
    """
    folder = config / "labconfig"
    folder.mkdir(exist_ok=True)
    off = dict.fromkeys(extensions, True)
    (folder / "page_config.json").write_text(json.dumps({"disabledExtensions": off}))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
