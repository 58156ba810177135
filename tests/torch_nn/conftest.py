"""What the tests of training layers share: one thread.

Each module skips with a reason where torch is absent; EMU_NEED_TORCH makes that a failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest


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
