"""A datapath of levels with its operands chosen, and what follows: shapes, units, widths, what a level loses, where random words go.

Nothing here adds or rounds a number. Bounds are exact: they come from the largest and the finest value that the codes of a format name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from emu.base.caches import Cache, lazy
from emu.base.errors import ShapeError, SpecError
from emu.spec import derive
from emu.spec.datapath import DatapathPlan, choose_pair, choose_scale, choose_size, levels_of, pairs, resolve
from emu.spec.ieee import direction, is_binary32, same_facts
from emu.spec.models import Datapath, Format, Rounding
from emu.spec.models.datapath import AlignFacts, DatapathFacts, RoundFacts, ScaleFacts, SpecialFacts
from emu.spec.models.format import FloatFacts
from emu.spec.models.levels import CutHold, DatapathLevels, FixedHold, FloatHold, Hold, Level, LevelAlign, LevelScale
from emu.spec.models.rounding import PerElement
from emu.spec.reach import Extent, Reach, aligned_sum, bits_beside_c, extent, reach, times
from emu.spec.registry import digest, get
from emu.spec.steps import in_levels

MOST = 1 << 64  # values of a lot that takes all of K: more than any memory holds


class LevelFault(SpecError):
    """A level that cannot be. path: the place under `facts`."""

    def __init__(self, path: tuple[str | int, ...], why: str) -> None:
        super().__init__(why)
        self.path = path


@dataclass(frozen=True)
class AlignPlan:
    """The numbers of an aligned addition. frac_bits: F.   integer_bits: I, None without an adder width.   floor: least E or None."""

    frac_bits: int
    integer_bits: int | None
    floor: int | None

    @property
    def adder_bits(self) -> int | None:
        """F + I + 1, or None where the sum is unlimited."""
        return None if self.integer_bits is None else self.frac_bits + self.integer_bits + 1


@dataclass(frozen=True)
class LevelPlan:
    """One level with its numbers.

    number: 1 for the first above the products.   values: reach of what it leaves, whatever K is (an aligned sum: of one instruction).
    sums: reach of its sums before they are held.   extent: of one addition.   unit_exp: of a register in fixed point, else None.
    loses: None where no value that can come is changed by `hold`, with why in `proof`; else a value that the hold changes.
    """

    number: int
    facts: Level
    align: AlignPlan | None
    sums: Reach
    values: Reach
    extent: Extent
    unit_exp: int | None
    loses: Fraction | None
    proof: str


@dataclass(frozen=True)
class LevelsPlan:
    """A datapath of levels with formats, scale format and block size chosen. c: None without C.   block: products of a scale, or 0."""

    datapath: Datapath
    a: Format
    b: Format
    scale: Format | None
    block: int
    c: Format | None
    d: Format
    product_unit_exp: int | None
    levels: tuple[LevelPlan, ...]

    @property
    def facts(self) -> DatapathLevels:
        """The facts of the datapath."""
        return levels_of(self.datapath)

    @property
    def name(self) -> str:
        """The id, followed by what was chosen where the datapath leaves it free."""
        facts, offered = self.facts, self.facts.offered
        parts = [self.datapath.id]
        parts += [f"{self.a.id}x{self.b.id}"] if len(pairs(facts)) > 1 else []
        parts += [self.scale.id] if self.scale is not None and offered is not None and len(offered.formats) > 1 else []
        parts += [str(self.block)] if offered is not None and len(offered.blocks) > 1 else []
        return "/".join(parts)

    @property
    def unused_bits(self) -> str:
        """What a set bit above a scale's code means: ignore or open."""
        return "open" if self.facts.offered is None else self.facts.offered.unused_bits

    @property
    def nan_code(self) -> int:
        """Code of a NaN result where no policy says it; the canonical one of the format where only the class is known."""
        stated = self.facts.special.nan
        return derive.codes(self.d).nan[0] if stated in ("any", "policy") else int(stated, 16)

    @lazy
    def loads_c(self) -> bool:
        """Is C rounded when it becomes the running value of the chain that it starts: where the register holds another format."""
        assert self.c is not None
        chain = next(level.facts for level in self.levels if level.facts.start == "c")
        hold = chain.hold
        return not (hold == "exact" or (isinstance(hold, FloatHold) and same_facts(get("format", hold.format), self.c)))

    @lazy
    def flag_levels(self) -> dict[str, frozenset[int]]:
        """Return flag -> the levels that raise it: 0 products, then as listed, then the result; empty where none are reported."""
        words, names = self.facts.flags, ["product", *(level.id for level in self.facts.levels), "out"]
        if words is None:
            return {}
        places = {flag: getattr(words.at, flag.lower()) for flag in words.report}
        return {flag: frozenset(i for i, name in enumerate(names) if at == "all" or name in at) for flag, at in places.items()}

    def signals(self, fmt: Format) -> bool:
        """Tell whether a NaN of an operand may signal."""
        return self.facts.flags is not None and fmt.id in self.facts.flags.signalling

    def shape(self, k: int) -> list[list[range]]:
        """Return for each level the children of each of its nodes. k: products of a row. Raises: ShapeError (the levels do not cover K)."""
        return shape(self.facts, k, self.block)

    def draws(self, k: int) -> list[Draw]:
        """Return the roundings of a row that draw, in the order of its random words: by instruction, level, node, then as they happen.

        A rounding belongs to the instruction of the last product that it sees.
        """
        return sorted(_draws(self, k), key=lambda draw: draw[:4])


