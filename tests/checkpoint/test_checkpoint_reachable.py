"""What a recipe can write at all: the sets against the rules written by hand, and against every bf16 maximum."""

from __future__ import annotations

import numpy as np
import pytest

from emu.checkpoint.amax import maxima
from emu.checkpoint.candidates import tensor_code
from emu.checkpoint.reachable import reachable
from emu.ops.functions import quantize
from emu.spec import get

# largest code of a block by the rule of its scale: the maximum over the scale lies in [4, 8), [3.5, 7), (2, 4], (3, 6]
LARGEST = {
    "mxfp4_torchao_floor": {6, 7}, "mxfp4_torchao_even": {6, 7}, "mxfp4_torchao_ceil": {4, 5, 6}, "mxfp4_torchao_rceil": {5, 6, 7},
    "mxfp4_te_pow2": {5, 6, 7}, "mxfp4_f46_static_6": {5, 6, 7}, "mxfp4_f46_static_4": {4, 5, 6},
}  # fmt: skip


@pytest.mark.parametrize("recipe", LARGEST)
def test_largest_codes_of_scale_rules(recipe: str) -> None:
    found = reachable(recipe, None)
    assert not isinstance(found, str)
    for scale in range(10, 245):
        assert set(np.flatnonzero(found[scale]).tolist()) == LARGEST[recipe], scale


@pytest.mark.parametrize(
    ("recipe", "zero", "never"),
    [
        ("nvfp4_te_ref", 0x00, []),
        ("nvfp4_torchao", 0x08, [*range(8)]),
        ("nvfp4_modelopt", 0x38, [0]),
        ("nvfp4_compressed_tensors", 0x20, [0]),
    ],
)
@pytest.mark.parametrize("amax", [0x3E7F0000, 0x40556D1D])
def test_zero_blocks_and_scales_of_nvfp4(recipe: str, zero: int, never: list[int], amax: int) -> None:
    found = reachable(recipe, amax)
    assert not isinstance(found, str)
    assert zero in np.flatnonzero(found[:, 0]) and not found[never].any() and found[0x7E, 7] and not found[0x7F:].any()
    assert all(set(np.flatnonzero(found[scale])) <= {0, 7} for scale in range(9, 0x7F))  # a normal scale holds its maximum to 1/17
    assert found[0x10:0x7E, 7].all()


@pytest.mark.parametrize("recipe", ["mxfp4_torchao_even", "nvfp4_te_ref", "nvfp4_modelopt", "nvfp4_torchao"])
def test_no_bf16_maximum_gives_another_pair(recipe: str) -> None:
    """Every bf16 number up to the tensor maximum, alone in its block."""
    amax = None if recipe.startswith("mx") else 0x3F9D0000
    found = reachable(recipe, amax)
    columns = get("block", get("recipe", recipe).facts.block).facts.shape[1]
    bits = np.arange(0, (0x7F7F if amax is None else amax >> 16) + 1, dtype=np.uint16)
    x = np.zeros((len(bits), columns), np.uint16)
    x[:, -1] = bits
    top = None if amax is None else np.array(amax, np.uint32).view(np.float32)[()]
    made = quantize(x, recipe, source="bf16", tensor_amax=top)
    pairs = np.zeros((256, 8), bool)
    pairs[made.scales[:, 0], made.codes[:, -1] & 7] = True
    assert not isinstance(found, str) and not (pairs & ~found).any() and pairs.sum() > 100


def test_what_nobody_can_say() -> None:
    assert "by all of its elements" in reachable("nvfp4_te_4over6_mae_256", 0x3F800000)
    assert reachable("nvfp4_te_ref", None) == "the tensor's maximum is not known"
    assert reachable("nvfp4_te_ref", 0) == "the tensor's maximum is no positive number"
    assert str(reachable("nvfp4_f46_static_6", 0x00000100)).startswith("the recipe is open there: ")


@pytest.mark.parametrize("recipe", ["nvfp4_modelopt", "nvfp4_compressed_tensors", "nvfp4_torchao", "nvfp4_te_ref", "f46_nvint4"])
def test_every_maximum_is_found_behind_its_factor(recipe: str) -> None:
    for number in range(20):
        bits = 0x3A000000 + number * 0x1ABCDE
        stored = tensor_code(recipe, bits)
        found = None if stored is None else maxima(get("recipe", recipe), stored)
        assert found is not None and found.low <= bits <= found.high and tensor_code(recipe, found.bits) == stored
        assert found.short == any(item & 0xFFFF == 0 for item in range(found.low, found.high + 1))


def test_factors_that_no_maximum_gives() -> None:
    """ModelOpt stores the maximum / 2688: from 1 on neighbouring maxima give factors that lie one step or two apart."""
    recipe = get("recipe", "nvfp4_modelopt")
    given = [tensor_code("nvfp4_modelopt", bits) for bits in range(0x3F800000, 0x3F800040)]
    assert given[0] is not None and given[-1] is not None
    between = [bits for bits in range(given[0], given[-1]) if bits not in given]
    assert len(between) == 33 and [maxima(recipe, bits) for bits in between] == [None] * 33
    for place, stored in enumerate(given):
        found = None if stored is None else maxima(recipe, stored)
        assert found is not None and (found.low, found.high) == (0x3F800000 + place, 0x3F800000 + place)
