"""Clusters by name, without one: what is no address, no library, no scheduler. With one: tests/vectors/test_vectors_cluster.py."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from support.cluster import need_cluster

from emu.base import cluster
from emu.base.cluster import Workers, checked_address, done_by_cluster
from emu.base.errors import OperandError, ToolError
from emu.base.workers import in_order
from emu.cli.main import run

NO_COUNTS = ("local:0", "local:257", "local:", "local", "local:-1", "local:٣")
NO_PLACES = ("8786", "host:8786", "", "tcp://", "tcp://host", "tcp://host:", "tcp://host:0", "tcp://host:٣", "tcp://:8786")
NO_PLACES += ("http://host:8786", "tcp://host:port", "tcp://host:8786/x", "tcp://host:8786 ", " tcp://host:8786")
NO_PLACES += ("tcp://ho st:8786", "tcp://host:65536")


@pytest.mark.parametrize("text", [*NO_COUNTS, *NO_PLACES])
def test_what_is_no_cluster(text: str) -> None:
    with pytest.raises(OperandError, match="write local:N, or the address of a scheduler, such as tcp://"):
        checked_address(text)


def test_what_is_one() -> None:
    for text in ("local:1", "local:256", "tls://host:8786", "tcp://10.0.0.5:1", "tcp://[::1]:65535", "wss://a.b-c:8786"):
        assert checked_address(text) == text


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ToolError, match=r"not installed: pip install 'fp4emu\[cluster\]'"):
        next(done_by_cluster(str, [1], "local:1"))


class _Away:
    """A client of a scheduler that went away: it does not say goodbye."""

    def __init__(self, fault: type[Exception]) -> None:
        self.status, self.asked, self.fault = "running", 0, fault

    def close(self, **_: object) -> None:
        self.asked += 1
        raise self.fault


@pytest.mark.parametrize("fault", [TimeoutError, OSError, AssertionError])
def test_a_scheduler_that_is_gone_may_not_answer_the_goodbye(fault: type[Exception]) -> None:
    workers, client = Workers(None, "local:1", "tcp://127.0.0.1:1", 1.0), _Away(fault)
    workers._client = client
    workers.leave()
    workers.leave()
    assert (client.asked, client.status) == (1, "closed")


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://127.0.0.1:{free}", r"no scheduler listens there \(connection refused\): start one, or name the address of another"),
        ("ws://[::1]:{free}", r"no scheduler listens there|cannot be reached"),
        ("tcp://no-machine.invalid:8786", r"the name of its machine is not known \(.+\): correct it, or write the number"),
        (
            "tls://127.0.0.1:{free}",
            r"TLS: no certificate is named: set DASK_\w+__CA_FILE, DASK_\w+__CERT, DASK_\w+__KEY to files",
        ),
        ("wss://127.0.0.1:{free}", r"TLS: no certificate is named"),
        ("ucx://127.0.0.1:{free}", r"its protocol needs the package distributed-ucxx"),
    ],
)
def test_where_nobody_can_answer_it_ends_at_once(address: str, said: str) -> None:
    """The patience is longer than any test may take."""
    need_cluster()
    place = address.format(free=_free())
    with pytest.raises(ToolError, match=rf"\Acluster {re.escape(place)}: (?:{said})[^\n]*\Z"):
        next(done_by_cluster(str, [1], place, patience=10_000))


def test_certificates_that_cannot_be_read_are_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    need_cluster()
    import dask

    for name in ("ca", "cert"):
        (tmp_path / name).write_text("no PEM")
    places = {"distributed.comm.tls.ca-file": str(tmp_path / "ca"), "distributed.comm.tls.client.cert": str(tmp_path / "cert")}
    with dask.config.set(places), pytest.raises(ToolError, match=r"TLS: its certificates cannot be read \(SSLError: "):
        next(done_by_cluster(str, [1], f"tls://127.0.0.1:{_free()}", patience=10_000))


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.0 400 Bad Request\r\n\r\n"])
def test_what_is_no_scheduler_is_told_at_once(answer: bytes) -> None:
    need_cluster()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answered() -> None:
            with suppress(OSError):
                while True:
                    client, _ = server.accept()
                    client.sendall(answer)
                    client.close()

        Thread(target=answered, daemon=True).start()
        with pytest.raises(ToolError, match="what listens there does not answer as a scheduler"):
            next(done_by_cluster(str, [1], f"tcp://127.0.0.1:{server.getsockname()[1]}", patience=10_000))
        server.shutdown(socket.SHUT_RDWR)


def test_one_that_listens_and_says_nothing_is_awaited_and_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    need_cluster()
    monkeypatch.setattr(cluster, "_TOLD", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ToolError, match=rf"\Acluster {place}: no scheduler answers for 1 seconds: start it again and give the same"):
            next(done_by_cluster(str, [1], place, patience=1.0))
        said = capsys.readouterr().err
        assert said == f"emu: cluster {place}: no scheduler answers: waiting for the scheduler, at most 1 seconds\n"


def test_the_command_says_it_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "--cluster", "here", "--codes", "0:4"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_results_come_in_the_order_of_their_tasks_and_the_source_is_closed() -> None:
    closed = []

    def found() -> Iterator[tuple[int, str]]:
        try:
            yield from ((2, "c"), (0, "a"), (1, "b"), (4, "e"), (3, "d"))
        finally:
            closed.append(True)

    source = in_order(found())  # type: ignore[arg-type]
    assert [next(source) for _ in range(3)] == ["a", "b", "c"] and not closed
    source.close()
    assert closed
    assert list(in_order(found())) == list("abcde")  # type: ignore[arg-type]
