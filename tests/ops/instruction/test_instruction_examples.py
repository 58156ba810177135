"""Worked examples of instructions through every way of running them, fused quantizers, and the numbers that the rationales quote."""

from typing import Any

import numpy as np
import pytest

import emu
from emu.cli.examples.run import faults
from emu.contracts import replay as check
from emu.contracts.insn.contract import run
from emu.ops.instruction import instruction, register_of, register_text
from emu.spec import get, names

EXAMPLES = [(name, number) for name in names("instruction") for number in range(len(get("instruction", name).expect))]
NO_EXAMPLE = {
    "amd_mfma_scale",
    "ptx_mma_sparse",
    "ptx_tcgen05_k96",
    "ptx_tcgen05_sm107_fp4",
    "ptx_tcgen05_sm107_mxf8f6f4",
    "x86_cvtbias_ps_fp8",
}


@pytest.mark.cases(113)
@pytest.mark.parametrize(("name", "number"), EXAMPLES, ids=[f"{name}-{number}" for name, number in EXAMPLES])
def test_an_example_holds(name: str, number: int, reading: Any) -> None:
    """By the reference model as `emu doctor` runs it, by the engine that auto takes, and by the second reading of conftest.py."""
    family = get("instruction", name)
    example = family.expect[number]
    assert check(family, example) is None
    call = instruction(example.form, **example.choose)
    facts = call.facts
    if facts.performs == "mma":
        return
    texts = [*example.operands, *(text for text in (example.random, example.scale) if text is not None)]
    found = call(*(register_of(text) for text in texts))
    first = found[0] if isinstance(found, tuple) else found
    assert register_text(first, len(example.result)) == example.result
    if facts.performs in ("convert", "widen"):
        operands = [int(text, 16) for text in example.operands]
        again = reading.execute(facts, operands, int(example.random or "0", 16), int(example.scale or "0", 16))
        assert again == int(example.result, 16)


def test_every_known_family_has_examples() -> None:
    assert {name for name in names("instruction") if not get("instruction", name).expect} == NO_EXAMPLE
    assert len(EXAMPLES) >= 160
    assert all(fault is None for name in ("riscv_fcvt_h_s", "prop_rht_quantize") for _, fault in faults(get("instruction", name)))


def test_an_example_that_fails_says_what_came_out() -> None:
    family = get("instruction", "ptx_cvt_f4x2")
    wrong = family.expect[0].model_copy(update={"result": "F2"})
    assert check(family, wrong) == "2F, not F2"
    assert len(run(instruction(wrong.form), wrong)) == 1


def test_a_fused_quantizer_is_transform_then_recipe() -> None:
    draw = np.random.Generator(np.random.Philox(11))
    x = (draw.integers(0, 1 << 16, (5, 16)) & 0x8FFF | 0x3000).astype(np.uint16)
    rotated = emu.transform(x, "rht16_te", source="bf16")
    call = instruction("cvt.rht16.rn.satfinite.ue4m3.e1m2x16.bf16")
    words = x[:, 0::2].astype(np.uint32) | x[:, 1::2].astype(np.uint32) << 16
    amax = np.array([0x40556D1D, 0x3F800000, 0x40556D1D, 0x44440000, 0x3F800000], np.uint32)
    codes, scales = call(words, amax)
    for row in range(5):
        wanted = emu.quantize(rotated[row], "nvufp4", tensor_amax=amax[row].view(np.float32))
        assert int(codes[row]) == sum(int(code) << 4 * lane for lane, code in enumerate(wanted.codes))
        assert int(scales[row]) == int(wanted.scales[0])


def test_signs_of_the_rotation_are_an_operand() -> None:
    call = instruction("cvt.rht16.rn.satfinite.f32.e1m2x16.bf16")
    x = np.array([0x40E0, 0, 0, 0, 0, 0, 0, 0], np.uint32)
    codes, scales = call(x, np.array([0, 1], np.uint16))
    assert [int(code) for code in codes] == [0x7777777777777777, 0xFFFFFFFFFFFFFFFF] and scales.tolist() == [0x3F800000] * 2


def test_two_roundings_through_bf16_are_wrong_for_229376_inputs() -> None:
    """All positive binary32 numbers whose E1M2 code a step through bf16 changes lie within 70000 of a midpoint."""
    wrong = []
    for k in range(7):
        midpoint = int(np.float32((2 * k + 1) / 8).view(np.uint32))
        x = np.arange(midpoint - 70000, midpoint + 70001, dtype=np.uint32)
        middle = emu.convert(x, "bf16", policy="ieee", source="fp32")
        wrong.append(int((emu.convert(x, "e1m2", source="fp32") != emu.convert(middle, "e1m2", source="bf16")).sum()))
    assert wrong == [32768] * 7 and sum(wrong) == 229376


def decibels(x: Any, recipe: str) -> Any:
    back = emu.quantize(x, recipe).dequantize(np.float64)
    values = x.astype(np.float64)
    return 10 * np.log10((values**2).sum() / ((values - back) ** 2).sum())


def test_the_rotation_turns_the_loss_of_the_uniform_grid_into_a_gain() -> None:
    """SQNR of E1M2 minus that of E2M1 in the NVFP4 hierarchy, on Student t data (3 degrees of freedom) and on Gaussian data."""
    draw = np.random.Generator(np.random.Philox(3))
    heavy = draw.standard_t(3, (1024, 256)).astype(np.float32)
    gauss = draw.standard_normal((1024, 256)).astype(np.float32)
    gains = {}
    for name, x in (("heavy", heavy), ("gauss", gauss)):
        plain = emu.convert(x, "bf16", policy="ieee").view(emu.transform(x[:1, :16], "rht16_te").dtype)
        for rotated in (False, True):
            y = emu.transform(plain, "rht16_te") if rotated else plain
            gains[name, rotated] = decibels(y, "nvufp4") - decibels(y, "nvfp4_te_ref")
    assert -2.5 < gains["heavy", False] < -1.5 and 1.7 < gains["heavy", True] < 2.5
    assert 0.7 < gains["gauss", False] < 1 and 0.7 < gains["gauss", True] < 1