class Draw(NamedTuple):
    """A rounding that takes a random word. level: 0 products, then as listed, then the result.   turn: its place in its node."""

    instruction: int
    level: int
    node: int
    turn: int
    rounding: Rounding


def shape(facts: DatapathLevels, k: int, block: int) -> list[list[range]]:
    """Return for each level the children of each of its nodes.

    With take.every n, node g * n + r of a lot g has the children g * of * n + r, then every n-th. Raises: ShapeError.
    """
    out: list[list[range]] = []
    count, wide = k, 1
    for level in facts.levels:
        every = level.take.every
        if level.of == "block" and (block % wide or not block):
            raise ShapeError(f"level {level.id}: a scale block of {block} products is no whole number of values of {wide} products")
        of = count // every if level.of == "all" else block // wide if level.of == "block" else level.of
        if of < 1 or count % (of * every):
            raise ShapeError(f"level {level.id}: {count} values are no whole number of lots of {of} x {every}: levels must cover K = {k}")
        lots = count // (of * every)
        out.append([range(g * of * every + r, (g + 1) * of * every, every) for g in range(lots) for r in range(every)])
        count, wide = lots * every, wide * of
    if count != 1:
        raise ShapeError(f"levels: the last one leaves {count} values of K = {k}, not one: end with a level of: all")
    return out


RUN = 4  # instructions of a row that runs through several, at least
MOST_INSTRUCTIONS = 64  # that are tried


def epilogue_plan(plan: LevelsPlan) -> DatapathPlan:
    """Return the plan of one product whose result and NaN are those of a datapath of levels: all that what follows the sum asks of a plan.

    plan: its result is binary32.
    """
    return resolve(plan.datapath.model_copy(update={"facts": _one_product(plan.a.id, plan.b.id, plan.d, f"0x{plan.nan_code:X}")}))


def binary32_plan() -> DatapathPlan:
    """Return a plan whose result is binary32 with one NaN, for what follows a sum of no datapath in particular."""
    facts = _one_product("fp32", "fp32", get("format", "fp32"), "0x7FFFFFFF")
    return resolve(Datapath(kind="datapath", id="binary32", title="one product", status="proposed", facts=facts, sources=()))


def _one_product(a: str, b: str, d: Format, nan: str) -> DatapathFacts:
    assert isinstance(d.facts, FloatFacts)
    return DatapathFacts(
        a=(a,), b=(b,), c=d.id, d=d.id, k=1, step=1, group=1,
        scale=ScaleFacts(apply="none"), align=AlignFacts(include_c="yes", fraction_bits="exact", floor="none"),
        round=RoundFacts(mode="rne", keep=d.facts.frac_bits), special=SpecialFacts(nan=nan),
    )  # fmt: skip


def products_of_row(plan: LevelsPlan, runs: bool) -> int:
    """Return K of a row of golden vectors: one instruction, or a run of at least RUN; more where the levels or blocks need more.

    Raises: SpecError (the levels take one instruction alone).
    """
    size = math.lcm(plan.facts.k, plan.block or 1)
    for count in range(RUN if runs else 1, MOST_INSTRUCTIONS + 1):
        try:
            plan.shape(size * count)
        except ShapeError:
            continue
        return size * count
    what = "its levels take one instruction alone: dot is its contract" if runs else f"its levels cover no K up to {size * count}"
    raise SpecError(f"datapath {plan.datapath.id}: {what}")


