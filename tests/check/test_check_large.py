"""Rows beyond 16 bits at 64 columns, elements beyond 2^22: what is wrong there alone fails, whatever the operation."""

from functools import cache

import numpy as np
import pytest

import emu
from emu.check.run import check
from emu.check.targets.python import python_target
from emu.contracts import form_of
from emu.contracts.form import Asked
from emu.spec import get

REF = "quantize/nvfp4_te_ref"
CONTRACTS = (
    REF, "quantize/nvfp4_te_2d_ref", "quantize/mxfp4_quark_even", "quantize/ufp4_sr", "dequantize/nvfp4_te_ref/te", "transform/rht16_te",
    "convert/e2m1/rne/nvidia", "decode/ue4m3",
)  # fmt: skip


@cache
def large(contract):
    return [question for question in form_of(contract).in_shapes(Asked(calls="arrays")) if question.part is not None]


def quantizer(change):
    def kernel(x, tensor_amax):
        if not x.size:
            raise ValueError("nothing to quantize")
        q = emu.quantize(x, "nvfp4_te_ref", tensor_amax=tensor_amax)
        return change({"codes": q.codes.copy(), "scale": q.scales.copy()})

    return python_target(kernel, REF, takes="numpy.fp32", gives={"codes": "codes", "scale": "scale"})


def late_scales(found):
    if found["codes"].shape[1] >= 64:
        found["scale"][65536:] ^= 1
    return found


def zero_beyond(found):
    found["codes"].reshape(-1)[1 << 22 :] = 0
    return found


@pytest.mark.parametrize(("change", "verdict"), [(lambda found: found, "pass"), (late_scales, "differs"), (zero_beyond, "differs")])
def test_a_quantizer_that_is_wrong_in_large_tensors_alone_fails(change, verdict):
    report = check(quantizer(change), REF, suites=("shapes",))
    assert report.verdict == verdict and (verdict == "pass" or "65537x64" in report.failures[0].example.why)


def test_a_difference_that_the_repeated_rows_share_is_counted_once():
    def ends(found):
        found["codes"][:, -1] ^= 8
        return found

    report = check(quantizer(ends), REF, suites=("shapes",))
    assert report.verdict == "differs" and report.differing < 1 << 17  # MANY rows of one block are asked too, each on its own


@pytest.mark.cases(3)
@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_operation_on_tensors_is_asked_more_than_2_to_the_22_elements(contract):
    """Its rows repeat those of a part, so the answers do; an index that wraps at a power of two meets another row."""
    (question,) = large(contract)
    form = form_of(contract)
    main = question.operands[form.main]
    assert main.size > 1 << 22 and (main.ndim == 1 or len(main) > 1 << 16)
    assert not any(q.part is not None for q in form.in_shapes(Asked(calls="programs")))
    rows = main.reshape(-1, 64)
    assert not any((rows[1 << power :] == rows[: -(1 << power)]).all(axis=1).any() for power in (8, 12, 16))
    cut = {name: array if not array.shape else array[:, : 61 * 5] if len(array) == 1 else array for name, array in question.part.items()}
    assert set(cut) == set(question.operands)


@pytest.mark.cases(2)
@pytest.mark.parametrize("contract", CONTRACTS[:-1])
def test_the_answers_to_a_part_repeated_are_those_of_the_whole(contract):
    (question,) = large(contract)
    form, result = form_of(contract), get("format", "fp32")
    whole, part = (form.expect(operands, "auto", result) for operands in (question.operands, question.part))
    for name, array in whole.arrays.items():
        assert np.array_equal(np.resize(part.arrays[name], array.shape), array)


@pytest.mark.parametrize("contract", ["convert/e2m1/rne/nvidia", "dequantize/nvfp4_te_ref/te"])
def test_other_kernels_that_are_wrong_beyond_2_to_the_22_elements_fail(contract):
    form = form_of(contract)

    def kernel(*operands):
        given = dict(zip(form.operands, operands, strict=False))
        found = {name: np.resize(array, shape) for name, array, shape in answers(form, given)}
        for array in found.values():
            array.reshape(-1)[1 << 22 :] ^= 1
        return found

    target = python_target(kernel, contract, takes="numpy.bits", gives={name: name for name in form.answers}, result="fp32")
    assert check(target, contract, suites=("shapes",)).verdict == "differs"


def answers(form, given):
    """The right answers, of large operands those of their part."""
    part = next((question.part for question in large(str(form.contract)) if same(question.operands, given)), None)
    found = form.expect(part or given, "auto", get("format", "fp32")).arrays
    return [(name, array, form.shapes(given)[name]) for name, array in found.items()]


def same(operands, given):
    return all(np.array_equal(given[name], array) for name, array in operands.items() if name in given)
