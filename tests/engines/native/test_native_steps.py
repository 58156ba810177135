"""The steps of the kernels, operation by operation, against `exact`'s arithmetic on all pairs of awkward numbers, in every form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from emu.engines.exact import arithmetic as exact
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.native import convert as kernel
from emu.engines.native import steps as kernel_steps
from emu.engines.native._kernels import ffi, lib
from emu.spec import get

FORMS = range(kernel.BEST_FORM + 1)
FP32, RNE = get("format", "fp32"), get("rounding", "rne")
MAGNITUDES = (0, 1, 2, 0x400000, 0x7FFFFF, 0x800000, 0x800001, 0x33800001, 0x3E2AAAAB, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x40C00000,
              0x43E00000, 0x45280000, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000)  # fmt: skip
NUMBERS = [code | sign for code in MAGNITUDES for sign in (0, 1 << 31)]
PAIRS = np.array(list(itertools.product(NUMBERS, NUMBERS)), np.uint32)
NAN = 0x7FC00000


def by_kernel(form, operation, arguments, variant=0, **more):
    """Return what one step gives; arguments: arrays of bits, one for each argument."""
    count = arguments[0].size
    step = ffi.new("emu_kernel_step *", {"operation": operation, "out": 9, "args": [0, 1, 2, 3], "variant": variant, **more})
    out = np.empty(count, np.uint32)
    for first in range(0, count, lib.EMU_LANES):
        bits = np.zeros((lib.EMU_MAX_REGISTERS, lib.EMU_LANES), np.uint32)
        n = min(lib.EMU_LANES, count - first)
        for number, argument in enumerate(arguments):
            bits[number, :n] = argument[first : first + n]
        assert lib.emu_run_steps(form, step, 1, n, ffi.from_buffer("uint32_t[]", bits)) == 0
        out[first : first + n] = bits[9, :n]
    return canonical(out)


def canonical(bits):
    return np.where(bits & np.uint32(0x7FFFFFFF) > np.uint32(0x7F800000), np.uint32(NAN), bits)


def value(bits):
    return decode_code(int(bits), FP32)


@pytest.mark.cases(6)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_arithmetic_rounds_once(name, form):
    def exactly(a, b):
        if name == "mul" or name == "div":
            return (exact.multiply if name == "mul" else exact.divide)(a, b)
        return exact.add(a, exact.negate(b) if name == "sub" else b, RNE)

    wanted = [encode_value(exact.round_result(exactly(value(a), value(b)), FP32, RNE), FP32) for a, b in PAIRS]
    found = by_kernel(form, kernel_steps.ARITHMETIC[name], PAIRS.T)
    assert found.tolist() == canonical(np.array(wanted, np.uint32)).tolist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("nan", ["propagate", "drop"])
def test_min_max_and_clamp(nan, form):
    a, b = PAIRS.T
    low, high = np.full(a.size, 0xC0C00000, np.uint32), np.full(a.size, 0x40C00000, np.uint32)
    rule = kernel_steps.NAN[nan]
    for operation, judge in ((lib.EMU_STEP_MIN, exact.smaller), (lib.EMU_STEP_MAX, exact.larger)):
        wanted = [encode_value(judge(value(x), value(y), nan), FP32) for x, y in PAIRS]
        assert by_kernel(form, operation, (a, b), rule).tolist() == canonical(np.array(wanted, np.uint32)).tolist()
    wanted = [encode_value(exact.clamp(value(x), value(low[0]), value(high[0]), nan), FP32) for x in a]
    assert by_kernel(form, lib.EMU_STEP_CLAMP, (a, low, high), rule).tolist() == canonical(np.array(wanted, np.uint32)).tolist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("test", ["zero", "nan", "inf", "neg", "lt", "le", "ge"])
def test_select(test, form):
    a, b = PAIRS.T
    yes, no = np.full(a.size, 0x11111111, np.uint32), np.full(a.size, 0x22222222, np.uint32)
    two = test in kernel_steps.TWO_ARGUMENTS
    found = by_kernel(form, lib.EMU_STEP_SELECT, (a, b, yes, no) if two else (a, yes, no), kernel_steps.TEST[test])
    wanted = [0x11111111 if exact.holds(test, value(x), value(y) if two else None) else 0x22222222 for x, y in PAIRS]
    assert found.tolist() == wanted


@pytest.mark.parametrize("form", FORMS)
def test_signs(form):
    bits = np.array(NUMBERS, np.uint32)
    for operation, judge in ((lib.EMU_STEP_ABS, exact.magnitude), (lib.EMU_STEP_NEG, exact.negate)):
        wanted = canonical(np.array([encode_value(judge(value(code)), FP32) for code in bits], np.uint32))
        assert by_kernel(form, operation, (bits,)).tolist() == wanted.tolist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", ["floor", "ceil", "even", "field_up"])
def test_e8m0_rules(rule, form):
    fields = [(field << 23) + low for field in range(256) for low in (0, 1, 0x3FFFFF, 0x400000, 0x600000, 0x7FFFFF)]
    bits = np.array(fields, np.uint32)
    for emax, frac_bits in ((0, 2), (2, 1), (8, 3)):
        found = by_kernel(form, lib.EMU_STEP_E8M0, (bits,), kernel_steps.RULE[rule], emax=emax, frac_bits=frac_bits)
        assert found.tolist() == [exact.e8m0_rule(value(code), rule, emax, frac_bits, int(code)) for code in bits]


def test_steps_are_checked():
    registers = ffi.new("uint32_t[]", lib.EMU_MAX_REGISTERS * lib.EMU_LANES)

    def run(count=1, **facts):
        step = ffi.new("emu_kernel_step *", {"operation": lib.EMU_STEP_ADD, "out": 3, "args": [0, 1, 2, 2], **facts})
        return lib.emu_run_steps(lib.EMU_PORTABLE, step, 1, count, registers)

    assert run() == lib.EMU_KERNEL_OK
    faults = [{"operation": -1}, {"operation": 99}, {"out": -1}, {"out": 64}, {"args": [0, 1, 2, 64]}, {"args": [3, 1, 2, 2]}]
    faults += [{"operation": lib.EMU_STEP_CAST}, {"operation": lib.EMU_STEP_DECODE}]
    faults += [{"frac_bits": 23}, {"bias": 127}, {"count": 257}, {"count": -1}]
    assert [run(**fault) for fault in faults] == [lib.EMU_KERNEL_ARGUMENT] * len(faults)
