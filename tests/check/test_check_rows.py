"""Kernels of operations that are judged row by row: where there are at most 2^16 rows every one is asked, else as many as are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from support.spoiled import spoiled

from emu.check.inputs.suites import questions
from emu.check.run import check
from emu.check.targets.python import python_target
from emu.contracts import form_of
from emu.contracts.form import MOST_ROWS
from emu.engines.run import run_operate
from emu.spec import get

NARROW = "operate/multiply/binary4p2sfxbinary6p3se/binary8p3se/rne/p3109_sat_none"  # 10 bits of operands
BYTES = "operate/multiply/binary8p3se/binary8p3se/rne/p3109_sat_none"
WIDE = "operate/add/bf16xbinary4p2sf/bf16/rne/ieee"  # 20 bits


def product(a, b, formats=("binary4p2sf", "binary6p3se")):
    how = get("rounding", "rne"), get("policy", "p3109_sat_none")
    return run_operate("multiply", [a, b], [get("format", name) for name in formats], get("format", "binary8p3se"), *how, "numpy")


def asked(contract, suite, count=None):
    form = form_of(contract)
    found = list(questions(form, suite, True, {"count": count, "key": 1, "multiple": (1, 1)}))
    return [np.concatenate([question.operands[name] for question in found]) if found else np.zeros(0, int) for name in form.operands]


def judged(fn, contract=NARROW, **options):
    return check(python_target(fn, contract), contract, **options)


def test_a_right_kernel_passes_on_every_row():
    report = judged(product)
    assert report.verdict == "pass" and report.suites["exhaustive"] == 1 << 10


@pytest.mark.parametrize("place", [(0, 0), (15, 63), (9, 37)])
def test_a_kernel_that_is_wrong_in_one_row_differs(place):
    def late(a, b):
        return product(a, b) ^ ((a == place[0]) & (b == place[1]))

    report = judged(late, suites=("exhaustive",))
    assert (report.verdict, report.differing) == ("differs", 1)


@pytest.mark.parametrize(("contract", "bits"), [(NARROW, (4, 6)), (BYTES, (8, 8)), ("insn/cvt_rn_f16x2_e2m1x2", (8,))])
def test_every_row_of_at_most_16_bits_is_asked_once(contract, bits):
    columns = asked(contract, "exhaustive")
    if len(bits) == 1:  # of a register: its lanes
        columns = [columns[0][:, 1], columns[0][:, 0]]
        bits = (4, 4)
    numbers = columns[0].astype(np.int64) << bits[1] | columns[1]
    assert np.array_equal(numbers, np.arange(1 << sum(bits)))


def test_more_rows_than_that_are_drawn():
    assert not asked(WIDE, "exhaustive")[0].size


@pytest.mark.parametrize("count", [None, 10, 1024, 1025, MOST_ROWS, MOST_ROWS + 1])
def test_as_many_rows_are_drawn_as_are_asked_for(count):
    few, more = asked(NARROW, "stratified")[0], asked(NARROW, "stratified", count)[0]
    assert len(few) == 1024 and len(more) == max(1024, count or 0) and np.array_equal(more[:1024], few)


FUSED, DOT, CONVERSION = "operate/fma/e4m3xe4m3xfp32/fp32/rne/ieee", "dot/bf16_register", "insn/cvt_rn_satfinite_e2m1x2_f32"


LATER = [pytest.param(contract, marks=pytest.mark.exhaustive) for contract in (DOT, CONVERSION)]


@pytest.mark.parametrize("contract", [FUSED, *LATER])
def test_answers_that_are_kept_by_shape_differ(contract):
    """Two questions of one shape at least: an answer that a kernel kept from the first of them is not the second's."""
    kept = {}
    report = check(spoiled(contract, lambda answer, given: kept.setdefault(given[0].shape, answer)), contract, suites=("stratified",))
    assert report.verdict == "differs"


@pytest.mark.parametrize(
    ("contract", "row"), [(FUSED, 4096), *[pytest.param(name, 1024, marks=pytest.mark.exhaustive) for name in (FUSED, DOT, CONVERSION)]]
)
def test_a_kernel_that_is_wrong_from_some_row_on_differs(contract, row):
    def late(answer, given):
        answer[row:] ^= 1
        return answer

    report = check(spoiled(contract, late), contract, suites=("shapes",))
    assert report.verdict == "differs" and report.differing >= 1
    assert report.failures[0].example.note.startswith("only inside the whole question")


def test_rows_of_ones_own_number_are_asked_and_a_kernel_may_refuse_them():
    def odd(answer, given):
        if len(answer) % 2:
            raise ValueError("pairs of rows, please")
        return answer

    report = check(spoiled(DOT, odd), DOT, suites=("shapes",), shapes=((6, 11),))
    assert report.verdict == "pass" and report.suites == {"shapes": 66 + 2}
    assert any("numbers of codes in a row were refused" in note for note in report.notes)


@pytest.mark.parametrize(("contract", "bits", "verdict"), [(FUSED, 48, "nothing"), (DOT, 144, "nothing"), (NARROW, 0, "pass")])
def test_a_report_says_where_rows_are_only_drawn(contract, bits, verdict):
    report = check(spoiled(contract, lambda answer, given: answer), contract, suites=("exhaustive",))
    line = f"exhaustive: a row has {bits} bits of operands, too many to ask them all: rows are drawn, --count says how many"
    assert (report.verdict, report.notes) == (verdict, [line] * (bits > 0))


@pytest.mark.exhaustive
def test_one_wrong_row_of_two_bytes_differs():
    def late(a, b):
        return product(a, b, ("binary8p3se",) * 2) ^ ((a == 0xC7) & (b == 0x91))

    report = judged(late, BYTES)
    assert (report.verdict, report.differing, report.suites["exhaustive"]) == ("differs", 1, 1 << 16)
