"""Kernels of accumulate under check: chains are drawn too, as many as --count says, and who is right in the golden ones alone fails."""

from __future__ import annotations

import numpy as np
import pytest
from support.spoiled import spoiled

from emu.check.inputs.suites import questions
from emu.check.run import check
from emu.contracts import accumulate, form_of

STATE, REGISTER = "accumulate/blackwell_mxf4nvf4_b16_ue4m3", "accumulate/int64/e1m2xe1m2/16"


def kernel(contract: str, wrong: int = 0):
    """What the contract says; bit 0 of d turned where the bits `wrong` of C are all set."""
    place = list(form_of(contract).operands).index("c")

    def turned(d: np.ndarray, given: tuple[np.ndarray, ...]) -> np.ndarray:
        d[given[place] & wrong == wrong] ^= bool(wrong)
        return d

    return spoiled(contract, turned)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulate, "CHAINS", 4)


@pytest.mark.parametrize(("contract", "told"), [(STATE, 8), (REGISTER, 1)])
def test_chains_are_drawn_as_many_as_are_asked(contract: str, told: int) -> None:
    """told: rows of a chain whose d the contract knows: with a register the last one."""
    report = check(kernel(contract), contract, suites=("stratified",))
    assert (report.verdict, report.suites) == ("pass", {"stratified": 4 * told})
    report = check(kernel(contract), contract, suites=("stratified",), count=7 * told)
    assert (report.verdict, report.suites) == ("pass", {"stratified": 7 * told})


def test_another_key_draws_other_chains() -> None:
    seen: set[bytes] = set()

    def spy(d: np.ndarray, given: tuple[np.ndarray, ...]) -> np.ndarray:
        seen.add(b"".join(array.tobytes() for array in given))
        return d

    target = spoiled(STATE, spy)
    for key in (1, 2):
        assert check(target, STATE, suites=("stratified",), key=key).verdict == "pass"
        assert len(seen) == 2 * key  # two parts, each asked again


def test_a_kernel_that_is_wrong_outside_of_the_golden_chains_fails() -> None:
    """The bits of C are those of no directed row; drawn chains have them."""
    form = form_of(STATE)
    golden = {row.values[6] for row in form.operation.directed()}
    wrong = next(value for value in drawn(form) if not any(c & value == value for c in golden))
    bad = kernel(STATE, wrong)
    assert check(bad, STATE, suites=("directed",)).verdict == "pass"
    report = check(bad, STATE, suites=("directed", "stratified"))
    assert report.verdict == "differs" and set(report.suites) == {"directed", "stratified"} and report.differing


def drawn(form) -> list[int]:
    """Every C of the drawn chains."""
    found = questions(form, "stratified", True, {"count": None, "key": 1, "multiple": (1, 1)})
    return [int(c) for question in found for c in question.operands["c"]]
