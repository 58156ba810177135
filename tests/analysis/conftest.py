"""What the tests of studies share: the recipes that nobody published."""

import pytest

from emu.analysis.cells import load_recipes


@pytest.fixture(scope="module")
def study_recipes() -> None:
    """The spec files of research/spec, for the module that asks; tests/conftest.py takes them out again."""
    load_recipes()
