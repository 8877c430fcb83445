"""Search services behind one seam."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Protocol

from cosh_tools.results import ToolError

_SECONDS = 15
_TAG = re.compile(r"<[^>]+>")


@dataclass(frozen=True, slots=True)
class Hit:
    """One result."""

    title: str
    url: str
    snippet: str


class SearchEngine(Protocol):
    """A service that finds pages."""

    @property
    def host(self) -> str:
        """Where the question goes."""
        ...

    async def find(self, query: str, count: int) -> Sequence[Hit]:
        """Up to `count` hits. Raises ToolError where the service does not answer."""
        ...


@dataclass(frozen=True)
class Brave:
    """Brave Search, with a key of the user's."""

    key: str
    url: str = "https://api.search.brave.com/res/v1/web/search"

    @property
    def host(self) -> str:
        """Where the question goes."""
        return self.url.split("/")[2]

    async def find(self, query: str, count: int) -> Sequence[Hit]:
        """Ask for web results."""
        import httpx

        headers = {"X-Subscription-Token": self.key, "Accept": "application/json"}
        try:
            async with httpx.AsyncClient(timeout=_SECONDS) as client:
                answer = await client.get(self.url, params={"q": query, "count": count}, headers=headers)
        except httpx.HTTPError as error:
            raise ToolError(f"Brave Search did not answer ({type(error).__name__}).") from None
        if answer.status_code != 200:
            raise ToolError(_why(answer.status_code))
        try:
            found = (answer.json().get("web") or {}).get("results") or []
            return [Hit(_plain(hit["title"]), hit["url"], _plain(hit.get("description", ""))) for hit in found]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ToolError("Brave Search answered with something that is no list of results.") from None


@dataclass(frozen=True)
class DuckDuckGo:
    """DuckDuckGo through the `ddgs` package; needs no key."""

    host: str = "duckduckgo.com"

    async def find(self, query: str, count: int) -> Sequence[Hit]:
        """Ask for web results, in a thread."""
        try:
            from ddgs import DDGS
        except ImportError:
            raise ToolError("DuckDuckGo needs the package ddgs: `pip install 'cosh-nb[search]'`.") from None

        def ask() -> list[dict[str, Any]]:
            return list(DDGS(timeout=_SECONDS).text(query, max_results=count, backend="duckduckgo"))

        try:
            found = await asyncio.wait_for(asyncio.to_thread(ask), _SECONDS * 2)
        except Exception as error:  # noqa: BLE001  (the package raises many kinds, also for "nothing found")
            if "No results" in str(error):
                return []
            raise ToolError(f"DuckDuckGo did not answer ({type(error).__name__}).") from None
        return [Hit(str(hit.get("title", "")), str(hit.get("href", "")), str(hit.get("body", ""))) for hit in found]


def _why(status: int) -> str:
    match status:
        case 401 | 403 | 422:
            return f"Brave Search refused the key (HTTP {status}). Check BRAVE_SEARCH_API_KEY."
        case 429:
            return "Brave Search wants fewer requests (HTTP 429). Wait a little, then try again."
        case _:
            return f"Brave Search failed (HTTP {status})."


def _plain(text: str) -> str:
    return unescape(_TAG.sub("", text))
