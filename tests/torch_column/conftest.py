"""What the tests of the torch column share: one thread, and the suites of vectors/.

Each module skips with a reason where torch is absent; EMU_NEED_TORCH makes that a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from emu.vectors import load
from emu.vectors.suite import stem_of


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """torch in one thread, so that small tensors do not wait for each other."""
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def suites(checkout: Path) -> Callable[[str], list[Any]]:
    """The frozen suites of an operation."""

    def read(operation: str) -> list[Any]:
        folder = checkout / "vectors" / operation
        stems = sorted({stem for path in folder.iterdir() if (stem := stem_of(path.name)) is not None})
        assert stems
        return [load(folder, stem) for stem in stems]

    return read
