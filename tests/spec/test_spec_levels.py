"""Datapaths of levels: what the loader refuses, with file, line and reason, and what it derives."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from emu.base.errors import ShapeError, SpecError
from emu.spec import get, load_spec
from emu.spec.datapath import levels_of, resolve
from emu.spec.levels import resolve_levels, shape
from emu.spec.models.levels import DatapathLevels, Level, LevelAlign
from emu.spec.steps import in_levels

Load = Callable[..., str]
HEAD = 'kind: "datapath"\nid: "t"\ntitle: "t"\nstatus: "proposed"\n'
TAIL = "expect: []\nopen: []\nsources: []\n"
GOOD = """facts:
  a: ["e2m1"]
  b: ["e2m1"]
  c: "fp32"
  k: 32
  scale: {formats: ["ue4m3"], blocks: [16]}
  levels:
    - {id: "grp", of: 16, add: "exact", scale: {}}
    - {id: "k", of: "all", add: "chain", start: "c", hold: {format: "fp32", rounding: "rne"}}
  out: {format: "fp32"}
  special: {when: "once", nan: "0x7FFFFFFF"}
"""
GRP = 'of: 16, add: "exact", scale: {}'
RNE = 'hold: {format: "fp32", rounding: "rne"}'
ALIGN = 'align: {fraction_bits: 24, cut: "rz"}'
FAULTS = [
    (
        GRP,
        'of: 12, add: "exact", scale: {}',
        11,
        "facts.levels",
        "level grp: 32 values are no whole number of lots of 12 x 1: levels must cover K = 32",
    ),
    ('of: "all"', "of: 1", 13, "facts.levels.1", "level k: C enters one sum of all of K: say of: all"),
    (
        GRP,
        'of: 16, take: {every: 2}, add: "exact", scale: {}',
        12,
        "facts.levels.0.scale",
        "level grp: a value of 16 products does not lie in one scale block of 16: scale a level below",
    ),
    (RNE, 'hold: {format: "fp32"}', 13, "facts.levels.1.hold.rounding", "rounding: fp32 does not hold"),
    (
        GRP,
        'of: 16, add: "exact", scale: {term: {bits: 40, unit_exp: -20, rounding: "rz", overflow: "wrap"}}',
        12,
        "facts.levels.0.scale.term",
        "term: a register in fixed point holds sums: say a float format, or hold the next level",
    ),
    (
        GRP,
        'of: 16, add: "exact", scale: {product: {format: "bf16", rounding: "rz", keep: 9}}',
        12,
        "facts.levels.0.scale.product.keep",
        "keep: bf16 has 7 fraction bits, not 9",
    ),
    (RNE, RNE + ', exponent: "largest"', 13, "facts.levels.1.exponent", "level k: a chain names what its hold names: leave exponent out"),
    (RNE, 'hold: {format: "fp32", rounding: "rnx"}', 13, "", "rounding 'rnx' is unknown: did you mean rne or rna?"),
    (
        RNE,
        'hold: {format: "fp32", rounding: "sr_ptx_split8"}',
        5,
        "facts",
        "rounding sr_ptx_split8 shares a word between elements: give one with an integer for each rounding",
    ),
    (RNE, 'hold: {format: "fp32", rounding: "sr_te_fma8"}', 5, "facts", "rounding sr_te_fma8 is software: no register rounds with it"),
    (RNE, 'hold: {format: "fp32", rounding: "rne", keep: 24}', 13, "facts.levels.1.hold.keep", "keep: fp32 has 23 fraction bits, not 24"),
    (
        RNE,
        'hold: {format: "e4m3", rounding: "rne"}',
        13,
        "facts.levels.1.hold.overflow",
        "overflow: e4m3 has no infinity: say saturate, or name a policy",
    ),
    (
        RNE,
        'hold: {format: "ue4m3", rounding: "rne", overflow: "saturate"}',
        13,
        "facts.levels.1.hold.format",
        "format: ue4m3 is no signed float format with subnormals: nothing is held in it",
    ),
    (
        RNE,
        f'{RNE}, align: {{fraction_bits: 24, cut: "sr_add8"}}',
        13,
        "facts.levels.1.align.cut",
        "level k: sr_add8 draws random bits: only a hold may",
    ),
    (
        RNE,
        f'{RNE}, align: {{fraction_bits: 24, cut: "rz", integer_bits: 4}}',
        13,
        "facts.levels.1.align.integer_bits",
        "level k: 4 bits overflow: the largest sum needs 11: say so, or beyond: wrap",
    ),
    (
        RNE,
        f'{RNE}, align: {{fraction_bits: 24, cut: "rz", integer_bits: "none", beyond: "wrap"}}',
        13,
        "facts.levels.1.align.beyond",
        "level k: wrap needs an adder of a stated width: give integer_bits",
    ),
    (
        RNE,
        f'{RNE}, align: {{fraction_bits: 24, cut: "rz", integer_bits: "none", floor: "derived"}}',
        13,
        "facts.levels.1.align.floor",
        "level k: a derived floor needs integer_bits and a hold in a float format",
    ),
    (
        RNE,
        f'hold: {{bits: 24, unit_exp: 0, rounding: "rz", overflow: "wrap"}}, {ALIGN}',
        13,
        "facts.levels.1.hold",
        "level k: what is aligned names an exponent: hold it in a float format",
    ),
    (RNE, 'hold: {bits: 513, unit_exp: 0, rounding: "rz", overflow: "wrap"}', 13, "facts.levels.1.hold.bits", "513"),
    (RNE, 'hold: {bits: 24, unit_exp: 0, overflow: "wrap"}', 13, "facts.levels.1.hold.rounding", "rounding: 24 bits of 2^0 does not hold"),
    (f'start: "c", {RNE}', RNE, 13, "facts.levels.1", "a chain says what it starts with (start), and nothing else does"),
    ('start: "c"', 'start: "zero"', 5, "facts", "C enters at one place (start c or plus c) where it has a format: here nowhere"),
    ('c: "fp32"', 'c: "none"', 5, "facts", "C enters at one place (start c or plus c) where it has a format: here k"),
    (", scale: {}", "", 5, "facts", "block scales multiply at one level where there are any: here at none"),
    ('id: "grp"', 'id: "k"', 5, "facts", "every level needs a name of its own, and neither product nor out"),
    ("0x7FFFFFFF", "0x7F800000", 15, "facts.special.nan", "special.nan: 0x7F800000 is no fp32 NaN"),
    (
        'out: {format: "fp32"}',
        'out: {format: "e2m1", rounding: "rne", overflow: "saturate"}',
        15,
        "facts.special.nan",
        "special.nan: 0x7FFFFFFF is no e2m1 NaN",
    ),
    ('a: ["e2m1"]', 'a: ["e8m0"]', 6, "facts.a", "a: e8m0 holds no zero: it cannot be an element"),
    ('add: "chain", start: "c"', 'add: "tree", start: "c"', 13, "facts.levels.1.add", ""),
]


def test_the_good_one_loads(own_registry: None, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(HEAD + GOOD + TAIL, encoding="utf-8")
    assert load_spec(tmp_path) == ("datapath/t",)
    plan = resolve_levels("t")
    assert [(level.facts.id, level.values.lsb_exp) for level in plan.levels] == [("grp", -2 - 2 * 9), ("k", -149)]
    assert plan.levels[0].loses is None and plan.levels[1].loses == Fraction(2**24 + 1) / 2**149


@pytest.mark.parametrize(("old", "new", "line", "place", "why"), FAULTS, ids=[f"{fault[0][:16]}-{fault[1][-40:]}" for fault in FAULTS])
def test_what_cannot_be_is_refused(old: str, new: str, line: int, place: str, why: str, refused: Load) -> None:
    assert GOOD.count(old) == 1
    found = refused(t=HEAD + GOOD.replace(old, new) + TAIL)
    assert found.startswith(f"t.yaml:{line}: {place}{': ' if place else ''}{why}") and "\n" not in found


def test_units_and_widths_are_derived() -> None:
    """An int20 register of whole products: unit 1. An E1M2 group: units of 1/16 times both scales' 2^-9."""
    chain = resolve_levels("int20_saturate").levels[0]
    assert chain.unit_exp == 0 and chain.values.largest == 2**19
    assert (chain.loses, chain.proof) == (2**19, "sums go beyond 524287")
    group, register = resolve_levels("e1m2_int24_register").levels
    assert group.values.lsb_exp == -4 - 18 and register.unit_exp == -10
    assert register.loses == Fraction(1, 2**22) and register.proof == "its unit 2^-10 is coarser than 2^-22"
    align = resolve_levels("rvbna4").levels[0].align
    assert align is not None and (align.frac_bits, align.integer_bits, align.floor) == (25, 4, None)


