"""The HTTP server of the studio, for this machine only: access control and statuses.

Every request needs the token, which only the printed address contains; a page of another site can neither read it nor send it. The server
does not compute: texts go to separate processes (`jobs`).
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
import threading
from collections import OrderedDict
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from chetaev.studio.dispatch import Dispatcher, RefusedError
from chetaev.studio.folder import Folder
from chetaev.studio.jobs import SECONDS, Jobs
from chetaev.studio.page import AROUND, page

HOST = "127.0.0.1"
"""The loopback address, which no other machine can reach."""
LARGEST = 2_000_000
"""Largest request in bytes; a longer one is refused before it is read."""
_MOST_DRAINED = 16_000_000
"""Bytes of a refused request that are read and forgotten, so that its client can send all of it before it reads the refusal."""
_DRAIN_SECONDS = 2.0
"""Seconds of silence after which the rest of a refused request is no longer awaited."""
TOKEN_BYTES = 24
"""Number of random bytes of the token: 192 bits."""
_SILENT_SECONDS = 30.0
"""Seconds of silence after which a connection is closed, which frees the threads of closed tabs."""
_PAGES = 16
"""Number of newest pages of motions and reports that are kept: a frame fetches its page once, right after the answer that names it."""
_ISOLATED = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:;"
"""The content security policy of pages of motions and reports: no network. Pages with sliders also have a stricter one."""


class Studio(ThreadingHTTPServer):
    """A server with its token, folder and processes. Use `close` to end it."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(
        self, folder: str | Path = ".", port: int = 0, *, text: str = "", file: str = "", framed: bool = False, seconds: float = SECONDS
    ) -> None:
        super().__init__((HOST, port), _Handler)
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.framed = framed
        self.closed = False
        self.pages: OrderedDict[str, str] = OrderedDict()
        self._pages_lock = threading.Lock()
        try:
            self.dispatcher = Dispatcher(folder, text=text, file=file, seconds=seconds)
        except BaseException:
            self.server_close()
            raise

    @property
    def folder(self) -> Folder:
        """The folder of its model files."""
        return self.dispatcher.folder

    @property
    def jobs(self) -> Jobs:
        """Its processes."""
        return self.dispatcher.jobs

    @property
    def address(self) -> str:
        """The address to open in a browser, with the token."""
        return f"http://{HOST}:{self.server_address[1]}/?token={self.token}"

    def keep(self, html: str) -> str:
        """Keep a page for the frame that shows it, and return its path, which cannot be guessed."""
        key = secrets.token_urlsafe(TOKEN_BYTES)
        with self._pages_lock:
            self.pages[key] = html
            while len(self.pages) > _PAGES:
                self.pages.popitem(last=False)
        return f"/shown/{key}"

    def close(self) -> None:
        """End the server and all its processes; connections that are still open get no more answers."""
        self.closed = True
        self.dispatcher.close()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a failed request in one line; a connection that the browser closed is not logged."""
        fault = sys.exception()
        if not isinstance(fault, ConnectionError | TimeoutError):
            sys.stderr.write(f"studio: a request failed: {type(fault).__name__}\n")


class _Handler(BaseHTTPRequestHandler):
    server: Studio
    protocol_version = "HTTP/1.1"
    server_version = "chetaev"
    sys_version = ""
    timeout = _SILENT_SECONDS
    body_read = False

    def do_GET(self) -> None:
        self._handle("GET")

    def do_POST(self) -> None:
        self._handle("POST")

    def do_PUT(self) -> None:
        self._handle("PUT")

    def do_DELETE(self) -> None:
        self._handle("DELETE")

    def do_OPTIONS(self) -> None:
        self._handle("OPTIONS")

    def _handle(self, method: str) -> None:
        if self.server.closed:
            self.close_connection = True
            return
        self.body_read = False
        try:
            self._route(method)
        except RefusedError as refused:
            self._refuse(refused)
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as fault:
            sys.stderr.write(f"studio: {method} failed: {type(fault).__name__}\n")
            self._refuse(RefusedError(500, "the studio itself failed at this request."))

    def _refuse(self, refused: RefusedError) -> None:
        self.close_connection = True  # the body may not have been read
        self._send_json(refused.answer, refused.status)
        self._drain()

    def _drain(self) -> None:
        """Read what is left of a request and forget it, because many clients read the answer only after they have sent everything."""
        given = self.headers.get("Content-Length", "")
        if self.body_read or not given.isascii() or not given.isdigit():
            return
        left = int(given) if len(given) <= 12 else _MOST_DRAINED
        left = min(left, _MOST_DRAINED)
        self.wfile.flush()
        self.connection.settimeout(_DRAIN_SECONDS)
        with suppress(OSError):
            while left > 0 and (part := self.rfile.read1(min(left, 1 << 16))):
                left -= len(part)

    def _route(self, method: str) -> None:
        parts = urlsplit(self.path)
        self._check_origin()
        if method == "GET" and parts.path.startswith("/shown/"):
            return self._shown(parts.path.removeprefix("/shown/"))
        page = method == "GET" and parts.path == "/"
        self._check_token(parse_qs(parts.query).get("token", [""])[0] if page else self.headers.get("X-Chetaev-Token", ""))
        if page:
            return self._page()
        name = parts.path.removeprefix("/api/") if parts.path.startswith("/api/") else ""
        self.server.dispatcher.require(method, name)
        found = self.server.dispatcher.reply(method, name, self._body() if method == "POST" else None)
        if found.get("ok") and "html" in found:
            found["page"] = self.server.keep(found.pop("html"))
        return self._send_json(found)

    def _check_origin(self) -> None:
        """Refuse requests from pages of other sites, and host names other than those of this machine (DNS rebinding)."""
        port = self.server.server_address[1]
        names = {f"{HOST}:{port}", f"localhost:{port}"}
        if self.headers.get_all("Host", []) not in [[name] for name in names]:
            raise RefusedError(403, "the request names another host.")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{name}" for name in names}:
            raise RefusedError(403, "the request comes from another site.")

    def _check_token(self, given: str) -> None:
        if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self.server.token.encode()):
            raise RefusedError(403, "the token is missing or wrong: open the address that the studio printed.")

    def _body(self) -> dict[str, Any]:
        if self.headers.get("Transfer-Encoding"):
            raise RefusedError(400, "the length of the request is not given.")
        given = self.headers.get("Content-Length", "")
        if not given.isascii() or not given.isdigit():
            raise RefusedError(400, "the length of the request is not given.")
        if len(given) > 12 or int(given) > LARGEST:
            raise RefusedError(413, f"the request has more than {LARGEST} bytes.")
        raw = self.rfile.read(int(given))
        self.body_read = True
        try:
            found = json.loads(raw)
        except (ValueError, RecursionError):
            raise RefusedError(400, "the request is not JSON.") from None
        if not isinstance(found, dict):
            raise RefusedError(400, "the request is not an object.")
        return found

    def _page(self) -> None:
        text, policy = page(self.server.framed)
        self._send(text.encode(), "text/html; charset=utf-8", policy=policy)

    def _shown(self, key: str) -> None:
        html = self.server.pages.get(key)
        if html is None:
            raise RefusedError(403, "this page is no longer kept.")
        around = f" {AROUND}" if self.server.framed else ""
        policy = f"{_ISOLATED} sandbox allow-scripts allow-downloads; frame-ancestors 'self'{around}"
        self._send(html.encode(), "text/html; charset=utf-8", policy=policy)

    def _send_json(self, found: dict[str, Any], status: int = 200) -> None:
        self._send(json.dumps(found, allow_nan=False).encode(), "application/json", status)

    def _send(self, content: bytes, kind: str, status: int = 200, policy: str = "default-src 'none'; frame-ancestors 'none'") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Log nothing, because addresses contain the token."""
