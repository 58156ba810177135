"""The page of the explorer, made once for all of its tests."""

from pathlib import Path

import pytest
from support.explorer import browser
from support.once import once

from emu.explore.build import page as built


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    browser()

    def make(folder: Path) -> None:
        (folder / "explorer.html").write_text(built(), encoding="utf-8")

    return (once(tmp_path_factory, "explorer", make) / "explorer.html").read_text(encoding="utf-8")
