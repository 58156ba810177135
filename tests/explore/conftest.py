"""The page of the explorer, made once for all of its tests."""

import pytest
from support.explorer import browser

from emu.explore.build import page as built


@pytest.fixture(scope="session")
def page() -> str:
    browser()
    return built()
