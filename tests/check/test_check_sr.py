"""Stochastic rounding without the operand: the tails are exact, the false-alarm rate holds, right kernels pass, wrong ones do not."""

from fractions import Fraction
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest

import emu
from emu.base import philox
from emu.check import stochastic
from emu.check.run import _Checker
from emu.check.stochastic import RATE, holm, lower_tail, p_value
from emu.check.targets.files import emit
from emu.check.targets.python import python_target
from emu.contracts import form_of
from emu.files.tensors import open_tensors
from emu.testing import check

CONTRACT, RECIPE = "convert/e2m1/sr_add8/nvidia", "quantize/ufp4_sr"


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 256), Fraction(255, 256), Fraction(3, 7), Fraction(0), Fraction(1)])
@pytest.mark.parametrize("draws", [1, 2, 17])
def test_tails_are_the_sums_of_the_distribution(chance, draws):
    terms = [comb(draws, hits) * chance**hits * (1 - chance) ** (draws - hits) for hits in range(draws + 1)]
    assert sum(terms) == 1
    for hits in range(draws + 1):
        below, above = sum(terms[: hits + 1]), sum(terms[hits:])
        assert lower_tail(hits, draws, chance) == below
        assert p_value(hits, draws, chance) == min(Fraction(1), 2 * min(below, above)) or chance in (0, 1)


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 16), Fraction(13, 256)])
def test_the_p_value_is_no_smaller_than_it_may_be(chance):
    """P(p_value <= a) <= a, summed exactly over all outcomes, for every a that it takes: the rate of one test holds."""
    draws = 40
    terms = [comb(draws, hits) * chance**hits * (1 - chance) ** (draws - hits) for hits in range(draws + 1)]
    values = [p_value(hits, draws, chance) for hits in range(draws + 1)]
    for level in set(values):
        assert sum(term for term, value in zip(terms, values, strict=True) if value <= level) <= level


def test_holm_rejects_as_published():
    values = [Fraction(1, 100), Fraction(4, 100), Fraction(3, 100), Fraction(5, 1000)]
    assert holm(values, Fraction(5, 100)) == [True, False, False, True]
    assert holm([Fraction(1)], Fraction(1, 10)) == [False] and holm([], RATE) == []


def test_holm_keeps_the_rate_over_a_family():
    """Two independent tests of a fair coin, all outcomes of 12 throws each: the chance of any rejection is summed exactly."""
    rate, draws = Fraction(1, 20), 12
    weight = [Fraction(comb(draws, hits), 2**draws) for hits in range(draws + 1)]
    values = [p_value(hits, draws, Fraction(1, 2)) for hits in range(draws + 1)]
    alarm = sum(weight[a] * weight[b] for a in range(draws + 1) for b in range(draws + 1) if any(holm([values[a], values[b]], rate)))
    assert 0 < alarm <= rate


