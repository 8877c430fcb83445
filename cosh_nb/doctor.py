"""`cosh-nb doctor`: what is installed, which model would answer and why, what the front end can do, how to mend it."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cosh_nb.errors import CoshError

if TYPE_CHECKING:
    from cosh_nb.settings import Settings

Level = Literal["ok", "note", "bad"]

_MARKS: dict[Level, str] = {"ok": "ok  ", "note": "note", "bad": "BAD "}

REQUIRED = ("ipykernel", "ipywidgets", "nbformat", "httpx", "httpx-sse", "pydantic", "orjson", "markdown-it-py")
"""Without these `%%cosh` does not work."""

OPTIONAL: Sequence[tuple[str, str, str]] = (
    ("jupyterlab", "lab", "JupyterLab and `cosh-nb lab`"),
    ("notebook", "lab", "Notebook 7"),
    ("nbclient", "lab", "`cosh-nb demo`"),
    ("nbconvert", "lab", "`cosh-nb demo`"),
    ("pandas", "demo", "tables of the offline helper as DataFrames"),
    ("matplotlib", "demo", "plots of the offline helper; else an SVG"),
    ("mcp", "mcp", "MCP servers"),
    ("agent-client-protocol", "acp", "`cosh-nb acp`"),
    ("pillow", "media", "large images"),
    ("pypdf", "media", "PDF pages"),
    ("ddgs", "search", "web search without a key"),
)
"""Package, the extra that brings it, and what it is for."""

KERNEL_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `mend` says what to do; a "bad" one means that the main job cannot work."""

    level: Level
    text: str
    mend: str = ""


def run(say: Callable[[str], None], workspace: Path | None = None) -> int:
    """Tell everything; 1 where `%%cosh` could not do its job here."""
    folder = workspace or Path.cwd()
    bad = False
    for title, findings in report(folder):
        say(f"\n{title}")
        for finding in findings:
            bad |= finding.level == "bad"
            say(f"  {_MARKS[finding.level]}  {finding.text}")
            if finding.mend:
                say(f"        -> {finding.mend}")
    say("\nSomething is BAD: %%cosh cannot work here yet." if bad else "\n%%cosh can work here.")
    return 1 if bad else 0


def report(workspace: Path) -> Iterator[tuple[str, list[Finding]]]:
    """All sections, one after another."""
    from cosh_nb import settings

    yield "Installed", list(_installed())
    yield "Kernels", list(_kernels())
    known = settings.load(workspace)
    yield "Model", list(_model(known))
    yield "Settings", list(_settings(known))
    yield "Front end", list(_front_end())
    yield "Folders", list(_folders())


# -- what is installed -------------------------------------------------------------------------------------------------


def _installed() -> Iterator[Finding]:
    from cosh_nb import __version__

    yield Finding("ok", f"cosh-nb {__version__}, Python {platform.python_version()} ({sys.executable})")
    for name in REQUIRED:
        found = _version(name)
        if found:
            yield Finding("ok", f"{name} {found}")
        else:
            yield Finding("bad", f"{name} is missing", f"{sys.executable} -m pip install cosh-nb")
    lacking: dict[str, list[str]] = {}
    there = []
    for name, extra, use in OPTIONAL:
        if found := _version(name):
            there.append(f"{name} {found}")
        else:
            lacking.setdefault(extra, []).append(f"{name} ({use})")
    if there:
        yield Finding("ok", ", ".join(there))
    for extra, names in lacking.items():
        yield Finding("note", f"not installed: {', '.join(names)}", f"pip install 'cosh-nb[{extra}]'")
    if rg := shutil.which("rg"):
        yield Finding("ok", f"ripgrep {rg}")
    else:
        yield Finding("note", "ripgrep is not on PATH: searching works, but slower", "pip install 'cosh-nb[rg]'")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


# -- kernels -----------------------------------------------------------------------------------------------------------


def _kernels() -> Iterator[Finding]:
    if not _version("jupyter-client"):
        yield Finding("bad", "jupyter-client is missing", f"{sys.executable} -m pip install cosh-nb")
        return
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    manager = KernelSpecManager()
    good = False
    for name, folder in sorted(manager.find_kernel_specs().items()):
        try:
            spec = manager.get_kernel_spec(name)
        except (NoSuchKernel, ValueError, OSError) as error:
            yield Finding("note", f"the kernel {name} in {folder} cannot be read ({error})")
            continue
        if spec.language.lower() != "python" or not spec.argv:
            continue
        python = _interpreter(spec.argv[0])
        problem = _imports(python)
        good |= not problem
        if problem:
            mend = f"{python} -m pip install cosh-nb" if "not installed" in problem else ""
            yield Finding("note", f"the kernel {name} ({python}) {problem}", mend)
        else:
            yield Finding("ok", f"the kernel {name} ({python}) can load cosh_nb")
    if not good:
        yield Finding(
            "bad",
            "no Jupyter kernel can load cosh_nb",
            f"{sys.executable} -m ipykernel install --user --name cosh --display-name 'Python (cosh)'",
        )


def _interpreter(word: str) -> str:
    """As jupyter_client reads it: a bare "python" is the Python that starts the server, which is this one here."""
    bare = {"python", "python3", f"python{sys.version_info.major}.{sys.version_info.minor}"}
    return sys.executable if word in bare else word


