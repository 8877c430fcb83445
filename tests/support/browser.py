"""A real headless Chromium for the tests: found or installed, and driven from a thread of its own.

Playwright's sync API keeps an event loop running in its thread, which would break every asyncio test of the same
process; so all calls go through `Browser.do`, which runs them in the browser's thread.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from playwright.sync_api import Page

T = TypeVar("T")

FLAGS = (
    "--disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-dev-shm-usage --disable-default-apps --disable-extensions"
).split()
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")


class NoBrowser(AssertionError):
    """No Chromium is here and none could be installed; the message says how to mend it."""


class Browser:
    """One Chromium process. `do(work)` runs `work()` in its thread and gives back what it returned."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="browser")
        try:
            self._playwright, self._chromium = self.do(self._start, timeout=240)
        except BaseException:
            self._thread.shutdown(wait=False)
            raise

    def do(self, work: Callable[..., T], *args: Any, timeout: float = 90) -> T:
        """Run `work(*args)` where Playwright's objects may be touched."""
        return self._thread.submit(work, *args).result(timeout)

    def page(self, **options: Any) -> Page:
        """A page in a context of its own (no cookies or storage of other pages)."""
        options.setdefault("viewport", {"width": 1280, "height": 900})

        def make() -> Page:
            page: Page = self._chromium.new_context(**options).new_page()
            page.set_default_timeout(30_000)
            return page

        return self.do(make)

    def close(self) -> None:
        """End the browser and its thread."""

        def stop() -> None:
            self._chromium.close()
            self._playwright.stop()

        self.do(stop)
        self._thread.shutdown()

    def _start(self) -> tuple[Any, Any]:
        from playwright.sync_api import sync_playwright

        path = find_chromium()
        playwright = sync_playwright().start()
        flags = [*FLAGS, *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else [])]
        try:
            return playwright, playwright.chromium.launch(executable_path=path, args=flags)
        except BaseException:
            playwright.stop()
            raise


def find_chromium() -> str | None:
    """The path of a Chromium; None where Playwright's own copy is to be used. Installs one where there is none.

    Raises NoBrowser with the way to mend it.
    """
    tried = []
    if named := os.environ.get("COSH_TEST_CHROMIUM"):
        if Path(named).exists():
            return named
        tried.append(f"COSH_TEST_CHROMIUM names {named}, which does not exist")
    if found := _on_path():
        return found
    if _own_copy():
        return None
    tried.append(f"none of {', '.join(_NAMES)} is on PATH")
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        tried.append(_attempt(["apt-get", "update", "-q"], 180))
        tried.append(_attempt(["apt-get", "install", "-y", "-q", "chromium"], 300))
        if found := _on_path():
            return found
    tried.append(_attempt([sys.executable, "-m", "playwright", "install", "chromium"], 180))
    if _own_copy():
        return None
    raise NoBrowser(
        "The browser tests need Chromium and could not get one: " + "; ".join(tried) + ". Install it by hand "
        "(Debian: `apt-get install chromium`; elsewhere: `python -m playwright install chromium`), or name one in "
        "COSH_TEST_CHROMIUM."
    )


def _on_path() -> str | None:
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def _own_copy() -> bool:
    """Whether Playwright's own Chromium is installed (asked without starting Playwright)."""
    shown = subprocess.run(
        [sys.executable, "-m", "playwright", "install", "--dry-run", "chromium"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    places = [line.split(":", 1)[1].strip() for line in shown.stdout.splitlines() if "Install location" in line]
    return bool(places) and all((Path(place) / "INSTALLATION_COMPLETE").exists() for place in places)


def _attempt(command: list[str], seconds: float) -> str:
    """Run an installer; one line about how it went."""
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, env=env)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"`{' '.join(command)}` failed: {error}"
    last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [""]
    return f"`{' '.join(command)}` ended with {done.returncode} {last[0][:200]}".rstrip()
