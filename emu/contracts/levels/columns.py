"""The stage columns of a datapath of levels: what each level leaves, in widths that follow from the plan.

Columns of a level `<id>`, lane by lane:
    v_<id>      what it leaves: a code of the format that holds it, or a significand in two's complement
    ve_<id>     the exponent: what the value names, and the unit lies fraction bits below it; of a cut to significant bits that of the unit
    vc_<id>     its class: 0 a number, 1 NaN, 2 +infinity, 3 -infinity; where v_<id> cannot say it
    vl_<id>     does it raise E of the level above; where that looks at it and 0 may
    r_<id> ...  the same of the running value after each addition of a chain: lane node * additions + addition
A lane is one node. What NaN or infinity decided before anything was added is open. A number wider than WIDEST bits has no column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from emu.contracts.columns import Column
from emu.contracts.text import bits_needed
from emu.engines.exact.encode import attach_sign
from emu.engines.exact.levels import Held, Number
from emu.engines.exact.round import locate
from emu.engines.exact.value import power_of_two
from emu.spec import derive
from emu.spec.derive import OPEN
from emu.spec.levels import LevelPlan, LevelsPlan, resolve_levels
from emu.spec.models import Format
from emu.spec.models.levels import FixedHold, FloatHold, Hold, Level, LevelScale
from emu.spec.reach import Reach, frac_bits_of, reach
from emu.spec.registry import get

WIDEST: Final = 512  # bits of a lane
CLASSES: Final[tuple[Held | str, ...]] = ("number", "nan", "+inf", "-inf")


@dataclass(frozen=True)
class Kind:
    """How a value is written.

    code: a code of `fmt`.   fixed: units of 2^unit.   floating: significand with `unit` bits below the exponent that it names.
    cut: `unit` bits from the leading one on, with the exponent of the last.   wide: no column.
    named: a fixed-point number that names an exponent all the same.
    """

    how: Literal["code", "fixed", "floating", "cut", "wide"]
    unit: int = 0
    fmt: Format | None = None
    named: bool = False


@dataclass(frozen=True)
class Stage:
    """One stage of a level. name: of the level.   letter: v or r.   places: the stages of the reference model, lane by lane.

    bits: of a value.   exp_bits: 0 where it names none.   tells_class, tells_live: whether there are such columns.
    """

    name: str
    letter: str
    kind: Kind
    places: tuple[str, ...]
    bits: int
    exp_bits: int
    tells_class: bool
    tells_live: bool

    def columns(self) -> Iterator[Column]:
        """Yield its columns."""
        count, kind = len(self.places), self.kind
        fmt = kind.fmt
        nan = fmt is not None and bool(derive.codes(fmt).nan)
        yield Column(f"{self.letter}_{self.name}", "stage", count * self.bits, fmt.id if fmt else None, count, self._means(), nan)
        if self.exp_bits:
            yield Column(f"{self.letter}e_{self.name}", "stage", count * self.exp_bits, None, count, "exponent, two's complement")
        if self.tells_class:
            yield Column(f"{self.letter}c_{self.name}", "stage", count * 2, None, count, "0 number, 1 NaN, 2 +infinity, 3 -infinity")
        if self.tells_live:
            yield Column(f"{self.letter}l_{self.name}", "stage", count, None, count, "1: it raises E of the level above")

    def _means(self) -> str:
        lanes = "the running value after each addition" if self.letter == "r" else "what each node leaves"
        unit = {
            "code": "codes",
            "fixed": f"two's complement, unit 2^{self.kind.unit}",
            "floating": f"two's complement, {self.kind.unit} bits below its exponent",
            "cut": "two's complement, the exponent is that of its unit",
        }[self.kind.how]
        return f"{lanes}: {unit}"

    def lanes(self, found: Mapping[str, Held]) -> Iterator[tuple[int, ...]]:
        """Yield the lanes of its columns, out of the stages of the reference model; OPEN where there is none."""
        values = [found.get(place) for place in self.places]
        told = [self._value(value) for value in values]
        yield tuple(value for value, _ in told)
        if self.exp_bits:
            yield tuple(exp if exp < 0 else exp - 1 for _, exp in told)
        if self.tells_class:
            yield tuple(OPEN if value is None else 0 if isinstance(value, Number) else CLASSES.index(value) for value in values)
        if self.tells_live:
            yield tuple(int(value.live) if isinstance(value, Number) else OPEN for value in values)

    def _value(self, value: Held | None) -> tuple[int, int]:
        """Return the lane of a value and 1 more than that of its exponent, as they are stored; OPEN where nobody knows."""
        if self.kind.how == "code":
            return (OPEN if value is None else self._code(value)), OPEN
        if not isinstance(value, Number):
            return OPEN, OPEN
        significand, exp = self._significand(value)
        assert bits_needed(significand) <= self.bits and (not self.exp_bits or bits_needed(exp) <= self.exp_bits), (self, value)
        return significand & ((1 << self.bits) - 1), (exp & ((1 << self.exp_bits) - 1)) + 1 if self.exp_bits else OPEN

    def _significand(self, value: Number) -> tuple[int, int]:
        kind = self.kind
        if not value.significand:
            return 0, value.exp if value.live and kind.how != "cut" else 0
        if kind.how == "cut":
            wide = abs(value.significand).bit_length() - kind.unit
            unit = value.lsb_exp + wide
            scaled = value.significand >> wide if wide >= 0 else value.significand << -wide
            assert wide <= 0 or scaled << wide == value.significand
            return scaled, unit
        unit = kind.unit if kind.how == "fixed" else value.exp - kind.unit
        scaled_value = value.significand * power_of_two(value.lsb_exp - unit)
        assert scaled_value.denominator == 1, (self, value)
        return int(scaled_value), value.exp

    def _code(self, value: Held) -> int:
        fmt = self.kind.fmt
        assert fmt is not None
        codes = derive.codes(fmt)
        if value == "nan":
            return codes.nan[0] if codes.nan else OPEN
        if not isinstance(value, Number):
            return OPEN if codes.inf is None else attach_sign(codes.inf, int(value == "-inf"), fmt)
        negative = value.significand < 0 or (not value.significand and value.negative)
        return attach_sign(locate(abs(value.significand) * power_of_two(value.lsb_exp), fmt).code, int(negative), fmt)


def stages_of(plan: LevelsPlan, k: int) -> list[Stage]:
    """Return the stages of a row of K products, from the inside out.

    Products have one where something happens to them: they are held or scaled.   Tests: tests/contracts/test_contracts_levels.py.
    """
    wide = widened(plan, k)
    shape = plan.shape(k)
    special = _has_special(plan)
    words, out = plan.facts.products, []
    kind = _held(Kind("floating", frac_bits_of(plan.a) + frac_bits_of(plan.b)), words.hold, plan.product_unit_exp)
    kind = _scaled(kind, words.scale, plan)
    if words.hold != "exact" or words.scale != "none":
        places = tuple(f"product_{i}" for i in range(k))
        out.append(_stage("product", "v", kind, places, _products(plan), special, _looks(plan, 0)))
    for number, level in enumerate(plan.levels, 1):
        facts = level.facts
        name, nodes, far = facts.id, shape[number - 1], wide.levels[number - 1]
        before = _held(_added(far), facts.hold, level.unit_exp)
        kind = _scaled(before, facts.scale, plan)
        if facts.add == "chain":
            count = -(-len(nodes[0]) // (facts.by or 1))
            places = tuple(f"{name}_{node}_{turn}" for node in range(len(nodes)) for turn in range(count))
            out.append(_stage(name, "r", before, places, far.sums, special, False, held=facts.hold))
            if facts.scale == "none":
                continue
        places = tuple(f"{name}_{node}" for node in range(len(nodes)))
        hold: Hold = facts.hold if facts.scale == "none" else "exact"
        c = _c_significand(plan, facts)
        out.append(_stage(name, "v", kind, places, far.values, special, _looks(plan, number), held=hold, most=far.sums, c=c))
    return [stage for stage in out if stage.kind.how != "wide" and stage.bits <= WIDEST]


def _products(plan: LevelsPlan) -> Reach:
    """What products reach after they were held and scaled: that of an exact sum of one, which names their exponent."""
    one = Level(id="one", of=1, add="exact", exponent="largest")
    every = Level(id="every", of="all", add="exact")
    facts = plan.facts.model_copy(update={"levels": (one, every), "out": _rounds(plan.facts.out)})
    model = plan.datapath.model_copy(update={"facts": facts})
    return resolve_levels(model, plan.a, plan.b, plan.scale, plan.block or None).levels[0].sums


def widened(plan: LevelsPlan, k: int) -> LevelsPlan:
    """Return a plan whose reaches are those of K products: what takes all of K is said as a number, derived facts as they were derived."""
    facts, levels = plan.facts, []
    for level, nodes in zip(plan.levels, plan.shape(k), strict=True):
        words: dict[str, Any] = {"of": len(nodes[0])}
        if isinstance(level.facts.hold, FixedHold):
            words["hold"] = _rounds(level.facts.hold).model_copy(update={"unit_exp": level.unit_exp})
        elif isinstance(level.facts.hold, FloatHold):
            words["hold"] = _rounds(level.facts.hold)
        if level.facts.align is not None and level.align is not None:
            floor = "none" if level.align.floor is None else level.align.floor
            wraps = level.facts.align.beyond == "wrap"
            told = {"fraction_bits": level.align.frac_bits, "floor": floor}
            words["align"] = level.facts.align.model_copy(update=told | {"integer_bits": level.align.integer_bits if wraps else "none"})
        levels.append(level.facts.model_copy(update=words))
    changed = facts.model_copy(update={"k": k, "levels": tuple(levels), "out": _rounds(facts.out)})
    model = plan.datapath.model_copy(update={"facts": changed})
    return resolve_levels(model, plan.a, plan.b, plan.scale, plan.block or None)


def _rounds(hold: Any) -> Any:
    """Return a register that may lose something: what it holds is asked here, not whether it holds all."""
    return hold if hold.rounding is not None else hold.model_copy(update={"rounding": "rz"})


def _added(level: LevelPlan) -> Kind:
    """How the sums of a level are written, before they are held. level: of a widened plan."""
    if level.align is not None:
        return Kind("floating", level.align.frac_bits)
    return Kind("fixed", level.sums.lsb_exp, named=level.facts.exponent == "largest")


def _held(kind: Kind, hold: Hold, unit_exp: int | None) -> Kind:
    """How a value is written after it was held."""
    if hold == "exact":
        return kind
    if isinstance(hold, FloatHold):
        return Kind("code", fmt=get("format", hold.format))
    if isinstance(hold, FixedHold):
        assert unit_exp is not None
        return Kind("fixed", unit_exp)
    if hold.significant_bits is not None:
        return Kind("cut", hold.significant_bits)
    assert hold.fraction_bits is not None
    return Kind("fixed", -hold.fraction_bits) if kind.how == "fixed" and not kind.named else Kind("floating", hold.fraction_bits)


def _scaled(kind: Kind, words: LevelScale | str, plan: LevelsPlan) -> Kind:
    """How a value is written after the scales."""
    if isinstance(words, str):
        return kind
    assert plan.scale is not None
    each = 2 * frac_bits_of(plan.scale if words.each == "exact" else get("format", words.each.format))
    both = each if words.product == "exact" else frac_bits_of(get("format", words.product.format))
    if kind.how in ("cut", "wide") or kind.named:
        out = Kind("wide")
    elif kind.how == "fixed":
        out = Kind("floating", both - kind.unit)
    else:
        out = Kind("floating", both + (kind.unit if kind.fmt is None else frac_bits_of(kind.fmt)))
    return _held(out, words.term, None)


def _c_significand(plan: LevelsPlan, level: Level) -> Fraction:
    """The largest significand of a C that is a term of this level: an integer's is no number below 2."""
    return reach(plan.c).significand if level.plus == "c" and plan.c is not None else Fraction(0)


