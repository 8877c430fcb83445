"""What a session costs: tokens per model, each at its own price; a price that is not known is never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cosh_nb.events import Usage
from cosh_nb.providers.models import Price, context_window, find

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelCost:
    """One row of `%cosh /cost`. `dollars` is None where the model's price is not known."""

    model: str
    answers: int
    usage: Usage
    dollars: float | None


class Costs:
    """Counts tokens and dollars of one session (hosts.CostTracker)."""

    def __init__(self) -> None:
        self._rows: dict[str, ModelCost] = {}
        self._here: set[str] = set()

    def add(self, model: str, usage: Mapping[str, int]) -> None:
        """Count the tokens of one answer; keys are the fields of events.Usage."""
        fields = ("input", "output", "cache_read", "cache_write")
        self.count(model, Usage(**{name: int(usage.get(name) or 0) for name in fields}))

    def count(self, model: str, usage: Usage) -> float | None:
        """Count one answer and say what it cost; None where the price is not known."""
        dollars = 0.0 if model in self._here else price_of(model, usage)
        row = self._rows.get(model) or ModelCost(model, 0, Usage(), 0.0)
        known = None if dollars is None or row.dollars is None else row.dollars + dollars
        self._rows[model] = ModelCost(model, row.answers + 1, row.usage + usage, known)
        return dollars

    def runs_here(self, model: str) -> None:
        """The model runs on this machine: its tokens cost nothing."""
        self._here.add(model)

    def total(self) -> float | None:
        """US dollars so far; None where the price of a model that was used is not known."""
        dollars = [row.dollars for row in self._rows.values()]
        return sum(known for known in dollars if known is not None) if None not in dollars else None

    def usage(self) -> Usage:
        """All tokens so far."""
        return sum((row.usage for row in self._rows.values()), Usage())

    def table(self) -> tuple[ModelCost, ...]:
        """A row per model, in the order of first use."""
        return tuple(self._rows.values())


def price_of(model: str, usage: Usage) -> float | None:
    """US dollars of one answer; None where the model or its price is not known."""
    if not usage.total:
        return 0.0
    known = find(model)
    if known is None or known.price is None:
        return None
    price: Price = known.price
    if known.above is not None and usage.input + usage.cache_read + usage.cache_write > known.above_tokens:
        price = known.above
    dollars = usage.input * price.input + usage.output * price.output
    return (dollars + usage.cache_write * price.cache_write + usage.cache_read * price.cache_read) / MILLION


__all__ = ["Costs", "ModelCost", "context_window", "price_of"]
