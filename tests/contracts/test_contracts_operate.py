"""operate: contracts of operations on numbers: rows, flags, traces, what deviates, kernels that are judged; P3109's frozen set."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emu
from emu.base.errors import FileError, SpecError
from emu.check.run import check
from emu.check.targets.python import python_target
from emu.contracts import Contract, contract_of, form_of, parse
from emu.contracts.rows import Input
from emu.engines.exact.decode import decode_code
from emu.spec.operations import OPERATIONS
from emu.vectors.build import build
from emu.vectors.suites.frozen import selection
from emu.vectors.suites.plan import named

SUM = "operate/add/binary8p3se/binary8p3se/rne/p3109_sat_none"
FINE = "operate/fma/binary8p3sexbinary8p4sexfp32/fp32/rne/ieee"
EVERY = [contract_of(name) for name in named() if name.op == "operate"]


def rows_of(contract: Contract, suite: str) -> list[Input]:
    found = {inputs.suite: inputs for inputs in contract.suites()}
    return found[suite].cases(0, found[suite].size)


def test_the_frozen_set_has_every_operation_rounding_and_saturation() -> None:
    """Of each operation a suite, most as files; all six roundings that draw nothing, three that draw, three saturations, ieee."""
    assert {contract.operation for contract in EVERY} == set(OPERATIONS)
    kept = selection()
    files = {plan.operation.name for plan in kept.shipped}
    digests = {plan.operation.name for plan in kept.digests}
    assert {contract.name for contract in EVERY} <= files | digests
    every = [name for name in named() if name in files | digests]
    roundings = {part for name in every for part in name.parts if part in ("rne", "rna", "ru", "rd", "rz", "odd_by_parity")}
    assert len(roundings) == 6
    texts = {str(name) for name in every}
    for word in ("sr_add8", "sr_half8", "sr_nearest8", "p3109_sat_none", "p3109_sat_finite", "p3109_sat_propagate", "ieee"):
        assert any(f"/{word}" in text for text in texts), word
    stochastic = [plan for plan in kept.shipped if re.search("binary8p[34]se__p3109_.*_sr_", plan.stem)]
    assert len(stochastic) == 3 and all(any(column.role == "r" for column in plan.operation.layout.columns) for plan in stochastic)


@pytest.mark.cases(28)
@pytest.mark.parametrize("contract", EVERY, ids=lambda contract: str(contract.name))
def test_all_engines_derive_every_smoke_row(contract: Contract) -> None:
    rows = rows_of(contract, "all" if contract.is_small else "smoke")[:: 3 if contract.is_small else 1]
    assert len({case.values for case in rows}) == len(rows) >= 11
    wanted = [contract.exact(case.values) for case in rows]
    engines = contract.engines()
    assert set(engines) == {"numpy", "c_ref"}
    for name, batch in engines.items():
        assert batch([case.values for case in rows]) == wanted, name


@pytest.mark.parametrize("policy", ["ocp_saturate", "gfloat_sat"])
def test_rows_without_an_answer_take_none_of_the_others(policy: str) -> None:
    """1 / NaN has no code of e2m1: such rows are open or refused, and every other row of their chunk is compared."""
    contract = parse(f"operate/recip/e4m3/e2m1/rne/{policy}")
    rows = [case.values for case in contract.directed()]
    wanted = [contract.exact(row) for row in rows]
    known = [answer if answer[0][0] >= 0 else None for answer in wanted]
    assert 0 < known.count(None) < len(rows) // 8
    for name, batch in contract.engines().items():
        assert batch(rows) == known and batch(rows[-1:]) == known[-1:], name


@pytest.mark.parametrize(("policy", "word"), [("ocp_saturate", "open"), ("gfloat_sat", "refused")])
def test_a_trace_tells_open_from_refused(policy: str, word: str) -> None:
    contract = parse(f"operate/recip/e4m3/e2m1/rne/{policy}")
    assert contract.trace((0x7F,))[-1]["value"] == word


@pytest.mark.parametrize("name", [SUM, FINE])
def test_directed_rows_reach_each_kind_of_result(name: str) -> None:
    """Ties, both sides of them, exact results, overflow, specials: each many times, of both signs; flags say what the numbers are."""
    contract = parse(name)
    rows = rows_of(contract, "directed")
    counts: dict[str, int] = {}
    for case in rows:
        for flag in case.flags:
            counts[flag] = counts.get(flag, 0) + 1
        values = [decode_code(code, fmt) for code, fmt in zip(case.values, contract.sources, strict=True)]
        assert ("nan" in case.flags) == any(value.kind == "nan" for value in values)
        assert ("operand_inf" in case.flags) == any(value.kind == "inf" for value in values)
        assert ("operand_zero" in case.flags) == any(value.is_zero for value in values)
        if "result_number" in case.flags:
            assert decode_code(contract.exact(case.values)[0][0], contract.to).signed == exact_sum(values, "fma" in name)
    for flag in ("result_halfway", "result_above_half", "result_below_half", "result_number", "result_beyond", "result_special"):
        assert counts[flag] >= 12, flag


def exact_sum(values: list[Any], fused: bool) -> Fraction:
    first, *others = (value.signed for value in values)
    return first * others[0] + others[1] if fused else first + others[0]


def test_small_suites_are_all_rows_in_order() -> None:
    rows = rows_of(parse("operate/compare_less/binary4p2se"), "all")
    assert [case.values for case in rows] == [(a, b) for a in range(16) for b in range(16)]
    assert [case.values for case in rows_of(parse("operate/is_nan/binary5p2se"), "all")] == [(code,) for code in range(32)]
    assert not parse("operate/compare_less/binary4p2sexbinary5p2se").is_small


def test_random_rows_do_not_depend_on_the_split() -> None:
    contract = parse(FINE)
    assert contract.draw(0, 90) == [*contract.draw(0, 31), *contract.draw(31, 90)]
    assert len({case.values[2] for case in contract.draw(0, 90)}) > 80


@pytest.mark.parametrize(
    "name", [SUM, "operate/minimum_finite/binary4p2se/binary4p2se/rne/p3109_sat_none", "operate/compare_less/binary4p2se"]
)
def test_each_deviation_is_seen_by_a_row(name: str) -> None:
    """Another rounding, saturation or operation gives another answer in some directed row; exchanged operands where order matters."""
    contract = parse(name)
    rows = [case.values for case in contract.directed()]
    wanted = [contract.exact(row) for row in rows]
    texts = []
    for deviation in contract.deviations():
        texts.append(deviation.text)
        if any(deviation.answer(row) != answer for row, answer in zip(rows, wanted, strict=True)):
            texts.pop()
    if contract.operation != "compare_less":
        assert "a and b are exchanged" in texts  # a sum and a minimum have no order
        texts.remove("a and b are exchanged")
    if contract.operation == "minimum_finite":  # a minimum is one of its operands: nothing is rounded, nothing overflows
        texts = [text for text in texts if not text.startswith(("rounded by", "policy"))]
    assert texts == []


def test_a_trace_says_operands_exact_result_and_projection() -> None:
    contract = parse(SUM)
    lines = contract.lines(contract.trace((0x40, 0x2D)))
    assert [line.split()[:2] for line in lines] == [["a", "decode"], ["b", "decode"], ["exact", "add"], ["y", "project"]]
    assert "133*2^-7" in lines[2] and "0x40 (1)" in lines[3]
    assert contract_of(parse("operate/is_nan/binary8p3se").name).trace((0x80,))[-1]["value"] == "1 (yes)"


@pytest.mark.exhaustive
def test_kernels_of_numbers_are_judged_and_truth_is_refused() -> None:
    """`emu check` takes a kernel of codes: the right one passes, one that cuts instead of rounding fails."""

    def kernel(rounding: str) -> Any:
        def add(a: Any, b: Any) -> Any:
            return emu.operate("add", a, b, formats="binary8p3se", rounding=rounding)

        return python_target(add, SUM, takes="numpy.bits")

    assert check(kernel("rne"), SUM).exit_code == 0
    assert check(kernel("rz"), SUM).exit_code == 1
    with pytest.raises(SpecError, match="holds plain integers"):
        form_of("operate/compare_less/binary8p3se")


def test_a_contract_without_suites_says_which_have_some(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"of operations on numbers those have suites that named.yaml names"):
        build(tmp_path / "new", contracts=["operate/add/e2m1/fp32/rne/ieee"])
    assert not (tmp_path / "new").exists()


def test_operands_of_one_format_are_written_once() -> None:
    name = parse("operate/add/binary8p3sexbinary8p3se/binary8p3se/rne/p3109_sat_none").name
    assert str(name) == SUM and name.spec == ("format/binary8p3se", "rounding/rne", "policy/p3109_sat_none")
    texts = (SUM, SUM.replace("rne", "rz"), SUM.replace("none", "finite"), SUM.replace("add", "faa"))
    assert len({parse(text).name.spec_sha256 for text in texts}) == 4
    assert np.array_equal(emu.operate("add", [0x40], [0x2D], formats="binary8p3se"), [0x40])
