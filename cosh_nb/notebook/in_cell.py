"""Approvals that appear in one given cell, whichever cell a turn uses meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosh_nb.notebook.approvals import CellApprovals
    from cosh_nb.notebook.asking import Asking
    from cosh_nb.notebook.place import Place
    from cosh_tools.hosts import ApprovalAnswer, ApprovalRequest


@dataclass
class InCell:
    """Asks where `place` is (hosts.PermissionHandler). The gate puts one question at a time, so it can be lent."""

    asking: Asking
    approvals: CellApprovals
    place: Place

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Put the question into the cell and wait."""
        asking = self.asking
        before = asking.place, asking.lend
        asking.place, asking.lend = self.place, lambda _call_id: None
        try:
            return await self.approvals.ask(request)
        finally:
            if asking.place is self.place:  # else a turn has begun meanwhile and set its own
                asking.place, asking.lend = before
