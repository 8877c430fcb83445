"""Which notebooks the Jupyter servers of this machine have open: asked of the servers themselves."""

from __future__ import annotations

import asyncio
import json
import os
import re
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TIMEOUT = 1.5
_KERNEL = re.compile(r"kernel-([0-9a-fA-F-]{36})\.json$")
_OWN = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Servers of this machine are never asked through a proxy."""


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A document with a kernel, as its server lists it."""

    path: Path
    kernel: str
    type: str
    url: str
    server_pid: int = 0


async def sessions() -> Sequence[OpenSession]:
    """The sessions of every server that this user runs and that answers in time."""
    return await asyncio.to_thread(_sessions)


def kernel_id(kernel: Any) -> str:
    """The id under which a server knows this kernel; empty where it has none."""
    app = getattr(kernel, "parent", None)
    file = getattr(app, "connection_file", "") or ""
    found = _KERNEL.search(str(file))
    return found[1] if found else ""


def _sessions() -> Sequence[OpenSession]:
    files = _server_files()
    if not files:
        return ()
    with ThreadPoolExecutor(min(len(files), 8)) as pool:
        return [session for found in pool.map(_ask, files) for session in found]


def _server_files() -> Sequence[Path]:
    from jupyter_core.paths import jupyter_runtime_dir

    try:
        return sorted(Path(jupyter_runtime_dir()).glob("jpserver-*.json"))
    except OSError:
        return ()


def _ask(file: Path) -> Sequence[OpenSession]:
    try:
        server = json.loads(file.read_bytes())
        if not _alive(int(server["pid"])):
            return ()
        request = urllib.request.Request(f"{server['url']}api/sessions")  # noqa: S310  (a server of this user wrote it)
        if server.get("token"):
            request.add_header("Authorization", f"token {server['token']}")
        with _OWN.open(request, timeout=_TIMEOUT) as answer:
            listed = json.loads(answer.read())
    except (OSError, ValueError, KeyError, TypeError):
        return ()
    return [session for item in listed if (session := _session(item, server)) is not None]


def _session(item: Mapping[str, Any], server: Mapping[str, Any]) -> OpenSession | None:
    path = item.get("path") or (item.get("notebook") or {}).get("path")
    if not isinstance(path, str):
        return None
    root = server.get("root_dir") or server.get("notebook_dir") or "/"
    kernel = str((item.get("kernel") or {}).get("id") or "")
    place = Path(root) / plain(path)
    return OpenSession(place, kernel, str(item.get("type") or "notebook"), str(server["url"]), int(server["pid"]))


def plain(path: str) -> str:
    """A server's path without the drive before its colon ("RTC:a.ipynb") and without a leading slash."""
    drive, colon, rest = path.partition(":")
    return (rest if colon and "/" not in drive else path).lstrip("/")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
