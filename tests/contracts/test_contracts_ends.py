"""Rows at the ends of narrow results, and of ignored bits of scales: of a user's datapath too.

A design that is wrong in one such thing is the same datapath with one word changed: some judged row differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from emu.base.errors import EmuError
from emu.contracts import Contract, parse
from emu.contracts.dot.codes import Codes
from emu.contracts.rows import Input, Row, is_open, make_row, mismatches
from emu.contracts.suites import ENDS
from emu.spec.registry import get, load_spec, restored
from emu.vectors.coverage.count import crosses_of
from emu.vectors.suites.plan import SuitePlan, find

LANE = """kind: "datapath"
id: "{id}"
title: "A lane with scales"
status: "proposed"
facts:
  a: ["e2m1"]
  b: ["e2m1"]
  c: "{c}"
  k: 16
  scale: {{formats: ["ue4m3"], blocks: [8], unused_bits: "{bits}"}}
  levels:
    - {{id: "blk", of: "block", add: "exact", scale: {{}}}}
    - {level}
  out: {out}
  special: {{when: "{when}", nan: "0x{nan}"}}
expect: []
open: [{point}]
sources:
  - {{ref: "emu", where: "a test"}}
"""
EXACT = '{id: "k", of: "all", add: "exact"}'
CHAIN = (
    '{id: "k", of: "all", add: "chain", by: 1, start: "c", align: {fraction_bits: 30, cut: "rz", floor: "derived"}, '
    'hold: {format: "fp16", rounding: "rne"}}'
)
BASES = {  # one computed by levels and without C, one with C in a wide format, one by fused steps
    "lane": {"c": "none", "bits": "ignore", "level": EXACT, "out": '{format: "fp16", rounding: "rne"}', "when": "per_add", "nan": "7FFF"},
    "wide_c": {"c": "fp32", "bits": "ignore", "level": EXACT, "out": '{format: "bf16", rounding: "rne", plus: "c"}', "when": "per_add",
               "nan": "7FFF"},
    "fused": {"c": "fp16", "bits": "ignore", "level": CHAIN, "out": '{format: "fp16"}', "when": "once", "nan": "7FFF"},
}  # fmt: skip
FAULTS = {
    "ties go away": ('rounding: "rne"', 'rounding: "rna"'),
    "truncated": ('rounding: "rne"', 'rounding: "rz"'),
    "the largest number for infinity": ('rounding: "rne"', 'rounding: "rne", overflow: "saturate"'),
}
SUITES = ("smoke", "directed")


@pytest.fixture
def contract(tmp_path: Path) -> Iterator[Callable[..., Contract]]:
    """A function of a name in BASES, a change of its text and further words: the contract of that datapath."""
    made = 0

    def contract(base: str, change: tuple[str, str] = ("", ""), **words: str) -> Contract:
        nonlocal made
        made += 1
        name = f"ends_{base}_{made}"
        text = LANE.format(**{"id": name, "point": "", **BASES[base], **words})
        assert change[0] in text
        folder = tmp_path / str(made)
        (folder / "datapath").mkdir(parents=True)
        (folder / "datapath" / f"{name}.yaml").write_text(text.replace(*change) if change[0] else text)
        load_spec(folder)
        return parse(f"dot/{name}")

    with restored():
        yield contract


def rows_of(operation: Contract, suite: str) -> list[tuple[Input, Row]]:
    """The cases of a suite, with their golden rows."""
    inputs = next(item for item in operation.suites() if item.suite == suite)
    cases = inputs.cases(0, inputs.size)
    return [(case, make_row(operation.layout, case, operation.exact(case.values))) for case in cases]


def differ(operation: Contract, rows: Sequence[tuple[Input, Row]], answer: Callable[[tuple[int, ...]], object]) -> int:
    """How many judged rows another answer fails in d."""
    found = 0
    for case, row in rows:
        try:
            found += "d" in mismatches(operation.layout, row, answer(case.values))  # type: ignore[arg-type]
        except EmuError:
            continue
    return found


@pytest.mark.cases(1, 4)
@pytest.mark.parametrize("base", BASES)
def test_one_wrong_word_fails_some_row(base: str, contract: Callable[..., Contract]) -> None:
    operation = contract(base)
    rows = rows_of(operation, "directed")
    for fault, change in FAULTS.items():
        if base == "fused" and "largest" in fault:
            continue  # its registers overflow to infinity alone
        assert differ(operation, rows, contract(base, change).exact), fault


@pytest.mark.cases(1, 4)
@pytest.mark.parametrize("base", BASES)
def test_flushed_results_fail_some_row(base: str, contract: Callable[..., Contract]) -> None:
    operation = contract(base)
    codes = Codes(get("format", operation.dst))

    def flushed(values: tuple[int, ...]) -> object:
        code = operation.exact(values)[0][0]
        magnitude = code & ~codes.sign_bit
        return ((code ^ magnitude if 0 < magnitude <= codes.full else code,),)

    assert differ(operation, rows_of(operation, "directed"), flushed)


@pytest.mark.cases(1, 4)
@pytest.mark.parametrize("base", BASES)
def test_an_ignored_bit_is_asked_and_judged(base: str, contract: Callable[..., Contract]) -> None:
    """Both suites set it in scales of A alone, of B alone, in one block and in all; a design that takes it for a sign fails."""
    operation = contract(base)
    place = {column.name: number for number, column in enumerate(operation.layout.inputs)}
    sign = Codes(get("format", operation.dst)).sign_bit
    for suite in SUITES:
        set_in: set[tuple[bool, bool]] = set()
        turned = 0
        for case, row in rows_of(operation, suite):
            bits = tuple(bool(case.values[place[name]] & 0x8080) for name in ("sa", "sb"))
            if any(bits) and not is_open(operation.layout, row):
                set_in.add(bits)  # type: ignore[arg-type]
                turned += "d" in mismatches(operation.layout, row, ((operation.exact(case.values)[0][0] ^ sign,),))
        assert turned and (suite == "smoke" or set_in == {(True, False), (False, True), (True, True)}), suite


def test_a_bit_that_is_open_stays_masked(contract: Callable[..., Contract]) -> None:
    """The datapath refuses it, or says that what it does is open; or it is shipped, with rows that were published masked."""
    refuses = contract("lane", bits="open")
    hedged = contract("fused", point='{what: "bit 7", until: "a probe", facts: ["unused_bits"]}')
    published = parse("dot/ideal/e1m2xe1m2/ue4m3/16")
    assert all(case.flags != ("ignored_bit",) for operation in (refuses, hedged) for case in operation.directed())
    for operation in (hedged, published):
        cases = [case for case in operation.directed() if "scale_signbit" in case.flags]
        rows = [make_row(operation.layout, case, operation.exact(case.values)) for case in cases]
        assert rows and all(is_open(operation.layout, row) for row in rows)


@pytest.mark.exhaustive
def test_the_coverage_model_misses_them(contract: Callable[..., Contract]) -> None:
    """A suite without these rows has holes that the whole one has not."""
    operation = contract("lane")
    plan = find(operation.stem("directed"))
    assert isinstance(plan, SuitePlan)
    rows = [(number, case) for number, case in enumerate(plan.cases(0, plan.size), 1)]
    crosses = {}
    for name, some in (("whole", rows), ("before", [(number, case) for number, case in rows if case.group != ENDS])):
        crosses[name] = {cross.name: cross for cross in crosses_of(plan.stem, [(number, case.values) for number, case in some])}
    assert not crosses["whole"]["ignored"].holes() and len(crosses["before"]["ignored"].holes()) == 3
    assert len(crosses["whole"]["narrow"].hits) > len(crosses["before"]["narrow"].hits)
