"""The server of the explorer's page: for browsers of this machine that ask it by its own name, so that no page of others can read it.

A page of a stranger can let its own name lead to 127.0.0.1 ("DNS rebinding"): its requests come here with that name as their Host.
"""

from __future__ import annotations

import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from emu.base.errors import FileError

NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
HTTP: Final = 80  # the port that a browser leaves out of a Host


def served(page: bytes, port: int) -> ThreadingHTTPServer:
    """Return a server of one page, on the loopback device. port: 0: any free one.   Raises: FileError (the port is taken)."""
    try:
        return _Server(page, port)
    except OSError as error:
        raise FileError(f"port {port}: {error.strerror}: name another with --port, or 0 for any that is free") from None


class _Server(ThreadingHTTPServer):
    """One that goes on without a word where a browser leaves before it has read the answer. hosts, origins: its own."""

    def __init__(self, page: bytes, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Answer)
        self.page, bound = page, self.server_address[1]
        self.hosts = {f"{name}:{bound}" for name in NAMES} | {name for name in NAMES if bound == HTTP}
        self.origins = {f"http://{host}" for host in self.hosts}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report what is no lost connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Answer(BaseHTTPRequestHandler):
    """The page under /, to GET and HEAD, and one line for all else."""

    server: _Server
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = "text/plain; charset=utf-8"

    def parse_request(self) -> bool:
        """Read the head of a request; return whether it is one to answer, after a line that says why where it is none."""
        return super().parse_request() and self._is_ours()

    def _is_ours(self) -> bool:
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts or not self.path.startswith("/"):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "Asked by a name that is not its own")
        elif any(origin.lower() not in self.server.origins for origin in origins):
            self.send_error(HTTPStatus.FORBIDDEN, "Asked by a page of others")
        elif self.command not in ("GET", "HEAD"):
            self.send_error(HTTPStatus.METHOD_NOT_ALLOWED, "Answers GET and HEAD alone")
        elif self.path.partition("?")[0] != "/":
            self.send_error(HTTPStatus.NOT_FOUND, "There is one page, under /")
        else:
            return True
        return False

    def do_HEAD(self) -> None:
        """Send what describes the page."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(self.server.page)))
        self.end_headers()

    def do_GET(self) -> None:
        """Send the page."""
        self.do_HEAD()
        self.wfile.write(self.server.page)

    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""
