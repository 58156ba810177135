"""Whole models: quantizing an operand and back, treatments of its error, weights through Q4_1."""

from __future__ import annotations

import numpy as np

import emu
from research.models import plan, quantizers


def normal(seed: int, rows: int = 8, width: int = 64) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)


def whole(seed: int, unit: int) -> np.ndarray:
    return (unit * np.random.default_rng(seed).integers(-1, 2, (8, 64))).astype(np.float32)


def test_an_operand_is_what_the_engines_quantize() -> None:
    x = normal(0)
    assert np.array_equal(quantizers.quantized(x, plan.E2M1), emu.quantize(x, plan.E2M1, -1, -2).dequantize(np.float32))
    mask = quantizers.sign_mask(3)
    few = whole(0, 4)  # bf16 holds what the rotation makes of them
    turned = emu.transform(few, quantizers.ROTATION, -1, mask).astype(np.float32)
    assert np.array_equal(quantizers.turned_back(turned, mask), few)
    assert not np.array_equal(quantizers.turned_back(turned, quantizers.sign_mask(4)), few)
    assert len({quantizers.sign_mask(number) for number in range(quantizers.SIGN_SETS)}) == plan.SIGN_SETS


def test_a_treatment_changes_one_thing() -> None:
    x, error = whole(1, 8), np.arange(512, dtype=np.float32).reshape(8, 64)
    signs, shuffle = (quantizers.treated(x, x + error, name, 5) - x for name in ("signs", "shuffle"))
    assert np.array_equal(abs(signs), error)
    assert not np.array_equal(signs, error)
    assert np.array_equal(np.sort(shuffle.reshape(-1, 16), axis=1), error.reshape(-1, 16))
    assert not np.array_equal(shuffle, error)
    assert np.array_equal(quantizers.treated(x, x / 2, "regain", 5), x)


def test_q4_1_keeps_ends_and_has_16_steps() -> None:
    x = np.arange(32, dtype=np.float32)[None] * 15 / 31
    found = quantizers.through_q4_1(x)
    assert found.tolist() == [np.floor(x[0] + 0.5).tolist()]
    assert len(set(found[0].tolist())) == 16
