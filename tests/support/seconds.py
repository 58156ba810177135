"""The seconds of tests: EMU_SECONDS=FILE appends them to a file, a line of JSON a test, and `tests/seconds.json` keeps those of slow ones.

Seconds are those of the processor, of a test and of the programs that it started and that have ended: a busy machine gives the same figure.
The ring of a slow case follows from them. No test judges a figure.
"""

import json
import os
import re
import tomllib
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

_WORD = "processor_seconds"


def used() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def slow(root: Path) -> set[str]:
    """Return the cases that take more seconds than the default run gives one, but for those that stay.

    These are the tests of `[tool.emu.rings]` and those that the catalogue of seeded faults names: some fault may die by them alone.
    """
    rules = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["emu"]["rings"]
    known = json.loads((root / "tests" / "seconds.json").read_text(encoding="utf-8"))
    catalogue = "".join(path.read_text(encoding="utf-8") for path in (root / "tests" / "mutation" / "catalogue").glob("*.yaml"))
    named = {f"tests/{name}" for name in re.findall(r"[\w/]+\.py(?:::\w+)?", catalogue)}
    late = {name for name, took in known.items() if took > rules["seconds"] and not name.startswith(tuple(rules["stay"]))}
    return {name for name in late if not {name.partition("[")[0], name.partition("::")[0]} & named}


def slow_cases(root: Path, items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the slow cases that leave the default run: each of their files keeps a faster test there."""
    known = slow(root)
    default = [item for item in items if not (item.get_closest_marker("exhaustive") or item.get_closest_marker("mutants"))]
    quick = {item.nodeid.partition("::")[0] for item in default if item.nodeid not in known}
    return [item for item in default if item.nodeid in known and item.nodeid.partition("::")[0] in quick]


class Recorder:
    """A plugin that measures; under xdist the workers do, and the controller, which has a path, writes when a test has ended."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.last = used()
        self.found: dict[str, float] = {}

    def pytest_runtest_logstart(self) -> None:
        """Begin: what came before, as the collection, is of no test."""
        self.last = used()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add what a phase of a test took to its report."""
        report = yield
        now = used()
        report.user_properties.append((_WORD, now - self.last))
        self.last = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sum the phases of a test."""
        took = sum(value for name, value in report.user_properties if name == _WORD)
        self.found[report.nodeid] = self.found.get(report.nodeid, 0.0) + took
        if report.when == "teardown" and self.path is not None:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"test": report.nodeid, "seconds": round(self.found.pop(report.nodeid), 2)}) + "\n")
