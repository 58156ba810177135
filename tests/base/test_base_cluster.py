"""Clusters by name, without one: what is no address, no library, no scheduler. With one: tests/vectors/test_vectors_cluster.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import ClassVar

import pytest

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
    """A client of a scheduler that went away: nothing answers, nor does it say goodbye."""

    made: ClassVar[list[_Away]] = []
    fault: ClassVar[type[Exception]] = TimeoutError

    def __init__(self, *_: object, **__: object) -> None:
        self.status, self.asked = "running", 0
        self.made.append(self)

    def wait_for_workers(self, *_: object, **__: object) -> None:
        raise OSError

    def close(self, **_: object) -> None:
        self.asked += 1
        raise self.fault


@pytest.mark.parametrize("fault", [TimeoutError, OSError, AssertionError])
@pytest.mark.parametrize("patience", [0.0, 0.1])
def test_a_scheduler_that_is_gone_may_not_answer_the_goodbye(
    patience: float, fault: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Away, "made", [])
    monkeypatch.setattr(_Away, "fault", fault)
    workers = Workers(SimpleNamespace(Client=_Away), "local:1", "tcp://127.0.0.1:1", patience)
    with pytest.raises(ToolError, match=r"cluster local:1: no worker \(OSError\): start it again"):
        next(workers.done(str, [1]))
    workers.leave()
    assert _Away.made and {(client.asked, client.status) for client in _Away.made} == {(1, "closed")}


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
