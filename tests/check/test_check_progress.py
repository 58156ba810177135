"""Progress of a check: a line on stderr where that is a terminal, gone at the end; nothing anywhere else."""

import io
import sys

import numpy as np
import pytest

import emu
from emu.check import progress
from emu.testing import check

CONVERT = "convert/e2m1/rne/nvidia"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def right(x):
    return emu.convert(x, "e2m1")


def wrong(x):
    return np.zeros(x.shape, np.uint8)


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "QUIET", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.0)


def test_a_terminal_gets_a_line_that_goes_again(at_once, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    check(wrong, CONVERT, suites=["directed"], raises=False)
    lines = stream.getvalue().split("\r\x1b[K")
    assert lines[0] == "" and lines[-1] == "" and len(lines) > 3
    assert lines[1].startswith("check of wrong: directed, ") and "smallest counterexample of" in lines[-2]


def test_nothing_is_written_elsewhere(at_once, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    check(right, CONVERT, suites=["directed"])
    assert stream.getvalue() == ""


def test_a_quick_check_writes_nothing(monkeypatch):
    monkeypatch.setattr(progress, "QUIET", 1e9)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    check(right, CONVERT, suites=["directed"])
    assert stream.getvalue() == ""


def test_who_listens_is_told_and_nobody_afterwards():
    said = []
    with progress.listening(said.append):
        check(right, CONVERT, suites=["directed"])
    count = len(said)
    check(right, CONVERT, suites=["directed"])
    assert count == len(said) > 0 and said[-1].startswith("directed, ") and said[-1].endswith(" 0 differ")
