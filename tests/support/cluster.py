"""Tests that need the library of clusters. EMU_NEED_CLUSTER: fail where it is absent."""

from __future__ import annotations

import importlib.util
import os

import pytest


def need_cluster() -> None:
    """Go on where the library is; else skip with the reason, or fail."""
    if importlib.util.find_spec("distributed") is None:
        assert not os.environ.get("EMU_NEED_CLUSTER"), "no distributed here"
        pytest.skip("no distributed here (pip install 'fp4emu[cluster]')")
