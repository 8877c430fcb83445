"""The command about JupyterLab: install-lab."""

from __future__ import annotations

import asyncio

from cosh_nb.commands import Command, Desk
from cosh_nb.errors import UsageError


async def install_lab(desk: Desk, arguments: str) -> str:
    """Copy the lab extension to the user's Jupyter folder, or take the copy out again."""
    from cosh_nb import install_lab as lab

    del desk
    match arguments.strip():
        case "":
            return await asyncio.to_thread(lab.install)
        case "remove":
            return await asyncio.to_thread(lab.remove)
        case other:
            raise UsageError(
                f"/install-lab takes no {other!r}. Write %cosh /install-lab, or %cosh /install-lab remove."
            )


COMMANDS = (
    Command(
        "install-lab",
        "copies the lab extension to where every Jupyter server of yours finds it; needed where the server runs in "
        "another environment than this kernel",
        install_lab,
        "[remove]",
        ("remove",),
    ),
)
