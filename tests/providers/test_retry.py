"""What is sent again and when, case by case."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from cosh_nb.providers.retry import Patience, asked_delay, own_delay, retryable

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_these_may_pass(status: int) -> None:
    assert retryable(status, {})


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 301])
def test_these_stay(status: int) -> None:
    assert not retryable(status, {})


@pytest.mark.parametrize(("status", "advice", "again"), [(529, "false", False), (400, "true", True), (429, "?", True)])
def test_the_service_knows_better(status: int, advice: str, again: bool) -> None:
    assert retryable(status, {"x-should-retry": advice}) is again


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:07 GMT"}, 7),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "later"}, None),
        ({}, None),
    ],
)
def test_how_long_the_service_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_delay(headers, NOW) == seconds


def test_our_own_delay_doubles_up_to_its_cap_and_jitter_only_shortens() -> None:
    patience = Patience(base=0.5, cap=30)
    assert [own_delay(attempt, patience, 0) for attempt in (1, 2, 3, 4, 20)] == [0.5, 1, 2, 4, 30]
    assert own_delay(3, patience, 1) == 1.5
