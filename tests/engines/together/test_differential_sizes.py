"""Sizes just over every chunk, band and lane block of every engine: convert, decode, quantize, dequantize, rotate, largest magnitude.

The inputs repeat a few distinct values or blocks. Their number is a prime that divides no power of two, so that a place taken from another
chunk holds something else. What each of them gives is asked of the reference model once, and spread over the whole array by its place.
The sizes are read from the engines' own constants: they stay just over when a constant changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.mutation import c_folder

from emu.base.philox import words
from emu.engines import run as engine_run
from emu.engines import table as engine_table
from emu.engines.exact.block import dequantize as exact_dequantize
from emu.engines.exact.block import quantize as exact_quantize
from emu.engines.exact.convert import convert_code
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.transform import transform_codes
from emu.engines.native import block as kernel_block
from emu.engines.native import convert as kernel
from emu.engines.native import dequantize as kernel_back
from emu.engines.native import transform as kernel_transform
from emu.engines.numpy import block as fast_block
from emu.engines.numpy import convert as numpy_convert
from emu.engines.numpy import transform as numpy_transform
from emu.engines.numpy.convert import code_dtype
from emu.spec import get

BLOCKS, VALUES = 13, 251  # distinct blocks and values
FORMS = range(kernel.BEST_FORM + 1)
FP32 = get("format", "fp32")


def constant(folder: Path, name: str) -> int:
    """A constant of C that Python does not see."""
    found = [int(n) for path in sorted(folder.rglob("*.[ch]")) for n in re.findall(rf"\b{name} = (\d+)", path.read_text(encoding="utf-8"))]
    assert len(found) == 1, (name, found)
    return found[0]


KERNELS = Path(str(files("emu"))) / "engines" / "native" / "kernels"
KERNEL_CHUNK, KERNEL_LANES = constant(KERNELS, "EMU_CHUNK"), int(kernel.lib.EMU_LANES)
C_CHUNK, C_BAND = (constant(c_folder() / "src", name) for name in ("EMU_CHUNK", "EMU_BAND_ELEMENTS"))


def torch_constant(module: str, name: str) -> int:
    """A constant of the torch engine; skips where torch is absent."""
    pytest.importorskip("torch", reason="torch is not installed: extra [torch]")
    return int(getattr(import_module(f"emu.engines.torch.{module}"), name))


def engines_of(operation: str, *facts: Any) -> list[str]:
    """Engines that say they can do it, the reference model left out; torch is among them where it is installed."""
    return [row.engine for row in engine_table.TABLE if row.operation == operation and row.engine != "exact" and row.can(*facts)]


def just_over(engine: str, operation: str) -> list[int]:
    """Elements just over what an engine works on at a time."""
    if engine == "torch":
        return [torch_constant("block" if "quantize" in operation else "convert", "CHUNK")]
    sizes = {
        "native": [KERNEL_CHUNK, 16 * KERNEL_LANES],
        "c_ref": [C_CHUNK, C_BAND],
        "numpy": [fast_block.CHUNK] if "quantize" in operation else [numpy_convert.CHUNK, 2 * numpy_convert.CHUNK],  # bytes: two at a time
    }
    return sizes[engine]


def cycled(found: Sequence[Any], shape: Sequence[int]) -> Any:
    """An array of a shape whose places, in row-major order, go through what was found again and again."""
    array = np.array(found)
    return array[np.arange(int(np.prod(shape))) % len(array)].reshape(*shape, *array.shape[1:])


# ---- convert, decode

CONVERTED = [
    ("fp32", "e2m1", "rne", "nvidia"),
    ("bf16", "e2m1", "rne", "nvidia"),
    ("fp16", "e1m2", "rz", "nvidia"),
    ("fp32", "bf16", "rne", "ieee"),
    ("fp32", "nf4", "rne", "ocp_saturate"),
    ("fp32", "e2m1", "sr_add8", "nvidia"),
    ("fp32", "e2m1", "sr_te_fma8", "nvidia"),
]


def source_values(source: str) -> Any:
    """Distinct codes: most of them numbers near the grid of 4 bits, some tiny or huge, no NaN and no Inf."""
    rng = np.random.default_rng(71)
    x = rng.uniform(-8, 8, VALUES).astype(np.float32)
    x[::17] *= np.float32(2.0**-18)
    x[5::31] *= np.float32(2.0**11)
    bits = x.view(np.uint32)
    return {"fp32": bits, "bf16": (bits >> np.uint32(16)).astype(np.uint16), "fp16": x.astype(np.float16).view(np.uint16)}[source]


KINDS = ("format", "format", "rounding", "policy")
CONVERT_CASES = [
    (engine, case)
    for case in CONVERTED
    for engine in engines_of("convert", *(get(kind, name) for kind, name in zip(KINDS, case, strict=True)))
]


@pytest.mark.parametrize(("engine", "case"), CONVERT_CASES, ids=str)
def test_convert_just_over_a_chunk(engine: str, case: tuple[str, str, str, str]) -> None:
    source, fmt, rounding, policy = case
    facts = get("format", source), get("format", fmt), get("rounding", rounding), get("policy", policy)
    draws = facts[2].random_bits
    random = (np.arange(VALUES) * 37 % 256).astype(np.uint16) if draws else None
    given = source_values(source)
    wanted = [convert_code(int(x), *facts, None if random is None else int(random[i])) for i, x in enumerate(given)]
    for size in (size + extra for size in just_over(engine, "convert") for extra in (1, 2, 39)):
        drawn = None if random is None else cycled(random, [size])
        codes, right = cycled(given, [size]), cycled(wanted, [size])
        assert np.array_equal(engine_run.run_convert(codes, *facts, drawn, engine), right)
        if engine == "native":
            low = np.append(right, 0)[: size + size % 2].reshape(-1, 2)
            for form in FORMS:
                assert np.array_equal(kernel.convert(codes, *facts, form=form), right)
                assert np.array_equal(kernel.convert_packed(codes, *facts, form=form), low[:, 0] | low[:, 1] << 4)


DECODED = [("e2m1", "fp32"), ("e4m3", "bf16"), ("bf16", "fp32")]


@pytest.mark.parametrize(
    ("engine", "fmt", "result"),
    [(engine, *pair) for pair in DECODED for engine in engines_of("decode", *(get("format", name) for name in pair))],
)
def test_decode_just_over_a_chunk(engine: str, fmt: str, result: str) -> None:
    facts = get("format", fmt), get("format", result)
    mixed = np.arange(VALUES) * 7 % VALUES
    codes = {"e2m1": mixed % 16, "e4m3": mixed % 127, "bf16": source_values("bf16")}[fmt].astype(code_dtype(facts[0]))
    wanted = [encode_value(decode_code(int(code), facts[0]), facts[1]) for code in codes]
    for size in (size + extra for size in just_over(engine, "decode") for extra in (1, 2, 39)):
        given, right = cycled(codes, [size]), cycled(wanted, [size])
        assert np.array_equal(engine_run.run_decode(given, *facts, engine), right)
        if engine == "native":
            pairs = np.append(given, 0)[: size + size % 2].reshape(-1, 2)
            packed = (pairs[:, 0] | pairs[:, 1] << 4).astype(np.uint8)
            for form in FORMS:
                assert np.array_equal(kernel.decode(given, *facts, form=form), right)
                assert np.array_equal(kernel.decode(packed, *facts, packed=True, count=size, form=form), right)


# ---- quantize, dequantize

AMAX = int(np.array(23.5, np.float32).view(np.uint32))
QUANTIZED = ["nvfp4_te_ref", "mxfp4_torchao_rceil", "e2m1_fp32scale", "ufp4", "ufp4_sr", "nvfp4_te_2d_ref", "hif4"]


class Tiles:
    """Distinct tiles of a recipe, and what the reference model makes of each one alone."""

    def __init__(self, name: str, source: str) -> None:
        self.recipe, self.source = get("recipe", name), get("format", source)
        self.height, self.width = get("block", self.recipe.facts.block).facts.shape
        rng, size = np.random.default_rng(72), (BLOCKS, self.height, self.width)
        x = (rng.standard_normal(size) * np.exp2(rng.integers(-3, 3, (BLOCKS, 1, 1)))).astype(np.float32)
        self.x = x.view(np.uint32) if source == "fp32" else (x.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        program = engine_table.quantize_program(self.recipe)
        self.operands: dict[str, Any] = {"tensor_amax": AMAX} if program.reads("tensor_amax") else {}
        draws = any(item.rounding and item.rounding.random_bits for item in program.instructions)
        self.random = rng.integers(0, 256, size, dtype=np.uint8) if draws else None
        found = [exact_quantize(self.recipe, tile.tolist(), self.source, **self.drawn(i)) for i, tile in enumerate(self.x)]
        self.codes = np.array([one.codes for one in found], np.uint8)
        self.levels = {name: np.array([one.levels[name] for one in found]) for name in found[0].levels}
        self.tensor = {level.name for level in get("block", self.recipe.facts.block).facts.levels if level.granularity == "tensor"}

    def drawn(self, tile: int) -> dict[str, Any]:
        return self.operands if self.random is None else {**self.operands, "random": self.random[tile].tolist()}

    def laid(self, tiles: Any, rows: int, columns: int) -> Any:
        """A matrix of rows x columns tiles, the next tile at each next place."""
        whole = cycled(tiles, [rows, columns])
        return np.ascontiguousarray(whole.transpose(0, 2, 1, 3)).reshape(rows * whole.shape[2], columns * whole.shape[3])

    def wanted_levels(self, rows: int, columns: int) -> dict[str, Any]:
        return {name: found[0] if name in self.tensor else self.laid(found, rows, columns) for name, found in self.levels.items()}

    def grids(self, size: int) -> Iterator[tuple[int, int]]:
        """Rows and columns of tiles that reach just over `size` elements: wide, tall and one in between."""
        count = size // (self.height * self.width) + 1
        yield 1, count
        yield 1, count + 2  # an odd number of blocks is left over, and more than one
        yield count, 2
        yield count // 3 + 1, 3


def quantizers(engine: str, tiles: Tiles) -> Iterator[Callable[..., Any]]:
    if engine == "native":
        for form in FORMS:
            yield lambda codes, form=form, **more: kernel_block.quantize(tiles.recipe, codes, tiles.source, form=form, **more)
    else:
        yield lambda codes, **more: engine_run.run_quantize(tiles.recipe, codes, tiles.source, engine=engine, **more)


QUANTIZE_CASES = [
    (engine, name, source)
    for name, source in [*((name, "fp32") for name in QUANTIZED), ("nvfp4_te_ref", "bf16"), ("ufp4", "bf16")]
    for engine in engines_of("quantize", get("recipe", name), get("format", source))
]


@pytest.mark.cases(12)
@pytest.mark.parametrize(("engine", "name", "source"), QUANTIZE_CASES)
def test_quantize_just_over_a_chunk(engine: str, name: str, source: str) -> None:
    tiles, compared = Tiles(name, source), 0
    for rows, columns in (grid for size in just_over(engine, "quantize") for grid in tiles.grids(size)):
        x, wanted, levels = tiles.laid(tiles.x, rows, columns), tiles.laid(tiles.codes, rows, columns), tiles.wanted_levels(rows, columns)
        random = None if tiles.random is None else tiles.laid(tiles.random, rows, columns)
        for order in "CF":
            more = tiles.operands if random is None else {**tiles.operands, "random": random}
            for quantize in quantizers(engine, tiles):
                codes, found = quantize(np.asarray(x, order=order), **more)
                assert np.array_equal(codes, wanted), (rows, columns, order)
                assert {level: np.array_equal(found[level], levels[level]) for level in levels} == dict.fromkeys(levels, True)
                compared += 1
    assert compared >= 6


DEQUANTIZED = ["nvfp4_te_ref", "e2m1_fp32scale", "mxfp4_torchao_rceil", "nvfp4_te_2d_ref", "hif4"]
DEQUANTIZE_CASES = [(engine, name) for name in DEQUANTIZED for engine in engines_of("dequantize", get("recipe", name), None)]


@pytest.mark.cases(7)
@pytest.mark.parametrize(("engine", "name"), DEQUANTIZE_CASES)
def test_dequantize_just_over_a_chunk(engine: str, name: str) -> None:
    tiles = Tiles(name, "fp32")
    values = np.array(
        [
            exact_dequantize(tiles.recipe, tiles.codes[i].tolist(), {name: level[i].tolist() for name, level in tiles.levels.items()})
            for i in range(BLOCKS)
        ]
    )
    formats = {level.name: get("format", level.format) for level in get("block", tiles.recipe.facts.block).facts.levels}
    for rows, columns in (grid for size in just_over(engine, "dequantize") for grid in tiles.grids(size)):
        codes, wanted = tiles.laid(tiles.codes, rows, columns), tiles.laid(values, rows, columns)
        levels = {name: level.astype(code_dtype(formats[name])) for name, level in tiles.wanted_levels(rows, columns).items()}
        for order in "CF":
            given = np.asarray(codes, order=order)
            found = engine_run.run_dequantize(tiles.recipe, given, levels, profile=None, result=FP32, engine=engine)
            assert np.array_equal(found, wanted), (rows, columns, order)
            for form in FORMS if engine == "native" else ():
                assert np.array_equal(kernel_back.dequantize(tiles.recipe, given, levels, form=form), wanted), (rows, columns, order, form)


# ---- rotate


def groups_at_a_time(engine: str) -> int:
    """Groups that an engine rotates at a time; the C reference takes one."""
    if engine == "torch":
        return torch_constant("transform", "GROUPS")
    return {"native": KERNEL_LANES, "c_ref": 1, "numpy": numpy_transform.GROUPS}[engine]


ROTATIONS = ("rht16_exact", "rht16_te", "rht16_butterfly", "rht16_ufp4")
ROTATED = [(engine, name) for name in ROTATIONS for engine in engines_of("transform", get("transform", name), FP32)]


@pytest.mark.parametrize(("engine", "name"), ROTATED)
def test_rotate_just_over_the_groups_of_a_turn(engine: str, name: str) -> None:
    chosen, rng = get("transform", name), np.random.default_rng(73)
    x = rng.standard_normal((BLOCKS, 16), dtype=np.float32) * np.exp2(rng.integers(-20, 20, (BLOCKS, 1))).astype(np.float32)
    tie = np.array([1.5 + 2.0**-20, *[1.5] * 13, 2.0**-30 * (1 + 2.0**-23), -(2.0**-30)])  # a sum that the kernel leaves to the reference
    x[3] = tie * [-1 if int(chosen.facts.signs, 16) >> j & 1 else 1 for j in range(16)]
    codes = x.view(np.uint32)
    wanted = [transform_codes(row, FP32, chosen) for row in codes.tolist()]
    for count in (groups_at_a_time(engine) + 1, 2 * groups_at_a_time(engine) + 2):
        given, right = cycled(codes, [count]), cycled(wanted, [count])
        assert np.array_equal(engine_run.run_transform(given, FP32, chosen, None, engine), right)
        for form in FORMS if engine == "native" else ():
            assert np.array_equal(kernel_transform.transform(given, FP32, chosen, form=form), right)


# ---- the largest magnitude of a tensor


def places(size: int, chunk: int) -> list[int]:
    """The first and last element of the array, of its first chunk and of its last one, and their neighbours."""
    last = (size - 1) // chunk * chunk
    near = {0, 1, chunk - 2, chunk - 1, chunk, chunk + 1, last - 1, last, size - 2, size - 1}
    return sorted(place for place in near if 0 <= place < size)


@pytest.mark.parametrize("chunk", [8 * fast_block.CHUNK])
def test_the_largest_magnitude_stands_anywhere_numpy(chunk: int) -> None:
    size = chunk + 33
    bits = np.full(size, 0x3F800000, np.uint32)
    for place in places(size, chunk):
        bits[place] = 0xC0A00000  # -5
        assert fast_block.amax_bits(bits, FP32) == 0x40A00000, place
        bits[place] = 0x3F800000
    assert fast_block.amax_bits(bits, FP32) == 0x3F800000


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 7, 31, 32, 33, 63, 65, 127, 129])
def test_the_largest_magnitude_stands_anywhere_kernel(size: int, form: int) -> None:
    """Vectors of up to 32 lanes, unrolled by the compiler up to four times: every place of a few sizes."""
    for source, one, five in (("fp32", 0x3F800000, 0xC0A00000), ("bf16", 0x3F80, 0xC0A0), ("fp16", 0x3C00, 0xC500)):
        bits = np.full(size, one, np.uint32 if source == "fp32" else np.uint16)
        for place in range(size):
            bits[place] = five
            assert kernel_block.amax_bits(bits, get("format", source), form) == 0x40A00000, (source, place)
            bits[place] = one


@pytest.mark.parametrize("engine", engines_of("quantize", get("recipe", "nvfp4_te_ref"), FP32))
def test_the_largest_magnitude_reaches_the_scales(engine: str) -> None:
    """One element decides the scale of the tensor, wherever it stands: chunks of each engine, the last element of a row, a short row."""
    recipe = get("recipe", "nvfp4_te_ref")
    for chunk in just_over(engine, "quantize"):
        for shape in ((1, chunk + 32), (chunk // 32 + 1, 32)):
            bits, size = np.full(shape, 0x3F800000, np.uint32), int(np.prod(shape))
            for place in (0, chunk - 1, chunk, size - 1):
                bits.reshape(-1)[place] = 0xC0A00000
                levels = engine_run.run_quantize(recipe, bits, FP32, engine=engine)[1]
                wanted = exact_quantize(recipe, [[0xC0A00000] + [0x3F800000] * 15], FP32).levels
                assert levels["tensor"].tolist() == wanted["tensor"], (shape, place)
                bits.reshape(-1)[place] = 0x3F800000


@pytest.mark.parametrize("form", FORMS)
def test_random_bytes_just_over_the_lanes_of_the_generator(form: int) -> None:
    """Blocks of four words: the kernel's first word of each block is Philox of that block alone."""
    lanes, key, stream = constant(KERNELS, "LANES"), 0x0123456789ABCDEF, 5
    for groups in (lanes - 1, lanes, lanes + 1, 2 * lanes + 1):
        out = np.empty(4 * groups, np.uint8)
        assert not kernel.lib.emu_random_bytes(form, key, stream, groups, 0xFF, kernel.ffi.from_buffer("uint8_t[]", out))
        for block in (0, groups // 2, groups - 1):
            assert out[4 * block : 4 * block + 4].tolist() == [int(word) & 0xFF for word in words(key, 4, 4 * block, stream)]
