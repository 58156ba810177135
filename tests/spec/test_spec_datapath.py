"""Datapaths: facts that contradict one another, facts of another file below one's own, and the derived widths against worked tables."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from pydantic import ValidationError

import emu
from emu.base.errors import SpecError
from emu.engines.exact.datapath import dot
from emu.engines.exact.decode import decode_code
from emu.engines.table import TABLE
from emu.spec import derive, get, load_spec, names
from emu.spec.checks.datapath import check_datapath
from emu.spec.datapath import DatapathPlan, pairs, resolve
from emu.spec.loader import parse
from emu.spec.models.datapath import DatapathFacts
from emu.spec.reach import reach

Load = Callable[..., str]

HEAD = 'kind: "datapath"\nid: "t"\ntitle: "t"\nstatus: "proposed"\n'
TAIL = "open: []\nsources: []\n"


def judged(facts: str) -> str:
    """What is wrong with the facts of a fused step: as they are made, or when they are checked; nothing of good ones."""
    try:
        made = DatapathFacts.model_validate(parse(facts, "facts").data["facts"])
        check_datapath(get("datapath", "ideal").model_copy(update={"id": "t", "facts": made}))
    except ValidationError as error:
        return str(error.errors()[0]["msg"]).removeprefix("Value error, ")
    except SpecError as error:
        return str(error)
    return ""


# Facts of a fused step: no file says them, and those that contradict one another are refused to deviations, and to levels that say them.
GOOD = """facts:
  a: ["e2m1"]
  b: ["e2m1"]
  c: "fp32"
  d: "fp32"
  k: 64
  step: 64
  group: 16
  scale: {apply: "group", formats: ["ue4m3"], blocks: [16]}
  align: {include_c: "yes", fraction_bits: 35, floor: "derived"}
  round: {mode: "rz", keep: 23}
  special: {nan: "0x7FFFFFFF"}
