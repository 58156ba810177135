"""The trace of a dot product: hand-checked text, and on every datapath numbers that fit together."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest

from emu.base.errors import FileError, OpenError, OperandError, ShapeError
from emu.contracts.columns import Column, layout_of
from emu.contracts.dot.rows import DotRow, evaluate, plan_of, row_of
from emu.contracts.dot.trace import explain_dot, vcd_text
from emu.contracts.dot.trace_text import lines_of
from emu.contracts.rows import Input, make_row
from emu.contracts.text import dyadic
from emu.engines.exact.datapath_stages import stage_codes, stage_columns
from emu.explain.dot.suite import CATEGORIES, row_at, samples
from emu.spec import get, names
from emu.spec.datapath import DatapathPlan, known_facts, pairs, resolve
from emu.vectors.files.suite import Suite

FLOOR = """\
datapath blackwell_mxf4_b32_ue8m0 (status reported)
  operands  e2m1 x e2m1, e8m0 scales per 32; C and D fp32
  adder     64 products per step, groups of 16; F 35 + I 13 + sign = 49 bits; aligned terms rounded rz; E at least -139
  a         2000000000000000000000000000000010000000000000000000000000000000
  b         2000000000000000000000000000000090000000000000000000000000000000
  sa        3728
  sb        3729
  c         00000000

step 0: elements 0..63, C = 0x00000000 (0)
  term 0: elements 0..15
    products  [0] 1 * 1 = 1   15 are 0
    sum       4 units of 2^-2 = 1
    scales    0x37 (2^-72) * 0x37 (2^-72)
    term      2^-144; exponent -144, live
  term 2: elements 32..47
    products  [32] 0.5 * -0.5 = -0.25   15 are 0
    sum       -1 units of 2^-2 = -0.25
    scales    0x28 (2^-87) * 0x29 (2^-86)
    term      -2^-175; exponent -173, live
  terms 1, 3: every product is 0, not live
  E         -139, from the floor; largest live exponent -144; unit 2^-174
            shift     aligned  binary . dropped                   lost
    term 0   <<28  1073741824  1000000000000000000000000000000    0
    term 2    >>1           0                                0.1  -2^-175
  sum       1073741824 = 0x0000040000000, 32 of 49 bits; value 2^-144
  round     rz: kept 100000 (6 bits, last one 2^-149), below it zero; subnormal
  result    0x00000020 = 2^-144