def turns(level: Level, children: int, plan: LevelsPlan) -> Iterator[tuple[int, Hold]]:
    """Yield the roundings of one node in the order they happen, each with how many of its children it has seen the last of (0: none).

    Chain: C as it is loaded, then each addition. Pairwise: the pairs of the first round, then of the next. Scales come last.
    """
    if level.add == "chain":
        by = level.by or 1
        if level.start == "c" and plan.loads_c:
            yield 0, level.hold
        yield from ((min(first + by, children), level.hold) for first in range(0, children, by))
    elif level.add == "pairwise":
        ends = list(range(1, children + 1))
        if children == 1:
            yield 1, level.hold
        while len(ends) > 1:
            yield from ((ends[i + 1], level.hold) for i in range(0, len(ends) - 1, 2))
            ends = [ends[min(i + 1, len(ends) - 1)] for i in range(0, len(ends), 2)]
    else:
        yield children, level.hold
    yield from ((children, hold) for hold in scale_turns(level.scale))


def scale_turns(scale: LevelScale | str) -> tuple[Hold, ...]:
    """Return the roundings of a multiplication by the scales: scale of A, scale of B, their product, the term."""
    return () if isinstance(scale, str) else (scale.each, scale.each, scale.product, scale.term)


def rounding_of(hold: Hold) -> Rounding | None:
    """Return the rounding of a hold, or None where nothing is rounded."""
    return None if hold == "exact" or hold.rounding is None else get("rounding", hold.rounding)


