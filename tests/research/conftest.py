"""What the tests of research share: the recipes that nobody published, and tools that may be absent."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from emu.analysis.cells import load_recipes


@pytest.fixture(scope="module")
def study_recipes() -> None:
    """The spec files of emu/analysis/spec, for the module that asks; tests/conftest.py takes them out again."""
    load_recipes()


def _need(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} here (Debian: apt-get install {tool})")


@pytest.fixture(scope="session")
def need() -> Callable[..., None]:
    """A function of names of tools: it skips, with the reason, where one is absent."""
    return _need