"""
FAULTS = [
    ('d: "fp32"', 'd: "fp16"', "c: fp32 and d fp16 differ: D of one step is C of the next"),
    ('a: ["e2m1"]', 'a: ["e2m1", "nf4"]', "nf4 is a codebook: its codes name no exponent"),
    ('a: ["e2m1"]', 'a: ["e8m0"]', "a, b: e8m0 holds no zero: it cannot be an element"),
    ('formats: ["ue4m3"]', 'formats: ["int4"]', "scale.formats: int4 is neither a float nor a power of two"),
    ("keep: 23", "keep: 24", "round.keep: fp32 has 23 fraction bits, not 24"),
    ("0x7FFFFFFF", "0x7F800000", "special.nan: 0x7F800000 is no fp32 NaN"),
    ('mode: "rz"', 'mode: "sr_add8"', "round.mode: sr_add8 draws random bits: a datapath must not"),
    ('floor: "derived"', 'floor: "derived", rounding: "ru"', "align.rounding: ru is not one of rz, rd, rne"),
    (
        'floor: "derived"',
        'floor: "derived", integer_bits: 12',
        "align.integer_bits: 12 bits overflow with e2m1 x e2m1: the largest sum needs 13: say so, or derived, or beyond: wrap",
    ),
    ('floor: "derived"', 'floor: "derived", integer_bits: "none"', "datapath t: align.floor derived needs integer_bits"),
    ('floor: "derived"', 'floor: -139, integer_bits: "none", beyond: "wrap"', "align.beyond: wrap needs an adder of a stated width"),
    ("fraction_bits: 35", 'fraction_bits: "exact"', "align.floor: where nothing is lost a floor has no effect: say none"),
    ("fraction_bits: 35", 'fraction_bits: "open"', "align: an open fact needs an open point that says what would settle it"),
    ("step: 64", "step: 24", "step: k 64, step 24, group 16 and split 1 must divide one another"),
    ("group: 16", "group: 12", "step: k 64, step 64, group 12 and split 1 must divide one another"),
    ("blocks: [16]", "blocks: [24]", "scale.blocks: a block of 24 and a group of 16 in 64 products do not fit"),
    ("group: 16", "split: 2\n  group: 16", "split belongs to late_c with a second alignment"),
    ('apply: "group"', 'apply: "none"', "scale.formats and scale.blocks belong to scale.apply group, product and promote"),
    ('apply: "group"', 'apply: "promote"', "promote belongs to scale.apply promote, and only to it"),
    ('include_c: "yes"', 'include_c: "no"', "align.include_c is no exactly where late_c, accumulator or promote adds C"),
    (
        'include_c: "yes", fraction_bits: 35, floor: "derived"}',
        'include_c: "no", fraction_bits: 35, floor: "derived"}\n  late_c: "add"',
        "align.fraction_bits: late_c add, accumulator and promote add exact sums: say exact",
    ),
    (
        'include_c: "yes", fraction_bits: 35, floor: "derived"}',
        'include_c: "no", fraction_bits: "exact", floor: "none"}\n  accumulator: {bits: 48, overflow: "error"}',
        "accumulator.bits: e2m1 x e2m1 overflows beyond K = 16, before one instruction of 64 is done",
    ),
    ('a: ["e2m1"]', 'a: ["e2m1"]\n  pairs: [["e2m1", "e1m2"]]', "pairs: must be made of formats in a and b"),
    ("step: 64", 'step: "all"', "Input should be a valid integer"),
]


def test_the_good_one_is_good() -> None:
    assert judged(GOOD) == judged(LATE) == judged(PROMOTE) == ""


@pytest.mark.parametrize(("old", "new", "message"), FAULTS, ids=[fault[1][:40] for fault in FAULTS])
def test_contradiction(old: str, new: str, message: str) -> None:
    assert GOOD.count(old) == 1
    assert judged(GOOD.replace(old, new)) == message


LATE = """facts:
  a: ["e4m3fnuz"]
  b: ["e4m3fnuz"]
  c: "fp32"
  d: "fp32"
  k: 32
  step: 16
  split: 2
  group: 1
  scale: {apply: "none"}
  align: {include_c: "no", fraction_bits: 24, integer_bits: "none", floor: "none"}
  late_c: {f2: 31, drop_below: 25}
  round: {mode: "rne", keep: 23}
  special: {nan: "any"}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'floor: "none"',
            "floor: -126",
            "align: late_c with a second alignment needs fraction_bits as a number, integer_bits none and floor none",
        ),
        (
            'floor: "none"',
            'floor: "none", exponent_raise: 1',
            "late_c: a second alignment takes products without scales and without a raised exponent",
        ),
        (
            'scale: {apply: "none"}',
            'scale: {apply: "product", formats: ["e8m0"], blocks: [32]}',
            "late_c: a second alignment takes products without scales and without a raised exponent",
        ),
        ("f2: 31", "f2: 23", "late_c.f2: the second sum has no fewer fraction bits than the first, 24"),
        ("group: 1\n", "group: 2\n", "group: 2 products are added before alignment only where scale.apply is group or promote: say 1"),
    ],
)
def test_a_second_alignment_has_no_facts_that_it_ignores(old: str, new: str, message: str) -> None:
    assert LATE.count(old) == 1
    assert judged(LATE.replace(old, new)) == message


