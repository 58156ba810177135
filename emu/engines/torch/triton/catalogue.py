"""Every recipe and transform that the kernels cover, and a launch of each kernel for it, on small tensors that nothing reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from emu.base.errors import EngineError
from emu.engines.torch.triton.amax import prepare_amax
from emu.engines.torch.triton.launch import Launch
from emu.engines.torch.triton.program import kernel_program, rotation
from emu.engines.torch.triton.quantize import prepare_quantize
from emu.engines.torch.triton.row_and_column import prepare_both
from emu.engines.torch.triton.side import Side, make_side
from emu.engines.torch.triton.transform import prepare_transform
from emu.engines.torch.triton.wgmma import DTYPES, PRODUCTS, TILE, plan_of, prepare_dot
from emu.spec.ieee import is_binary32
from emu.spec.models import Transform
from emu.spec.registry import get, names

SIZE = 32
BOTH = ("nvfp4_te_ref", "nvufp4", "ufp4", "ufp4_sr", "mxfp4_torchao_floor")


def recipes() -> list[str]:
    """Return the ids of the recipes that the kernels cover."""
    return [name for name in names("recipe") if _covers(kernel_program, get("recipe", name))]


def transforms() -> list[str]:
    """Return the ids of the transforms that the kernels cover."""
    return [name for name in names("transform") if _covers(rotation, get("transform", name))]


def _covers(lower: Callable[[Any], Any], model: Any) -> bool:
    try:
        lower(model)
    except EngineError:
        return False
    return True


def launches() -> Iterator[tuple[str, Callable[[], Launch]]]:
    """Yield (name, maker of a launch) of every kernel with every program: what the PTX test compiles."""
    x, word = torch.zeros((SIZE, SIZE), dtype=torch.bfloat16), torch.zeros(1, dtype=torch.int32)
    for name in transforms():
        chosen: Transform = get("transform", name)
        out = torch.zeros(x.shape, dtype=torch.int32 if is_binary32(get("format", chosen.facts.result)) else torch.int16)
        yield f"transform/{name}", partial(prepare_transform, x, out, chosen, None)
        yield f"amax/{name}", partial(prepare_amax, x, word, name, None)
    yield "amax", partial(prepare_amax, x.to(torch.float16), word, None, None)
    for name in recipes():
        yield f"quantize/{name}", partial(prepare_quantize, x.to(torch.float32), _side(x, name), word, word)
        if name not in BOTH:
            continue  # the same device functions: one recipe of each shape is enough
        both = (_side(x, name, packed=True), _side(x.T, name, packed=True))
        yield f"row_and_column/{name}", partial(prepare_both, x, both, (word, word), word)
    rotated = _side(x, "nvfp4_te_ref", rotate="rht16_te", layout="sf128x4", packed=True)
    yield "quantize/rht16_te+nvfp4_te_ref", partial(prepare_quantize, x, rotated, word, word)
    floats = torch.zeros(TILE, dtype=torch.float32)
    for datapath, a, b in PRODUCTS:
        left, right = (torch.zeros((TILE, plan_of(datapath, a, b).step), dtype=DTYPES[name]) for name in (a, b))
        yield f"dot/{datapath}/{a}x{b}", partial(prepare_dot, left, right, floats, floats)


def _side(x: torch.Tensor, recipe: str, **options: Any) -> Side:
    """Return a side that draws from a key where the recipe draws."""
    key = 1 if kernel_program(get("recipe", recipe)).random_bits else None
    given = {"rotate": None, "signs": None, "random": None, "key": key, "stream": 0, "packed": False, "layout": "row_major", **options}
    return make_side(x, recipe, **given)
