"""Maxima beside c * 2^k, where one unit in the last place decides the scale: rows that libraries gave, laws in fractions, every engine."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import emu
from emu.engines.numpy.block import quantize as quantize_numpy
from emu.spec import derive
from emu.spec.models import Block, Format, Recipe
from emu.spec.models.format import ExponentFacts
from emu.spec.registry import get, names

ROWS: list[dict[str, str]] = yaml.safe_load(Path(__file__).with_name("scale_bands.yaml").read_text(encoding="utf-8"))
LIBRARY = {"mxfp4_mlx_cpu": (6, 4, "mxfp4"), "mxfp8_mlx_cpu": (448, 8, "mxfp8")}  # divisor, bits and mode of mx.quantize
SOURCES = {"fp32": (np.uint32, 23, 8), "bf16": (np.uint16, 7, 8), "fp16": (np.uint16, 10, 5)}  # dtype, fraction bits, exponent bits


def decides_a_scale(recipe: Recipe) -> bool:
    """Whether a step takes a logarithm, a rule of exponent fields, or a code that is a power of two."""
    return any(
        step.op in ("log2", "e8m0_rule") or (step.op == "cast" and isinstance(get("format", step.to).facts, ExponentFacts))
        for step in recipe.facts.steps
    )


DECIDING = [name for name in names("recipe") if decides_a_scale(get("recipe", name))]


def factors(recipe: Recipe) -> set[Fraction]:
    """1, the largest element, what rounds to the next power of two with the element's fraction, and every constant of the program."""
    element: Format = get("format", get("block", recipe.facts.block).element_formats[0])
    codes = derive.codes(element)
    largest = Fraction(emu.decode(np.array([codes.max_code], np.uint8), element.id, dtype=np.float64)[0])
    fraction_bits = getattr(element.facts, "frac_bits", 0)
    found = {Fraction(1), largest, 2 - Fraction(1, 2 << fraction_bits)}
    texts = [arg for step in recipe.facts.steps if step.op != "emit" for arg in step.args if isinstance(arg, str)]
    for text in texts:
        try:
            found.add(abs(derive.parse_exact(text)))
        except (ValueError, ArithmeticError, emu.EmuError):
            continue  # a name, or a constant given as bits
    return found - {0}


def bands(recipe: Recipe, source: str, fields: Any = None) -> Any:
    """Blocks [N, K] of source codes with one maximum each: c * 2^k and three units below and above, for each k that the source has."""
    dtype, frac_bits, exp_bits = SOURCES[source]
    fields = np.arange((1 << exp_bits) - 1) if fields is None else fields
    maxima = [0]
    for factor in factors(recipe):
        significand = factor / Fraction(2) ** (factor.numerator.bit_length() - factor.denominator.bit_length())
        significand *= 2 if significand < 1 else 1
        near = int((significand - 1) * (1 << frac_bits))
        maxima += [(int(field) << frac_bits) + near + step for field in fields for step in range(-3, 4)]
    kept = sorted({code for code in maxima if 0 <= code < (1 << exp_bits) - 1 << frac_bits})
    block: Block = get("block", recipe.facts.block)
    codes = np.zeros((len(kept), block.facts.shape[1]), dtype)
    codes[:, 0] = kept
    codes[::2, 1] = codes[::2, 0] // 3 * 2  # some smaller number beside it
    return codes


@pytest.mark.parametrize("engine", ["exact", "numpy", "c_ref"])
def test_rows_that_libraries_gave(engine: str) -> None:
    for row in ROWS:
        x = np.array([int(word, 16) for word in row["x"].split()], np.uint32).view(np.float32).reshape(1, -1)
        found = emu.quantize(x, row["recipe"], engine=engine)
        digits = 2 if get("recipe", row["recipe"]).facts.block.startswith("mxfp8") else 1
        codes = "".join(f"{int(code):0{digits}X}" for code in found.codes.reshape(-1))
        assert (codes, f"{int(found.scales.reshape(-1)[0]):02X}") == (row["codes"].replace(" ", ""), row["scale"]), row


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_the_scale_of_mlx_is_an_exact_ceiling(name: str) -> None:
    """Smallest n with 2^n >= the maximum over the divisor, rounded to binary32; n + 127 modulo 256; a unit of zero takes the scale 1."""
    divisor = LIBRARY[name][0]
    codes = bands(get("recipe", name), "fp32")
    units = (codes[:, 0].view(np.float32) / np.float32(divisor)).tolist()  # binary64 holds them
    wanted = []
    for unit in map(Fraction, units):
        exp = unit.numerator.bit_length() - unit.denominator.bit_length() if unit else 0
        exp += unit > Fraction(2) ** exp
        exp -= 0 < unit <= Fraction(2) ** (exp - 1)
        wanted.append(exp + 127 & 255)
    assert emu.quantize(codes.view(np.float32), name).scales.reshape(-1).tolist() == wanted


@pytest.mark.parametrize("name", ["mxfp4_aiter_triton", "mxfp4_quark_even"])
def test_a_maximum_that_rounds_to_inf_takes_the_largest_scale(name: str) -> None:
    """floor(log2 of the maximum rounded in its fields) - 2, clamped to -127..127, in binary32 where the rounded maximum may be Inf."""
    codes = bands(get("recipe", name), "fp32")
    rounded = (codes[:, 0] + np.uint32(0x200000)) & np.uint32(0x7F800000)
    exp = (rounded >> 23).astype(int) - 127
    wanted = np.where(rounded == 0x7F800000, 254, np.clip(exp - 2, -127, 127) + 127)
    assert emu.quantize(codes.view(np.float32), name).scales.reshape(-1).tolist() == wanted.tolist()


@pytest.mark.cases(12, 60)
@pytest.mark.parametrize("name", DECIDING)
def test_engines_agree_at_band_maxima(judge: Any, quick_judge: Any, name: str) -> None:
    """Every binade of every source by the fast engines; the reference model judges some of them, the ends among these."""
    recipe = get("recipe", name)
    levels = get("block", recipe.facts.block).facts.levels
    operands = {"tensor_amax": 0x43800000} if any(level.granularity == "tensor" for level in levels) else {}
    for source in SOURCES:
        fmt: Format = get("format", source)
        codes = bands(recipe, source)
        marked, _ = quantize_numpy(recipe, codes, fmt, masked=True, **operands)
        codes = codes[(marked < 1 << derive.codes(get("format", get("block", recipe.facts.block).element_formats[0])).bits).all(axis=1)]
        assert len(codes) > 7 * 16, "the sources leave nearly everything open"
        assert quick_judge.quantize(recipe, codes, fmt, **operands).gave_bits
        chosen = np.concatenate([codes[:8], codes[len(codes) // 3 :: max(len(codes) // 5, 1)], codes[-4:]])
        assert judge.quantize(recipe, chosen, fmt, **operands).gave_bits


def test_the_library_itself() -> None:
    mx = pytest.importorskip("mlx.core", reason="MLX is installed by .ci/peers")
    for name, (_, bits, mode) in LIBRARY.items():
        x = bands(get("recipe", name), "fp32").view(np.float32)
        words, scales = mx.quantize(mx.array(x), group_size=32, bits=bits, mode=mode, stream=mx.cpu)
        raw = np.array(words).view(np.uint8).reshape(len(x), -1)
        codes = raw if bits == 8 else np.stack([raw & 15, raw >> 4], -1).reshape(len(x), -1)
        found = emu.quantize(x, name)
        assert np.array_equal(found.scales.reshape(-1), np.array(scales).reshape(-1)), name
        assert np.array_equal(found.codes, codes), name
