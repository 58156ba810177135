"""The reference model of datapaths: worked rows made by a separate model, stages, specials, and what must not depend on order."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from emu.base.errors import OpenError, OperandError, ShapeError, SpecError
from emu.engines.exact.datapath import dot
from emu.engines.exact.epilogue import alpha_code, epilogue
from emu.spec import derive, get, names
from emu.spec.datapath import DatapathPlan, pairs, resolve
from emu.spec.models.datapath import DatapathFacts
from emu.spec.models.levels import EpilogueFacts

ROWS = yaml.safe_load((Path(__file__).parent / "datapath_rows.yaml").read_text(encoding="utf-8"))
KNOWN = [name for name in names("datapath") if isinstance(get("datapath", name).facts, DatapathFacts) and name != "blackwell_e0m3"]


def plan_of(name: str) -> DatapathPlan:
    """Return the plan of a name such as nv_like/e1m2xe1m2/ue4m3/16."""
    datapath, *chosen = name.split("/")
    a = b = scale = block = None
    for part in chosen:
        if "x" in part:
            a, b = part.split("x")
        elif part.isdigit():
            block = int(part)
        else:
            scale = part
    return resolve(datapath, a, b, scale, block)


def split(text: str, fmt: Any) -> list[int]:
    """Return the codes of a hex string."""
    digits = -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)
    return [int(text[i : i + digits], 16) for i in range(0, len(text), digits)]


def operands(row: dict[str, Any], plan: DatapathPlan) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return the codes of a row: a, b, scales of a, scales of b."""
    scales = [split(row[key], plan.scale) if plan.scale else [] for key in ("sfa", "sfb")]
    return split(row["a"], plan.a), split(row["b"], plan.b), scales[0], scales[1]


@pytest.mark.parametrize("row", ROWS["rows"], ids=lambda row: f"{row['plan']}-{row['category']}")
def test_worked_row(row: dict[str, Any]) -> None:
    plan = plan_of(row["plan"])
    found = dot(*operands(row, plan), int(row["c"], 16), plan)
    assert f"{found.code:0{len(row['d'])}X}" == row["d"]
    step = found.steps[-1]
    if "s" in row:
        frac_bits = row.get("f", plan.frac_bits)
        assert step.total is not None and step.lsb_exp is not None
        assert step.total * Fraction(2) ** step.lsb_exp == int(row["s"]) * Fraction(2) ** (row["e"] - frac_bits)
    if "e" in row and step.exp is not None:
        assert step.exp == row["e"]


@pytest.mark.parametrize("row", ROWS["promote"], ids=lambda row: f"{row['plan']}-{row['category']}")
def test_worked_row_of_promote(row: dict[str, Any]) -> None:
    plan = plan_of(row["plan"])
    found = dot(*operands(row, plan), int(row["c"], 16), plan)
    assert f"{found.code:08X}" == row["d"]
    stages = {"p": [s.parts[0] for s in found.steps], "ss": [s.scale_codes[0] for s in found.steps]}
    stages |= {"tm": [s.term_codes[0] for s in found.steps], "acc": [s.code for s in found.steps]}
    assert {key: [f"{code:08X}" for code in codes] for key, codes in stages.items()} == {key: row[key] for key in stages}


@pytest.mark.parametrize("row", ROWS["profiles"], ids=lambda row: f"{row['format']}: {row['why']}")
def test_worked_row_of_every_profile(row: dict[str, Any]) -> None:
    assert len(row["d"]) == 5
    for profile, wanted in row["d"].items():
        plan = resolve(profile, row["format"], row["format"], "ue4m3", 16)
        found = dot(*operands(row, plan), int(row["c"], 16), plan)
        assert f"{found.code:08X}" == wanted, profile
        if profile == "int64":
            assert found.accumulator == int(row["acc"])
            assert plan.widths.step_sum_lsb_exp == row["lsb_exp"]


@pytest.mark.parametrize("row", ROWS["epilogue"], ids=lambda row: row["category"])
def test_worked_row_of_the_epilogue(row: dict[str, Any]) -> None:
    plan, c = plan_of(row["plan"]), int(row["c"], 16)
    facts = EpilogueFacts(alpha="rne", d="rne", c_place=row["c_place"], fused=row["fused"])
    before = row["c_place"] == "before"
    found = dot(*operands(row, plan), c if before else 0, plan)
    alpha = alpha_code(int(row["t_a"], 16), int(row["t_b"], 16), facts, plan)
    result = epilogue(found.code, alpha, None if before else c, facts, plan)
    assert [f"{code:08X}" for code in (found.code, alpha, result)] == [row["dot"], row["alpha"], row["d"]]


