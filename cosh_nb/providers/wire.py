"""The wire to a model service: POST, events, retries. The only file that imports httpx for models.

A request runs in a task of its own, which lays down chunks as they come (attempt.py reads them). So a silence can be
put into words while the socket is awaited, and closing the iterator ends the request at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import ssl
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.request import getproxies

from cosh_nb.errors import ProviderError
from cosh_nb.events import ModelEvent, Waiting
from cosh_nb.providers import faults
from cosh_nb.providers.addresses import is_loopback, split
from cosh_nb.providers.attempt import Attempt, Decoder, Failed, Inbox
from cosh_nb.providers.retry import Patience, asked_delay, own_delay, retryable
from cosh_nb.providers.sse import dumps

if TYPE_CHECKING:
    import httpx

ERROR_BODY = 65_536


class Credentials(Protocol):
    """Where the headers that carry a key come from."""

    async def headers(self) -> Mapping[str, str]:
        """Read when a request is sent. Raises AuthError where there is no usable key."""
        ...

    def refresh(self) -> bool:
        """After a 401: whether another key may be had."""
        ...


class Post(Protocol):
    """One request, as its provider sees it."""

    def body(self) -> bytes:
        """The request's JSON; made anew for each attempt."""
        ...

    def decoder(self) -> Decoder:
        """A fresh decoder."""
        ...

    def amend(self, error: ProviderError) -> bool:
        """Whether the request was changed so that this refusal does not come again."""
        ...


class Wire:
    """Connections to one service: kept alive, opened at the first request, used from one asyncio loop."""

    def __init__(
        self,
        service: faults.Service,
        credentials: Credentials,
        patience: Patience,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.service = service
        self.patience = patience
        self._credentials = credentials
        self._headers = dict(headers or {})
        self._client: httpx.AsyncClient | None = None
        self._urls: dict[str, httpx.URL] = {}
        self._tails: set[asyncio.Task[None]] = set()

    async def events(self, path: str, post: Post) -> AsyncGenerator[ModelEvent]:
        """The events of one answer, through all retries. Raises ProviderError; never retries what was shown."""
        tries = reconnects = 0
        while True:
            tries += 1
            shown = False
            headers = await self._key_headers()
            inbox = Inbox()
            attempt = Attempt(inbox, post.decoder(), self.service, self.patience)
            reader = asyncio.create_task(self._read(inbox, path, headers, post.body()))
            try:
                while (events := await attempt.next()) is not None:
                    for event in events:
                        yield event
                    shown = shown or any(type(event) is not Waiting for event in events)
            except Failed as failed:
                error, delay = failed.error, failed.after
            else:
                return
            finally:
                self._let_go(reader, whole=attempt.whole)
            faults.clean(error, _secrets(headers))
            if shown:
                raise error
            if post.amend(error) or (error.status == 401 and self._credentials.refresh()):
                continue
            reconnects += not error.status
            if delay is None:
                delay = own_delay(tries, self.patience, random.random())  # noqa: S311 (jitter, not a secret)
            used_up = tries > self.patience.retries or reconnects > self.patience.reconnects
            if not error.retryable or used_up or delay > self.patience.longest:
                raise error
            yield Waiting(f"{_reason(error)}; trying again", delay, tries)
            await asyncio.sleep(delay)

    async def get_json(self, url: str) -> Any:
        """What a GET of this address says. Raises ProviderError."""
        return await self._json("GET", url, b"")

    async def post_json(self, url: str, value: Any) -> Any:
        """What the address answers to this value. Raises ProviderError."""
        return await self._json("POST", url, dumps(value))

    async def close(self) -> None:
        """Give back connections."""
        for tail in self._tails:
            tail.cancel()
        await asyncio.gather(*self._tails, return_exceptions=True)
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _json(self, method: str, url: str, body: bytes) -> Any:
        headers = await self._key_headers()
        secrets = _secrets(headers)
        sent = {**self._headers, **headers, "content-type": "application/json"}
        try:
            answer = await self._open().request(method, url, headers=sent, content=body, timeout=self.patience.connect)
        except Exception as error:
            if (known := _unreachable(self.service, error, secrets)) is None:
                raise
            raise known from None
        said = answer.text[:ERROR_BODY]
        if answer.status_code != 200:
            raise faults.refused(self.service, faults.Refusal(answer.status_code, answer.headers, said), secrets)
        try:
            return answer.json()
        except ValueError:
            raise faults.not_a_stream(self.service, answer.headers.get("content-type", ""), said, secrets) from None

    async def _key_headers(self) -> Mapping[str, str]:
        headers = await self._credentials.headers()
        if any(not value.isascii() or not value.isprintable() for value in headers.values()):
            raise faults.bad_key(self.service)
        return headers

    async def _read(self, inbox: Inbox, path: str, headers: Mapping[str, str], body: bytes) -> None:
        """Send the request and lay down what comes. A task of its own: ending it ends the request."""
        secrets = _secrets(headers)
        sent = {**self._headers, **headers, "content-type": "application/json"}
        failure: BaseException | None = None
        try:
            await _receive(inbox, self._open(), self._url(path), sent, body, self.service, secrets)
        except Failed as failed:
            failure = failed
        except Exception as error:  # noqa: BLE001 (raised where the answer is awaited)
            known = _unreachable(self.service, error, secrets)
            failure = Failed(known) if known else error
        finally:
            inbox.close(failure)

    def _let_go(self, reader: asyncio.Task[None], *, whole: bool) -> None:
        """End the reader: at once, or, where the answer is whole, when the body ends, so that the connection lives."""
        if reader.done():
            return
        if whole:
            asyncio.get_running_loop().call_later(self.patience.trailing, reader.cancel)
        else:
            reader.cancel()
        self._tails.add(reader)
        reader.add_done_callback(self._tails.discard)

    def _url(self, path: str) -> httpx.URL | str:
        """The address, parsed once; as text where it cannot be parsed, which the request will say."""
        import httpx

        if path not in self._urls:
            try:
                self._urls[path] = httpx.URL(self.service.url.rstrip("/") + path)
            except httpx.InvalidURL:
                return self.service.url
        return self._urls[path]

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = _new_client(self.service.url, self.patience)
        return self._client


# -- httpx ------------------------------------------------------------------------------------------------------------


async def _receive(
    inbox: Inbox,
    client: httpx.AsyncClient,
    url: httpx.URL | str,
    headers: dict[str, str],
    body: bytes,
    service: faults.Service,
    secrets: Sequence[str],
) -> None:
    from httpx_sse import aconnect_sse  # loaded with httpx at the first request

    async with aconnect_sse(client, "POST", url, headers=headers, content=body) as source:  # type: ignore[arg-type]  # (it hands a URL on as it is)
        answer = source.response
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if answer.status_code != 200 or kind != "text/event-stream":
            await _refuse(answer, kind, service, secrets)
        # The transport's own stream: no decoding, no re-chunking. A gateway that compresses costs a little more.
        plain = answer.headers.get("content-encoding", "identity") == "identity"
        chunks = answer.stream if plain else answer.aiter_bytes()
        async for chunk in chunks:  # type: ignore[union-attr]  # (an async client streams asynchronously)
            if inbox.put(chunk):
                await inbox.pause()


async def _refuse(answer: httpx.Response, kind: str, service: faults.Service, secrets: Sequence[str]) -> None:
    """Raise for an answer that is no stream of events."""
    read = bytearray()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(10):
            async for chunk in answer.aiter_bytes():
                read += chunk
                if len(read) > ERROR_BODY:
                    break
    body = read.decode("utf-8", "replace")
    headers = {name.lower(): value for name, value in answer.headers.items()}
    if answer.status_code == 200:
        raise Failed(faults.not_a_stream(service, kind, body, secrets))
    again = retryable(answer.status_code, headers) and not faults.out_of_credit(body)
    refusal = faults.Refusal(answer.status_code, headers, body)
    raise Failed(faults.refused(service, refusal, secrets, retry=again), asked_delay(headers))


def warm() -> None:
    """Load what the first request needs; call it in a thread while nobody waits."""
    import httpx_sse

    del httpx_sse
    _certificates(*_certificate_files())


def _new_client(url: str, patience: Patience) -> httpx.AsyncClient:
    import httpx  # the only place where it is loaded for models

    # A server on this machine is reached directly, whatever proxy the environment names, and without certificates.
    near = is_loopback(url) and split(url).scheme == "http"
    plain = split(url).scheme == "http" and not getproxies()
    return httpx.AsyncClient(
        timeout=httpx.Timeout(None, connect=patience.connect, write=60.0),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=8, keepalive_expiry=60.0),
        headers={"accept-encoding": "identity", "user-agent": "cosh-nb"},
        trust_env=not near,
        verify=False if near or plain else _certificates(*_certificate_files()),
    )


