"""Report: the figures follow from the sums, and sums add up in any order."""

import math
from dataclasses import replace

import pytest

from emu.analysis.report import Report, add_up, total
from emu.base.errors import OperandError

PLAIN = Report("r", None, 8, 4.0, 1.0, -1.0, 2, 4, (1, 1, 4, 1, 1))


def test_figures_of_a_hand_sized_report():
    assert PLAIN.nmse == 0.25
    assert PLAIN.sqnr_db == -10 * math.log10(0.25)
    assert PLAIN.alpha_minus_1 == -0.25
    assert PLAIN.coherent == 0.0625
    assert PLAIN.incoherent == 0.1875
    assert PLAIN.coherent_share == 0.25
    assert PLAIN.clipped_share == 0.25
    assert PLAIN.zero_share == 0.5
    # H = 4 * 1/8 ln 8 + 1/2 ln 2 = 2 ln 2, exp(H) = 4, K = 5
    assert abs(PLAIN.bucket_ratio - 0.8) < 1e-15


def test_one_value_uses_one_bucket():
    assert replace(PLAIN, histogram=(0, 0, 8, 0)).bucket_ratio == 0.25
    assert replace(PLAIN, histogram=(2, 2, 2, 2)).bucket_ratio == 1.0
    assert replace(PLAIN, histogram=(0, 0)).bucket_ratio is None


def test_nothing_lost():
    report = replace(PLAIN, error=0.0, cross=0.0)
    assert report.sqnr_db == math.inf
    assert report.figures()["sqnr_db"] == "inf"
    assert report.coherent_share == 0.0
    assert report.incoherent == 0.0


@pytest.mark.parametrize("change", [{"signal": 0.0}, {"signal": math.nan}, {"error": math.inf}])
def test_no_figures_without_a_signal(change):
    report = replace(PLAIN, **change)
    assert [report.nmse, report.sqnr_db, report.coherent, report.incoherent, report.coherent_share] == [None] * 5
    assert report.clipped_share == 0.25


def test_total_adds_sums():
    other = replace(PLAIN, elements=2, signal=12.0, error=0.0, cross=1.0, clipped=0, zeros=1, histogram=(0, 0, 1, 1, 0))
    assert total([PLAIN, other]) == Report("r", None, 10, 16.0, 1.0, 0.0, 2, 5, (1, 1, 5, 2, 1))
    assert total([PLAIN]) == PLAIN


def test_total_does_not_depend_on_the_order():
    parts = [replace(PLAIN, signal=value) for value in (1e16, 1.0, -1e16, 1.0, 3.0)]
    assert total(parts).signal == total(parts[::-1]).signal == 5.0


@pytest.mark.parametrize("other", [replace(PLAIN, recipe="s"), replace(PLAIN, transform="t"), replace(PLAIN, histogram=(1, 2))])
def test_total_of_different_things_is_refused(other):
    with pytest.raises(OperandError, match="all of one recipe"):
        total([PLAIN, other])
    with pytest.raises(OperandError, match="at least one"):
        total([])


def test_add_up_is_rounded_once():
    assert add_up([0.1] * 10) == 1.0
    assert math.isnan(add_up([math.inf, -math.inf]))