def _imports(python: str) -> str:
    """Why an interpreter cannot load cosh_nb; "" where it can."""
    code = "import importlib.util as u; print(u.find_spec('cosh_nb') is not None)"
    try:
        done = subprocess.run(
            [python, "-c", code], capture_output=True, text=True, timeout=KERNEL_SECONDS, check=False, cwd="/"
        )
    except FileNotFoundError:
        return "is gone: its Python does not exist"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not start ({type(error).__name__})"
    if done.returncode:
        return f"does not start ({done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else 'no reason'})"
    return "" if done.stdout.strip() == "True" else "has cosh_nb not installed"


# -- the model ---------------------------------------------------------------------------------------------------------


def _model(known: Settings) -> Iterator[Finding]:
    from cosh_nb.providers import addresses, choose

    try:
        choice = asyncio.run(choose.choose(known.env, known.values))
        provider = choose.build(choice)
        asyncio.run(provider.close())
    except CoshError as error:
        yield Finding("bad", f"the model cannot be used: {error}", "or: COSH_PROVIDER=offline, which needs nothing")
        return
    place = f" at {addresses.shown(choice.base_url)}" if choice.base_url else ""
    key = f", key from {choice.key_source}" if choice.key_source else ""
    named = (
        choice.provider if choice.provider == choice.model or not choice.model else f"{choice.provider} {choice.model}"
    )
    yield Finding("ok", f"{named}{place} would answer, because {choice.reason}{key}")
    if not choice.is_language_model:
        yield Finding(
            "note",
            f"that is {'the ' if choice.provider == 'offline' else ''}{provider.label}",
            "set ANTHROPIC_API_KEY or OPENAI_API_KEY before Jupyter starts, or start Ollama and set OLLAMA_HOST",
        )


def _settings(known: Settings) -> Iterator[Finding]:
    from cosh_nb.paths import claude_folder
    from cosh_tools.kinds import PermissionMode

    for file in known.sources:
        yield Finding("ok", f"{file}")
    if not known.sources:
        yield Finding("ok", f"no settings file ({claude_folder() / 'settings.json'} would be yours)")
    try:
        yield Finding("ok", f"mode {known.mode(PermissionMode.DEFAULT).value}")
    except CoshError as error:
        yield Finding("bad", str(error))
    for problem in known.problems:
        yield Finding("note", problem)
    if known.ignored:
        ignored = "; ".join(known.ignored)
        yield Finding("note", f"ignored, because this folder is not trusted: {ignored}", "%cosh /trust says more")


# -- the front end -----------------------------------------------------------------------------------------------------


def _front_end() -> Iterator[Finding]:
    from cosh_nb import __version__, install_lab

    copies = install_lab.copies()
    if not copies:
        yield Finding(
            "note",
            "the lab extension is not installed here: cells are edited on disk, cards have no keys of their own",
            "cosh-nb install-lab",
        )
    else:
        first = copies[0]
        if first.current:
            yield Finding("ok", f"lab extension {first.version} in {first.folder}")
        else:
            old = f"lab extension {first.version} in {first.folder} is not {__version__}"
            yield Finding("note", old, "cosh-nb install-lab")
    for file in _switched_off(install_lab.NAME):
        yield Finding(
            "note", f"the lab extension is switched off in {file}", f"jupyter labextension enable {install_lab.NAME}"
        )
    if _widgets():
        yield Finding("ok", "ipywidgets draws in JupyterLab and Notebook: cards have buttons")
    else:
        yield Finding(
            "note",
            "the widgets extension is not in this environment: if the server runs here, questions come as a prompt",
            f"{sys.executable} -m pip install jupyterlab_widgets",
        )
    if os.environ.get("DISPLAY") is None and os.environ.get("WAYLAND_DISPLAY") is None and sys.platform == "linux":
        yield Finding("note", "no display here: `cosh-nb lab` prints an address to open elsewhere")


def _switched_off(name: str) -> Iterator[Path]:
    """The files that switch an extension off for JupyterLab."""
    from jupyter_core.paths import jupyter_config_path

    for folder in jupyter_config_path():
        file = Path(folder) / "labconfig" / "page_config.json"
        try:
            listed = json.loads(file.read_text("utf-8")).get("disabledExtensions", {})
        except (OSError, ValueError, AttributeError):
            continue
        off = listed if isinstance(listed, list) else [key for key, value in dict(listed).items() if value]
        if name in off:
            yield file


def _widgets() -> bool:
    from jupyter_core.paths import jupyter_path

    name = Path("@jupyter-widgets") / "jupyterlab-manager" / "package.json"
    return any((Path(folder) / name).is_file() for folder in jupyter_path("labextensions"))


def _folders() -> Iterator[Finding]:
    from cosh_nb.paths import cache_folder, data_folder

    for what, folder in (("sessions, grants and trust", data_folder()), ("snapshots and long outputs", cache_folder())):
        problem = _writable(folder)
        if problem:
            yield Finding("note", f"{what} cannot be kept in {folder} ({problem})", "COSH_DATA_DIR, COSH_CACHE_DIR")
        else:
            yield Finding("ok", f"{what}: {folder}")


def _writable(folder: Path) -> str:
    """Why nothing can be written there; "" where it can. The nearest folder that exists decides."""
    nearest = folder
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        return f"{nearest} is a file"
    return "" if os.access(nearest, os.W_OK | os.X_OK) else f"{nearest} is read-only"
