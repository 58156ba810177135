"""The pytest plugin of a recorded run: which marks each test reached, and its seconds; a line of JSON for each test that passed.

What a fixture of a wider scope reached counts for every test that has it. Caches are emptied before each test: each reaches what it needs.
Not here: the marks (reach.py, marks.py).
"""

from __future__ import annotations

import builtins
import json
import os
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from . import marks  # this file is copied away with that one

_FIXTURES: dict[int, tuple[int, float]] = {}  # of a fixture: what it reached, and how long that took
_passed: dict[str, bool] = {}
if marks.FOLDER in os.environ:
    marks.load_marked()  # before the loader of pytest


def _folder() -> Path:
    return Path(os.environ[marks.FOLDER])


def _spent() -> float:
    """Return the processor seconds of this process and of those it waited for: what else the machine does is none of a test's."""
    return sum(os.times()[:4])


def _taken() -> int:
    """Return the bytes that are set, as one number, and clear them."""
    hits = getattr(builtins, marks.NAME)
    found = int.from_bytes(hits[:], "little")
    hits[:] = bytes(len(hits))
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Give this process, and all that it starts, bytes of their own."""
    path = _folder() / f"hits.{os.getpid()}"
    path.write_bytes((_folder() / "none").read_bytes())
    os.environ[marks.HITS] = str(path)
    marks.begin()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is recorded already."""
    known = marks.done(_folder())
    gone = [item for item in items if item.nodeid in known]
    config.hook.pytest_deselected(items=gone)
    items[:] = [item for item in items if item.nodeid not in known]


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Iterator[None]:
    """Keep what a fixture of a wider scope reached."""
    before, start = _taken(), _spent()
    try:
        return (yield)
    finally:
        own = _taken()
        if fixturedef.scope != "function":
            _FIXTURES[id(fixturedef)] = own, _spent() - start
        _put(before | own)


def _put(found: int) -> None:
    hits = getattr(builtins, marks.NAME)
    hits[:] = found.to_bytes(len(hits), "little")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Notice what did not pass."""
    _passed[report.nodeid] = _passed.get(report.nodeid, True) and report.passed


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record a test."""
    caches = sys.modules.get("emu.base.caches")
    if caches is not None:
        caches.clear()
    _taken()
    start, made = _spent(), set(_FIXTURES)
    answer = yield
    found, seconds = _taken(), _spent() - start
    information = getattr(item, "_fixtureinfo", None)
    for each in chain(*information.name2fixturedefs.values()) if information else ():
        reached, more = _FIXTURES.get(id(each), (0, 0.0))
        found, seconds = found | reached, seconds + more * (id(each) in made)
    if _passed.pop(item.nodeid, False):
        bits = sum(1 << number for number, byte in enumerate(found.to_bytes((found.bit_length() + 7) // 8, "little")) if byte)
        line = json.dumps({"test": item.nodeid, "seconds": round(seconds, 4), "reached": f"{bits:x}"})
        with (_folder() / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    return answer