D = 0x00000020 = 2^-144"""


def _every_plan() -> list[DatapathPlan]:
    out = []
    for name in names("datapath"):
        try:
            facts = known_facts(get("datapath", name))
        except OpenError:
            continue
        for a, b in pairs(facts)[-1:]:
            for scale in facts.scale.formats[-1:] or (None,):
                out += [resolve(name, a, b, scale, block) for block in facts.scale.blocks[:1] or (None,)]
    return out


PLANS = _every_plan()


def _dyadic_value(text: str) -> Fraction:
    if text.startswith("-2^"):
        return -(Fraction(2) ** int(text[3:]))
    if text.startswith("2^"):
        return Fraction(2) ** int(text[2:])
    odd, star, power = text.partition("*2^")
    return Fraction(odd) * (Fraction(2) ** int(power) if star else 1)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(48), "48"),
        (Fraction(-1, 4), "-0.25"),
        (Fraction(3, 64), "0.046875"),
        (Fraction(1, 128), "2^-7"),
        (Fraction(-3, 1 << 175), "-3*2^-175"),
        (Fraction(1 << 40), "2^40"),
        (Fraction((1 << 40) + 1), "1099511627777"),
        (Fraction(-(1 << 149)), "-2^149"),
    ],
)
def test_dyadic_text(number: Fraction, text: str) -> None:
    assert dyadic(number) == text
    assert _dyadic_value(text) == number


def test_the_floor_probe_reads_as_worked_by_hand() -> None:
    plan = plan_of("blackwell_mxf4_b32_ue8m0")
    row = row_of(plan, "2" + "0" * 31 + "1" + "0" * 31, "2" + "0" * 31 + "9" + "0" * 31, "3728", "3729", None)
    assert "\n".join(lines_of(explain_dot(row, plan))) == FLOOR


def test_a_cancelled_group_names_itself_as_the_source_of_e() -> None:
    plan = plan_of("blackwell_mxf4nvf4_b16_ue4m3")
    row = row_of(plan, "22" + "0" * 30 + "1" + "0" * 31, "2a" + "0" * 30 + "1" + "0" * 31, "78380138", "78380138", None)
    trace = explain_dot(row, plan)
    (step,) = trace["steps"]
    assert step["terms"][0]["cancelled"] and step["terms"][0]["live"] and step["exp"]["from"] == ["term 0"]
    assert step["terms"][2]["lost"] == "2^-20" and step["terms"][2]["dropped_bits"] == "1" and trace["d"] == "0x00000000"
    assert any("live (a cancelled group counts)" in line for line in lines_of(trace))


def test_a_chain_of_two_steps_feeds_its_result_on() -> None:
    plan = plan_of("ada_fp8/e4m3xe4m3")
    trace = explain_dot(row_of(plan, "38" + "00" * 31, "38" + "00" * 31, None, None, "3f800001"), plan)
    assert [step["elements"] for step in trace["steps"]] == [[0, 15], [16, 31]]
    assert trace["steps"][0]["aligned_c"]["lost"] == "2^-23" and trace["steps"][0]["result"] == "0x40000000"
    assert trace["steps"][1]["c"] == {"code": "0x40000000", "value": "2"} and trace["d"] == "0x40000000"


def test_bits_that_fall_off_stand_at_their_place() -> None:
    """-7/16 * 3*2^-8 * 7*2^-9 under E = 16 moves right by 3; under a C of 2^63 far more, and the zeros between are counted."""
    plan = plan_of("nv_like/e1m2xe1m2/ue4m3/16")
    row = row_of(plan, "44" + "0" * 14 + "1" + "0" * 47, "4c" + "0" * 14 + "f" + "0" * 47, "7e067e7e", "7e007e7e", None)
    trace = explain_dot(row._replace(scale_b=(0x7E, 0x07, 0x38, 0x38)), plan)
    term = trace["steps"][0]["terms"][1]
    assert term["significand"] == -7 * 6 * 7 and term["shift"] == -3 and term["dropped_bits"] == "110" and term["dropped_zeros"] == 0
    far = explain_dot(row._replace(scale_b=(0x7E, 0x01, 0x38, 0x38), a=(*row.a[:16], 1, *row.a[17:]), c=0x5F000000), plan)
    term = far["steps"][0]["terms"][1]
    assert term["dropped_zeros"] == -term["shift"] - len(term["dropped_bits"]) > 24
    assert any(f"0.({term['dropped_zeros']} zeros){term['dropped_bits']}" in line for line in lines_of(far))


def test_rounding_tells_kept_lost_up_and_carry() -> None:
    plan = plan_of("ideal/e1m2xe1m2/ue4m3/16")
    trace = explain_dot(row_of(plan, "4" + "0" * 63, "4" + "0" * 63, "01383838", "01383838", "4affffff"), plan)  # 2^23 - 1/2 + 2^-18
    found = trace["steps"][0]["round"]
    assert (found["lost_part"], found["up"], found["carry"], found["kept"]) == ("less", False, False, "1" * 24)
    trace = explain_dot(row_of(plan, "4" + "0" * 63, "4" + "0" * 63, "30383838", "38383838", "4affffff"), plan)  # 2^23 - 1/2 + 1/2
    assert trace["d"] == "0x4b000000" and trace["steps"][0]["round"]["lost_part"] == "zero"
    trace = explain_dot(row_of(plan, "4" + "0" * 63, "4" + "0" * 63, "28383838", "38383838", "4affffff"), plan)  # 2^23 - 1/2 + 1/4: a tie
    found = trace["steps"][0]["round"]
    assert (found["lost_part"], found["up"], found["carry"], found["lost"]) == ("half", True, True, "0.25")
    assert trace["d"] == "0x4b000000"


def test_overflow_and_wrap_are_named() -> None:
    plan = plan_of("blackwell_f8f6f4/e5m2xe5m2")
    trace = explain_dot(row_of(plan, "7b" * 32, "7b" * 32, None, None, "7f7fffff"), plan)
    assert not trace["steps"][0]["round"]["overflow"]
    plan = plan_of("blackwell_mxf4_b32_ue8m0")
    trace = explain_dot(row_of(plan, "7" * 64, "7" * 64, "bfbf", "bfbf", None), plan)
    assert trace["steps"][0]["round"]["overflow"] and trace["d_value"] == "+inf"
    plan = plan_of("blackwell_e0m3_wrap/e0m3xe0m3")
    trace = explain_dot(row_of(plan, "7" * 64, "7" * 64, "77777777", "77777777", None), plan)
    assert any("does not fit 49 bits and wraps" in line for line in lines_of(trace))


@pytest.mark.parametrize(
    ("name", "row", "because"),
    [
        ("blackwell_f8f6f4/e5m2xe4m3", ("7c" + "00" * 31, "00" * 32, "3f800000"), "product 0 is +inf * 0: infinity times zero"),
        (
            "blackwell_f8f6f4/e5m2xe4m3",
            ("00" * 31 + "7c", "38" * 32, "ff800000"),
            "infinities of both signs: C is -inf, product 31 is +inf * 1",
        ),
        ("blackwell_f8f6f4/e5m2xe4m3", ("7c" * 32, "38" * 32, "3f800000"), "product 0 is +inf * 1"),
        ("blackwell_f8f6f4/e5m2xe4m3", ("00" * 32, "00" * 31 + "7f", "3f800000"), "b[31] 0x7f (nan) is NaN"),
        ("blackwell_f8f6f4/e5m2xe4m3", ("00" * 32, "00" * 32, "ffc00001"), "C 0xffc00001 (nan) is NaN"),
    ],
)
def test_special_values_say_why(name: str, row: tuple[str, str, str], because: str) -> None:
    plan = plan_of(name)
    trace = explain_dot(row_of(plan, row[0], row[1], None, None, row[2]), plan)
    assert trace["steps"][0]["special"]["because"] == because
    assert because in "\n".join(lines_of(trace))


def test_a_nan_scale_on_a_zero_block_is_named() -> None:
    plan = plan_of("blackwell_mxf4nvf4_b16_ue4m3")
    trace = explain_dot(row_of(plan, "0" * 64, "0" * 64, "3838ff38", None, None), plan)
    assert trace["steps"][0]["special"] == {"result": "nan", "because": "sa[2] 0xff (nan) is NaN"}


@pytest.mark.cases(2, 11)
@pytest.mark.parametrize("plan", PLANS, ids=[plan.name for plan in PLANS])
def test_on_every_datapath_the_numbers_fit_together(plan: DatapathPlan) -> None:
    checked = 0
    for category in CATEGORIES:
        for row in samples(plan, category, 5, 3, instructions=2):
            try:
                trace = explain_dot(row, plan)
            except OpenError:
                continue
            json.dumps(trace, allow_nan=False)
            assert "\n".join(lines_of(trace)).endswith(f"D = {trace['d']} = {trace['d_value']}")
            assert int(trace["d"], 16) == evaluate(row, plan).code
            checked += sum(_fits(step, plan) for step in trace["steps"])
    assert checked >= 10 or plan.facts.scale.apply == "promote"


def _fits(step: dict, plan: DatapathPlan) -> int:
    """Check terms, sum and rounding of one step against one another; return how many sums were checked."""
    if "sum" not in step:
        return 0
    unit = Fraction(2) ** step["lsb_exp"]
    items = [*step.get("terms", []), *([step["aligned_c"]] if "aligned_c" in step else [])]
    for term in items:
        if "significand" in term:
            assert _dyadic_value(term["value"]) == term["significand"] * Fraction(2) ** term["unit_exp"]
            assert _dyadic_value(term["value"]) == int(term["aligned"]) * unit + _dyadic_value(term["lost"])
    total = int(step["sum"]["integer"])
    assert _dyadic_value(step["sum"]["value"]) == total * unit
    if plan.accumulator is None and step["sum"]["wrapped_from"] is None and "joined" not in step:
        assert total == sum(int(term["aligned"]) for term in items)
    assert step["sum"]["bits_used"] <= step["sum"]["bits"]
    found = step.get("round")
    if found and not found["overflow"] and "part" not in step and not found["value"].startswith(("nan", "-0")):
        assert _dyadic_value(found["value"]) == _dyadic_value(found["exact"]) + _dyadic_value(found["lost"])
        assert found["value"] == step["result_value"]
    return 1


def _read_vcd(text: str) -> dict[str, tuple[int, str]]:
    """Return name -> (width, bits) of a VCD with one dump."""
    names_of = {short: (name, int(bits)) for bits, short, name in re.findall(r"\$var wire (\d+) (\S+) (\S+) ", text)}
    out = {}
    for line in text.partition("$dumpvars\n")[2].partition("$end")[0].splitlines():
        bits, short = line[1:].split(" ") if line.startswith("b") else (line[0], line[1:])
        out[names_of[short][0]] = (names_of[short][1], bits)
    assert len(out) == len(names_of)
    return out


@pytest.mark.parametrize("plan", PLANS, ids=[plan.name for plan in PLANS])
def test_the_wave_holds_every_golden_stage(plan: DatapathPlan) -> None:
    row = next(samples(plan, "gaussian", 1, 1))
    text = vcd_text(row, plan)
    assert text == vcd_text(row, plan) and "$date" not in text
    found = _read_vcd(text)
    dot = evaluate(row, plan)
    wanted = {}
    for number, step in enumerate(dot.steps):
        wanted |= stage_codes(step, number, plan)
    for column in stage_columns(plan, len(dot.steps)):
        width, bits = found[column.name]
        assert width == column.bits and int(bits, 2) == wanted[column.name]
    assert int(found["d"][1], 2) == dot.code and int(found["c"][1], 2) == row.c
    bits = found["a"][0] // len(row.a)
    assert tuple(int(found["a"][1], 2) >> (bits * k) & ((1 << bits) - 1) for k in range(len(row.a))) == row.a


def test_the_wave_of_a_special_row_leaves_its_stages_unknown() -> None:
    plan = plan_of("blackwell_mxf4nvf4_b16_ue4m3")
    found = _read_vcd(vcd_text(row_of(plan, "0" * 64, "0" * 64, "7f383838", None, None), plan))
    assert found["u0_sg0"][1] == "x" and found["u0_rs"][1] == "1" * 31 and found["d"][1] == "1" * 31


def test_a_row_of_a_suite_is_unpacked_as_the_columns_say() -> None:
    plan = plan_of("blackwell_mxf4nvf4_b16_ue4m3")
    columns = [Column("a", "in", 256, "e2m1", 64), Column("sa", "in", 32, "ue4m3", 4), Column("b", "in", 256, "e2m1", 64)]
    columns += [Column("sb", "in", 32, "ue4m3", 4), Column("c", "in", 32, "fp32"), Column("d", "out", 32, "fp32")]
    layout = layout_of(columns)
    row = next(samples(plan, "gaussian", 1, 1))

    def packed(codes: tuple[int, ...], bits: int) -> int:
        return sum(code << (bits * place) for place, code in enumerate(codes))

    values = (packed(row.a, 4), packed(row.scale_a, 8), packed(row.b, 4), packed(row.scale_b, 8), row.c)
    line = make_row(layout, Input("all", ("chain",), values), ((evaluate(row, plan).code,),))
    suite = Suite({"stem": "dot__x", "contract": {"name": "dot/blackwell_mxf4nvf4_b16_ue4m3"}}, layout, (line,))
    assert row_at(suite, 1) == (row, plan)
    with pytest.raises(FileError, match=r"dot__x: has no row 2: its tcIds are 1\.\.1"):
        row_at(suite, 2)
    with pytest.raises(FileError, match="holds rows of convert"):
        row_at(Suite({"stem": "convert__x", "contract": {"name": "convert/e2m1/rne/nvidia"}}, layout, (line,)), 1)


def test_a_row_of_a_register_is_its_chain_so_far() -> None:
    plan = plan_of("int64/e1m2xe1m2/16")
    columns = [Column("first", "in", 4), Column("last", "in", 4), Column("a", "in", 256, "e1m2", 64), Column("sa", "in", 32, "ue4m3", 4)]
    columns += [Column("b", "in", 256, "e1m2", 64), Column("sb", "in", 32, "ue4m3", 4), Column("c", "in", 32, "fp32")]
    layout = layout_of([*columns, Column("acc_in", "in", 64), Column("d", "out", 32, "fp32")])
    ones, sevens = int("38" * 4, 16), int("7" * 64, 16)
    chain = [(1, 0, sevens, ones, sevens, ones, 0x3F800000, 0), (0, 1, 7, ones, 7, ones, 0x3F800000, 822083584)]
    lines = tuple(make_row(layout, Input("chain1", ("chain",), values), ((0,),)) for values in [chain[0], *chain])
    suite = Suite({"stem": "accumulate__x", "contract": {"name": f"accumulate/{plan.name}"}}, layout, lines)
    row, found = row_at(suite, 3)
    assert found == plan and len(row.a) == 128 and row.c == 0x3F800000
    assert explain_dot(row, plan)["final"]["register"] == str(822083584 + 49 * 2**18)
    assert len(row_at(suite, 2)[0].a) == 64


def test_choices_may_stand_in_the_name_or_beside_it() -> None:
    named = plan_of("nv_like/e1m2xe1m2/ue4m3/16")
    assert plan_of("nv_like", "e1m2", "e1m2", "ue4m3", 16) == named and plan_of("nv_like/ue4m3/16", a="e1m2", b="e1m2") == named
    assert plan_of(named.name) == named
    for plan in PLANS:
        assert plan_of(plan.name) == plan


def test_bad_rows() -> None:
    plan = plan_of("blackwell_mxf4nvf4_b16_ue4m3")
    with pytest.raises(OperandError, match="3 hex digits are no multiple of 2"):
        row_of(plan, "0" * 64, "0" * 64, "383", None, None)
    with pytest.raises(OperandError, match="c: 2 hex digits are no multiple of 8"):
        row_of(plan, "0" * 64, "0" * 64, None, None, "3f")
    with pytest.raises(OperandError, match="is no single fp32 code of 8 hex digits"):
        row_of(plan, "0" * 64, "0" * 64, None, None, "3f800000" * 2)
    with pytest.raises(OperandError, match="takes no scales"):
        row_of(plan_of("hopper_fp8/e4m3xe4m3"), "00" * 32, "00" * 32, "38", None, None)
    with pytest.raises(ShapeError, match="K = 32 is no multiple of the 64 products"):
        explain_dot(row_of(plan, "0" * 32, "0" * 32, None, None, None), plan)


def test_rows_are_drawn_by_key_category_and_number_alone() -> None:
    plan = plan_of("blackwell_mxf4nvf4_b16_ue4m3")
    for category in CATEGORIES:
        rows = list(samples(plan, category, 7, 4))
        if category == "elem_special":
            assert rows == []  # no NaN or infinity in E2M1
            continue
        assert rows[2:] == list(samples(plan, category, 7, 2, first=2))
        assert len({row.key() for row in rows}) > 1 and rows != list(samples(plan, category, 8, 4))
        assert all(isinstance(row, DotRow) for row in rows)
    with pytest.raises(OperandError, match="category 'nope' is unknown"):
        next(samples(plan, "nope", 1, 1))
