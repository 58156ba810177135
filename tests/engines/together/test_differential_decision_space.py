"""The finite bf16 decision space of NVFP4 recipes: every pair of mantissas of block and tensor maximum, exponent gaps 0 to 20."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from emu.engines.exact import block as exact
from emu.engines.numpy import block as npy
from emu.engines.table import TABLE
from emu.spec.registry import get, names

GAPS = 21
ORDERS = ("nvfp4_te_ref", "nvfp4_f46_static_6", "nvfp4_torchao", "nvfp4_modelopt", "nvfp4_compressed_tensors")
TE, F46, TORCHAO, MODELOPT, CT = ORDERS
PAIRS = 335_936
FLOOR = 0x08
BF16, FP32 = get("format", "bf16"), get("format", "fp32")


def block_maxima(tensor: int) -> Any:
    """bf16 codes of every legal block maximum under a tensor maximum of 1.tensor, gap by gap."""
    codes = np.array([(127 - gap) << 7 | mantissa for gap in range(GAPS) for mantissa in range(128)], np.uint16)
    return codes[codes <= (127 << 7 | tensor)]


def matrix_of(maxima: Any) -> Any:
    """One block per maximum: the maximum, then zeros."""
    out = np.zeros((maxima.size, 16), np.uint16)
    out[:, 0] = maxima
    return out


@lru_cache(maxsize=8)
def scale_bytes(name: str) -> Any:
    """The scale byte of every pair, tensor mantissa by tensor mantissa."""
    recipe, found = get("recipe", name), []
    for tensor in range(128):
        codes = matrix_of(block_maxima(tensor))
        found.append(npy.quantize(recipe, codes, BF16, tensor_amax=(127 << 7 | tensor) << 16).levels["scale"].reshape(-1))
    return np.concatenate(found)


def differing(first: str, second: str) -> tuple[int, int]:
    """How many bytes differ where both are above 08, and elsewhere."""
    a, b = scale_bytes(first), scale_bytes(second)
    above = (a > FLOOR) & (b > FLOOR)
    return int(((a != b) & above).sum()), int(((a != b) & ~above).sum())


def test_the_space_has_its_size() -> None:
    assert {scale_bytes(name).size for name in ORDERS} == {PAIRS}


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [(TE, F46, 237), (TE, TORCHAO, 354), (F46, TORCHAO, 117), (TE, MODELOPT, 371), (TE, CT, 326), (F46, CT, 119)],
)
def test_orders_of_operations_differ_in_so_many_scale_bytes(first: str, second: str, count: int) -> None:
    assert differing(first, second)[0] == count


def test_the_zero_policies_differ_in_so_many_more() -> None:
    assert differing(TE, F46)[1] == 40
    assert differing(TE, TORCHAO)[1] == 91_788


NVFP4 = [name for name in names("recipe") if any(lv.format == "ue4m3" for lv in get("block", get("recipe", name).facts.block).facts.levels)]


def decisive(count: int) -> list[tuple[int, int]]:
    """(tensor mantissa, block maximum) pairs where two orders of operations differ, spread evenly."""
    tensors = np.concatenate([np.full(block_maxima(tensor).size, tensor) for tensor in range(128)])
    maxima = np.concatenate([block_maxima(tensor) for tensor in range(128)])
    split = np.zeros(PAIRS, bool)
    for first, second in combinations(ORDERS, 2):
        a, b = scale_bytes(first), scale_bytes(second)
        split |= (a != b) & (a > FLOOR) & (b > FLOOR)
    places = np.flatnonzero(split)
    places = places[:: max(1, places.size // count)][:count]
    return [(int(tensors[i]), int(maxima[i])) for i in places]


def operands_of(recipe: Any, tensor: int) -> dict[str, int]:
    """tensor_amax, for a recipe that reads it."""
    block = get("block", recipe.facts.block)
    return {"tensor_amax": (127 << 7 | tensor) << 16} if any(level.granularity == "tensor" for level in block.facts.levels) else {}


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", NVFP4)
def test_a_stratified_sample_against_the_reference_model(judge: Any, name: str) -> None:
    """Pairs on which orders differ, and one of each tensor mantissa times gap; codes of a full block beside the maximum."""
    recipe = get("recipe", name)
    block = get("block", recipe.facts.block)
    heavy = "4over6" in name or "if4" in name or name in ("nvfp4_f46_mse", "nvfp4_f46_mae", "nvfp4_f46_abs_max")
    pairs = decisive(6 if heavy else 16) + [
        (t, (127 - (t * 5 + 1) % GAPS) << 7 | (t * 37 + 11) % 128) for t in range(0, 128, 41 if heavy else 13)
    ]
    for tensor, maximum in pairs:
        steps = np.arange(16, dtype=np.uint16)
        codes = np.tile(maximum - steps * 23, (block.facts.shape[0], 1)).astype(np.uint16)
        assert judge.quantize(recipe, codes, BF16, **operands_of(recipe, tensor)).gave_bits, (hex(maximum), tensor)


def full_blocks(maxima: Any, rows: int) -> Any:
    """One block per maximum: the maximum, then fifteen smaller numbers of falling exponents and all signs."""
    lanes = np.arange(16, dtype=np.uint16)
    falling = maxima[:, None] - np.uint16(53) * lanes[None, :] | (lanes * np.uint16(0x6D) & np.uint16(1)) << np.uint16(15)
    return np.repeat(falling.reshape(-1, 16), rows, axis=0).astype(np.uint16)


def compare_space(judge: Any, name: str, tensors: range) -> int:
    """Full blocks of every pair of the space through every engine; how many blocks."""
    recipe, count = get("recipe", name), 0
    rows = get("block", recipe.facts.block).facts.shape[0]
    for tensor in tensors:
        codes = full_blocks(block_maxima(tensor), rows)
        done = judge.quantize(recipe, codes, BF16, **operands_of(recipe, tensor))
        assert done.gave_bits and len(done.engines) > 1
        levels = dict(done.wanted)
        judge.dequantize(recipe, levels.pop("codes"), levels, None, FP32)
        count += codes.shape[0] // rows
    return count


FAST = [name for name in NVFP4 if any(row.can(get("recipe", name), BF16) for row in TABLE if row[:2] == ("quantize", "numpy"))]


@pytest.mark.cases(11)
@pytest.mark.parametrize("name", FAST)
def test_engines_agree_on_a_part_of_the_space(quick_judge: Any, name: str) -> None:
    assert compare_space(quick_judge, name, range(13, 128, 60)) > 2 * 2600


@pytest.mark.cases(0, 5)
@pytest.mark.parametrize("name", FAST)
def test_engines_agree_on_the_whole_space(quick_judge: Any, name: str) -> None:
    assert compare_space(quick_judge, name, range(128)) == PAIRS


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("name", ORDERS)
def test_the_reference_model_gives_the_same_bytes(name: str) -> None:
    """One pair in 64 through the reference model, one lane of the block each; the other engines walk the whole space below."""
    recipe, start = get("recipe", name), 0
    for tensor in range(128):
        maxima = block_maxima(tensor)
        some = range(tensor % 64, maxima.size, 64)
        rows = [[int(maxima[i])] + [0] * 15 for i in some]
        wanted = exact.quantize(recipe, rows, BF16, tensor_amax=(127 << 7 | tensor) << 16).levels["scale"]
        assert scale_bytes(name)[start : start + maxima.size][list(some)].tolist() == [line[0] for line in wanted]
        start += maxima.size
    assert start == PAIRS


def test_a_power_of_two_on_both_maxima_changes_no_byte() -> None:
    """Why the exponent of the tensor maximum is no third dimension."""
    maxima = matrix_of(block_maxima(77)[::35])
    for name in (TE, F46, TORCHAO):
        recipe = get("recipe", name)
        wanted = exact.quantize(recipe, maxima.tolist(), BF16, tensor_amax=(127 << 7 | 77) << 16).levels["scale"]
        for step in (-30, -1, 0, 1, 40):
            moved = maxima + np.uint16((step << 7) % 65536) * (maxima > 0)
            found = npy.quantize(recipe, moved, BF16, tensor_amax=((127 + step) << 7 | 77) << 16)
            assert found.levels["scale"].tolist() == wanted, (name, step)