class Kernel:
    """A kernel that draws by itself: the key, the number of calls, and how it goes wrong."""

    def __init__(self, key, fault=""):
        self.key, self.fault, self.calls = key, fault, 0

    def integers(self, size):
        self.calls += self.fault != "same each call"
        drawn = philox.words(self.key, size, 0, self.calls) & np.uint32(255)
        if self.fault == "zeros":
            return np.zeros_like(drawn)
        if self.fault == "reused":
            return np.repeat(drawn[: -(-size // 16)], 16)[:size]
        if self.fault == "biased":
            return drawn * np.uint32(240) >> np.uint32(8)
        return drawn

    def __call__(self, x):
        return emu.convert(x, "e2m1", rounding="sr_add8", random=self.integers(x.size))


@pytest.mark.cases(2)
@pytest.mark.parametrize("key", range(8))
def test_a_right_kernel_passes_under_every_key(key):
    report = check(Kernel(key), CONTRACT, suites=("directed",))
    assert report.verdict == "pass" and [item["name"] for item in report.statistics] == ["mean", "bucket", "neighbours", "calls"]
    assert all(item["rejected"] == 0 and "false-alarm rate at most 1/1000000" in item["rule"] for item in report.statistics)


@pytest.mark.cases(2)
@pytest.mark.parametrize(("fault", "families"), [
    ("zeros", {"mean", "bucket", "neighbours", "calls"}),
    ("reused", {"neighbours"}),
    ("biased", {"mean", "bucket"}),
    ("same each call", {"calls"}),
])  # fmt: skip
def test_a_wrong_kernel_is_caught_by_the_test_that_is_meant_for_it(fault, families):
    report = check(Kernel(3, fault), CONTRACT, suites=("directed",), raises=False)
    assert report.verdict == "differs" and {failure.name for failure in report.failures} == {"random"}
    assert {failure.stage for failure in report.failures} == families
    assert report.text().count(" draws, 0 calls to shrink it):") == len(families)  # a statistic has no smaller example


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 1024, 6, 2400])
def test_draws_that_come_again_so_many_places_later_are_noticed(lag, monkeypatch):
    """6: inputs of a row; 2400: half of all answers. What repeats at this distance alone is seen by the test of this distance alone."""
    half, rows = np.arange(6), 800
    place = np.arange(half.size * rows)
    drawn = philox.words(lag, place.size, 0, 0) & np.uint32(1)
    drawn = np.where(place // lag % 2 == 1, drawn[place - lag * (place >= lag)], drawn).astype(np.uint8).reshape(rows, half.size)
    zeros = np.zeros(half.size, np.uint8)
    monkeypatch.setattr(stochastic, "chances", lambda checker, row: (zeros, zeros + 1, [Fraction(1, 2)] * half.size))
    monkeypatch.setattr(stochastic, "ask_again", lambda checker, row: drawn)
    checker = SimpleNamespace(report=SimpleNamespace(compared=0, notes=[]))
    tests = stochastic.independence(checker, half)
    certain = {test.what for test in tests if test.hits == test.draws}
    assert certain == {f"elements {lag} apart are equal", "the same element in two calls is equal"}
    for test in tests[:-1]:
        apart = int(test.what.split()[1])
        assert test.draws == np.count_nonzero((place // apart % 2 == 0) & (place + apart < place.size))


def test_the_p_value_of_a_message_is_a_bound():
    """The power of ten is the largest that the p-value is below: 10^-7 itself is not below 10^-7."""
    for value, power in (
        (Fraction(1, 10**7), 6),
        (Fraction(1, 10**7) - Fraction(1, 10**20), 7),
        (Fraction(6, 10**9), 8),
        (Fraction(0), 399),
    ):
        (line,) = stochastic._failure("mean", stochastic.Test("mean", "places", 1, 2, Fraction(1, 2)), 1, value).example.steps
        assert line.endswith(f"p-value below 10^-{power}")


def test_a_code_that_cannot_be_is_no_matter_of_statistics():
    report = check(lambda x: emu.convert(x, "e2m1", rounding="sr_add8", random=np.zeros(x.size, np.uint32)) ^ np.uint8(1), CONTRACT,
                   suites=("directed",), raises=False)  # fmt: skip
    assert "codes" in {failure.stage for failure in report.failures}


def test_with_the_operand_bits_are_judged():
    def kernel(x, random):
        return emu.convert(x, "e2m1", rounding="sr_add8", random=random ^ np.uint8(1))

    report = check(kernel, CONTRACT, raises=False, suites=("directed",))
    assert report.verdict == "differs" and not report.statistics and report.failures[0].name == "random"


@pytest.mark.exhaustive
def test_a_recipe_that_draws_is_judged_in_blocks():
    def kernel(fault):
        own = Kernel(5, fault)
        return lambda x: emu.quantize(x, "ufp4_sr", random=own.integers(x.size).reshape(x.shape))

    assert check(kernel(""), RECIPE, suites=("directed",)).verdict == "pass"
    report = check(kernel("zeros"), RECIPE, suites=("directed",), raises=False)
    assert {failure.name for failure in report.failures} == {"random"}


def drawing(key, answer, fault=None):
    """A kernel of ufp4_sr that takes signs, pads by itself and draws for the padding too. fault: what is done to its codes."""
    own = Kernel(key)

    def kernel(x, signs):
        padded = np.pad(x, ((0, 0), (0, -x.shape[1] % 16)))
        q = emu.quantize(padded, "ufp4_sr", signs=signs, random=own.integers(padded.size).reshape(padded.shape))
        codes = np.array(q.codes)
        if fault:
            fault(codes.reshape(-1))
        with np.errstate(all="ignore"):
            values = emu.decode(codes, "e1m2") * np.repeat(emu.decode(q.scales, "fp32"), 16, axis=1)
        return (codes, np.asarray(q.scales)) if answer == "codes" else values[:, : x.shape[1]]

    return kernel


@pytest.mark.cases(2)
@pytest.mark.parametrize(("answer", "suites"), [("codes", ("directed",)), ("values", ("directed",)), ("codes", ("shapes",))])
def test_a_kernel_that_takes_signs_and_draws_passes_whatever_it_answers(answer, suites):
    """Signs are an operand of the draws too; of the padding either code is right."""
    report = check(drawing(7, answer), RECIPE, suites=suites)
    assert report.verdict == "pass" and all(item["rejected"] == 0 for item in report.statistics) and len(report.statistics) == 4


def without_signs(recipe, **operands):
    """A kernel that takes no signs; a recipe that draws is given its integers."""

    def kernel(x, random=None):
        q = emu.quantize(x, recipe, random=random, **operands)
        return q.codes, q.scales

    return python_target(kernel, f"quantize/{recipe}", wants=("random",) if recipe == "ufp4_sr" else ())


@pytest.mark.cases(4)
@pytest.mark.parametrize("suite", ["stratified", "directed", "shapes", "decisions"])
@pytest.mark.parametrize("recipe", ["ufp4_sr", "ufp4"])
def test_a_kernel_without_signs_is_asked_under_those_of_its_transform(recipe, suite):
    """The first line says which; signs that the kernel has for itself are a difference."""
    targets = without_signs(recipe), without_signs(recipe, signs=1)
    right, wrong = (check(target, f"quantize/{recipe}", suites=(suite,), raises=False) for target in targets)
    assert right.verdict == "pass" and "under the signs 0x0000 alone" in right.text().splitlines()[0], right.text()
    assert wrong.verdict == "differs" and "under the signs 0x0000 alone" in wrong.text().splitlines()[0]
    assert any("let it take signs" in note for note in right.notes)


def test_a_kernel_that_takes_signs_is_asked_under_many():
    def kernel(x, signs):
        q = emu.quantize(x, "ufp4", signs=0)
        return q.codes, q.scales

    report = check(python_target(kernel, "quantize/ufp4"), "quantize/ufp4", suites=("stratified",), raises=False)
    assert report.verdict == "differs" and not report.own_signs


@pytest.mark.parametrize(("takes_signs", "signs"), [(True, False), (False, True)])
def test_files_of_inputs_are_under_those_signs_too(tmp_path, takes_signs, signs):
    """signs: those of the transform's file alone are in the inputs."""
    emit(tmp_path / "in.safetensors", "quantize/ufp4", suites=("stratified",), takes_signs=takes_signs)
    with open_tensors(tmp_path / "in.safetensors") as tensors:
        found = {int(tensors.read(item.name)) for item in tensors.tensors if item.name.endswith(".signs")}
    assert found and (found == {0}) is signs


def test_of_the_padding_either_code_is_right_and_no_other():
    """Blocks of 5 and of 21 elements: the rotation fills the padding."""
    x = np.linspace(-3, 3, 10 * 21, dtype=np.float32).reshape(10, 21)
    padded = np.pad(x, ((0, 0), (0, 11)))
    low, high = (emu.quantize(padded, "ufp4_sr", signs=0x391A, random=np.full(padded.shape, word, np.uint8)) for word in (0, 255))
    form = form_of(RECIPE, "fp32")
    operands = form.completed({"x": x.view(np.uint32), "signs": np.array(0x391A, "u4")}, 1, "")
    checker = _Checker(python_target(drawing(1, "codes"), RECIPE), form, None, (1, 1))
    for engine in ("auto", "exact"):
        ends = checker.ends(operands, engine, True)
        assert [np.array_equal(end.arrays["codes"], want.codes) for end, want in zip(ends, (low, high), strict=True)] == [True, True]
        assert ends[0].arrays["values"].shape == x.shape
    assert (low.codes[:, 21:] != high.codes[:, 21:]).any()


def every(codes):
    codes[255::256] = codes[255::256] + 1 & 15


def some(codes):
    codes[philox.words(3, codes.size, 0, 1) & np.uint32(255) == 0] ^= 4


@pytest.mark.cases(2)
@pytest.mark.parametrize("answer", ["codes", "values"])
@pytest.mark.parametrize("fault", [every, some])
def test_a_kernel_that_draws_and_changes_a_code_now_and_then_gets_its_verdict(fault, answer):
    """No part of the question may show it again: the whole is the counterexample, judged by what its draws allow."""
    report = check(drawing(5, answer, fault), RECIPE, suites=("stratified",), raises=False)
    assert report.verdict == "differs" and report.failures and report.differing > 100
