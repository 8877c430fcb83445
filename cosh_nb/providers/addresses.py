"""Addresses of services, as people set them: possibly wrong, possibly with a password in them."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit, urlunsplit

NEAR = frozenset({"localhost", "127.0.0.1", "::1"})


def split(url: str) -> SplitResult:
    """The parts; all of them empty where it is no URL at all."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 (raises for a port that is no number)
    except ValueError:
        return urlsplit("")
    return parts


def shown(url: str) -> str:
    """The address without user, password and query; as it is where it is no URL."""
    parts = split(url)
    return urlunsplit((parts.scheme, host(url), parts.path, "", "")) if parts.netloc else url


def host(url: str) -> str:
    """host:port, for labels."""
    return split(url).netloc.rpartition("@")[2]


def is_loopback(url: str) -> bool:
    """Whether the address is this very machine."""
    name = split(url).hostname or ""
    return name in NEAR or name.startswith("127.")
