"""emu explore: the page served to this machine, opened at a link, and ended by Ctrl-C."""

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from support.explorer import browser

from emu.cli.main import run

LINK = "number?from=fp32&code=0x3E800001&to=e2m1&round=rne&policy=nvidia&r=0"


@pytest.fixture
def opened(tmp_path, monkeypatch) -> Path:
    """A browser that writes down what it was asked to open."""
    browser()
    told, program = tmp_path / "opened", tmp_path / "browser"
    program.write_text(f'#!/bin/sh\necho "$1" > {told}\n')
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{program} %s")
    return told


def _leave(address: str) -> None:
    """Ask for the page, and reset the connection with most of it unread: what is written then fails."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)  # too little for the page to be gone before
        host = address.removeprefix("http://").rstrip("/")
        client.connect(("127.0.0.1", int(host.rpartition(":")[2])))
        client.sendall(f"GET / HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        assert client.recv(1) == b"H"
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_the_page_is_served_and_ends_with_an_interrupt(opened, page):
    command = [str(Path(sys.executable).with_name("emu")), "explore", "--port", "0", "--open", f"#{LINK}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as server:
        try:
            address = re.match(r"(http://127\.0\.0\.1:[0-9]+/) \(Ctrl-C ends it\)\n", server.stdout.readline())[1]
            assert server.stdout.readline() == f"{address}#{LINK}\n"
            with urlopen(address) as answer:
                assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
                assert answer.read().decode() == page
            with pytest.raises(HTTPError, match="404"):
                urlopen(f"{address}other")
            _leave(address)
            with urlopen(address) as answer:
                assert answer.status == 200
        finally:
            server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=60)
        assert (server.returncode, out, err) == (0, "", "ended\n")
    for _ in range(100):
        if opened.exists():
            break
        time.sleep(0.05)
    assert opened.read_text() == f"{address}#{LINK}\n"


def test_a_file_is_opened_at_a_link(opened, tmp_path, capsys):
    target = tmp_path / "page.html"
    assert run(["explore", "--out", str(target), "--open", "dot"]) == 0
    assert capsys.readouterr().out == f"{target.as_uri()}#dot\n"


@pytest.mark.parametrize("text", ["", "nothing?x=1", "number?x=1 2", "#block\n"])
def test_what_is_no_link_is_refused(text, tmp_path, capsys):
    assert run(["explore", "--out", str(tmp_path / "page.html"), "--open", text]) == 2
    assert capsys.readouterr().err.startswith("emu: --open ") and not list(tmp_path.iterdir())
