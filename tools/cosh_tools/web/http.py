"""One GET request that cannot be led astray or flooded: hops are resolved, checked and pinned, bytes are counted."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cosh_tools.results import ToolError
from cosh_tools.web.address import IP, WebAddress

if TYPE_CHECKING:
    import httpx

Check = Callable[[WebAddress, list[IP]], None]
"""Raises where a request may not go to a host at these addresses."""

HEADERS = {
    "User-Agent": "cosh-nb/0.1 (an agent in a notebook; fetches what its user asks for)",
    "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how much: `seconds` for all hops and the whole body, `most` bytes before and after unpacking."""

    seconds: float = 30.0
    most: int = 10_000_000
    hops: int = 10


@dataclass(frozen=True)
class Page:
    """What came back. Not `whole` where the body was longer than the limit."""

    address: WebAddress
    status: int
    reason: str
    headers: dict[str, str]
    body: bytes
    whole: bool = True

    @property
    def media_type(self) -> str:
        """The Content-Type without its parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True)
class Elsewhere:
    """A redirect that was not followed."""

    origin: WebAddress
    target: str
    status: int
    reason: str
    why: str = "to another host"


async def get(start: WebAddress, check: Check, limits: Limits) -> Page | Elsewhere:
    """Fetch a page, following redirects on its own host. Raises ToolError."""
    progress = _Progress()
    try:
        async with asyncio.timeout(limits.seconds):
            return await _hops(start, check, limits, progress)
    except TimeoutError:
        raise ToolError(
            f"{start.url} did not answer in full within {limits.seconds:g} s ({progress.bytes:,} bytes came). "
            "Try again later, or another page."
        ) from None


async def _hops(start: WebAddress, check: Check, limits: Limits, progress: _Progress) -> Page | Elsewhere:
    here, seen = start, {start.url}
    for _hop in range(limits.hops + 1):
        answer = await _one(here, check, limits, progress)
        location = answer.headers.get("location", "")
        if answer.status not in (301, 302, 303, 307, 308) or not location:
            return answer
        try:
            there = here.follow(location)
        except ToolError as error:
            raise ToolError(f"{here.url} redirects to an address that is none: {error}") from None
        if there.host != here.host or there.port not in (here.port, 80, 443):
            return Elsewhere(here, there.url, answer.status, answer.reason)
        if (here.scheme, there.scheme) == ("https", "http"):
            return Elsewhere(here, there.url, answer.status, answer.reason, "to an unencrypted address")
        if there.url in seen:
            raise ToolError(f"{start.url} redirects in a circle ({there.url} comes again). Try another page.")
        seen.add(there.url)
        here = there
    raise ToolError(f"{start.url} redirects more than {limits.hops} times. Try another page.")


async def _one(here: WebAddress, check: Check, limits: Limits, progress: _Progress) -> Page:
    """One request to one host, at an address that was looked up and checked just now."""
    import httpx

    proxy = _proxy(here)
    addresses = await _lookup(here, may_fail=proxy is not None)
    check(here, addresses)
    tried: Exception | None = None
    async with await _client(proxy) as client:
        # With a proxy the proxy connects, so it gets the name; what the name means here was checked all the same.
        for target in [here.url] if proxy else [here.at(address) for address in addresses]:
            try:
                return await _read(client, here, target, limits, progress)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                tried = error
            except httpx.HTTPError as error:
                raise ToolError(f"Failed to fetch {here.url}: {_what(error)}.") from None
            except httpx.InvalidURL as error:
                raise ToolError(f"{here.url} redirects to an address that is none: {error}.") from None
    raise ToolError(f"Failed to fetch {here.url}: {_what(tried)}.")


async def _read(client: httpx.AsyncClient, here: WebAddress, target: str, limits: Limits, progress: _Progress) -> Page:
    request = client.build_request(
        "GET",
        target,
        headers={**HEADERS, "Host": here.authority},
        extensions={"sni_hostname": here.host} if here.scheme == "https" else {},
    )
    response = await client.send(request, stream=True)
    try:
        headers = {name.lower(): value for name, value in response.headers.items()}
        page = Page(here, response.status_code, response.reason_phrase, headers, b"")
        if response.is_redirect:
            return page  # its body is of no interest
        body = bytearray()
        whole = True
        async for part in _unpacked(response.aiter_raw(), headers.get("content-encoding", ""), limits.most, progress):
            body += part
            if len(body) > limits.most:
                del body[limits.most :]
                whole = False
                break
        return Page(here, page.status, page.reason, headers, bytes(body), whole)
    finally:
        await response.aclose()


async def _unpacked(raw: AsyncIterator[bytes], encoding: str, most: int, progress: _Progress) -> AsyncIterator[bytes]:
    """The body's bytes, unpacked a bounded piece at a time, so that a small body cannot become a huge one."""
    match encoding.strip().lower():
        case "" | "identity":
            async for part in raw:
                progress.bytes += len(part)
                yield part
            return
        case "gzip" | "x-gzip":
            unpack = zlib.decompressobj(31)
        case "deflate":
            unpack = zlib.decompressobj()
        case _:
            raise ToolError(f"The page came packed as {encoding!r}, which was not asked for and cannot be read.")
    first = True
    async for packed in raw:
        progress.bytes += len(packed)
        part = packed
        while part:
            try:
                piece = unpack.decompress(part, most)
            except zlib.error as error:
                if first and encoding.strip().lower() == "deflate":
                    unpack = zlib.decompressobj(-15)  # some servers send it bare
                    first = False
                    continue
                raise ToolError(f"The page is damaged: it cannot be unpacked ({error}).") from None
            first = False
            yield piece
            part = unpack.unconsumed_tail


async def _lookup(here: WebAddress, *, may_fail: bool) -> list[IP]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(here.host, here.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        if may_fail:
            return []
        raise ToolError(f"Failed to fetch {here.url}: the host {here.host} is not known ({error}).") from None
    return [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]


async def _client(proxy: str | None) -> httpx.AsyncClient:
    import httpx

    return httpx.AsyncClient(
        verify=await asyncio.to_thread(_certificates),
        proxy=proxy,
        trust_env=False,
        follow_redirects=False,
        timeout=None,  # noqa: S113  (the deadline of `get` is around everything)
    )


def _certificates() -> ssl.SSLContext:
    """The trusted authorities, read once: that takes longer than many a page."""
    import httpx

    if not _CONTEXT:
        _CONTEXT.append(httpx.create_ssl_context())
    return _CONTEXT[0]


_CONTEXT: list[ssl.SSLContext] = []


def _proxy(here: WebAddress) -> str | None:
    """The proxy that the environment names for this host."""
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    proxy = proxies.get(here.scheme) or proxies.get("all")
    return None if proxy is None or proxy_bypass(here.host) else proxy


def _what(error: Any) -> str:
    kind: Literal["connection failed", ""] = "" if str(error) else "connection failed"
    return f"{type(error).__name__}: {error}" if not kind else f"{kind} ({type(error).__name__})"


@dataclass
class _Progress:
    """Bytes that came over the wire, for the sentence about a timeout."""

    bytes: int = field(default=0)
