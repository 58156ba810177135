"""Every check asks questions again: a kernel that is wrong now and then fails, and the report says how rare a fault it would have seen."""

from fractions import Fraction

import numpy as np
import pytest

import emu
from emu.base.errors import OperandError
from emu.check.again import LEAST, Again, rarest
from emu.check.matmul.run import Check
from emu.testing import check, check_matmul

SHAPES = [(17, 9, 96), (9, 33, 160)]


def product(a, b):
    return (a.dequantize(np.float64) @ b.dequantize(np.float64).T).astype(np.float32)


def now_and_then(kernel, every, phase, change):
    """A kernel whose answer is changed on one of so many calls."""
    calls = []

    def wrapped(*operands, **named):
        calls.append(0)
        found = kernel(*operands, **named)
        return change(found) if len(calls) % every == phase else found

    return wrapped


def last_bit(found):
    found = found.copy()
    found.reshape(-1).view(np.uint32)[0] ^= 1 << 23
    return found


@pytest.mark.parametrize("phase", range(0, 50, 7))
def test_a_product_that_is_wrong_on_every_50th_call_fails(phase, monkeypatch):
    monkeypatch.setattr(Check, "explain", lambda self: None)
    report = check_matmul(now_and_then(product, 50, phase, last_bit), "mxfp4", "mxfp4", shapes=SHAPES, raises=False)
    assert report.verdict in ("differs", "unstable") and "other answer to the same question" in report.text()


def test_the_report_of_a_product_says_how_many_calls_were_made():
    calls = []
    report = check_matmul(lambda a, b: calls.append(0) or product(a, b), "mxfp4", "mxfp4", shapes=SHAPES)
    assert report.again == LEAST == 60 and report.calls <= len(calls)
    assert f"{report.calls}, 60 of them a question asked again in another order; a fault in 1 of {rarest(report.calls)}" in report.text()
    more = check_matmul(product, "mxfp4", "mxfp4", shapes=SHAPES, repeat=200)
    assert more.again == 200 and more.calls >= report.calls + 100
    with pytest.raises(OperandError, match="repeat -1"):
        check_matmul(product, "mxfp4", "mxfp4", shapes=SHAPES, repeat=-1)


def convert(codes):
    return emu.convert(codes, "e2m1")


def test_a_kernel_that_is_wrong_when_it_is_asked_again_is_unstable():
    total, late = [], []
    check(lambda codes: total.append(0) or convert(codes), "convert/e2m1/rne/nvidia", repeat=0)

    def kernel(codes):
        late.append(0)
        found = convert(codes)
        if len(late) == len(total) + 30:
            found[0] ^= 1
        return found

    report = check(kernel, "convert/e2m1/rne/nvidia", raises=False)
    assert report.verdict == "unstable" and "other answer to the same question" in report.message and "codes[0] was" in report.message
    assert check(convert, "convert/e2m1/rne/nvidia").calls == len(total) - 1 + 60  # no code at all is asked once and not judged


def test_a_state_that_one_length_leaves_for_another_is_seen():
    """The first answers of each length are right, later ones are what a call of another length left."""
    seen = {}

    def kernel(codes):
        found = convert(codes)
        seen[codes.shape] = seen.get(codes.shape, 0) + 1
        if seen[codes.shape] > 1 and len(codes) == 17:
            found[-1] ^= 8
        return found

    report = check(kernel, "convert/e2m1/rne/nvidia", raises=False)
    assert report.verdict == "unstable" and "shape 17" in report.message


def test_orders_that_change_from_call_to_call_are_no_fault_and_are_said():
    turn = []

    def kernel(a, b):
        turn.append(0)
        x, y = a.dequantize(), b.dequantize()
        out = np.zeros((len(x), len(y)), np.float32)
        for k in np.random.default_rng(len(turn)).permutation(x.shape[1]):
            out = out + x[:, k, None] * y[None, :, k]
        return out

    report = check_matmul(kernel, "nvfp4_1level", "nvfp4_1level", shapes=[(17, 9, 96), (9, 33, 160)])
    assert report.verdict == "pass" and any("from call to call, which is no fault" in note for note in report.notes)


def test_the_rarest_fault_is_exact():
    for calls in (1, 2, 3, 59, 113, 1240):
        seen = rarest(calls)
        assert (1 - Fraction(1, seen)) ** calls <= Fraction(1, 20) < (1 - Fraction(1, seen + 1)) ** calls
    assert rarest(113) == 38


def test_what_is_kept_stays_small_and_the_cheapest_come_first():
    again = Again(3)
    for size in range(400, 0, -1):
        again.keep({"x": np.zeros(size, np.uint8)}, {"codes": np.zeros(size, np.uint8)}, str(size), exact=size != 300)
    asked = []
    assert not list(again.differing(lambda kept: asked.append(kept.why) or kept.answers))
    assert asked == ["1", "2", "300"] and again.calls == 399 + 2
