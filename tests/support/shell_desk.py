"""A workspace in which shell tools are called as the loop calls them."""

from __future__ import annotations

from pathlib import Path

from cosh_tools.jobs import Jobs
from cosh_tools.registry import load
from support.desk import Desk


class Shelf:
    """Keeps long outputs in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, text: str, name: str) -> Path:
        path = self._folder / f"{name}.txt"
        path.write_text(text)
        return path


class ShellDesk(Desk):
    """The shell tools, and what they showed live."""

    def __init__(self, folder: Path, **context: object) -> None:
        self.live: list[str] = []
        self.jobs = Jobs()
        more = {"jobs": self.jobs, "spill": Shelf(folder.parent), **context}
        super().__init__(folder, progress=self.live.append, **more)
        for name in ("Bash", "shell", "PowerShell"):
            self.runner.registry.add(load(name))
