"""Where a request may go: web addresses taken apart, and the machines that are nobody's business.

A private, loopback, link-local or other special address is refused unless a rule names that very address
(`WebFetch(domain:127.0.0.1)`; `WebFetch(domain:localhost)` for that name). A rule for a public name does not help it to
lead somewhere private, no mode allows it, and no "once" of a person does, so nobody is asked in vain.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from cosh_tools.results import PermissionDenied, ToolError

IP = ipaddress.IPv4Address | ipaddress.IPv6Address
Allows = Callable[[str], bool]
"""Whether a rule names this very host or address."""

_ODD = re.compile(r"[\x00-\x20\x7f\\]")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_METADATA = frozenset({"169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192"})
_MOST = 8192


@dataclass(frozen=True, slots=True)
class WebAddress:
    """One http or https address. `host` is lower case and ASCII, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def url(self) -> str:
        """The address as text."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _port(self.scheme) else f"{host}:{self.port}"

    def at(self, address: IP) -> str:
        """The same address with the host replaced by a machine's address, to connect to it and nothing else."""
        host = f"[{address}]" if address.version == 6 else str(address)
        return f"{self.scheme}://{host}:{self.port}{self.path}"

    def follow(self, location: str) -> WebAddress:
        """Where a redirect leads. Raises ToolError."""
        return parse(urljoin(self.url, location))


def parse(text: str) -> WebAddress:
    """The address that a text says. Raises ToolError with what is wrong."""
    text = text.strip().replace(" ", "%20")
    if len(text) > _MOST:
        raise ToolError(f"The address is {len(text)} characters long; at most {_MOST} are sent.")
    if "://" not in text and re.match(r"[\w.-]+\.[a-z]{2,}(?:[/:?#]|$)", text, re.IGNORECASE):
        text = f"https://{text}"
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise ToolError(f"{text!r} is not a web address: {error}.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ToolError(f"{text!r} is not a web address. Send one that begins with https:// or http://.")
    if "@" in parts.netloc:
        raise ToolError("An address with a user name or password in it is not fetched. Leave that part out.")
    if _ODD.search(text):
        raise ToolError(f"{text!r} holds characters that no web address has. Leave them out or encode them.")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        path += "?" + quote(parts.query, safe="/?%:@!$&'()*+,;=~-._[]{}|^`")
    return WebAddress(parts.scheme, _ascii(host), port if port is not None else _port(parts.scheme), path)


def literal(host: str) -> IP | None:
    """The address that a host is written as, in any of the ways that systems read (127.1, 0x7f.0.0.1, 2130706433)."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host)) if re.fullmatch(r"[0-9a-fx.]+", host) else None
    except OSError:
        return None


def special(address: IP) -> str:
    """What is special about an address, in words; empty for one on the public internet."""
    inner = _inner(address)
    if inner is not None and (what := special(inner)):
        return what
    if str(address) in _METADATA:
        return "the metadata service of a cloud machine"
    if address.is_loopback:
        return "this machine itself"
    if address.is_unspecified:
        return "no particular machine, which means this one"
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast:
        return "a multicast address"
    if address.is_private or not address.is_global:
        return "a private address"
    return ""


def refuse_special(host: str, addresses: list[IP], allows: Allows) -> None:
    """Raise PermissionDenied where one of the addresses is special and no rule names it."""
    for address in addresses:
        what = special(address)
        if not what or allows(str(address)) or (is_local_name(host) and address.is_loopback and allows(host)):
            continue
        leads = f"{host} is {what}" if str(address) == host else f"{host} leads to {address}, which is {what}"
        raise PermissionDenied(
            f"{leads}. It is fetched only if a rule names it: WebFetch(domain:{address}). "
            "Tell the user, or use Bash with curl, which asks."
        )


def is_local_name(host: str) -> bool:
    """Whether a name means this machine by convention."""
    name = host.rstrip(".")
    return name == "localhost" or name.endswith(".localhost")


def _inner(address: IP) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one stands for (mapped, 6to4, Teredo, NAT64, compatible)."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or 1 < int(address) < 1 << 32:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def _ascii(host: str) -> str:
    host = host.lower()
    if host.isascii():
        return host
    try:
        import idna  # comes with httpx

        return idna.encode(host, uts46=True).decode("ascii")
    except (ImportError, ValueError) as error:
        raise ToolError(f"{host!r} is not a host name: {error}.") from None


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80