PROMOTE = """facts:
  a: ["e2m1"]
  b: ["e2m1"]
  c: "fp32"
  d: "fp32"
  k: 64
  step: "block"
  group: "block"
  scale: {apply: "promote", formats: ["fp32"], blocks: [16]}
  align: {include_c: "no", fraction_bits: "exact", integer_bits: "none", floor: "none"}
  promote: {scale_product: "rne", term: "rne", acc: "rne", fused: "no"}
  round: {mode: "rne", keep: 23}
  special: {nan: "0x7FFFFFFF", zero: "ieee"}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('formats: ["fp32"]', 'formats: ["ue4m3"]', "scale.formats: promote multiplies binary32 scales, not ue4m3"),
        ('a: ["e2m1"]', 'a: ["e4m3"]', "a, b: e4m3 has NaN or Inf: promote multiplies finite elements"),
        ('  c: "fp32"\n  d: "fp32"', '  c: "bf16"\n  d: "bf16"', "d: promote computes in binary32"),
        ("round: {", 'subnormal: {result: "flush"}\n  round: {', "subnormal.result: the operations of promote keep subnormals"),
        ("k: 64", "k: 262144", "scale.blocks: the sum of 262144 products of e2m1 x e2m1 is no exact binary32 number"),
    ],
)
def test_promote_adds_exact_binary32_numbers(old: str, new: str, message: str) -> None:
    text = PROMOTE.replace(old, new)
    text = text.replace("blocks: [16]", "blocks: [262144]") if "262144" in new else text
    assert judged(text) == message


def test_unknown_needs_its_status_and_what_would_settle_it(refused: Load) -> None:
    text = HEAD + 'facts: {unknown: "no model"}\n' + TAIL
    assert refused(t=text).endswith("unknown: needs status unknown and an open point that says what would settle it")


def test_based_on_fills_in_what_a_file_leaves_out(own_registry: None, tmp_path: Path) -> None:
    own = '  levels:\n    - {id: "k", align: {fraction_bits: 25}, hold: {rounding: "rne"}}\n'
    (tmp_path / "t.yaml").write_text(HEAD + f'based_on: "blackwell_mxf4nvf4_b16_ue4m3"\nfacts:\n{own}' + TAIL, encoding="utf-8")
    load_spec(tmp_path)
    facts, base = get("datapath", "t").facts, get("datapath", "blackwell_mxf4nvf4_b16_ue4m3").facts
    assert (facts.align.fraction_bits, facts.round.mode, facts.round.keep) == (25, "rne", 23)
    changed = {"align": base.align.model_copy(update={"fraction_bits": 25}), "round": base.round.model_copy(update={"mode": "rne"})}
    assert facts == base.model_copy(update=changed)


def test_based_on_nothing_known_or_on_itself(refused: Load) -> None:
    body = "facts: {k: 64}\n" + TAIL
    assert refused(t=HEAD + 'based_on: "nv_lik"\n' + body) == "t.yaml:5: datapath 'nv_lik' is unknown: did you mean nv_like?"


def test_a_circle_of_bases_is_refused(refused: Load) -> None:
    texts = {
        one: HEAD.replace('"t"', f'"{one}"', 1) + f'based_on: "{other}"\nfacts: {{k: 64}}\n' + TAIL
        for one, other in (("t", "u"), ("u", "t"))
    }
    assert "is based on this file again: name another" in refused(**texts)
    assert "is based on this file again: name another" in refused(t=HEAD + 'based_on: "t"\nfacts: {k: 64}\n' + TAIL)


def every_plan() -> list[DatapathPlan]:
    """Return every choice of operands that the known datapaths take."""
    found = []
    for name in names("datapath"):
        facts = get("datapath", name).facts
        if isinstance(facts, DatapathFacts) and facts.align.fraction_bits != "open":
            scales, blocks = facts.scale.formats or (None,), facts.scale.blocks or (None,)
            found += [resolve(name, *pair, *rest) for pair in pairs(facts) for rest in product(scales, blocks)]
    return found


# A, B, scale; bits of a product, of a group of 16, of a scaled term; unit and bits of the exact sum of 64; largest K in 64 bits; I; floor
WIDTHS = """
e2m1 e2m1 ue4m3  8 12 19  -20  49 1217392 13 -139
e2m1 e2m1 ue5m3  8 12 19  -36  81       0 13 -139
e2m1 e2m1 e8m0   8 12 12 -256 522       0 13 -139
e1m2 e1m2 ue4m3  6 10 18  -22  48 3577648 10 -136
e1m2 e1m2 ue5m3  6 10 18  -38  80       0 10 -136
e1m2 e1m2 e8m0   6 10 10 -258 520       0 10 -136
int4 int4 ue4m3  7 11 18  -18  48 2739136 14 -140
int4 int4 ue5m3  7 11 18  -34  80       0 14 -140
int4 int4 e8m0   7 11 11 -254 521       0 14 -140
e0m3 e0m3 ue4m3  6 10 18  -18  48 3577648 14 -140
e2m1 e1m2 ue4m3  7 11 19  -21  49 2086960 12 -138
e2m1 e1m2 e8m0   7 11 11 -257 521       0 12 -138
e2m1 e0m3 ue4m3  7 11 19  -19  49 2086960 14 -140
e2m1 e0m3 ue5m3  7 11 19  -35  81       0 14 -140
"""


@pytest.mark.parametrize("line", WIDTHS.strip().splitlines())
def test_widths_worked_out_elsewhere(line: str) -> None:
    """Source: tables made with exact rationals over all codes; E8M0 has the I of the widest scales that one adder serves."""
    a, b, scale, *rest = line.split()
    plan = resolve("nv_like", a, b, scale, 16)
    widths = plan.widths
    found = [widths.product_bits, widths.group_sum_bits, widths.term_bits, widths.step_sum_lsb_exp, widths.step_sum_bits]
    assert [*found, widths.largest_int64_k, plan.integer_bits, plan.floor] == [int(word) for word in rest]


@pytest.mark.parametrize(
    ("a", "b", "scale", "frac_bits", "adder"),
    [
        ("e2m1", "e2m1", "ue4m3", 36, 50),
        ("e1m2", "e1m2", "ue4m3", 38, 49),
        ("int4", "int4", "ue4m3", 34, 49),
        ("e0m3", "e0m3", "ue4m3", 34, 49),
        ("e2m1", "e1m2", "ue4m3", 37, 50),
        ("e2m1", "e0m3", "ue4m3", 35, 50),
        ("e2m1", "e2m1", "ue5m3", 68, 82),
        ("e1m2", "e1m2", "ue5m3", 70, 81),
        ("e1m2", "e1m2", "e8m0", 512, 523),
        ("e2m1", "e2m1", "e8m0", 510, 524),
    ],
)
def test_fraction_bits_that_keep_every_product(a: str, b: str, scale: str, frac_bits: int, adder: int) -> None:
    plan = resolve("nv_like_exact", a, b, scale, 16)
    assert (plan.frac_bits, plan.adder_bits) == (frac_bits, adder)


@pytest.mark.cases(8)
@pytest.mark.parametrize("name", [name for name in names("format") if name not in ("fp64", "nf4")])
def test_reach_is_what_the_codes_reach(name: str) -> None:
    """Against the decoded codes themselves (of wide formats: the corners of every exponent)."""
    fmt = get("format", name)
    codes = derive.codes(fmt)
    chosen = range(1 << codes.bits) if codes.bits <= 16 else [f << 23 | m for f in range(255) for m in (0, 1, (1 << 23) - 1)]
    values = [value.magnitude for value in (decode_code(code, fmt) for code in chosen) if value.kind == "finite"]
    found = reach(fmt)
    unit = Fraction(2) ** found.lsb_exp
    assert found.largest == max(values)
    assert all((value / unit).denominator == 1 for value in values)
    assert unit == min(value for value in values if value) or name == "e6m2"
    assert found.significand * Fraction(2) ** found.max_exp >= found.largest


def test_every_plan_holds_its_largest_sum() -> None:
    """F + I + 1 bits hold all products at full scale with the largest C below 2 * 2^E, or the datapath says that it wraps."""
    plans = every_plan()
    assert len(plans) > 300
    for plan in plans:
        if plan.integer_bits is not None:
            assert plan.integer_bits >= plan.integer_bits_needed or plan.facts.align.beyond == "wrap", plan.name
        assert plan.facts.k % plan.step == plan.step % plan.group == 0
    assert len({plan.name for plan in plans}) == len(plans)


def test_the_exponent_of_a_group_is_that_of_its_scales() -> None:
    """E3M0 counts from 2^-2: its sums lie lower under E, the adder needs fewer integer bits, and every column agrees on it."""
    model = get("datapath", "nv_like")
    facts = model.facts.model_copy(update={"a": ("e3m0",), "b": ("e3m0",)})
    plan = resolve(model.model_copy(update={"facts": facts}), "e3m0", "e3m0", "ue4m3", 16)
    assert (plan.product_exp, plan.integer_bits, plan.floor) == (-4, 16, -142)  # 64 * 16 * 16 * (15/8)^2 + 2 < 2^16
    codes, scales = [7] * 64, [0x77] * 4
    step = dot(codes, codes, scales, scales, 0, plan).steps[0]
    assert step.total == 64 * 256 * 225 << (35 - 6) and step.total.bit_length() == 35 + 16
    engines = [row.engine for row in TABLE if row.operation == "dot" and row.can(plan)]
    assert {"c_ref", "exact"} <= set(engines)
    for engine in engines:
        found = emu.dot(codes, codes, plan.datapath, scales, scales, a_format="e3m0", b_format="e3m0", scale_format="ue4m3", engine=engine)
        assert found.item() == step.code, engine
