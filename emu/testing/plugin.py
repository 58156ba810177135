"""The pytest plugin: kernels decorated with emu.testing.conforms become tests; --emu-count, --emu-seconds and --emu-junit.

It is loaded in every run of pytest where emu is installed: it imports nothing but pytest, and asks a module for its kernels only when
emu.testing.conformance has been imported by somebody. Not here: the check (conformance.py).
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from emu.testing.conformance import Case, Conforming

REPORTS = pytest.StashKey[list[str]]()  # JUnit text of each check


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of emu."""
    group = parser.getgroup("emu", "kernels against contracts (emu)")
    group.addoption("--emu-count", type=int, default=None, metavar="N", help="draw N elements in each check, not fewer than the suite has")
    group.addoption("--emu-seconds", type=float, default=None, metavar="S", help="run kernels in a process of their own, S seconds a call")
    group.addoption("--emu-junit", default=None, metavar="FILE", help="write the reports of all checks into one JUnit file")


def pytest_configure(config: pytest.Config) -> None:
    """Make room for reports."""
    config.stash[REPORTS] = []


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take the reports of a worker of pytest-xdist."""
    node.config.stash[REPORTS] += getattr(node, "workeroutput", {}).get("emu_junit", [])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the reports, or hand them to the controller of pytest-xdist. Raises: FileError (it cannot be written)."""
    config, path = session.config, session.config.getoption("--emu-junit")
    if hasattr(config, "workeroutput"):
        config.workeroutput["emu_junit"] = config.stash[REPORTS]
    elif path and config.stash[REPORTS]:
        from xml.etree import ElementTree as ET

        from emu.base.atomic import whole_file

        suites = ET.Element("testsuites", name="emu")
        suites.extend(ET.fromstring(text) for text in config.stash[REPORTS])
        with whole_file(path, force=True) as file:
            file.write(ET.tostring(suites, encoding="utf-8", xml_declaration=True))


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> list[pytest.Item] | None:
    """Return a test for each contract of a decorated kernel; None for everything else."""
    conformance = sys.modules.get("emu.testing.conformance")
    if conformance is None or not isinstance(obj, conformance.Conforming):
        return None
    names = [f"{name}[{case.contract}]" if len(obj.cases) > 1 else name for case in obj.cases]
    items = [Kernel.from_parent(collector, name=title, kernel=obj, case=case) for title, case in zip(names, obj.cases, strict=True)]
    for item in items:
        for mark in _marks(obj):
            item.add_marker(getattr(pytest.mark, mark.name).with_args(*mark.args, **mark.kwargs))
    return list(items)


def _marks(obj: Conforming) -> Iterable[pytest.Mark]:
    found = getattr(obj, "pytestmark", [])
    return found if isinstance(found, list) else [found]


class Kernel(pytest.Item):
    """A kernel and one contract."""

    def __init__(self, *, kernel: Conforming, case: Case, **rest: Any) -> None:
        super().__init__(**rest)
        self.kernel, self.case = kernel, case

    def runtest(self) -> None:
        """Check the kernel. Raises: AssertionError with the report."""
        from emu.testing.conformance import check

        asked = {"count": self.config.getoption("--emu-count"), "seconds": self.config.getoption("--emu-seconds")}
        options = {
            "name": self.name.partition("[")[0],
            **{key: value for key, value in asked.items() if value is not None},
            **self.case.options,
        }
        report = check(self.kernel.kernel, self.case.contract, raises=False, **options)
        self.config.stash[REPORTS].append(report.junit())
        if report.verdict != "pass":
            raise AssertionError(report.text())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the report alone, its first line in the summary too: a traceback through emu says nothing about the kernel."""
        return excinfo.getrepr(style="value") if isinstance(excinfo.value, AssertionError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return where the kernel is, and the contract."""
        path, line = inspect.getsourcefile(self.kernel.kernel) or self.path, inspect.unwrap(self.kernel.kernel).__code__.co_firstlineno - 1
        return path, line, f"{self.name}: {self.case.contract}"