def _looks(plan: LevelsPlan, number: int) -> bool:
    """Does the level above align what this one leaves."""
    return number < len(plan.levels) and plan.levels[number].align is not None


def _stage(
    name: str,
    letter: str,
    kind: Kind,
    places: tuple[str, ...],
    values: Reach,
    special: bool,
    looks: bool,
    held: Hold = "exact",
    most: Reach | None = None,
    c: Fraction = Fraction(0),
) -> Stage:
    low = min(values.min_exp, values.lsb_exp, 0 if most is None else most.lsb_exp)
    largest = max(values.largest, Fraction(0) if most is None else most.largest)
    top = max(values.max_exp, int(largest).bit_length(), 0)
    exp_bits = max(bits_needed(2 * low - 64), bits_needed(2 * top + 64)) if kind.how in ("floating", "cut") or kind.named else 0
    if kind.how == "code":
        assert kind.fmt is not None
        bits = derive.codes(kind.fmt).bits
    elif kind.how == "fixed":
        bits = held.bits if isinstance(held, FixedHold) else int(largest / power_of_two(kind.unit)).bit_length() + 2
    elif kind.how == "cut":
        bits = kind.unit + 2
    else:
        bits = int(max(values.significand + c, Fraction(2)) * power_of_two(kind.unit)).bit_length() + 2
    lacks = kind.fmt is None or not derive.codes(kind.fmt).nan or derive.codes(kind.fmt).inf is None
    return Stage(name, letter, kind, places, bits, exp_bits, special and lacks, looks and kind.how not in ("code", "cut"))


def _has_special(plan: LevelsPlan) -> bool:
    """Tell whether NaN or infinity can come to be in a row."""
    facts = plan.facts
    operands = [fmt for fmt in (plan.a, plan.b, plan.scale, plan.c) if fmt is not None]
    holds: list[Any] = [facts.products.hold, *(level.hold for level in facts.levels)]
    for scale in (facts.products.scale, *(level.scale for level in facts.levels)):
        if not isinstance(scale, str):
            holds += [scale.each, scale.product, scale.term]
    return any(derive.codes(fmt).nan or derive.codes(fmt).inf is not None for fmt in operands) or any(
        isinstance(hold, FloatHold) or (isinstance(hold, FixedHold) and hold.overflow == "sticky_inf") for hold in holds
    )
