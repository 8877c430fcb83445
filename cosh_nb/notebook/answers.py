"""Answers that several parts of the notebook give in the person's name."""

from __future__ import annotations

from cosh_tools.hosts import Refused

STOPPED = Refused("The user stopped the turn.", stop=True)
"""Stop was pressed, or "Just stop" on a card."""
