"""quantize, dequantize and pack of every recipe; every transform; by every engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import draw
import ml_dtypes
import numpy as np
from names import Names, random_operand, width

import emu

Case = tuple[str, Any]
DTYPES = {"fp32": np.float32, "bf16": ml_dtypes.bfloat16, "fp16": np.float16}
DATA = ("normal", "spread", "bits", "blocks")
SHAPES = ((4, 64), (3, 128), (17, 80), (2, 2, 64), (48,), (16, 1040), (1, 10))


def data(kind: str, shape: tuple[int, ...], dtype: Any, key: str) -> Any:
    """Return a tensor: near normal; powers that change from block to block; any bit pattern, NaN too; blocks of zeros, -0 and Inf."""
    if kind == "bits":
        bits = np.dtype(dtype).itemsize * 8
        return draw.integers(key, int(np.prod(shape)), bits).view(dtype).reshape(shape)
    values = draw.normals(key, shape, 40 if kind == "spread" and np.dtype(dtype) != np.float16 else 6 if kind == "spread" else 0)
    with np.errstate(all="ignore"):
        found = values.astype(dtype)
    if kind == "blocks":
        flat = found.reshape(-1)
        flat[:16], flat[16:32], flat[32:33] = 0.0, -0.0, np.inf
    return found


def operands(recipe: Any, names: Names, count: int, key: str) -> dict[str, Any]:
    """Return what the steps of a recipe take besides x: random integers where one draws."""
    found: dict[str, Any] = {}
    for step in recipe.facts.steps:
        if getattr(step, "random", None):
            wanted = random_operand(names.get("rounding", step.round), count)
            if wanted is not None:
                found["random"] = draw.integers(key, *wanted)
    return found


def quantize(names: Names) -> Iterator[Case]:
    """Yield every recipe x engine x dtype x shape x kind of data, and what becomes of tensor maximum, signs and axes."""
    for name in names.ids("recipe"):
        recipe = names.get("recipe", name)
        for engine in names.engines:
            yield from _recipe(name, recipe, engine, names)


def _recipe(name: str, recipe: Any, engine: str, names: Names) -> Iterator[Case]:
    slow = engine == "exact"
    for dtype_name, dtype in DTYPES.items():
        for kind in DATA:
            for shape in ((2, 64),) if slow else SHAPES:
                key = f"{name}/{dtype_name}/{kind}/{'x'.join(map(str, shape))}"
                x = data(kind, shape, dtype, key)
                named = operands(recipe, names, x.size, key)
                yield f"quantize/{engine}/{key}", _quantize(x, recipe, names, engine, named, not slow or kind != "bits")
    x = data("normal", (32, 64), np.float32, f"{name} operands")[: 2 if slow else 32]
    named = operands(recipe, names, x.size, name)
    more: dict[str, dict[str, Any]] = {"axis0": {"axis": 0, "row_axis": 1}, "signs": {"signs": 0x5A3C}}
    more |= {f"amax_{value}": {"tensor_amax": np.float32(value)} for value in (5.5, 0.0, np.nan)}
    for word, extra in more.items():
        yield f"quantize/{engine}/{name}/operand/{word}", _quantize(x, recipe, names, engine, named | extra, False)


def _quantize(x: Any, recipe: Any, names: Names, engine: str, named: dict[str, Any], back: bool) -> Any:
    def call() -> dict[str, Any]:
        found = emu.quantize(x, recipe.id, engine=names.engines[engine], **named)
        answer = {"x": x, **named, "codes": found.codes}
        for level in found.levels:
            answer[f"level {level.name}"] = level.codes
            answer[f"about {level.name}"] = f"{level.format} {level.granularity} {level.meaning}"
        answer["shape"] = str(found.shape)
        answer["packed"] = found.pack()
        return answer | (_values(found, names, engine) if back else {})

    return call


def _values(found: Any, names: Names, engine: str) -> dict[str, Any]:
    """Return what every profile gives back, and what it gives for codes and levels that nothing was quantized to."""
    answer = {}
    element = width(names.get("format", found.block.element_formats[0]))
    any_codes = draw.integers("codes", found.codes.size, element).reshape(found.codes.shape)
    other = replace(found, codes=any_codes)
    for profile in (None, *sorted(found.recipe.facts.dequantize)):
        for dtype in (np.float32,) if profile is None else (ml_dtypes.bfloat16, np.float16, np.float64):
            word = f"{profile} {np.dtype(dtype).name}"
            answer[f"values {word}"] = names.dequantize(found, dtype=dtype, profile=profile, engine=names.engines[engine])
        answer[f"other {profile}"] = names.dequantize(other, profile=profile, engine=names.engines[engine])
    return answer


def transform(names: Names) -> Iterator[Case]:
    """Yield every transform x engine x dtype x kind of data x signs x axis."""
    for name in names.ids("transform"):
        for engine in names.engines:
            for dtype_name, dtype in DTYPES.items():
                for kind in DATA:
                    for signs in (None, 0, 0x5A3C, 0xFFFF):
                        x = data(kind, (3, 32) if engine == "exact" else (7, 96), dtype, f"{name} {dtype_name} {kind}")
                        key = f"transform/{engine}/{name}/{dtype_name}/{kind}/{signs}"
                        yield key, _transform(x, name, signs, -1, names.engines[engine])
            x = data("normal", (16, 5), np.float32, name)
            yield f"transform/{engine}/{name}/axis0", _transform(x, name, None, 0, names.engines[engine])


def _transform(x: Any, name: str, signs: int | None, axis: int, engine: str) -> Any:
    return lambda: {"x": x, "values": emu.transform(x, name, axis=axis, signs=signs, engine=engine)}