def test_a_sum_of_all_of_k_needs_a_rounding_however_short_one_instruction_is(refused: Load) -> None:
    """64 products of 16 bits fit binary32, a million do not."""
    facts = (
        GOOD[: GOOD.index("  scale")].replace("fp32", "none")
        + """  levels:
    - {id: "k", of: "all", add: "exact"}
  out: {format: "fp32"}
  special: {when: "once", nan: "0x7FFFFFFF"}
"""
    )
    found = refused(t=HEAD + facts + TAIL)
    assert found.startswith(
        "t.yaml:12: facts.out.rounding: rounding: fp32 does not hold 16777217/4, for one (more than 24 significant bits)"
    )


def test_lots_are_neighbours_or_interleaved() -> None:
    ways = resolve_levels("systolic_4way")
    assert [list(lot) for lot in ways.shape(8)[0]] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert [list(lot) for lot in ways.shape(8)[1]] == [[0, 1, 2, 3]]
    with pytest.raises(ShapeError, match="levels: the last one leaves 2 values of K = 8, not one"):
        shape(resolve_levels("rvbna4").facts, 8, 0)


def test_the_two_forms_say_so_when_one_is_taken_for_the_other() -> None:
    with pytest.raises(SpecError, match=r"^datapath ideal is a chain of fused steps: emu.spec.steps.in_levels says it in levels$"):
        levels_of(get("datapath", "ideal"))
    assert resolve_levels("ideal", "e2m1", "e2m1", "ue4m3", 16).facts == levels_of(in_levels(get("datapath", "ideal")))
    with pytest.raises(SpecError, match=r"^datapath rvbna4: is written in levels, and this takes one fused step"):
        resolve("rvbna4")


@pytest.mark.parametrize(("cut", "bits"), [("rz", 8), ("rne", 9)])
def test_an_adder_holds_the_whole_of_an_integer_c(cut: str, bits: int) -> None:
    """-128 beside 51 products of at most 9/4, below 243; rne may round each up by 1/4, to 255.5, and C by 1."""
    level = Level(id="k", of="all", add="aligned", plus="c", align=LevelAlign(fraction_bits=2, cut=cut))
    facts = {"a": ("e2m1",), "b": ("e2m1",), "c": "int8", "k": 51, "special": {"when": "once", "nan": "any"}}
    words = facts | {"levels": (level,), "out": {"format": "fp32", "rounding": "rz"}}
    base = get("datapath", "bf16_register")
    align = resolve_levels(base.model_copy(update={"id": "t", "facts": DatapathLevels.model_validate(words)})).levels[0].align
    assert align is not None and align.integer_bits == bits
