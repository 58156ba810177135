"""matmul/A/B/OUT as an object: what the elements and scales of both operands are, in facts. Refuses what has no operands of this kind."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from emu.base.errors import OperandError, SpecError
from emu.check.matmul.numbers import Bits, Exact, exact_of
from emu.contracts.form import integer_dtype
from emu.ops.operands import fp32_one, operand_of
from emu.ops.quantized import Quantized, make_quantized
from emu.spec import derive, get, names
from emu.spec.ieee import is_binary32
from emu.spec.models import Block, Format, Recipe
from emu.spec.models.block import LevelFacts
from emu.spec.models.format import FloatFacts

PREFIX: Final = "matmul/"
OUTPUTS: Final = ("fp32", "bf16", "fp16")
USAGE: Final = "write matmul/<a>/<b>/<out>: a and b a recipe or a block, out one of fp32, bf16, fp16"


@dataclass(frozen=True, eq=False)
class Side:
    """One operand.

    element, scale: formats of the codes.   size: elements that share a scale, 0 without scales.   rows: rows that share one.
    level: name of the scale level.   tensor: name of the level of the whole tensor.   known: the recipe that says what that level means.
    multipliers: code of that level -> binary32 code of the factor, as they were needed.
    """

    known: Recipe
    block: Block
    element: Format
    scale: Format | None
    size: int
    rows: int
    level: str
    tensor: str
    multipliers: dict[int, int] = field(default_factory=dict)

    @property
    def packs(self) -> bool:
        """Two codes a byte."""
        return self.block.facts.packing != "none" and derive.codes(self.element).bits == 4

    @property
    def zero(self) -> int:
        """The first element code that means zero. Raises: OperandError (there is none)."""
        codes = np.array(derive.finite_codes(self.element))
        found = codes[exact_of(codes, self.element).n == 0]
        if not len(found):
            raise OperandError(f"format {self.element.id} has no zero: no element of a row can be left out")
        return int(found[0])

    def values(self, codes: Bits, scales: Bits | None) -> Exact:
        """Return codes [rows, K] under scales [rows, K / size] as exact numbers."""
        element = exact_of(codes, self.element)
        if scales is None or self.scale is None:
            return element
        scale = exact_of(scales, self.scale)
        n, e, nominal = (np.repeat(item, self.size, axis=1)[:, : codes.shape[1]] for item in scale)
        whole = element.n * n
        return Exact(whole, np.where(whole == 0, 0, element.e + e), np.where(whole == 0, 0, element.nominal + nominal))

    def quantized(self, codes: Bits, scales: Bits | None, tensor: int) -> Quantized:
        """Return the operand as emu.quantize makes one. tensor: code of the level of the whole tensor."""
        levels = {self.tensor: np.array(tensor, np.uint32)} if self.tensor else {}
        if scales is not None:
            more = (*((0, 0) for _ in scales.shape[:-2]), (0, -scales.shape[-2] % self.rows), (0, 0))
            whole = np.pad(scales, more, mode="edge") if self.rows > 1 else scales  # the last tile has all its rows
            levels[self.level] = whole[..., :: self.rows, :] if self.granularity == "tile" else whole
        return make_quantized(codes, levels, self.known, codes.shape, -1, -2)

    @property
    def granularity(self) -> str:
        """What shares a scale code: block or tile."""
        return next((str(level.granularity) for level in self.block.facts.levels if level.name == self.level), "")

    @property
    def stores_apart(self) -> bool:
        """Whether a binary32 number is stored for the tensor that multiplies the values beside another factor: its maximum, say."""
        level = next((level for level in self.block.facts.levels if level.name == self.tensor), None)
        apart = derive.parse_exact(self.block.facts.factor) != 1
        return level is not None and apart and level.meaning == "multiply" and is_binary32(get("format", level.format))

    def tensor_code(self, multiplier: float) -> int:
        """Return a code of the tensor level that multiplies all values by a power of two.

        Raises: OperandError (no code tried gives that).
        """
        wanted = int(np.float32(multiplier).view(np.uint32))
        for number in (1 / derive.parse_exact(self.block.facts.factor), derive.parse_exact("1")):
            for factor in (multiplier, 1 / multiplier):
                code = int(np.float32(float(number) * factor).view(np.uint32))
                if self.multiplier(code) == wanted:
                    return code
        raise OperandError(f"recipe {self.known.id}: no code of its tensor level was found that multiplies by {multiplier:g}")

    def multiplier(self, code: int) -> int:
        """Return the binary32 code of what a code of the tensor level multiplies all values by."""
        if code not in self.multipliers:
            codes = np.zeros((max(self.rows, 1), max(self.size, 1)), np.uint8)
            scales = None if self.scale is None else np.zeros((len(codes), 1), integer_dtype(self.scale))
            found = operand_of(self.quantized(codes, scales, code), "a", -1, None).tensor_scale
            self.multipliers[code] = fp32_one() if found is None else found
        return self.multipliers[code]


@dataclass(frozen=True, eq=False)
class Pair:
    """A contract: both operands and the format of the result. text: the string."""

    text: str
    a: Side
    b: Side
    out: Format

    @property
    def step(self) -> int:
        """K is a multiple of it: blocks of both operands are whole."""
        return math.lcm(self.a.size or 1, self.b.size or 1)

    @property
    def block(self) -> int:
        """Elements by which blocks of a row are counted: those of A, else of B; 16 where neither has blocks."""
        return self.a.size or self.b.size or 16


def pair_of(text: str) -> Pair:
    """Return the contract of a string. Raises: SpecError (no such string, a block with levels that no set of operands covers)."""
    a, b, out = parts_of(text)
    return Pair(text, side_of(a), side_of(b), get("format", out))


def parts_of(text: str) -> tuple[str, str, str]:
    """Return A, B and OUT of a string. Raises: SpecError."""
    op, *parts = text.split("/")
    if f"{op}/" != PREFIX or len(parts) != 3:
        raise SpecError(f"contract {text!r}: {USAGE}")
    if parts[2] not in OUTPUTS:
        raise SpecError(f"contract {text!r}: result {parts[2]!r} is unknown: one of {', '.join(OUTPUTS)}")
    return parts[0], parts[1], parts[2]


def side_of(name: str) -> Side:
    """Return an operand by the id of a recipe, or of a block of which a recipe is known.

    Raises: SpecError (unknown; elements of several formats; other levels than one scale and one of the tensor).
    """
    recipe = _recipe(name)
    block: Block = get("block", recipe.facts.block)
    if len(block.element_formats) > 1:
        raise SpecError(f"matmul: block {block.id} chooses the element format by a flag: there are no operands of this kind for it")
    if not block.is_alone:
        raise SpecError(f"matmul: block {block.id} has scales of a whole row, tensor or large tile: operands have one scale a block")
    scale: LevelFacts | None = None
    tensor = ""
    for level in block.facts.levels:
        if level.granularity == "tensor" and not tensor:
            tensor = level.name
        elif level.granularity in ("block", "tile") and level.meaning == "multiply" and scale is None:
            scale = level
        else:
            raise SpecError(
                f"matmul: block {block.id} has the level {level.name} beside its scale: operands of this kind have one scale a block"
            )
    element: Format = get("format", block.element_formats[0])
    if scale is None:
        return Side(recipe, block, element, None, 0, 1, "", tensor)
    return Side(recipe, block, element, get("format", scale.format), block.facts.shape[1], block.facts.shape[0], scale.name, tensor)


def _recipe(name: str) -> Recipe:
    try:
        found: Recipe = get("recipe", name)
        return found
    except SpecError as error:
        try:
            block = get("block", name)
        except SpecError:
            raise error from None
    of_block = [item for item in map(_get_recipe, names("recipe")) if item.facts.block == block.id]
    if not of_block:
        raise SpecError(f"matmul: no recipe makes block {block.id}: name a recipe, or load one that does")
    return of_block[0]


def _get_recipe(name: str) -> Recipe:
    recipe: Recipe = get("recipe", name)
    return recipe


def scale_codes(fmt: Format) -> Bits:
    """Return the positive finite codes of a scale format: all of a narrow one; of a wide one significands of 4 bits over 25 exponents."""
    derived = derive.codes(fmt)
    if derived.bits <= 16:
        every = np.array([code for code in range(1 << derived.magnitude_bits) if derive.is_finite_code(code, fmt)], np.int64)
        return every[exact_of(every, fmt).n > 0]
    facts = fmt.facts
    if not isinstance(facts, FloatFacts) or facts.frac_bits < 3:
        raise OperandError(f"format {fmt.id}: scales of this kind are not taken here")
    return np.array([(exp + facts.bias) << facts.frac_bits | top << facts.frac_bits - 3 for exp in range(-12, 13) for top in range(8)])
