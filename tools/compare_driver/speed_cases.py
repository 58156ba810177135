"""Times of the main operations x engines, in seconds: the least of some calls in this process. Many processes make the comparison."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Any

import block_cases
import draw
import numpy as np
from names import Names, random_operand

import emu

LEAST = 0.05


def answers(names: Names) -> dict[str, float]:
    """Return operation/engine -> seconds of a call; what an engine cannot do is left out."""
    found = {}
    for engine, word in names.engines.items():
        slow = engine == "exact"
        for key, call in calls(names, word, slow):
            try:
                call()
            except names.refusals:
                continue
            found[f"{key}/{engine}"] = _seconds(call)
    return found


def _seconds(call: Any) -> float:
    """Return the least time of calls that take about LEAST seconds together, three at least."""
    times: list[float] = []
    while sum(times) < LEAST or len(times) < 3:
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)


def calls(names: Names, engine: str, slow: bool) -> Any:
    """Yield (operation, call) of the main operations."""
    count = 256 if slow else 1 << 18
    x = draw.normals("speed", (count // 64, 64), 3)
    for to, rounding in (("e2m1", "rne"), ("e1m2", "rz"), ("e4m3", "rne"), ("e2m1", "sr_add8")):
        wanted = random_operand(names.get("rounding", rounding), x.size)
        random = None if wanted is None else draw.integers("speed random", *wanted)
        yield f"convert/{to}/{rounding}", partial(emu.convert, x, to, rounding=rounding, random=random, engine=engine)
    for recipe in ("nvfp4_te_ref", "mxfp4_torchao_floor", "ufp4", "nvfp4_f46_mse", "hif4", "nvfp4_te_2d_ref", "ufp4_sr"):
        named = block_cases.operands(names.get("recipe", recipe), names, x.size, "speed recipe")
        yield f"quantize/{recipe}", lambda recipe=recipe, named=named: emu.quantize(x, recipe, engine=engine, **named)
        quantized = emu.quantize(x, recipe, **named)
        yield f"dequantize/{recipe}", lambda quantized=quantized: names.dequantize(quantized, engine=engine)
    yield "transform/rht16_ufp4", lambda: emu.transform(x, "rht16_ufp4", engine=engine)
    rows = 2 if slow else 256
    a = draw.integers("speed a", rows * 256, 4).reshape(rows, -1)
    scales = (draw.integers("speed scales", rows * 16, 4) + np.uint8(0x30)).reshape(rows, -1)
    for path in ("blackwell_mxf4nvf4_b16_ue4m3", "nv_like_exact"):
        given = {"a_format": "e2m1", "b_format": "e2m1", "scale_format": "ue4m3"}
        yield f"dot/{path}", lambda path=path, given=given: emu.dot(a, a[::-1], path, scales, scales, engine=engine, **given)
    left = emu.quantize(draw.normals("speed left", (4 if slow else 64, 256)), "nvfp4_te_ref")
    yield "matmul/nvfp4", lambda: emu.matmul(left, left.T, "blackwell_mxf4nvf4_b16_ue4m3", engine=engine)
