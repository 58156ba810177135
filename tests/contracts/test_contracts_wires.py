"""Machines told wire by wire: with no wire wrong each is the contract, and every kind of edit does what its words say."""

import pytest

from emu.contracts.convert.wires import converted
from emu.contracts.dot import wires as dot_wires
from emu.contracts.levels import wires as level_wires
from emu.contracts.wires import Edit, edits
from emu.vectors.suites.plan import find


def rows(stem, most=120):
    plan = find(stem)
    cases = plan.cases(0, plan.size)
    return plan.operation, [case.values for case in cases[:: max(1, len(cases) // most)]]


@pytest.mark.cases(1, 5)
@pytest.mark.parametrize("stem", [
    "convert__fp32_to_e2m1__nvidia_rne__directed", "convert__fp16_to_e4m3__ml_dtypes_odd__directed",
    "convert__bf16_to_int4__nvidia_rne__directed", "convert__fp32_to_e5m2__nvidia_nosat_odd__directed",
    "convert__fp32_to_e2m1__nvidia_sr_add8__directed", "convert__fp32_to_e8m0__nvidia_odd__directed",
])  # fmt: skip
def test_a_converter_with_no_wire_wrong_is_the_contract(stem):
    op, values = rows(stem, 600)
    assert len(values) > 100
    for row in values:
        assert converted(op, op.source.facts, row, lambda name, value: value) == op.exact(row)[0][0], row


@pytest.mark.cases(1, 5)
@pytest.mark.parametrize("stem", [
    "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__directed",
    "dot__e2m1xe2m1_e8m0_to_fp32__blackwell_mxf4_b32_ue8m0__directed",
    "dot__e4m3xe4m3_to_fp32__hopper_fp8__directed", "dot__int4xint4_ue4m3_to_fp32__nv_like_b16__directed",
])  # fmt: skip
def test_a_fused_step_with_no_wire_wrong_is_the_datapath(stem):
    op, values = rows(stem)
    assert dot_wires.has_wires(op.plan) and len(values) > 100
    compared = 0
    for row in values:
        taken = op.taken(row)
        if not op.has_open_bit(taken):
            assert dot_wires.fused(taken, op.plan, lambda name, lane, value: value) == op.exact(row)[0][0], taken
            compared += 1
    assert compared > 100


@pytest.mark.cases(1, 5)
@pytest.mark.parametrize("stem", [
    "dot__e2m1xe2m1_to_fp32__int12_saturate__directed", "dot__e1m2xe1m2_ue4m3_to_fp32__e1m2_int24_register__directed",
    "dot__bf16xbf16_to_bf16__bf16_register__directed",
])  # fmt: skip
def test_levels_with_no_wire_wrong_are_the_datapath(stem):
    op, values = rows(stem)
    compared = 0
    for row in values:
        right = op.exact(row)[0][0]
        if right >= 0:
            assert level_wires.code_of(op.taken(row), op.plan, lambda name, lane, value: value) == right
            compared += 1
    assert compared > 60


@pytest.mark.cases(1, 5)
@pytest.mark.parametrize("stem", [
    "quantize__bf16_to_mxfp4__mxfp4_torchao_floor__directed", "quantize__fp32_to_nvfp4__nvfp4_te_ref__directed",
    "quantize__fp16_to_nvfp4_tile16__nvfp4_te_2d_ref__directed", "quantize__fp32_to_hif4__hif4__directed",
    "quantize__bf16_to_ufp4__ufp4_sr__directed", "quantize__fp32_to_nvfp4_256__nvfp4_te_4over6_mse_256__directed",
])  # fmt: skip
def test_a_program_with_no_step_wrong_is_the_recipe(stem):
    op, values = rows(stem)
    found = op.steps.batch(0, lambda codes: codes)(values)
    compared = 0
    for row, answer in zip(values, found, strict=True):
        right = op.exact(row)
        assert answer is not None and answer == right[: len(answer)], row
        compared += any(code >= 0 for code in answer[0])
    assert compared > 10


@pytest.mark.cases(1, 5)
@pytest.mark.parametrize("stem", [
    "dequantize__nvfp4_to_bf16__nvfp4_te_ref_te__directed", "dequantize__mxfp4_to_fp32__mxfp4_te_pow2_exact__directed",
    "dequantize__hif4_to_fp16__hif4_exact__directed", "dequantize__nvint4_to_fp32__f46_nvint4_f46__directed",
])  # fmt: skip
def test_a_profile_with_no_step_wrong_is_the_contract(stem):
    op, values = rows(stem)
    found = op.steps.batch(0, lambda codes: codes)(values)
    known = [(answer, op.exact(row)) for row, answer in zip(values, found, strict=True) if answer is not None]
    assert len(known) > 10
    for answer, right in known:
        assert answer == right


@pytest.mark.cases(1)
@pytest.mark.parametrize("source", ["bf16", "fp32"])
def test_a_butterfly_with_no_level_wrong_is_the_transform(source):
    op, values = rows(f"transform__{source}_to_fp32__rht16_butterfly__directed")
    found = op._side_by_side(99, None, 32, None, values)
    known = [(answer, op.exact(row)) for row, answer in zip(values, found, strict=True) if answer is not None]
    assert len(known) > 40
    for answer, right in known:
        assert answer == right[:1]


@pytest.mark.parametrize("bits", [4, 9])
@pytest.mark.parametrize("signed", [False, True])
def test_edits_of_integers(bits, signed):
    """By hand, on every value: bits lost, saturation, one off, one bit; an array of codes gets the same."""
    import numpy as np

    values = range(-(1 << bits - 1), 1 << bits - 1) if signed else range(1 << bits)
    ones = (1 << bits) - 1
    for edit in edits(bits, deep=2):
        changed = 0
        for value in values:
            got, code = edit(value, bits, signed), value & ones
            assert (min(values) <= got <= max(values)) and edit.words("w").startswith("w: ")
            if edit.kind in ("zero", "one", "flip"):
                bit = code >> edit.n & 1
                want = {"zero": 0, "one": 1, "flip": 1 - bit}[edit.kind]
                assert got & ones == code & ~(1 << edit.n) | want << edit.n
            elif edit.kind == "low":
                assert got == value - value % (1 << edit.n)
            elif edit.kind == "stop":
                top = (1 << bits - edit.n - signed) - 1
                assert got == (max(-top - 1, min(top, value)) if signed else min(top, value))
            elif edit.kind == "high":
                assert (got - value) % (1 << bits - edit.n) == 0 and (got.bit_length() <= bits - edit.n)
            else:
                assert (got - value) % (1 << bits) == (1 if edit.kind == "more" else ones)
            changed += got != value
            if not signed:
                assert int(edit.on_array(np.array([code], np.uint32), bits)[0]) == got
        assert changed
    assert Edit("nothing")(5, bits, signed) == 0
