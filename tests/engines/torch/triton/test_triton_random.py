"""Stochastic rounding: explicit integers, and Philox words made in the kernel, equal to emu.base.philox by the place of the element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import emu
from emu.base import philox


@pytest.mark.parametrize("shape", [(3, 32), (5, 48), (2, 21), (40, 16)])
@pytest.mark.parametrize(("key", "stream"), [(0, 0), (1, 2), (0xFEDCBA9876543210, 0x8000000000000001)])
def test_philox_words_are_those_of_emu(tensor: Any, equal: Any, shape: tuple[int, int], key: int, stream: int) -> None:
    """Rows of whole counter blocks and rows that begin inside one; both halves of key and stream."""
    from emu.engines.torch.triton.quantize import quantize

    codes = np.random.default_rng(4).standard_normal(shape).astype(np.float32).view(np.uint32)
    random = philox.draw(key, codes.size, 8, stream).reshape(shape)
    want = emu.quantize(codes, "ufp4_sr", source="fp32", random=random)
    equal(want, quantize(tensor(codes, "fp32"), "ufp4_sr", key=key, stream=stream))


@pytest.mark.parametrize("random", [0, 127, 128, 255])
def test_explicit_integers_against_the_reference_model(judge: Any, random: int) -> None:
    codes = np.random.default_rng(9).standard_normal((2, 32)).astype(np.float32).view(np.uint32)
    judge(codes, "fp32", "ufp4_sr", engine="exact", random=np.full(codes.shape, random, np.uint8))


def test_every_random_integer_at_every_quarter(judge: Any) -> None:
    """Elements at and beside each code and each fraction of 1/256 between, with all 256 integers."""
    random = np.tile(np.arange(256, dtype=np.int64)[:, None], (1, 32))
    x = np.zeros((256, 32), np.float32)
    x[:, 0] = (np.arange(256, dtype=np.float32) - np.float32(128)) / np.float32(64)
    x[:, 17] = np.nextafter(x[:, 0], np.float32(9))
    judge(x.view(np.uint32), "fp32", "ufp4_sr", random=random)
