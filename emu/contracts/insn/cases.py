"""Which registers an instruction is tried on: directed conversions dealt to the lanes, one lane at a time, scales, single random bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from emu.contracts.convert import cases as cases_convert
from emu.contracts.convert.contract import ConvertContract
from emu.contracts.grid import code_at, grid_values, largest
from emu.contracts.insn import registers as insn_registers
from emu.contracts.insn.registers import SIGN_BITS
from emu.contracts.quantize import cases as cases_quantize
from emu.contracts.rows import Input
from emu.contracts.suites import row_words, smoke
from emu.engines.exact.decode import decode_code
from emu.engines.exact.round import locate
from emu.spec import derive
from emu.spec.contract import ContractName
from emu.spec.models import Format
from emu.spec.models.format import CodebookFacts
from emu.spec.models.instruction import ScaleOperand
from emu.spec.registry import get

if TYPE_CHECKING:
    from emu.contracts.insn.contract import InstructionContract

RANDOM_ROWS: Final = 4096
NARROW: Final = 8  # bits of a source of which every code is tried
MOST_TURNS: Final = 4  # lanes that each directed source visits
SCALED: Final = 24  # sources that meet every scale
MOST_SOURCES: Final = 1024  # directed sources dealt to the lanes; the suites of convert have them all
Source = tuple[int, tuple[str, ...], int | None]  # code, flags, random integer


def directed(op: InstructionContract, stem: str) -> list[Input]:
    """Return the directed cases of an instruction."""
    if op.facts.performs == "quantize":
        return [_quantizer(op, case, place) for place, case in enumerate(cases_quantize.directed(op.quantizer, stem))]
    found = list(_dealt(op, _few(op, MOST_SOURCES), neutral(op), "lanes"))
    found += _single_lanes(op)
    if op.facts.scale is not None:
        few = _few(op, SCALED)
        for raw, flags in scales(op.facts.scale):
            found += [case._replace(flags=(*flags, *case.flags)) for case in _dealt(op, few, raw, "scale", turns=1)]
    if op.facts.random is not None:
        found += _single_bits(op)
    return list({case.values: case for case in reversed(found)}.values())[::-1]


def _conversion(op: InstructionContract) -> ConvertContract:
    """Return the conversion of a lane."""
    return ConvertContract.of(ContractName("convert", (op.to.id, op.rounding.id, str(op.facts.policy))), op.source.id)


def _sources(op: InstructionContract) -> Iterator[Source]:
    """Yield every code of a narrow source; directed sources of a wide one, with random integers where lanes draw."""
    if derive.codes(op.source).bits <= NARROW:
        drawn = [None] if op.facts.random is None else [0, (1 << op.rounding.random_bits) - 1]
        for code in range(1 << derive.codes(op.source).bits):
            for r in drawn:
                yield code, _flags(code, op.source, op.to), r
        return
    for case in cases_convert.directed(_conversion(op)):
        yield case.values[0], case.flags, case.values[1] if op.facts.random is not None else None


def _flags(code: int, source: Format, to: Format) -> tuple[str, ...]:
    """Return what a code of a narrow source is about."""
    value = decode_code(code, source)
    found = ["code"] + (["negative"] if value.sign else [])
    if value.kind != "finite":
        return (*found, "inf" if value.kind == "inf" else "nan_quiet")
    if value.is_zero:
        return (*found, "zero")
    if not isinstance(to.facts, CodebookFacts):
        lost = locate(value.magnitude, to).lost
        found += ["value"] if not lost else ["tie"] if lost == Fraction(1, 2) else []
        found += ["overflow"] if value.magnitude > largest(to) else []
    return tuple(found)


def _few(op: InstructionContract, most: int) -> list[Source]:
    """Return some of the directed sources, every flag among them."""
    listed = list(_sources(op))
    if len(listed) <= most:
        return listed
    chosen = smoke([Input("", flags, (code, r or 0)) for code, flags, r in listed], most)
    return [(case.values[0], case.flags, None if op.facts.random is None else case.values[1]) for case in chosen]


def _dealt(op: InstructionContract, listed: Sequence[Source], scale: int, group: str, turns: int = MOST_TURNS) -> Iterator[Input]:
    """Deal sources to the lanes, each to several of them."""
    lanes = op.lanes
    for turn in range(min(turns, lanes)):
        shift = turn * max(1, lanes // MOST_TURNS)
        for start in range(0, len(listed), lanes):
            part = [listed[(start + (lane + shift) % lanes) % len(listed)] for lane in range(lanes)]
            flags = dict.fromkeys(flag for _, named, _ in part for flag in named)
            yield case(
                op, group, (*flags, *(("lanes",) if lanes > 1 else ())), [item[0] for item in part], [item[2] or 0 for item in part], scale
            )


def case(op: InstructionContract, group: str, flags: Sequence[str], codes: Sequence[int], drawn: Sequence[int], scale: int) -> Input:
    """Return the case of source codes and random integers of all lanes, the lowest first; lane 0 has its own where lanes share bits."""
    facts = op.facts
    values = list(insn_registers.operands_of(facts, codes).values())
    values += [scale] if facts.scale is not None else []
    if facts.random is not None:
        word = 0
        for lane in reversed(range(op.lanes)):
            places = insn_registers.places(insn_registers.fields(facts.random, op.lanes)[lane])
            for number, bit in enumerate(places):
                picked = drawn[lane] >> (op.rounding.random_bits - 1 - number) & 1
                word = word & ~(1 << bit) | picked << bit
        values.append(word)
    return Input(group, tuple(flags), tuple(values))


def _single_lanes(op: InstructionContract) -> Iterator[Input]:
    """Yield one lane with the largest value, the others zero, and the reverse."""
    top = code_at(largest(op.to), op.source)
    for lane in range(op.lanes if op.lanes > 1 else 0):
        for inner, outer in ((top, 0), (0, top)):
            codes = [inner if place == lane else outer for place in range(op.lanes)]
            yield case(op, "one_lane", ("one_lane",), codes, [0] * op.lanes, neutral(op))


def _single_bits(op: InstructionContract) -> Iterator[Input]:
    """Yield single random bits, and all but one, under sources whose lost part just carries with that bit."""
    random = op.facts.random
    assert random is not None
    bits, values = op.rounding.random_bits, grid_values(op.to)
    low, high = values[1], values[2]
    for lane in range(op.lanes):
        for number, bit in enumerate(insn_registers.places(insn_registers.fields(random, op.lanes)[lane])):
            lost = 1 - Fraction(1 << (bits - 1 - number), 1 << bits)
            code = code_at(low + lost * (high - low), op.source)
            for word in (1 << bit, (1 << random.bits) - 1 ^ 1 << bit):
                found = case(op, "random_bit", ("sr_threshold", "random_bit"), [code] * op.lanes, [0] * op.lanes, neutral(op))
                yield found._replace(values=(*found.values[:-1], word))


def neutral(op: InstructionContract) -> int:
    """Return the scale operand that changes nothing; 0 where there is none."""
    scale = op.facts.scale
    if scale is None:
        return 0
    if scale.reads == "fp32_exponent":
        fp32 = get("format", "fp32")
        return int(fp32.facts.bias << fp32.facts.frac_bits)
    return int(get("format", "e8m0").facts.bias) if scale.reads == "e8m0" else 0


def scales(scale: ScaleOperand) -> list[tuple[int, tuple[str, ...]]]:
    """Return scale operands: the ends, beside one, NaN, and bits that must be ignored."""
    ones = (1 << scale.bits) - 1
    if scale.reads in ("signed_exponent", "unsigned_exponent"):
        sign = 1 << (scale.bits - 1)
        return [(raw, ("scale_code",)) for raw in dict.fromkeys((1, 2, 3, sign - 1, sign, ones - 1, ones))]
    fp32 = get("format", "fp32")
    shift = fp32.facts.frac_bits if scale.reads == "fp32_exponent" else 0
    bias, top = fp32.facts.bias, (1 << fp32.facts.exp_bits) - 1
    found: list[tuple[int, tuple[str, ...]]] = [
        (field << shift, ("scale_code",)) for field in (0, 1, bias - 3, bias - 1, bias + 1, bias + 2, top - 1)
    ]
    found.append((top << shift, ("nan_scale",)))
    if shift:
        one, fraction = bias << shift, (1 << shift) - 1
        found += [(one | fraction, ("scale_code",)), (one | 1, ("scale_code",)), (one | 1 << (scale.bits - 1), ("scale_code",))]
        found.append((top << shift | 1 << (shift - 1), ("nan_scale",)))
    return found


def _quantizer(op: InstructionContract, block: Input, place: int) -> Input:
    """Return the case of a block; signs take turns."""
    ts = [block.values[1]] if op.facts.amax_operand is not None else []
    lanes = op.lanes
    turns = (0, (1 << lanes) - 1, 1, 1 << (lanes - 1), 0xD7E8 & ((1 << lanes) - 1))
    signs = [turns[place % len(turns)] & ((1 << SIGN_BITS) - 1)] if op.facts.signs_operand is not None else []
    return Input(block.group, block.flags, (block.values[0], *ts, *signs), block.comment)


def random(op: InstructionContract, stem: str, start: int, stop: int) -> list[Input]:
    """Return random rows: even ones any bits, odd ones with exponents near the range of the result."""
    if op.facts.performs == "quantize":
        drawn = cases_quantize.random(op.quantizer, stem, start, stop)
        return [_quantizer(op, block, start + place) for place, block in enumerate(drawn)]
    words = 2 * op.lanes + 2
    out = []
    for number, row in zip(range(start, stop), row_words(stem, start, stop, words), strict=True):
        draw = partial(_any if number % 2 == 0 else _near, op)
        codes = [draw(row[2 * lane] | row[2 * lane + 1] << 32) for lane in range(op.lanes)]
        found = case(op, "random", ("random",), codes, [0] * op.lanes, _scale(op, row[-2]))
        if op.facts.random is not None:
            found = found._replace(values=(*found.values[:-1], row[-1] & ((1 << op.facts.random.bits) - 1)))
        out.append(found)
    return out


def _any(op: InstructionContract, word: int) -> int:
    return word & ((1 << derive.codes(op.source).bits) - 1)


def _near(op: InstructionContract, word: int) -> int:
    """Return a source between a quarter of the smallest result and twice the largest."""
    if derive.codes(op.source).bits <= NARROW:
        return _any(op, word)
    low, high = code_at(grid_values(op.to)[1] / 4, op.source), code_at(2 * largest(op.to), op.source)
    return low + (word >> 1) % (high - low + 1) | (derive.codes(op.source).sign_bit if word & 1 else 0)


def _scale(op: InstructionContract, word: int) -> int:
    """Return a scale of -4 .. 3, or the operand that changes nothing."""
    scale: Any = op.facts.scale
    if scale is None or word & 8:
        return neutral(op)
    step = (word & 7) - 4
    if scale.reads == "fp32_exponent":
        step <<= int(get("format", "fp32").facts.frac_bits)
    raw = word & 7 if scale.reads == "unsigned_exponent" else neutral(op) + step
    return raw & ((1 << int(scale.bits)) - 1)
