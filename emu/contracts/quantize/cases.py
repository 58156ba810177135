"""Which blocks a recipe is tried on: thresholds, scale ties and edges, zeros, specials, tiny and huge maxima, tails, orders."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emu.base.errors import SpecError
from emu.contracts.grid import code_at, grid_values
from emu.contracts.quantize import decision
from emu.contracts.quantize.blocks import Blocks
from emu.contracts.quantize.tiles import is_element
from emu.contracts.rows import Input, pack
from emu.contracts.suites import row_words, spread, wide
from emu.engines.exact.decode import decode_code
from emu.spec import derive
from emu.spec.ieee import binary_format
from emu.spec.loader import read
from emu.spec.registry import get

if TYPE_CHECKING:
    from emu.contracts.quantize.contract import QuantizeContract

RANDOM_ROWS: Final = 4096
ORDER_ROWS: Final = 8
SPREAD_ROWS: Final = 8
BLOCKS: Final[dict[str, tuple[dict[str, str], ...]]] = read(Path(__file__).with_name("blocks.yaml")).data  # found by a search


class Cases:
    """Collects the cases of one recipe and source."""

    def __init__(self, op: QuantizeContract, stem: str) -> None:
        check_block(op)
        self.op, self.stem, self.blocks = op, stem, Blocks(op)
        self.fp32 = get("format", "fp32")
        self.found: list[Input] = []

    def add(self, group: str, flags: tuple[str, ...], lanes: list[int], ts: Fraction | int | None = None, n_valid: int | None = None,
            comment: str = "") -> None:  # fmt: skip
        """Take one block. ts: a number, or fp32 bits as int; None: the tensor maximum that makes scale one."""
        op = self.op
        lanes = (lanes + [0] * op.n)[: op.n]
        values = [pack(lanes, op.layout.inputs[0].lane_bits)]
        if op.reads_amax:
            chosen = self.blocks.tensor_unit if ts is None else ts
            values.append(chosen if isinstance(chosen, int) else code_at(chosen, self.fp32))
        if op.ragged:
            values.append(op.n if n_valid is None else n_valid)
        if op.rounding is not None:
            values.append(self.drawn(len(self.found)))
        self.found.append(Input(group, flags, tuple(values), comment))

    def drawn(self, extent: int) -> int:
        """Return the packed random integers of a row: zeros, ones, all ones, then Philox words, in turn."""
        column = self.op.layout.inputs[-1]
        if extent % 4 < 3:
            return pack([(0, 1, (1 << column.lane_bits) - 1)[extent % 4]] * column.lanes, column.lane_bits)
        return wide(row_words(self.stem, extent, extent + 1, -(-column.bits // 32))[0], column.bits)

    def amax_bits(self, lanes: list[int]) -> int:
        """Return the fp32 bits of the largest finite magnitude."""
        return code_at(max(decode_code(code, self.op.source).magnitude for code in lanes), self.fp32)


def check_block(op: QuantizeContract) -> None:
    """Refuse a recipe whose scales no row of a suite holds. Raises: SpecError."""
    if op.is_large:
        tile = f"{op.rows} x {op.columns}"
        raise SpecError(f"{op.name}: its tiles of {tile} are more than a row of a suite holds: emu check compares whole matrices")


def directed(op: QuantizeContract, stem: str) -> list[Input]:
    """Return the directed cases of a recipe."""
    out = Cases(op, stem)
    _elements(out)
    _zeros(out)
    _scales(out)
    _extremes(out)
    _specials(out)
    _tails(out)
    _orders(out)
    for number in range(SPREAD_ROWS):
        lanes, ts = drawn_block(op, row_words(stem, 1 << 20 | number, (1 << 20 | number) + 1, op.n + 1)[0])
        out.add("spread", ("spread",), lanes, ts)
    _step_ties(out)
    return out.found


def _elements(out: Cases) -> None:
    """Every threshold of the element grid under scale one and under two other scales; a value in each lane."""
    blocks, n = out.blocks, out.op.n
    top = blocks.code(blocks.unit)
    thresholds = blocks.thresholds()
    first: list[list[int]] = [[top, *thresholds[at : at + n - 1]] for at in range(0, len(thresholds), n - 1)]
    for lanes in first:
        out.add("elements", ("unit_scale", "threshold"), lanes)
    shift = derive.codes(out.op.source).max_code.bit_length()
    step = 1 << (shift - 8)  # one binade of a source with 8 exponent bits
    for lanes in first[:2]:
        out.add("elements", ("threshold",), [code - 3 * step if code & (blocks.sign - 1) > 4 * step else code for code in lanes])
    codes = [blocks.code(value * sign) for value in grid_values(blocks.elements[0][0])[:-1] for sign in (1, -1)]
    out.add("lanes", ("lanes",), [top, *(codes * n)[: n - 1]])
    out.add("lanes", ("one_lane",), [0] * (n - 1) + [top])
    out.add("lanes", ("one_lane",), [top | blocks.sign])


def _zeros(out: Cases) -> None:
    sign = out.blocks.sign
    out.add("zeros", ("zero_block",), [])
    out.add("zeros", ("zero_block",), [sign] * out.op.n)
    out.add("zeros", ("zero_block", "zero_tensor"), [], 0)
    out.add("zeros", ("zero_block",), [0, sign, out.blocks.code(out.blocks.unit), sign, 0, sign])


def _scales(out: Cases) -> None:
    """Block maxima on scale ties and one ulp beside; the ends of the scale format; a tensor far larger or smaller."""
    blocks = out.blocks
    for number, flag in blocks.scale_points():
        for code in blocks.beside(number):
            out.add("scales", (flag,), blocks.ladder(code))
    if blocks.scale is not None and binary_format(blocks.scale) != "binary32":
        values = grid_values(blocks.scale)
        for value in (values[0] or values[1] / 4, values[1], values[-2], values[-1] * 2):
            out.add("scales", ("scale_edge",), blocks.ladder(blocks.code(value * blocks.unit)))
    if out.op.reads_amax:
        ladder = blocks.ladder(blocks.code(blocks.unit))
        out.add("scales", ("amax_gap",), ladder, blocks.tensor_unit * (1 << 20))
        out.add("scales", ("amax_below",), ladder, blocks.unit / 2)


def _extremes(out: Cases) -> None:
    blocks = out.blocks
    subnormal = blocks.ladder(61)
    out.add("extremes", ("subnormal",), subnormal)
    out.add("extremes", ("subnormal", "tiny_tensor"), subnormal, out.amax_bits(subnormal))
    out.add("extremes", ("subnormal",), [1, 1 | blocks.sign, 2, 3])
    out.add("extremes", ("huge_tensor",), blocks.ladder(blocks.most), out.amax_bits([blocks.most]))
    out.add("extremes", ("huge_tensor",), blocks.ladder(blocks.most), 0x7F7FFFFF)
    if out.op.reads_amax:
        for bits in (1, 0x00800000, 0x05280000, 0x05280003):
            number = decode_code(bits, out.fp32).magnitude
            out.add("extremes", ("tiny_tensor",), blocks.ladder(max(blocks.code(number), 1)), bits)


def _specials(out: Cases) -> None:
    """NaN and Inf among the elements, and as tensor maximum."""
    blocks, derived = out.blocks, derive.codes(out.op.source)
    assert derived.inf is not None
    ladder = blocks.ladder(blocks.code(blocks.unit))
    quiet = derived.nan[0]
    # of an element that is a block finite numbers under a NaN scale would be asked: no source states the sign of the NaN that they become
    asks_amax = out.op.reads_amax and not (is_element(out.op.block) and out.op.recipe.facts.domain.non_finite == "no")
    for flag, extent, code in (
        ("nan", 3, quiet),
        ("nan", out.op.n - 1, derived.inf + 1 | blocks.sign),
        ("inf", 1, derived.inf),
        ("inf", 2, derived.inf | blocks.sign),
    ):
        lanes = [code if lane == extent else other for lane, other in enumerate(ladder)]
        out.add("specials", (flag,), lanes)
        if asks_amax and extent in (1, 3):
            out.add("specials", (flag,), lanes, 0x7FC00000 if flag == "nan" else 0x7F800000)
    if asks_amax:
        out.add("specials", ("inf",), ladder, 0x7F800000)
        out.add("specials", ("nan",), ladder, 0x7FC00000)


def _tails(out: Cases) -> None:
    """Blocks with fewer elements than lanes; junk above them that is larger than every element."""
    if not out.op.ragged:
        return
    blocks, n = out.blocks, out.op.n
    for n_valid in (1, n // 2 + 1, n - 1):
        lanes = blocks.ladder(blocks.code(blocks.unit))[:n_valid] + [
            blocks.code(blocks.unit * 4 * (-1 if lane % 2 else 1)) for lane in range(n - n_valid)
        ]
        out.add("tails", ("ragged",), lanes, None, n_valid)


def _orders(out: Cases) -> None:
    """bf16 pairs of maxima where documented recipes part, and fp32 blocks with the same purpose."""
    if not decision.like_nvfp4(out.op):
        return
    parting = decision.parting()
    widen = derive.codes(out.op.source).bits - 16
    for extent in spread(len(parting), ORDER_ROWS):
        at = int(parting[extent])
        lanes = [code << widen for code in decision.blocks(at, at + 1)[0].tolist()]
        out.add("orders", ("order", "decision"), lanes, decision.tensor_bits(int(decision.pairs()[at, 1])))
    if binary_format(out.op.source) == "binary32":
        for found in BLOCKS["orders"]:
            out.add("orders", ("order",), [int(code, 16) for code in found["lanes"].split()], int(found["ts"], 16))


def _step_ties(out: Cases) -> None:
    """Elements whose product with the multiplier is a tie of the binary32 step: rounded away it crosses a midpoint of the element grid."""
    if not decision.like_nvfp4(out.op) or binary_format(out.op.source) == "binary16":
        return
    widen = derive.codes(out.op.source).bits - 16
    for found in BLOCKS["step_ties"]:
        out.add("step_ties", ("step_tie",), [int(code, 16) << widen for code in found["lanes"].split()], int(found["ts"], 16))


def drawn_block(op: QuantizeContract, words: list[int]) -> tuple[list[int], int]:
    """Return lanes of random elements whose exponents fall off geometrically from 1, and a tensor maximum up to 16 times theirs."""
    derived = derive.codes(op.source)
    one = code_at(Fraction(1), op.source)
    frac = _frac_bits(op)
    lanes = []
    for word in words[: op.n]:
        down = min(((word >> 23 | 1 << 8) & -(word >> 23 | 1 << 8)).bit_length() - 1, 7)
        lanes.append(one - (down << frac) + (word & ((1 << frac) - 1)) | (derived.sign_bit if word >> 31 else 0))
    top = code_at(max(decode_code(code, op.source).magnitude for code in lanes), get("format", "fp32"))
    return lanes, top + (words[op.n] & 0x1FFFFFF)


def _frac_bits(op: QuantizeContract) -> int:
    facts = op.source.facts
    return int(getattr(facts, "frac_bits", 0))


def random(op: QuantizeContract, stem: str, start: int, stop: int) -> list[Input]:
    """Return random blocks."""
    column = op.layout.inputs[-1]
    drawn = -(-column.bits // 32) if op.rounding is not None else 0
    out = []
    for words in row_words(stem, start, stop, op.n + 1 + drawn):
        lanes, ts = drawn_block(op, words)
        values = [pack(lanes, op.layout.inputs[0].lane_bits)]
        values += [ts] if op.reads_amax else []
        values += [op.n] if op.ragged else []
        values += [wide(words[op.n + 1 :], column.bits)] if drawn else []
        out.append(Input("random", ("random",), tuple(values)))
    return out
