"""The `cosh-nb` command: demo, lab, doctor, install-lab, version; --headless, acp and mcp for other programs."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

from cosh_nb import __version__
from cosh_nb.errors import CoshError

_DESCRIPTION = """\
An agent that lives in the notebook. In a notebook: %load_ext cosh_nb, then %%cosh and a request in plain words."""

_EPILOG = """\
for programs:
  cosh-nb --headless [prompt] ...  speak JSON lines on stdin and stdout (cosh-nb --headless --help says more)
  cosh-nb acp                      speak the Agent Client Protocol
  cosh-nb mcp                      offer the tools as an MCP server
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code. 2 means wrong arguments."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--headless" in arguments:
        from cosh_nb.headless import main as headless  # the agent is loaded when it is wanted

        return headless(arguments)
    if arguments[:1] == ["acp"]:
        from cosh_nb.acp import main as acp  # the same

        return acp(arguments[1:])
    if arguments[:1] == ["mcp"]:
        if importlib.util.find_spec("cosh_nb.mcp_server") is None:
            print("cosh-nb: This version has no MCP server. Update it: pip install -U cosh-nb.", file=sys.stderr)
            return 2
        return int(importlib.import_module("cosh_nb.mcp_server").main(arguments[1:]))
    try:
        return _run(arguments)
    except CoshError as error:
        print(f"cosh-nb: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output went away; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(arguments: Sequence[str]) -> int:
    parser = _parser()
    given, rest = parser.parse_known_args(arguments)
    if rest and given.command != "lab":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    match given.command:
        case "demo":
            return _demo(given.folder)
        case "lab":
            return _lab(given.notebook, [word for word in rest if word != "--"])
        case "doctor":
            return _doctor()
        case "install-lab":
            return _install_lab(here=given.here)
        case "version":
            print(__version__)
            return 0
        case _:
            parser.print_help()
            return 0


def _demo(folder: Path | None) -> int:
    from cosh_nb import demo

    return 0 if demo.run(folder, lambda text: print(text, flush=True)) else 1


def _lab(notebook: Path | None, rest: Sequence[str]) -> NoReturn:
    from cosh_nb import quickstart

    if importlib.util.find_spec("jupyterlab") is None:
        raise CoshError("JupyterLab is not installed here. Install it: pip install 'cosh-nb[lab]'.")
    if notebook is None:
        notebook = quickstart.copy()
        print(f"A copy of the quickstart notebook: {notebook}", flush=True)
    elif not notebook.exists():
        raise CoshError(f"There is no {notebook}. `cosh-nb lab` without a name opens the quickstart notebook.")
    # In the notebook's folder: relative paths then mean the same in the file browser, the kernel and the agent.
    folder = notebook if notebook.is_dir() else notebook.parent
    root = os.path.realpath(folder)
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}"]
    if not notebook.is_dir():
        # Not as a file argument: the address that JupyterLab prints should lead to the notebook too.
        command.append(f"--LabApp.default_url=/lab/tree/{quote(notebook.name)}")
    command += rest
    if hasattr(os, "geteuid") and os.geteuid() == 0 and "--allow-root" not in rest:
        command.append("--allow-root")
    os.execv(sys.executable, command)  # noqa: S606  (JupyterLab takes our place: Ctrl-C and the exit code are its own)


def _doctor() -> int:
    from cosh_nb import doctor

    return doctor.run(lambda text: print(text, flush=True))


def _install_lab(*, here: bool) -> int:
    from cosh_nb import install_lab

    target = Path(sys.prefix) / "share" / "jupyter" / "labextensions" if here else None
    print(install_lab.install(target))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cosh-nb",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", metavar="command")
    demo = commands.add_parser("demo", help="run the quickstart notebook in a real kernel and check every step")
    demo.add_argument("folder", nargs="?", type=Path, help="where to put it; a new temporary folder when left out")
    lab = commands.add_parser(
        "lab",
        help="open JupyterLab on a notebook",
        description="Open JupyterLab on a notebook. Further options go to JupyterLab.",
    )
    lab.add_argument("notebook", nargs="?", type=Path, help="a copy of the quickstart notebook when left out")
    commands.add_parser("doctor", help="say what is installed, which model answers and why, and how to mend the rest")
    install = commands.add_parser("install-lab", help="copy the lab extension to where JupyterLab looks for it")
    install.add_argument("--here", action="store_true", help="into this environment only, not for all your servers")
    commands.add_parser("version", help="print the version")
    return parser