def test_every_family_has_rows() -> None:
    covered = {row["plan"].partition("/")[0] for row in ROWS["rows"] + ROWS["promote"]} | {"int64"}
    rest = {"nv_like_exact", "blackwell_mxf4nvf4_b32_ue8m0", *(name for name in KNOWN if name.startswith("blackwell_e0m3"))}
    assert covered | rest == set(KNOWN)


def every_plan() -> list[DatapathPlan]:
    """Return one plan per datapath and pair of operands, with the first scale format and block."""
    found = []
    for name in KNOWN:
        facts = get("datapath", name).facts
        for a, b in pairs(facts):
            found.append(resolve(name, a, b, (facts.scale.formats or (None,))[0], (facts.scale.blocks or (None,))[0]))
    return found


def ones(plan: DatapathPlan, k: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return operands whose products are all 1 (codes that decode to 1), scales 1."""
    scale = [one_code(plan.scale)] * (k // plan.block) if plan.scale else []
    return [one_code(plan.a)] * k, [one_code(plan.b)] * k, scale, scale


def one_code(fmt: Any) -> int:
    from emu.engines.exact.encode import encode_value
    from emu.engines.exact.value import finite

    return encode_value(finite(Fraction(1)), fmt)


@pytest.mark.parametrize("plan", every_plan(), ids=lambda plan: plan.name)
def test_specials_of_c_and_zero(plan: DatapathPlan) -> None:
    k = plan.facts.k
    a, b, sa, sb = ones(plan, k)
    codes = derive.codes(plan.d)
    assert codes.inf is not None
    nan = codes.nan[0] if plan.facts.special.nan == "any" else int(plan.facts.special.nan, 16)
    assert dot(a, b, sa, sb, codes.inf, plan).code == codes.inf
    assert dot(a, b, sa, sb, codes.inf | codes.sign_bit, plan).code == codes.inf | codes.sign_bit
    for c in (codes.nan[0], codes.nan[0] | codes.sign_bit, codes.inf + 1):
        assert dot(a, b, sa, sb, c, plan).code == nan
    zeros = [0] * k
    assert dot(zeros, zeros, sa, sb, 0, plan).code == 0
    minus_zero = dot(zeros, zeros, sa, sb, codes.sign_bit, plan).code
    assert minus_zero == 0  # also with zero: ieee, where +0 products are added to -0


@pytest.mark.parametrize("plan", [plan for plan in every_plan() if plan.scale is not None], ids=lambda plan: plan.name)
def test_a_nan_scale_gives_nan_even_on_a_zero_block(plan: DatapathPlan) -> None:
    assert plan.scale is not None
    k = plan.facts.k
    _, _, sa, sb = ones(plan, k)
    nan = derive.codes(plan.scale).nan[0]
    wanted = int(plan.facts.special.nan, 16)
    for scales in (([nan, *sa[1:]], sb), (sa, [*sb[:-1], nan])):
        assert dot([0] * k, [0] * k, *scales, 0, plan).code == wanted


def test_infinite_elements() -> None:
    plan = resolve("blackwell_f8f6f4", "e5m2", "e5m2")
    one, inf, minus_inf, nan = 0x3C, 0x7C, 0xFC, 0x7FFFFFFF
    rest = [one] * 30
    assert dot([inf, one, *rest], [one] * 32, [], [], 0, plan).code == 0x7F800000
    assert dot([minus_inf, one, *rest], [one] * 32, [], [], 0, plan).code == 0xFF800000
    assert dot([inf, minus_inf, *rest], [one] * 32, [], [], 0, plan).code == nan
    assert dot([inf, one, *rest], [0, one, *rest], [], [], 0, plan).code == nan
    assert dot([inf, one, *rest], [one] * 32, [], [], 0xFF800000, plan).code == nan
    assert dot([0x7D, one, *rest], [one] * 32, [], [], 0, plan).code == nan


def test_the_three_probes_of_a_new_machine() -> None:
    """One instruction each decides the fraction bits, the rule for cancelled groups and the floor."""
    plan = resolve("blackwell_mxf4nvf4_b16_ue4m3")
    a, b = [0] * 64, [0] * 64
    a[0], b[0], a[16], b[16], a[32], b[32] = 2, 2, 2, 0xA, 1, 1
    for k, small_a, small_b, wanted in ((10, 0x18, 0x18, 0x3A800000), (19, 0x01, 0x02, 0x36000000), (20, 0x01, 0x01, 0)):
        found = dot(a, b, [0x78, 0x78, small_a, 0], [0x78, 0x78, small_b, 0], 0, plan)
        assert found.code == wanted, k
        assert found.steps[0].exp == 16
    a[1], b[1], a[16], b[16] = 2, 0xA, 0, 0
    assert dot(a, b, [0x78, 0, 1, 0], [0x78, 0, 1, 0], 0, plan).code == 0


def test_full_scale_readings_of_e0m3_differ() -> None:
    """All elements 7 under scales 240: the wrapping adder gives another sign, the narrow one another last bit."""
    found = {}
    for reading in ("f34", "f35", "raised", "wrap"):
        pair = ("e0m3", "e0m3")
        plan = resolve(f"blackwell_e0m3_{reading}", *pair)
        found[reading] = dot([7] * 64, [7] * 64, [0x77] * 4, [0x77] * 4, 0, plan).code
    assert found["f34"] == found["f35"] == found["raised"] != found["wrap"]
    assert found["wrap"] >> 31 == 1


def test_an_accumulator_refuses_what_it_cannot_hold() -> None:
    """A register of 49 bits takes any four groups of INT4 under the largest scales, and not always a fifth."""
    datapath = get("datapath", "int64")
    register = datapath.facts.accumulator.model_copy(update={"bits": 49})
    narrow = datapath.model_copy(update={"facts": datapath.facts.model_copy(update={"accumulator": register})})
    plan = resolve(narrow, "int4", "int4", "ue4m3", 16)
    assert plan.largest_k == 80
    assert resolve("int64", "int4", "int4", block=16).largest_k == 2739136
    found = dot([8] * 64, [8] * 64, [0x7E] * 4, [0x7E] * 4, 0, plan)
    assert found.accumulator == found.steps[-1].total == 215504279044096
    assert found.code != 0 == found.steps[-1].code  # the step leaves the register alone: the result is rounded after all of K
    with pytest.raises(OpenError, match="49-bit accumulator overflows after 128 products: any values fit up to K = 80"):
        dot([8] * 128, [8] * 128, [0x7E] * 8, [0x7E] * 8, 0, plan)


def test_what_is_unknown_or_open_is_refused_with_the_reason() -> None:
    for name in ("cdna4", "sm_103", "sm_107", "blackwell_sparse"):
        with pytest.raises(OpenError, match=f"datapath {name}: .*nothing is computed until: hardware probe"):
            resolve(name)
    with pytest.raises(OpenError, match=r"align\.fraction_bits is open until: emu probe blackwell_e0m3"):
        resolve("blackwell_e0m3", "e0m3", "e0m3")


def test_bad_operands_are_named() -> None:
    plan = resolve("blackwell_mxf4nvf4_b16_ue4m3")
    ok, scales = [0] * 64, [0] * 4
    cases = (
        (([0] * 63, ok, scales, scales, 0), ShapeError, "A has 63 elements in a row, B has 64"),
        (([0] * 96, [0] * 96, scales, scales, 0), ShapeError, "K = 96 is no multiple of the 64 products"),
        ((ok, ok, [0] * 2, scales, 0), ShapeError, "one scale per 16 elements: 4 each; A has 2, B has 4"),
        (([16, *ok[1:]], ok, scales, scales, 0), OperandError, "a: code 0x10 of element 0 is no e2m1 code"),
        ((ok, ok, scales, [0, 256, 0, 0], 0), OperandError, "b_scales: code 0x100 of element 1 is no ue4m3 code"),
        ((ok, ok, scales, scales, 1 << 32), OperandError, "c: code 0x100000000 of element 0 is no fp32 code"),
    )
    for given, kind, words in cases:
        with pytest.raises(kind, match=words):
            dot(*given, plan)
    for given, words in (
        (("hopper_fp8", "e2m1", "e4m3"), "hopper_fp8 does not take e2m1 x e4m3: it takes e4m3 x e4m3"),
        (("hopper_fp8",), "takes several operands: name a_format and b_format"),
        (("nv_like", "e1m2", "e1m2", "fp32"), "does not take scale format fp32: it takes ue4m3, ue5m3, e8m0"),
        (("nv_like", "e1m2", "e1m2", "ue4m3"), "name the block size, one of 16, 32"),
        (("hopper_fp16", "fp16", "bf16"), "it takes fp16 x fp16, bf16 x bf16"),
    ):
        with pytest.raises(SpecError, match=words):
            resolve(*given)
