"""The server of the explorer answers requests by its own name alone: raw requests of strangers, of rebound names and of other pages."""

import re
import socket
import threading

import pytest

from emu.base.errors import FileError
from emu.explore.serve import served

PAGE = b"<!doctype html><title>explorer</title>"
NO_NAMES = ("evil.example:{port}", "evil.example", "127.0.0.1", "localhost", "127.0.0.1:1", "localhost.:{port}", "[::2]:{port}", "")
NO_NAMES += ("127.0.0.1:{port}.evil.example", "evil.example@127.0.0.1:{port}", "127.0.0.2:{port}", "0.0.0.0:{port}", "127.1:{port}")
NO_NAMES += ("127.0.0.1:{port}\r\nHost: evil.example:{port}", "127.0.0.1:{port}\r\n evil.example", "127.0.0.1:{port}, evil.example")
OWN = "Host: 127.0.0.1:{port}\r\n"
REFUSED = {
    421: [f"GET / HTTP/1.1\r\nHost: {name}\r\n" for name in NO_NAMES]
    + [f"{method} / HTTP/1.1\r\nHost: evil.example:{{port}}\r\n" for method in ("HEAD", "POST", "OPTIONS")]
    + ["GET / HTTP/1.1\r\n", "GET / HTTP/1.0\r\n", "GET /\r\n"]
    + [f"GET http://{name}/ HTTP/1.1\r\n{OWN}" for name in ("evil.example", "127.0.0.1:{port}")]
    + [f"OPTIONS * HTTP/1.1\r\n{OWN}", f"CONNECT evil.example:443 HTTP/1.1\r\n{OWN}", f"GET ../etc/passwd HTTP/1.1\r\n{OWN}"],
    403: [
        f"{method} / HTTP/1.1\r\n{OWN}Origin: {origin}\r\nContent-Length: 3\r\n\r\na=b"
        for method in ("GET", "POST")
        for origin in ("http://evil.example:{port}", "null", "https://127.0.0.1:{port}", "http://127.0.0.1", "127.0.0.1:{port}")
    ],
    405: [f"{method} / HTTP/1.1\r\n{OWN}" for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "get", "<b>")],
    404: [
        f"GET {path} HTTP/1.1\r\n{OWN}"
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//evil.example/", "/./", "/\\..\\x", "/index.html", "/<script>")
    ],
}


@pytest.fixture(scope="module")
def port():
    with served(PAGE, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def _asked(port: int, head: str) -> tuple[bytes, bytes]:
    """Return head and body of the answer to a request."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(head.replace("{port}", str(port)).encode() + (b"" if "\r\n\r\n" in head else b"\r\n"))
        answer = b""
        while part := client.recv(1 << 16):
            answer += part
    head, _, body = answer.rpartition(b"\r\n\r\n")
    return head, body


@pytest.mark.parametrize(("code", "request_head"), [(code, head) for code, heads in REFUSED.items() for head in heads])
def test_what_is_not_for_it_gets_one_line_and_no_page(port, code, request_head):
    head, body = _asked(port, request_head)
    assert b"explorer" not in body and (not body or re.fullmatch(rb"%d [A-Z][\w ,/]+\n" % code, body))
    if request_head.startswith("GET /\r"):  # of HTTP 0.9: there are no headers
        assert (head, bool(body)) == (b"", True)
        return
    assert re.match(rb"HTTP/1\.0 %d .*\r\n" % code, head) and bool(body) != request_head.startswith("HEAD")
    assert b"Content-Type: text/plain" in head and b"evil" not in head + body


@pytest.mark.parametrize("name", ["127.0.0.1:{port}", "localhost:{port}", "LocalHost:{port}", "[::1]:{port}"])
@pytest.mark.parametrize("more", ["", "Origin: http://{own}\r\n"])
def test_its_own_names_get_the_page(port, name, more):
    head = f"Host: {name}\r\n{more.replace('{own}', name)}"
    said, body = _asked(port, f"GET /?q=.. HTTP/1.1\r\n{head}")
    assert said.startswith(b"HTTP/1.0 200 ") and body == PAGE and b"Access-Control" not in said
    said, body = _asked(port, f"HEAD / HTTP/1.1\r\n{head}")
    assert said.startswith(b"HTTP/1.0 200 ") and body == b"" and b"Content-Length: %d" % len(PAGE) in said


def test_a_taken_port_is_said(port):
    with pytest.raises(FileError, match=f"port {port}: Address already in use: name another with --port, or 0 for any that is free"):
        served(PAGE, port)
