"""Where a key comes from: a variable, or a helper command that prints one."""

from __future__ import annotations

import asyncio
import asyncio.subprocess as sub
import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cosh_nb.errors import AuthError

HELPER_SECONDS = 10


@dataclass
class Key:
    """A key and the header that carries it. With no key, no header is sent: a local server needs none."""

    value: str = field(default="", repr=False)
    style: Literal["bearer", "x-api-key", "both"] = "bearer"
    """The header that carries it; "both" for a helper, whose key may be for the service or for a gateway."""
    helper: str = ""
    """A shell command that prints the key; asked at the first request and once after a refusal."""
    _fresh: bool = field(default=True, repr=False)

    async def headers(self) -> Mapping[str, str]:
        """The header, or none."""
        if not self.value and self.helper:
            self.value = await _ask(self.helper)
        value = self.value.strip()
        if not value:
            return {}
        plain, bearer = {"x-api-key": value}, {"authorization": f"Bearer {value}"}
        match self.style:
            case "bearer":
                return bearer
            case "x-api-key":
                return plain
            case "both":
                return plain | bearer

    def refresh(self) -> bool:
        """Forget a refused key that a helper gave; False for any other, and for one that was refused at once again."""
        if not self.helper or not self._fresh:
            return False
        self.value, self._fresh = "", False
        return True


async def _ask(command: str) -> str:
    process = await asyncio.create_subprocess_shell(
        command, stdin=sub.DEVNULL, stdout=sub.PIPE, stderr=sub.PIPE, start_new_session=True
    )
    try:
        async with asyncio.timeout(HELPER_SECONDS):
            out, err = await process.communicate()
    except TimeoutError:
        raise AuthError(
            f"The command apiKeyHelper printed no key within {HELPER_SECONDS} s. Run it in a terminal to see why."
        ) from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            await process.wait()
    key = out.decode("utf-8", "replace").strip()
    if process.returncode or not key:
        raise AuthError(
            f"The command apiKeyHelper gave no key (exit code {process.returncode}). Run it in a terminal to see why.",
            detail=err.decode("utf-8", "replace")[:2000],
        )
    return key