def _draws(plan: LevelsPlan, k: int) -> Iterator[Draw]:
    facts = plan.facts
    if not any(rounding.random_bits for rounding in roundings(facts)):
        return
    last = list(range(k))
    for node in range(k):
        for turn, hold in enumerate((facts.products.hold, *scale_turns(facts.products.scale))):
            yield from _draw(hold, Draw(node // facts.k, 0, node, turn, _none()))
    for number, (level, nodes) in enumerate(zip(facts.levels, plan.shape(k), strict=True), 1):
        for node, children in enumerate(nodes):
            for turn, (seen, hold) in enumerate(turns(level, len(children), plan)):
                product = max((last[child] for child in children[:seen]), default=0)
                yield from _draw(hold, Draw(product // facts.k, number, node, turn, _none()))
        last = [max(last[child] for child in children) for children in nodes]
    yield from _draw(facts.out, Draw((k - 1) // facts.k, len(facts.levels) + 1, 0, 0, _none()))


def _none() -> Rounding:
    found: Rounding = get("rounding", "rz")
    return found


def _draw(hold: Hold, place: Draw) -> Iterator[Draw]:
    rounding = rounding_of(hold)
    if rounding is not None and rounding.random_bits:
        yield place._replace(rounding=rounding)


def holds_of(facts: DatapathLevels) -> list[Hold]:
    """Return every hold of a datapath: of products, scales, levels and the result."""
    levels = [hold for level in facts.levels for hold in (level.hold, *scale_turns(level.scale))]
    return [facts.products.hold, *scale_turns(facts.products.scale), *levels, facts.out]


def roundings(facts: DatapathLevels) -> list[Rounding]:
    """Return every rounding that the holds of a datapath name."""
    return [rounding for hold in holds_of(facts) if (rounding := rounding_of(hold)) is not None]


_plans: Cache[tuple[str, ...], LevelsPlan] = Cache("emu.spec.levels._plans", 1024)


def resolve_levels(
    datapath: str | Datapath,
    a: str | Format | None = None,
    b: str | Format | None = None,
    scale: str | Format | None = None,
    block: int | None = None,
) -> LevelsPlan:
    """Return a datapath of levels with its operands chosen; what it does not leave free may be left out.

    a, b, scale: format ids or models.   block: elements per scale.
    A chain of fused steps is said in levels again.
    Raises: SpecError (a choice that is missing or not offered; an unknown datapath), LevelFault (a level that cannot be).
    """
    model = in_levels(get("datapath", datapath))
    facts = levels_of(model)
    offered = facts.offered
    first, second = choose_pair(model, facts, a, b)
    chosen = choose_scale(model, () if offered is None else offered.formats, None if scale is None else get("format", scale))
    size = choose_size(model, () if offered is None else offered.blocks, block)
    named = [f"{item.id} {digest(item)}" for item in (model, first, second, chosen) if item is not None]
    key = (*named, str(size))
    found = _plans.get(key)
    return found if found is not None else _plans.keep(key, _plan(model, first, second, chosen, size or 0))


def level_plans_of(datapath: str | Datapath) -> Iterator[LevelsPlan]:
    """Yield every choice of operands, scale format and block size that a datapath of levels takes, in the order of the file."""
    model = in_levels(get("datapath", datapath))
    facts, offered = levels_of(model), levels_of(model).offered
    for a, b in pairs(facts):
        for scale in (None,) if offered is None else offered.formats:
            yield from (resolve_levels(model, a, b, scale, block) for block in ((None,) if offered is None else offered.blocks))


def _plan(model: Datapath, a: Format, b: Format, scale: Format | None, block: int) -> LevelsPlan:
    facts = levels_of(model)
    try:
        counts = [len(nodes[0]) for nodes in shape(facts, facts.k, block)]
    except ShapeError as error:
        raise LevelFault(("levels",), str(error)) from None
    c: Format | None = None if facts.c == "none" else get("format", facts.c)
    values, unit, _, _ = _held(times(reach(a), reach(b)), facts.products.hold, ("products", "hold"))
    values = _scaled(values, facts.products.scale, facts, scale, ("products", "scale"))
    levels: list[LevelPlan] = []
    for number, (level, count) in enumerate(zip(facts.levels, counts, strict=True), 1):
        levels.append(_level(number, level, count, values, facts, scale, c))
        values = levels[-1].values
    if c is not None and facts.out.plus == "c":
        values = _sum([(1, values), (1, reach(c))], "zero")
    _held(values, facts.out, ("out",))
    return LevelsPlan(model, a, b, scale, block, c, get("format", facts.out.format), unit, tuple(levels))


def _level(
    number: int, level: Level, count: int, values: Reach, facts: DatapathLevels, scale: Format | None, c: Format | None
) -> LevelPlan:
    place: tuple[str | int, ...] = ("levels", number - 1)
    carried = c if level.start == "c" or level.plus == "c" else None
    running = get("format", level.hold.format) if isinstance(level.hold, FloatHold) and level.add == "chain" else carried
    align = None if level.align is None else _align(level, level.align, count, values, running, place)
    if align is None or level.align is None:
        sums = _sum(
            [(MOST if level.of == "all" else count, values)] + ([(1, reach(carried))] if carried is not None else []), level.exponent
        )
        if level.add in ("chain", "pairwise") and isinstance(level.hold, FloatHold):
            own = reach(get("format", level.hold.format))  # what one addition gets to see
            sums = _sum([(level.by or 1, values), (1, own)], "zero")
        goes = extent(1, sums, None)
    else:
        terms = level.by or 1 if level.add == "chain" else 2 if level.add == "pairwise" else count
        sums = _aligned(terms, values, running, level.align, align)
        many = MOST if level.of == "all" and level.add == "aligned" else terms
        goes = _extent(many, values, running, level, level.align, align)
    held, unit, loses, proof = _held(sums, level.hold, (*place, "hold"))
    return LevelPlan(number, level, align, sums, _scaled(held, level.scale, facts, scale, (*place, "scale")), goes, unit, loses, proof)


def _extent(terms: int, values: Reach, running: Format | None, level: Level, words: LevelAlign, align: AlignPlan) -> Extent:
    """Return how far an aligned addition goes; in a tree its terms are held sums too."""
    own = None if running is None else reach(running)
    if level.add == "pairwise" and isinstance(level.hold, FloatHold):
        own = reach(get("format", level.hold.format))
        own = replace(own, min_exp=own.min_exp + min(words.raised, 0), max_exp=own.max_exp + max(words.raised, 0))
    bits = (align.adder_bits or 0) if words.beyond == "wrap" else 0
    normalised = words.exponent == "normalised"
    return extent(
        terms, values, own, align.frac_bits, raised=words.raised, normalised=normalised, floor=align.floor, adder_bits=bits
    )  # fmt: skip


def _sum(parts: list[tuple[int, Reach]], exponent: str) -> Reach:
    """Return what an exact sum reaches. parts: how many values of which reach."""
    largest = sum((count * part.largest for count, part in parts), Fraction(0))
    lsb = min(part.lsb_exp for _, part in parts)
    if exponent == "zero":
        return Reach(lsb, 0, 0, largest, largest)
    significand = sum((count * part.significand for count, part in parts), Fraction(0))
    return Reach(lsb, min(part.min_exp for _, part in parts), max(part.max_exp for _, part in parts), largest, significand)


def _align(level: Level, words: LevelAlign, count: int, values: Reach, running: Format | None, place: tuple[str | int, ...]) -> AlignPlan:
    """Derive F, I and the floor of an aligned addition. Raises: LevelFault."""
    at = (*place, "align")
    if level.add in ("chain", "pairwise") and not isinstance(level.hold, FloatHold):
        raise LevelFault((*place, "hold"), f"level {level.id}: what is aligned names an exponent: hold it in a float format")
    if get("rounding", words.cut).random_bits or (words.cuts_running and get("rounding", words.cuts_running.cut).random_bits):
        raise LevelFault((*at, "cut"), f"level {level.id}: {words.cut} draws random bits: only a hold may")
    raised = words.raised
    assert words.fraction_bits != "open"  # levels_of refuses what is open
    frac_bits = values.max_exp + raised - values.lsb_exp if words.fraction_bits == "derived" else words.fraction_bits
    if frac_bits < 0:
        raise LevelFault((*at, "fraction_bits"), f"level {level.id}: {frac_bits} bits are kept: give a number of bits, 0 or more")
    if words.cuts_running and running is None:
        raise LevelFault((*at, "running"), f"level {level.id}: there is no running value to cut: say same")
    terms = level.by or 1 if level.add == "chain" else 2 if level.add == "pairwise" else count
    one = None if words.exponent == "normalised" else values.significand
    total = aligned_sum(terms, one, raised, frac_bits, direction(get("rounding", words.cut)) != "rz")
    if running is None:
        needed = int(total).bit_length()
    elif isinstance(running.facts, FloatFacts):
        needed = bits_beside_c(total)
    else:  # E is that of its unit at least: no more of it lies above 2^E than its magnitude, and 1 where it may be rounded up
        cuts = (words.cut, words.cuts_running.cut) if words.cuts_running else (words.cut,)
        rounds_up = any(direction(get("rounding", name)) != "rz" for name in cuts)
        needed = int(total + reach(running).significand + rounds_up).bit_length()
    stated = needed if words.integer_bits == "derived" else words.integer_bits
    bits = stated if isinstance(stated, int) else None
    if bits is not None and bits < needed and words.beyond != "wrap":
        raise LevelFault(
            (*at, "integer_bits"), f"level {level.id}: {bits} bits overflow: the largest sum needs {needed}: say so, or beyond: wrap"
        )
    if bits is None and words.beyond == "wrap":
        raise LevelFault((*at, "beyond"), f"level {level.id}: wrap needs an adder of a stated width: give integer_bits")
    floor = words.floor if isinstance(words.floor, int) else None
    if words.floor == "derived":
        if bits is None or not isinstance(level.hold, FloatHold):
            raise LevelFault((*at, "floor"), f"level {level.id}: a derived floor needs integer_bits and a hold in a float format")
        floor = reach(get("format", level.hold.format)).min_exp - bits
    return AlignPlan(frac_bits, bits, floor)


def _aligned(terms: int, values: Reach, running: Format | None, words: LevelAlign, align: AlignPlan) -> Reach:
    """Return what an aligned sum reaches; it names E."""
    parts = [values] + ([] if running is None else [reach(running)])
    top, low = max(part.max_exp for part in parts) + max(words.raised, 0), min(part.min_exp for part in parts)
    if align.floor is not None:
        top, low = max(top, align.floor), max(low, align.floor)
    spare = Fraction(terms + 1) * Fraction(2) ** (top - align.frac_bits)
    largest = terms * values.largest + (Fraction(0) if running is None else reach(running).largest) + spare
    lsb = max(min(part.lsb_exp for part in parts), low - align.frac_bits - (1 << 12 if words.exponent == "normalised" else 0))
    significand = terms * max(values.significand, Fraction(2)) + spare / Fraction(2) ** top
    significand += max(Fraction(2), Fraction(0) if running is None else reach(running).significand)
    return Reach(lsb, low, top, largest, significand)


def _scaled(values: Reach, words: LevelScale | str, facts: DatapathLevels, scale: Format | None, place: tuple[str | int, ...]) -> Reach:
    """Return what values times both scales reach."""
    if isinstance(words, str):
        return values
    assert scale is not None and facts.offered is not None
    one = reach(scale)
    significand = max(reach(get("format", name)).significand for name in facts.offered.formats) ** 2
    both = Reach(2 * one.lsb_exp, 2 * one.min_exp, 2 * one.max_exp, one.largest**2, significand)
    if words.each != "exact":
        own = reach(get("format", words.each.format))
        both = Reach(2 * own.lsb_exp, 2 * own.min_exp, 2 * own.max_exp, own.largest**2, own.significand**2)
    both, _, _, _ = _held(both, words.product, (*place, "product"))
    return _held(times(values, both), words.term, (*place, "term"))[0]


def _held(values: Reach, hold: Hold, place: tuple[str | int, ...]) -> tuple[Reach, int | None, Fraction | None, str]:
    """Return what a hold leaves: its reach, the unit of a fixed point, a value that it changes or None, and why. Raises: LevelFault."""
    if hold == "exact":
        return values, None, None, "nothing is rounded"
    if isinstance(hold, CutHold):
        return _cut(values, hold), None, Fraction(2) ** values.lsb_exp * ((1 << (hold.significant_bits or 1)) + 1), "the low bits are cut"
    if isinstance(hold, FixedHold):
        unit = values.lsb_exp if hold.unit_exp == "derived" else hold.unit_exp
        if abs(unit) > 1 << 14:
            raise LevelFault((*place, "unit_exp"), f"unit_exp: 2^{unit} is no unit: give one between 2^-16384 and 2^16384")
        top = Fraction(2) ** (hold.bits - 1 + unit)
        left = Reach(unit, 0, 0, top, top)
        finest, largest, name = unit, top - Fraction(2) ** unit, f"{hold.bits} bits of 2^{unit}"
        if unit <= values.lsb_exp and values.largest <= largest:
            left = Reach(values.lsb_exp, 0, 0, values.largest, values.largest)
    else:
        fmt: Format = get("format", hold.format)
        if not isinstance(fmt.facts, FloatFacts) or fmt.facts.subnormals == "no" or fmt.facts.signed == "no":
            raise LevelFault((*place, "format"), f"format: {fmt.id} is no signed float format with subnormals: nothing is held in it")
        left = reach(fmt)
        finest, largest, name = left.lsb_exp, left.largest, fmt.id
    loses, proof = _lost(values, finest, largest, hold, name)
    rounds = values.lsb_exp < finest if isinstance(hold, FixedHold) else loses is not None  # what overflows is not rounded
    if rounds and hold.rounding is None:
        raise LevelFault((*place, "rounding"), f"rounding: {name} does not hold {loses}, for one ({proof}): say how it is rounded")
    return left, finest if isinstance(hold, FixedHold) else None, loses, proof


def _lost(values: Reach, finest: int, largest: Fraction, hold: FixedHold | FloatHold, name: str) -> tuple[Fraction | None, str]:
    """Return a value that a register changes and why, or None and the proof that there is none."""
    if values.lsb_exp < finest:
        return Fraction(2) ** values.lsb_exp, f"its unit 2^{finest} is coarser than 2^{values.lsb_exp}"
    if isinstance(hold, FloatHold):
        facts = get("format", hold.format).facts
        kept = facts.frac_bits if hold.keep is None else hold.keep
        units = int(values.largest / Fraction(2) ** values.lsb_exp)
        same = values == reach(get("format", hold.format)) and hold.keep is None
        if units.bit_length() > kept + 1 and not same:
            return Fraction(2) ** values.lsb_exp * ((1 << (kept + 1)) + 1), f"more than {kept + 1} significant bits"
    if values.largest > largest:
        return largest + Fraction(2) ** max(finest, values.lsb_exp), f"sums go beyond {largest}"
    return None, f"{name} reaches {largest} in units of 2^{finest}; values are multiples of 2^{values.lsb_exp} up to {values.largest}"


def _cut(values: Reach, hold: CutHold) -> Reach:
    """Return what a cut number reaches: no more than the next power of two, or one unit more."""
    if hold.significant_bits is not None:
        return Reach(values.lsb_exp, values.min_exp, values.max_exp, 2 * values.largest, 2 * values.significand)
    assert hold.fraction_bits is not None
    unit = Fraction(1, 1 << hold.fraction_bits)
    return Reach(
        max(values.lsb_exp, values.min_exp - hold.fraction_bits),
        values.min_exp,
        values.max_exp,
        values.largest + Fraction(2) ** values.max_exp * unit,
        values.significand + unit,
    )


def _check_rounding(rounding: Rounding) -> None:
    facts = rounding.facts
    if facts.add == "te_fma":
        raise LevelFault((), f"rounding {rounding.id} is software: no register rounds with it")
    if facts.add == "nearest" or "odd_code" in (facts.beyond_max.positive, facts.beyond_max.negative):
        raise LevelFault((), f"rounding {rounding.id} is one of conversions: no register takes add: nearest or beyond_max: odd_code")


def check_levels(model: Datapath) -> None:
    """Refuse a datapath of levels that cannot be. Raises: LevelFault with the place under `facts`, SpecError."""
    facts = model.facts
    assert isinstance(facts, DatapathLevels)
    _check_operands(facts)
    for rounding in roundings(facts):
        _check_rounding(rounding)
        if rounding.random_bits and not isinstance(rounding.facts.random, PerElement):
            raise LevelFault((), f"rounding {rounding.id} shares a word between elements: give one with an integer for each rounding")
    places: list[tuple[tuple[str | int, ...], Hold]] = [(("products", "hold"), facts.products.hold), (("out",), facts.out)]
    places += [(("levels", i, "hold"), level.hold) for i, level in enumerate(facts.levels)]
    for place, hold in places:
        if isinstance(hold, FloatHold):
            _check_float(hold, place)
    _check_result(facts)
    _check_words(facts)
    _check_flags(facts)
    for number, level in enumerate(facts.levels):
        if level.align is not None and level.align.open_words:
            if not model.open:
                why = f"level {level.id}: what is open needs an open point that says what would settle it"
                raise LevelFault(("levels", number, "align", level.align.open_words[0]), why)
            return
    for plan in level_plans_of(model):
        for number, level in enumerate(facts.levels, 1):
            if level.scale != "none":
                _check_blocks(plan, number)


def _check_words(facts: DatapathLevels) -> None:
    """Refuse words of one level that have no meaning where they stand. Raises: LevelFault."""
    _check_scale(facts.products.scale, ("products", "scale"))
    for number, level in enumerate(facts.levels):
        place: tuple[str | int, ...] = ("levels", number)
        _check_scale(level.scale, (*place, "scale"))
        if level.add == "chain" and level.exponent == "largest":
            raise LevelFault((*place, "exponent"), f"level {level.id}: a chain names what its hold names: leave exponent out")
        if level.scale != "none" and any(below.of == "all" for below in facts.levels[: number + 1]):
            raise LevelFault((*place, "scale"), f"level {level.id}: all of K has more than one scale block: scale a level below")


def _has_ieee_nan(fmt: Format) -> bool:
    return isinstance(fmt.facts, FloatFacts) and fmt.facts.nan == "ieee" and fmt.facts.frac_bits > 0


def _check_flags(facts: DatapathLevels) -> None:
    """Refuse flags of levels, formats and registers that cannot raise them. Raises: LevelFault."""
    words = facts.flags
    if words is None:
        return
    levels = ["product", *(level.id for level in facts.levels), "out"]
    for flag in ("NV", "OF"):
        places = getattr(words.at, flag.lower())
        if places != "all" and (flag not in words.report or not set(places) <= set(levels)):
            wrong = ", ".join(sorted(set(places) - set(levels))) or flag
            why = "is not reported" if flag not in words.report else f"is no level: {', '.join(levels)} are"
            raise LevelFault(("flags", "at", flag.lower()), f"flags: {wrong} {why}")
    given = (facts.a, facts.b, () if facts.offered is None else facts.offered.formats, (facts.c,))
    operands = {name for names in given for name in names}
    for names in given:
        found = {name for name in names if name != "none" and _has_ieee_nan(get("format", name))}
        if found & set(words.signalling) and not found <= set(words.signalling):
            why = "of one operand, formats with the NaNs of IEEE 754 signal together or not at all"
            raise LevelFault(("flags", "signalling"), f"flags: {', '.join(sorted(found - set(words.signalling)))} is left out: {why}")
    for name in words.signalling:
        if name not in operands or not _has_ieee_nan(get("format", name)):
            raise LevelFault(("flags", "signalling"), f"flags: {name} is no operand whose NaNs are those of IEEE 754: leave it out")
    if any(isinstance(hold, FloatHold) and hold.policy is not None for hold in holds_of(facts)):
        raise LevelFault(("flags",), "flags: what a policy makes of a value has none here: say keep, overflow and subnormals instead")


def _check_scale(scale: LevelScale | str, place: tuple[str | int, ...]) -> None:
    """Check what a multiplication by scales holds. Raises: LevelFault."""
    if isinstance(scale, str):
        return
    for key in ("each", "product", "term"):
        hold = getattr(scale, key)
        if isinstance(hold, FloatHold):
            _check_float(hold, (*place, key))
        elif isinstance(hold, FixedHold):
            raise LevelFault((*place, key), f"{key}: a register in fixed point holds sums: say a float format, or hold the next level")


def _check_operands(facts: DatapathLevels) -> None:
    if not pairs(facts) or any(a not in facts.a or b not in facts.b for a, b in pairs(facts)):
        raise LevelFault(("pairs",), "pairs: must be made of formats in a and b")
    for key in ("a", "b"):
        for name in getattr(facts, key):
            if not derive.codes(get("format", name)).has_zero:
                raise LevelFault((key,), f"{key}: {name} holds no zero: it cannot be an element")
    for i, level in enumerate(facts.levels):
        if (level.start == "c" or level.plus == "c") and level.of != "all":
            raise LevelFault(("levels", i), f"level {level.id}: C enters one sum of all of K: say of: all")


def _check_float(hold: FloatHold, place: tuple[str | int, ...]) -> None:
    fmt: Format = get("format", hold.format)
    codes = derive.codes(fmt)
    if isinstance(fmt.facts, FloatFacts) and fmt.facts.lists_inf:
        raise LevelFault((*place, "format"), f"format: {fmt.id} lists its infinities: values are held in formats with those of IEEE 754")
    if hold.policy is not None:
        derive.policy_entry(get("policy", hold.policy), fmt)
    elif codes.inf is None and hold.overflow != "saturate":
        raise LevelFault((*place, "overflow"), f"overflow: {fmt.id} has no infinity: say saturate, or name a policy")
    if isinstance(fmt.facts, FloatFacts) and hold.keep is not None and hold.keep > fmt.facts.frac_bits:
        raise LevelFault((*place, "keep"), f"keep: {fmt.id} has {fmt.facts.frac_bits} fraction bits, not {hold.keep}")


def _check_result(facts: DatapathLevels) -> None:
    """A NaN or infinite result needs a code."""
    d: Format = get("format", facts.out.format)
    codes, stated = derive.codes(d), facts.special.nan
    if facts.epilogue is not None and not is_binary32(d):
        raise LevelFault(("epilogue",), f"epilogue: tensor scales multiply a binary32 result, not {d.id}")
    if facts.out.policy is not None:
        return
    if stated not in ("any", "policy") and not derive.is_nan_code(int(stated, 16), d):
        raise LevelFault(("special", "nan"), f"special.nan: {stated} is no {d.id} NaN")
    if not codes.nan or codes.inf is None:
        lacks = "NaN" if not codes.nan else "infinity"
        raise LevelFault(("out",), f"out: {d.id} has no {lacks}: name a policy that says what becomes of it")


def _check_blocks(plan: LevelsPlan, number: int) -> None:
    """Every value that scales multiply must lie in one block."""
    facts = plan.facts
    level, k = facts.levels[number - 1], math.lcm(facts.k, plan.block)
    try:
        leaves = [[product] for product in range(k)]
        for nodes in plan.shape(k)[:number]:
            leaves = [[leaf for child in children for leaf in leaves[child]] for children in nodes]
    except ShapeError as error:
        raise LevelFault(("levels",), str(error)) from None
    if any(len({leaf // plan.block for leaf in lot}) != 1 for lot in leaves):
        raise LevelFault(
            ("levels", number - 1, "scale"),
            f"level {level.id}: a value of {len(leaves[0])} products does not lie in one scale block of {plan.block}: scale a level below",
        )
