"""The pytest plugin of a run on a package with a fault in it: the checks of the installation are off, and what failed is written to a file.

The checks say that the tests would judge another copy than the checkout's. Here that is the purpose.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.mutation_named import REPORT

_failed: set[str] = set()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Switch off the checks of the installation in the conftest of the tests."""
    for plugin in session.config.pluginmanager.get_plugins():
        for name in ("installation_fault", "extension_fault"):
            if hasattr(plugin, name):
                setattr(plugin, name, lambda *_: None)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a test that fails, without its parameters."""
    if report.failed:
        _failed.add(report.nodeid.partition("[")[0].removeprefix("tests/"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what failed, unless nothing was run."""
    if session.testscollected:
        Path(os.environ[REPORT]).write_text(json.dumps(sorted(_failed)), encoding="utf-8")
