"""Studies load spec files of their own: the registry is as before when a module of tests is done."""

from collections.abc import Iterator

import pytest

from emu.spec.registry import isolated, shipped_root


@pytest.fixture(scope="module", autouse=True)
def own_registry() -> Iterator[None]:
    """A registry that the module may add to."""
    with isolated(shipped_root()):
        yield
