"""When a failed request is sent again, and after how long: pure, so that every case is a line in a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited for what, in seconds, and how often something is tried again."""

    first: float = 600.0
    """Until the first event. A local server may read a long prompt for minutes."""
    between: float = 120.0
    """Between two events."""
    trailing: float = 3.0
    """After the answer is complete, for usage and the end mark."""
    say_every: float = 10.0
    """How often a silence is put into words."""
    connect: float = 15.0
    retries: int = 8
    """After a status that may pass (overloaded, rate limited)."""
    reconnects: int = 3
    """After a connection that failed or fell silent."""
    base: float = 0.5
    cap: float = 30.0
    longest: float = 300.0
    """A service that asks to be left alone for longer gets its error shown instead."""


PINGED = Patience(first=45.0, between=45.0)
"""For services that send a ping every few seconds: silence means that something is broken."""


def retryable(status: int, headers: Mapping[str, str]) -> bool:
    """Whether the service may answer differently a little later."""
    advice = headers.get("x-should-retry", "").strip().lower()
    if advice in {"true", "false"}:
        return advice == "true"
    return status in {408, 409, 429} or status >= 500


def asked_delay(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """How many seconds the service asks to wait, None where it does not say (or says nonsense)."""
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    after = headers.get("retry-after", "").strip()
    if not after:
        return None
    try:
        return max(0.0, float(after))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(after)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())


def own_delay(attempt: int, patience: Patience, chance: float) -> float:
    """Seconds before attempt `attempt` + 1: doubling, capped, shortened by up to a quarter by `chance` (0 to 1)."""
    return float(min(patience.cap, patience.base * 2.0 ** min(attempt - 1, 30)) * (1 - 0.25 * chance))
