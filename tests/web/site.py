"""A web server on loopback that misbehaves on demand."""

from __future__ import annotations

import gzip
import http.server
import ssl
import threading
import zlib
from collections.abc import Callable
from typing import Any, Self

Handler = Callable[["Exchange"], None]


class Exchange(http.server.BaseHTTPRequestHandler):
    """One request; what to answer is looked up by path."""

    protocol_version = "HTTP/1.1"
    server: Any

    def do_GET(self) -> None:
        self.server.site.requests.append((self.path, dict(self.headers.items()), self.client_address[0]))
        handler = self.server.site.pages.get(self.path.partition("?")[0])
        if handler is None:
            self.answer(b"nothing here", status=404, kind="text/plain")
        else:
            handler(self)

    def answer(
        self, body: bytes, *, status: int = 200, kind: str | None = "text/html; charset=utf-8", **headers: str
    ) -> None:
        self.send_response(status)
        if kind is not None:
            self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin(self, *, kind: str = "text/plain", **headers: str) -> None:
        """An answer whose length is not told."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class calls it so)
        pass


class Site:
    """Serves pages until the end of the `with` block."""

    def __init__(self, host: str = "127.0.0.1", secure: ssl.SSLContext | None = None) -> None:
        self.pages: dict[str, Handler] = {}
        self.requests: list[tuple[str, dict[str, str], str]] = []
        self.stopped = threading.Event()
        server: Any = http.server.ThreadingHTTPServer((host, 0), Exchange)
        server.daemon_threads = True
        server.handle_error = lambda *_args: None  # a client that has had enough hangs up
        server.site = self
        if secure is not None:
            server.socket = secure.wrap_socket(server.socket, server_side=True)
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def page(self, path: str, body: bytes | str, **how: Any) -> str:
        """A page that answers with `body`; its address."""
        raw = body.encode() if isinstance(body, str) else body
        self.pages[path] = lambda exchange: exchange.answer(raw, **how)
        return self.url(path)

    def redirect(self, path: str, target: str, status: int = 302) -> str:
        self.pages[path] = lambda exchange: exchange.answer(b"", status=status, Location=target)
        return self.url(path)


def gzipped(body: bytes) -> bytes:
    return gzip.compress(body)


def bomb(size: int) -> bytes:
    """A few KB that unpack to `size` zeros."""
    pack = zlib.compressobj(9, wbits=31)
    out = [pack.compress(b"\0" * 1_000_000) for _ in range(size // 1_000_000)]
    return b"".join([*out, pack.flush()])
