"""No noise in a person's cell when JupyterLab ends a subshell of the kernel with a message still in it.

JupyterLab sends what widgets say to a subshell (ipykernel 7) and ends that with the last widget, so with every card
that is answered. A message that is on its way then is dropped, which is right; but asyncio reports its task, and the
report lands in red in the cell of the card and is saved with it.
"""

from __future__ import annotations

import logging
import re
import warnings

_DROPPED = re.compile(r"_async_in_context\.<locals>\.run_in_context|Kernel\.shell_main")


class _Dropped(logging.Filter):
    """Takes out the report on a message that ended with its subshell, and no other."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is to be shown."""
        said = record.getMessage()
        return not (said.startswith("Task was destroyed but it is pending!") and _DROPPED.search(said))


_FILTER = _Dropped()


def hush() -> None:
    """Leave these reports out from now on; a second call changes nothing."""
    log = logging.getLogger("asyncio")
    if _FILTER in log.filters:
        return
    log.addFilter(_FILTER)
    warnings.filterwarnings("ignore", rf"coroutine '(?:{_DROPPED.pattern})' was never awaited", RuntimeWarning)
