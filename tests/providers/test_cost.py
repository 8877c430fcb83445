"""What a session costs: each model at its own price, and no guess where a price is not known."""

from __future__ import annotations

import pytest

from cosh_nb.cost import Costs, price_of
from cosh_nb.events import Usage
from cosh_nb.providers.models import context_window, default_model, find, known_models, spelled_out

MEGA = 1_000_000


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("claude-sonnet-5-5", Usage(input=MEGA), 2),
        ("claude-sonnet-5-5", Usage(output=MEGA), 10),
        ("claude-sonnet-5-5", Usage(cache_write=MEGA), 2.5),
        ("claude-sonnet-5-5", Usage(cache_read=MEGA), 0.1),
        ("claude-opus-5-5", Usage(MEGA, MEGA, MEGA, MEGA), 29.2),
        ("claude-haiku-5-5", Usage(input=100_000), 0.01),
        ("claude-haiku-5-5", Usage(input=100_001), 0.0500005),
        ("claude-haiku-5-5", Usage(input=1, cache_read=90_000, cache_write=10_000, output=1000), 0.0132505),
        ("gpt-6.1-sol", Usage(input=272_000, output=MEGA), 10.544),
        ("gpt-6.1-sol", Usage(input=272_001, output=MEGA), 16.088004),
        ("deepseek-v4-pro", Usage(cache_write=MEGA), 1.32),
        ("gpt-oss-120b", Usage(MEGA, MEGA), 0.219),
    ],
)
def test_prices_and_their_tiers(model: str, usage: Usage, dollars: float) -> None:
    assert price_of(model, usage) == pytest.approx(dollars)


@pytest.mark.parametrize(
    "name",
    [
        "claude-haiku-4-5-20251001",
        "claude-haiku-4-5@20251001",
        "anthropic/claude-haiku-4-5",
        "Claude-Haiku-4-5",
        "claude-haiku-4-5-latest",
    ],
)
def test_a_dated_name_is_the_same_model(name: str) -> None:
    model = find(name)
    assert model is not None
    assert model.id == "claude-haiku-4-5"


@pytest.mark.parametrize("name", ["gpt-6.1-sol-mini", "claude-haiku-4-5-fast", "qwen3:8b", "", "gpt", "llama"])
def test_a_name_that_only_looks_alike_is_not_guessed(name: str) -> None:
    assert find(name) is None
    assert context_window(name) is None
    assert price_of(name, Usage(input=1)) is None


def test_a_session_adds_up_model_by_model() -> None:
    costs = Costs()
    assert costs.count("claude-sonnet-5-5", Usage(input=MEGA)) == pytest.approx(2)
    costs.add("claude-sonnet-5-5", {"input": 0, "output": MEGA})
    costs.add("gpt-6.1-terra", {"input": 100_000})
    assert costs.total() == pytest.approx(12.1)
    first, second = costs.table()
    assert (first.model, first.answers, first.usage) == ("claude-sonnet-5-5", 2, Usage(MEGA, MEGA))
    assert second.dollars == pytest.approx(0.1)
    assert costs.usage() == Usage(MEGA + 100_000, MEGA)


def test_one_unknown_price_makes_the_total_unknown_and_keeps_the_tokens() -> None:
    costs = Costs()
    costs.count("claude-sonnet-5-5", Usage(input=MEGA))
    assert costs.count("qwen3:8b", Usage(input=5)) is None
    assert costs.total() is None
    assert costs.table()[0].dollars == pytest.approx(2)
    assert costs.usage().input == MEGA + 5


def test_a_model_of_this_machine_costs_nothing() -> None:
    costs = Costs()
    costs.runs_here("qwen3:8b")
    assert costs.count("qwen3:8b", Usage(input=MEGA)) == 0
    assert costs.total() == 0


def test_nothing_used_costs_nothing() -> None:
    assert Costs().total() == 0
    assert price_of("who-knows", Usage()) == 0


@pytest.mark.parametrize("service", ["anthropic", "openai", "dashscope"])
def test_the_default_of_every_service_has_a_window(service: str) -> None:
    assert (context_window(default_model(service)) or 0) >= 200_000


def test_every_model_of_the_table_is_whole() -> None:
    for name in known_models():
        model = find(name)
        assert model is not None
        assert model.id == name
        assert model.window >= 100_000
        if model.price is not None:
            assert 0 < model.price.cache_read <= model.price.input <= model.price.output
        assert (model.above is None) == (model.above_tokens == 0)


def test_short_names_are_spelled_out() -> None:
    assert spelled_out("Opus") == "claude-opus-5-5"
    assert spelled_out("sonnet[1m]") == "claude-sonnet-5-5"
    assert spelled_out("gpt-6.1-sol") == "gpt-6.1-sol"
