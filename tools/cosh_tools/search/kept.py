"""Which files' matches a search shows: none that may not be read, none that are binary."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cosh_tools.policy.protected import is_secret
from cosh_tools.search.engine import Query
from cosh_tools.search.ignore import override_rules
from cosh_tools.touches import Reads

if TYPE_CHECKING:
    from cosh_tools.context import ToolContext

_SNIFFED = 1 << 16
_MOST_SNIFFED = 256 << 20


@dataclass
class Kept:
    """Which files' rows are shown: not those that may not be read, binary ones, or of another type."""

    query: Query
    ctx: ToolContext
    withheld: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        query = self.query
        self._types = override_rules(query.types) if query.types and query.globs else None
        self._asked = is_secret(Path(query.root))  # the gate has decided on such a root as a whole

    def keep(self, path: str) -> bool:
        """Whether this file, from the root, is shown."""
        if not path:
            return not is_binary(self.query.root)  # the one file that the call names: the gate has decided on it
        whole = os.path.join(self.query.root, path)
        if self._types is not None and self._types.verdict(os.path.basename(path), path, folder=False) is None:
            return False
        if not self._readable(Path(whole)):
            self.withheld.append(path)
            return False
        return not is_binary(whole)

    def _readable(self, real: Path) -> bool:
        """Whether the policy would let the model read this file without a question."""
        secret = not self._asked and is_secret(real)
        says = self.ctx.gate.says("Grep", Reads(str(real), real, inside=True, protected=secret, exists=True))
        return says == "allow" or (says is None and not secret)


def is_binary(path: str) -> bool:
    """Whether a file has a NUL byte anywhere, and is not UTF-16. Engines look at the beginning, each in its own way."""
    try:
        with open(path, "rb", buffering=0) as file:
            read, piece = 0, file.read(_SNIFFED)
            if piece.startswith((b"\xff\xfe", b"\xfe\xff")):
                return False
            while piece and read < _MOST_SNIFFED:
                if b"\0" in piece:
                    return True
                read += len(piece)
                piece = file.read(1 << 20) if len(piece) >= _SNIFFED else b""
    except OSError:
        return False
    return False


def begins_binary(path: str) -> bool:
    """Whether a NUL byte is among the first 64 KB."""
    try:
        with open(path, "rb") as file:
            return b"\0" in file.read(_SNIFFED)
    except OSError:
        return False
