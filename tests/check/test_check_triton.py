"""Wrong quantizers as Triton kernels, interpreted on the CPU: each that changes an element of ten named tensors fails, the right ones pass.

EMU_NEED_TORCH: a missing torch or triton fails instead of being skipped.
"""

import importlib
import os

import numpy as np
import pytest
from support.wrong_kernels import Wrong, seen_in, verdict

import emu.testing
from emu.check.targets.python import python_target

torch, _ = (
    importlib.import_module(name) if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip(name, reason=f"no {name} here")
    for name in ("torch", "triton")
)
if torch.cuda.is_available():
    pytest.skip("this process compiles for its CUDA device; a process without one interprets", allow_module_level=True)

from support.wrong_triton import E1M2, FAMILIES, MXFP4, NVFP4, Fault, faults, quantizer  # noqa: E402 - it imports Triton

KINDS = ("ulp", "fact", "index", "shape")
SUITES = ("decisions", "shapes", "stratified", "directed", "exhaustive")
NOTHING = {  # what changes nothing that can be seen: each is held against ten named tensors
    NVFP4: set(),
    MXFP4: {"ulp: unit up, 1 of 128", "fact: division by the number", "fact: elements not clamped"},
    E1M2: set(),
}
TAKES = {"takes": "torch.fp32", "gives": ("codes", "scale")}


def wrong(recipe, fault):
    """A kernel as one of the zoo: raw codes of x and the operands by name -> answers by name."""
    kernel = quantizer(recipe, fault)

    def called(x, tensor_amax=None):
        amax = None if tensor_amax is None else torch.tensor([int(tensor_amax)]).to(torch.int32).view(torch.float32)
        codes, scale = kernel(torch.from_numpy(np.ascontiguousarray(x).view(np.float32).copy()), amax)
        scale = scale.numpy()
        return {"codes": codes.numpy(), "scale": scale.view(np.uint32) if scale.dtype == np.float32 else scale}

    return Wrong(str(fault), fault.kind, f"quantize/{recipe}", called)


# An ulp of a unit matters to MXFP4 where the block maximum is six times a power of two: one input of a binade, and of those the fault takes
# one of 128. A division by six has the same power of two as a product (below); codes of elements that are not clamped saturate anyway.


def judged(recipe, fault, key=1):
    """The verdict of a check, the suite first that is about this kind."""
    first = {"ulp": "decisions", "fact": "directed"}.get(fault.kind, "shapes")
    target = python_target(quantizer(recipe, fault), f"quantize/{recipe}", name=str(fault), **TAKES)
    return verdict(wrong(recipe, fault), target, key, (first, *(suite for suite in SUITES if suite != first)))


@pytest.mark.parametrize("recipe", FAMILIES)
def test_a_right_kernel_in_triton_passes(recipe):
    emu.testing.check(quantizer(recipe), f"quantize/{recipe}", **TAKES)


@pytest.mark.exhaustive
@pytest.mark.parametrize("key", [2, 90210])
@pytest.mark.parametrize("recipe", FAMILIES)
def test_a_right_kernel_in_triton_passes_with_other_inputs(recipe, key):
    emu.testing.check(quantizer(recipe), f"quantize/{recipe}", key=key, **TAKES)


def test_how_many_there_are():
    assert sum(len(faults(recipe)) for recipe in FAMILIES) >= 150
    assert all({item.kind for item in faults(name)} == set(KINDS) for name in FAMILIES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recipe", FAMILIES)
def test_a_wrong_kernel_in_triton_fails(recipe, kind):
    """The verdict is a difference or codes with bits that no code has; a kernel that raises would be no wrong one."""
    mine = [fault for fault in faults(recipe) if fault.kind == kind]
    found = {str(fault): judged(recipe, fault) for fault in mine}
    passed = {name for name, what in found.items() if what == "pass"}
    assert passed == {name for name in found if name in NOTHING[recipe]}
    assert {what for name, what in found.items() if name not in passed} <= {"differs", "dtype"}


def test_the_assertion_names_the_counterexample():
    fault = Fault("index", rule="last lane left out")
    for recipe in FAMILIES:
        with pytest.raises(AssertionError, match="differ"):
            emu.testing.check(quantizer(recipe, fault), f"quantize/{recipe}", suites=("shapes",), **TAKES)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [20263, 20264])
@pytest.mark.parametrize("recipe", FAMILIES)
def test_other_inputs_are_an_ulp_off(recipe, seed):
    """Seeds that were not used while inputs were chosen: what passes is right on every named tensor, ten million elements."""
    passed = [fault for fault in faults(recipe, seed) if fault.kind == "ulp" and judged(recipe, fault, key=seed) == "pass"]
    assert {fault.step for fault in passed} <= {"unit"}
    assert [str(fault) for fault in passed if seen_in(wrong(recipe, fault))] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(("recipe", "name"), [(recipe, name) for recipe, names in NOTHING.items() for name in sorted(names)])
def test_what_passes_changes_nothing_of_ten_named_tensors(recipe, name):
    assert seen_in(wrong(recipe, next(fault for fault in faults(recipe) if str(fault) == name))) == ""


@pytest.mark.exhaustive
def test_what_the_named_tensors_show():
    """They tell a wrong kernel from a right one: a fact, a lane."""
    for recipe in FAMILIES:
        assert seen_in(wrong(recipe, Fault()), 10**5) == ""
        for fault in (Fault("fact", rule="sign left out"), Fault("index", rule="last lane left out")):
            assert seen_in(wrong(recipe, fault)), (recipe, str(fault))


@pytest.mark.exhaustive
def test_the_division_of_mxfp4_may_be_a_multiplication():
    """Every fraction of an ordinary binade and every number below: amax / 6 and amax * fl(1/6) have the same power of two above them."""

    def above(unit):
        bits = unit.view(np.uint32)
        return np.where(bits <= 0x400000, 0, (bits + np.uint32(0x7FFFFF)) >> np.uint32(23))

    six, sixth = np.float32(6), np.array([0x3E2AAAAB], np.uint32).view(np.float32)
    for start in (*range(0, 5 << 23, 1 << 23), 127 << 23, 254 << 23):
        amax = np.arange(start, start + (1 << 23), dtype=np.uint32).view(np.float32)
        assert np.array_equal(above(amax / six), above(amax * sixth))