@lru_cache(maxsize=2)
def _certificates(file: str, folder: str) -> ssl.SSLContext:
    """Reading the certificates takes longer than a request, so it is done once, by `warm` if there is time."""
    import httpx

    del file, folder  # httpx reads the variables itself; here they tell when to read anew
    return httpx.create_ssl_context()


def _certificate_files() -> tuple[str, str]:
    return os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", "")


def _secrets(headers: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(value.removeprefix("Bearer ") for value in headers.values())


def _unreachable(service: faults.Service, error: Exception, secrets: Iterable[str]) -> ProviderError | None:
    """The sentence for what httpx raises; None for anything else, which is a bug and shown as one."""
    import httpx

    if not isinstance(error, httpx.HTTPError | httpx.InvalidURL | OSError | UnicodeError):
        return None

    detail = faults.redact(f"{type(error).__name__}: {error}", secrets)
    causes = list(_causes(error))
    words = " ".join(str(cause) for cause in causes).lower()
    retry, why = True, "broke"
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL | UnicodeError):
        why, retry = "url", False
    elif "certificate" in words and "verif" in words:
        why, retry = "tls", False
    elif any(isinstance(cause, ssl.SSLError) for cause in causes):
        why, retry = "no tls", False
    elif isinstance(error, httpx.ProxyError):
        why = "proxy"
    elif isinstance(error, httpx.TimeoutException):
        why = "timeout"
    elif isinstance(error, httpx.ConnectError):
        unknown = any(type(cause).__name__ == "gaierror" for cause in causes)
        why = "name" if unknown or "name or service not known" in words else "refused"
    return faults.unreachable(service, why, detail, retry=retry)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: ProviderError) -> str:
    match error.status:
        case 429:
            return "rate limited"
        case 529 | 503:
            return "the service is overloaded"
        case 0:
            return "the connection failed"
        case status:
            return f"the service answered {status}"
