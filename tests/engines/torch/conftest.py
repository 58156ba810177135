"""What the tests of the torch engine share: the suites of vectors/.

Each module skips with a reason where torch is absent; EMU_NEED_TORCH makes that a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emu.vectors import load
from emu.vectors.files.suite import stem_of


@pytest.fixture(scope="session")
def suites(checkout: Path) -> Callable[[str], list[Any]]:
    """The frozen suites of an operation."""

    def read(operation: str) -> list[Any]:
        folder = checkout / "vectors" / operation
        stems = sorted({stem for path in folder.iterdir() if (stem := stem_of(path.name)) is not None})
        assert stems
        return [load(folder, stem) for stem in stems]

    return read
