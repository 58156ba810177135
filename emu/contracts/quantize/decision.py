"""The finite bf16 decision space of NVFP4-like recipes: significands of block and tensor maximum and the exponent gap between them.

Scale bytes depend on bf16 sources through these three alone (short of underflow): 128 x 128 x 20 pairs with gaps 1 .. 20, and with
gap 0 the 128 * 129 / 2 where the block maximum does not exceed the tensor's: 335,936.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base import philox
from emu.base.caches import bounded
from emu.contracts.rows import Input
from emu.contracts.suites import SEED
from emu.engines.run import run_quantize
from emu.spec.ieee import binary_format, same_facts
from emu.spec.models import Recipe
from emu.spec.registry import get, names

if TYPE_CHECKING:
    from emu.contracts.quantize.contract import QuantizeContract

GAPS: Final = 20
SIGNIFICANDS: Final = 128
SIZE: Final = SIGNIFICANDS * SIGNIFICANDS * GAPS + SIGNIFICANDS * (SIGNIFICANDS + 1) // 2
TENSOR_FIELD: Final = 130  # bf16 exponent field of the tensor maximum: 8 .. 16
LANES: Final = 16
SMALLEST_COMMON: Final = 8  # below this scale code the zero-scale policies of the libraries decide
DOCUMENTED: Final = ("nvfp4_te_ref", "nvfp4_f46_static_6", "nvfp4_torchao", "nvfp4_modelopt", "nvfp4_compressed_tensors")


@bounded(1, names=True)
def pairs() -> NDArray[np.int64]:
    """Return [335936, 3]: fraction of the block maximum, fraction of the tensor maximum, gap; gap, then tensor, then block ascending."""
    block, tensor = (array.ravel() for array in np.meshgrid(np.arange(SIGNIFICANDS), np.arange(SIGNIFICANDS), indexing="xy"))
    legal = block <= tensor
    parts = [np.stack([block[legal], tensor[legal], np.zeros(int(legal.sum()), np.int64)], 1)]
    parts += [np.stack([block, tensor, np.full(block.size, gap)], 1) for gap in range(1, GAPS + 1)]
    return np.concatenate(parts).astype(np.int64)


def applies(op: QuantizeContract) -> bool:
    """Tell whether the space is that of a contract: an NVFP4-like recipe, blocks of one row, a bf16 source."""
    return like_nvfp4(op) and op.rows == 1 and binary_format(op.source) == "bfloat16"


def like_nvfp4(op: QuantizeContract) -> bool:
    """Tell whether a recipe is NVFP4-like: 16 elements, one UE4M3 scale a block, a tensor maximum."""
    scales = [get("format", level.format) for level in op.block.facts.levels if level.name == "scale"]
    return op.n == LANES and op.reads_amax and len(scales) == 1 and same_facts(scales[0], get("format", "ue4m3"))


def tensor_bits(fraction: int) -> int:
    """Return the fp32 bits of a tensor maximum."""
    return TENSOR_FIELD << 23 | fraction << 16


def blocks(start: int, stop: int) -> NDArray[np.uint16]:
    """Return [stop - start, 16] bf16 codes: the block maximum in lane 0, smaller random elements in the others."""
    chosen = pairs()[start:stop]
    words = philox.words(SEED, (stop - start) * LANES, start * LANES, philox.stream_of("decision")).reshape(-1, LANES).astype(np.int64)
    field = TENSOR_FIELD - chosen[:, 2:3]
    lanes = (field - 1 - (words >> 13 & 3)) << 7 | words & 0x7F | (words >> 15 & 1) << 15
    lanes[:, 0] = field[:, 0] << 7 | chosen[:, 0]
    return lanes.astype(np.uint16)


def cases(op: QuantizeContract, start: int, stop: int) -> list[Input]:
    """Return the rows of pairs start .. stop - 1; where documented recipes part they bear the flag order."""
    parted = set(parting().tolist())
    ts = [tensor_bits(int(fraction)) for fraction in pairs()[start:stop, 1]]
    packed = [int.from_bytes(row.tobytes(), "little") for row in blocks(start, stop).astype("<u2")]
    tail = (LANES,) if op.ragged else ()
    both, plain = ("decision", "order"), ("decision",)
    return [
        Input("decision", both if start + extent in parted else plain, (x, bits, *tail))
        for extent, (x, bits) in enumerate(zip(packed, ts, strict=True))
    ]


def scales(recipe: Recipe) -> NDArray[np.int64]:
    """Return the scale code of every pair under a recipe."""
    space = pairs()
    source, out = get("format", "bf16"), np.empty(SIZE, np.int64)
    codes = np.zeros((SIZE, LANES), np.uint16)
    codes[:, 0] = (TENSOR_FIELD - space[:, 2]) << 7 | space[:, 0]
    for fraction in range(SIGNIFICANDS):
        extents = np.flatnonzero(space[:, 1] == fraction)
        _, levels = run_quantize(recipe, codes[extents], source, engine="auto", tensor_amax=tensor_bits(fraction))
        out[extents] = levels["scale"][:, 0]
    return out


@bounded(1, names=True)
def parting() -> NDArray[np.int64]:
    """Return the pairs where two documented recipes give different scale codes, both above the smallest normal."""
    known = [scales(get("recipe", name)) for name in DOCUMENTED if name in names("recipe")]
    found: NDArray[Any] = np.zeros(SIZE, bool)
    for extent, one in enumerate(known):
        for other in known[extent + 1 :]:
            found |= (one != other) & (one > SMALLEST_COMMON) & (other > SMALLEST_COMMON)
    return np.flatnonzero(found)
