"""First use from many threads of a fresh interpreter: each gets what one thread alone gets, and so do forked and spawned children."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
USER = HERE.parent / "spec" / "user"
NAMES = ["convert", "decode", "dot", "instruction", "load_spec", "matmul", "quantize", "transform"]


def first_use(how: str) -> list[str]:
    """The lines of first_use.py. how: threads, fork or spawn."""
    command = [sys.executable, str(HERE / "first_use.py"), str(USER), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)  # only so that a deadlock is a failure
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def expected() -> list[str]:
    """The same calls, one after the other, in a fresh interpreter."""
    return first_use("alone")


def test_one_thread_answers_every_call(expected: list[str]) -> None:
    assert [line.split()[0] for line in expected] == NAMES and all(len(line.split()) == 2 for line in expected)


@pytest.mark.cases(1)
@pytest.mark.parametrize("how", ["threads", "threads again", "spawn", "fork"])
def test_many_threads_get_what_one_gets(how: str, expected: list[str]) -> None:
    found = first_use(how.removesuffix(" again"))
    children = [line for line in found if line.startswith("child")]
    assert children == (["child 0: 0", "child 1: 0"] if how == "fork" else [])
    assert [line for line in found if line not in children] == expected
