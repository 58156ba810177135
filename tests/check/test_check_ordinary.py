"""Tensors that are drawn as they come in training: what each kind is, and what decides its numbers."""

import numpy as np
import pytest

from emu.contracts.drawn import KINDS, activations, gradients, integers, rectified, rounded, tensor, weights
from emu.spec import get

COUNT, WIDTH = 1 << 14, 128


def drawn(kind, key=1, count=COUNT, start=0, source="fp32"):
    return tensor(get("format", source), KINDS.index(kind), count, WIDTH, key, 5, start)


def numbers(kind):
    return drawn(kind).view(np.float32)


def test_what_each_kind_is():
    assert abs(numbers(weights).mean()) < 0.001 and 0.018 < numbers(weights).std() < 0.022
    large = numbers(activations).reshape(-1, WIDTH).std(axis=0) > 10
    assert np.flatnonzero(large).tolist() == [18, 55, 92]
    assert 0.2 < (np.abs(numbers(gradients)) < 2.0**-20).mean() < 0.6 and np.abs(numbers(gradients)).max() < 0.01
    assert numbers(rectified).min() == 0 and 0.45 < (numbers(rectified) == 0).mean() < 0.55 and numbers(rectified).max() > 5
    assert not (drawn(rounded) & 0xFFFF).any() and (drawn(rounded) & 0x10000).any()
    assert np.unique(numbers(integers)).tolist() == list(range(-24, 25))


@pytest.mark.parametrize("kind", KINDS[:6], ids=lambda kind: kind.__name__)
def test_the_place_the_key_and_the_kind_decide(kind):
    assert np.array_equal(drawn(kind), drawn(kind)) and not np.array_equal(drawn(kind), drawn(kind, key=2))
    assert np.array_equal(drawn(kind, count=4 * WIDTH)[WIDTH:], drawn(kind, count=3 * WIDTH, start=WIDTH))
