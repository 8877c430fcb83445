"""What is known of models: window, price, default of a service. A model that is not known works all the same."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

_GATEWAY = re.compile(r"^(anthropic|openai|deepseek|dashscope)/")
_DATED = re.compile(r"(-\d{8}|-\d{4}-\d{2}-\d{2}|@[\w.-]+|-latest|\[1m\])$")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cache_write: float
    cache_read: float


@dataclass(frozen=True, slots=True)
class Model:
    """One model. `above` holds for the whole request where its input is longer than `above_tokens`."""

    id: str
    provider: str
    window: int
    price: Price | None = None
    above_tokens: int = 0
    above: Price | None = None


def find(name: str) -> Model | None:
    """The model of this name, also where it carries a date or a gateway's prefix; None where it is not known."""
    known = _table().models
    bare = _GATEWAY.sub("", name.strip().lower())
    return known.get(bare) or known.get(_DATED.sub("", bare))


def context_window(name: str) -> int | None:
    """How many tokens the model takes; None where that is not known."""
    model = find(name)
    return model.window if model else None


def default_model(service: str) -> str:
    """The model that a service is asked for where nobody named one; empty where it must be asked which it has."""
    return _table().defaults.get(service, "")


def spelled_out(name: str) -> str:
    """The model that a short name means ("sonnet"); any other name as it is, without a window's mark ("[1m]")."""
    bare = name.strip().removesuffix("[1m]")
    return _table().aliases.get(bare.lower(), bare)


def known_models(provider: str = "") -> list[str]:
    """The names in the table, of one provider or of all, newest first as they are listed."""
    return [model.id for model in _table().models.values() if provider in ("", model.provider)]


@dataclass(frozen=True, slots=True)
class _Table:
    defaults: Mapping[str, str]
    aliases: Mapping[str, str]
    models: Mapping[str, Model]


@lru_cache(maxsize=1)
def _table() -> _Table:
    raw = tomllib.loads(resources.files(__package__).joinpath("models.toml").read_text("utf-8"))
    return _Table(raw["defaults"], raw["aliases"], {entry["id"]: _model(entry) for entry in raw["model"]})


def _model(entry: Mapping[str, Any]) -> Model:
    price, above = entry.get("price"), entry.get("above")
    return Model(
        id=entry["id"],
        provider=entry["provider"],
        window=entry["window"],
        price=_price(price) if price else None,
        above_tokens=above["tokens"] if above else 0,
        above=_price(above) if above else None,
    )


def _price(entry: Mapping[str, float]) -> Price:
    plain = entry["input"]
    return Price(plain, entry["output"], entry.get("cache_write", plain), entry.get("cache_read", plain))
