"""Providers of other packages: entry points of the group `cosh.providers`.

A point names a callable `make(model: str | None, env: Mapping[str, str]) -> Provider`. It is chosen by its name, as
any provider is: `COSH_PROVIDER`, settings, `--provider` or `/provider`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from cosh_nb.errors import ProviderError

if TYPE_CHECKING:
    from cosh_nb.providers.base import Provider

GROUP = "cosh.providers"


def make(name: str, model: str | None, env: Mapping[str, str]) -> Provider | None:
    """The provider that another package offers under `name`, or None. Raises ProviderError where it fails to load."""
    for point in entry_points(group=GROUP, name=name):
        try:
            provider: Provider = point.load()(model, env)
        except Exception as error:  # another package's code may raise anything
            raise ProviderError(
                f"The provider {name} of {point.value} did not load: {error}. Repair or remove that package, or choose "
                "another provider with --provider."
            ) from error
        return provider
    return None
