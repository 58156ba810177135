"""Tests over clusters, against cases worked by hand."""

import math

import numpy as np
import pytest

from emu.base.errors import OperandError
from research.forks.statistics import bootstrap, detectable, holm, normals, outcome, power, rms, sign_flip_p


def test_flips_of_three_clusters_by_hand():
    # sums of (+-1 +-2 +-4): 7 5 3 1 -1 -3 -5 -7; as far as 7: two of eight; as far as |1 + 2 - 4| = 1: all
    assert sign_flip_p([1.0, 2.0, 4.0]) == 2 / 8
    assert sign_flip_p([-1.0, 2.0, 4.0]) == 4 / 8
    assert sign_flip_p([1.0, -2.0, 4.0]) == 6 / 8
    assert sign_flip_p([1.0, 2.0, -4.0]) == 1.0


def test_flips_of_two_and_of_one_cluster():
    assert sign_flip_p([3.0]) == 1.0
    assert sign_flip_p([3.0, 3.0]) == 2 / 4
    assert sign_flip_p([3.0, -3.0]) == 1.0
    assert sign_flip_p([0.0, 0.0, 0.0]) == 1.0


def test_clusters_that_all_agree_have_the_smallest_p():
    assert sign_flip_p([-0.1, -0.2, -0.3, -0.25, -0.15, -0.22]) == 2 / 64
    assert sign_flip_p([0.1] * 12) == 2 / 4096  # equal values: sums that differ by rounding alone are equal


def test_rounding_of_the_sum_does_not_change_p():
    values = [0.1, 0.2, 0.3]  # 0.1 + 0.2 - 0.3 is no zero in binary64
    assert sign_flip_p([0.1, 0.2, -0.3]) == 1.0
    assert sign_flip_p(values) == sign_flip_p(values[::-1]) == 2 / 8


def test_too_many_or_no_clusters_are_refused():
    for values in ([], [1.0] * 21):
        with pytest.raises(OperandError, match="clusters: the test of all flips takes 1 to 20"):
            sign_flip_p(values)


def test_holm_by_hand():
    # sorted .01 .02 .03 .04, times 4 3 2 1: .04 .06 .06 .04, each at least the one before: .04 .06 .06 .06
    found = holm([0.04, 0.01, 0.03, 0.02])
    assert [round(value, 12) for value in found] == [0.06, 0.04, 0.06, 0.06]
    assert holm([0.5, 0.4]) == [0.8, 0.8]
    assert holm([0.9, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_interval_and_p_of_a_comparison():
    found = outcome([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.low == 2.0 - 4.30265 / math.sqrt(3)
    assert found.spread == 1.0
    assert found.p == 2 / 8
    assert found.shown(lambda value: -value)[0] == -2.0
    assert outcome([1.0]).low is None


def test_bootstrap_is_the_same_every_time_and_holds_the_mean():
    values = [float(value) for value in range(10)]
    low, high = bootstrap(values)
    assert (low, high) == bootstrap(values)
    assert low < 4.5 < high
    assert bootstrap(values, key=1) != (low, high)
    spread = np.std(values) / math.sqrt(10)  # of a mean of ten drawn with replacement
    assert abs((high - low) / (2 * 1.96 * spread) - 1) < 0.05  # 10,000 draws: an error of about 2 %
    assert bootstrap([2.0, 2.0]) == (2.0, 2.0)


def test_simulated_normals_have_their_moments():
    drawn = normals(1000, 50)
    assert abs(drawn.mean()) < 5 / math.sqrt(50000)
    assert abs(drawn.std() - 1) < 5 / math.sqrt(100000)


def test_power_is_the_level_without_an_effect_and_grows_with_it():
    level = power(0.0, 1.0, 6)
    assert abs(level - 0.05) < 5 * math.sqrt(0.05 * 0.95 / 4000)
    # a paired t test of 12 at effect = spread: 0.88, from tables of the noncentral t
    assert abs(power(1.0, 1.0, 12) - 0.88) < 0.03
    assert power(0.5, 1.0, 12) < power(1.0, 1.0, 12)
    assert abs(detectable(1.0, 12) - 0.89) < 0.03  # 80 % at 12: 0.89 spreads


def test_rms_by_hand():
    assert rms([3.0, -4.0]) == math.sqrt(12.5)
