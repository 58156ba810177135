"""Datapaths in the C reference: overflowing registers, refused descriptors, checked operands, and the epilogue against the exact engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.base.errors import OpenError
from emu.engines.c_ref import datapath as native
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import matrix
from emu.engines.exact import epilogue as reference_model
from emu.engines.exact.datapath_round import round_sum
from emu.spec.datapath import resolve
from emu.spec.models.levels import EpilogueFacts
from emu.strategies import edge_codes

PLANS = {name: resolve(name, "e2m1", "e2m1", "ue4m3", 16) for name in ("ideal", "nv_like", "int64")}
PLANS |= {"promote": resolve("promote", "e2m1", "e2m1", block=16), "cdna3_fp8": resolve("cdna3_fp8", "e4m3fnuz", "e4m3fnuz")}
BINARY32 = st.one_of(st.sampled_from(edge_codes("fp32")), st.integers(0, (1 << 32) - 1))


@given(st.lists(BINARY32, min_size=4, max_size=4), st.sampled_from(("rne", "rz", "ru", "rd", "odd")), st.sampled_from(("yes", "no")))
def test_epilogue_and_sums_equal_the_reference_model(codes: list[int], mode: str, fused: str) -> None:
    plan = resolve("blackwell_mxf4nvf4_b16_ue4m3")
    facts = EpilogueFacts(alpha=mode, d=mode, c_place="after", fused=fused)
    alpha = native.alpha(codes[0], codes[1], facts, plan)
    assert alpha == reference_model.alpha_code(codes[0], codes[1], facts, plan)
    d, c = (np.array([[code]], np.uint32) for code in codes[2:])
    for addend, code in ((None, None), (c, codes[3])):
        assert native.epilogue(d, codes[0], addend, facts, plan)[0, 0] == reference_model.epilogue(codes[2], codes[0], code, facts, plan)
    assert native.add(d, c, plan)[0, 0] == reference_model.add_codes(codes[2], codes[3], plan)


def test_an_accumulator_refuses_what_it_cannot_hold() -> None:
    """All 6 x 6 under scales 448: the largest K fits, one instruction more does not, and the row is named."""
    plan = resolve("int64", "e2m1", "e2m1", "ue4m3", 16)
    largest = plan.largest_k
    assert largest == 1217392
    for k, fits in ((largest // 64 * 64, True), (largest // 64 * 64 + 64, False)):
        codes, scales = np.full((2, k), 7, np.uint8), np.full((2, k // 16), 0x7E, np.uint8)
        codes[0] = 0
        c = np.zeros(2, np.uint32)
        if fits:
            assert native.dot(codes, codes, scales, scales, c, plan).tolist() == [0, round_sum(k * 36 * 448**2, 0, plan)]
            continue
        with pytest.raises(OpenError, match=r"datapath int64: row 1: the 64-bit accumulator overflows \(any values fit up to K = 1217392"):
            native.dot(codes, codes, scales, scales, c, plan)
        with pytest.raises(OpenError, match="row 1 of A with row 1 of B"):
            native.matmul(codes, codes, scales, scales, None, plan)
        c_rows = [ffi.new("emu_matrix *", matrix(array)) for array in (codes, codes, scales, scales, c.reshape(2, 1))]
        d = np.full((2, 1), 77, np.uint32)
        out = ffi.new("emu_matrix *", matrix(d))
        assert lib.emu_dot(native.datapath_descriptor(plan).pointer, *c_rows, out, ffi.NULL) == lib.EMU_ERROR_OVERFLOW
        assert d.reshape(-1).tolist() == [0, 77]


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("ideal", {"apply": 4}, "DATAPATH"),
    ("ideal", {"apply": lib.EMU_APPLY_NONE}, "DATAPATH"),
    ("ideal", {"c_kind": 4}, "DATAPATH"),
    ("ideal", {"step": 48}, "DATAPATH"),
    ("ideal", {"step": 0}, "DATAPATH"),
    ("ideal", {"group": 32}, "DATAPATH"),
    ("ideal", {"k": 0}, "DATAPATH"),
    ("ideal", {"split": 2}, "DATAPATH"),
    ("ideal", {"block": 48}, "DATAPATH"),
    ("ideal", {"block": 0}, "DATAPATH"),
    ("ideal", {"wraps": 1}, "DATAPATH"),
    ("ideal", {"saturates": 2}, "DATAPATH"),
    ("ideal", {"exponent_raise": 1025}, "DATAPATH"),
    ("ideal", {"keep": 24}, "FORMAT"),
    ("ideal", {"nan_code": 0x7F800000}, "FORMAT"),
    ("ideal", {"scale": ffi.NULL}, "FORMAT"),
    ("ideal", {"a": ffi.NULL}, "NULL"),
    ("ideal", {"rounding": ffi.NULL}, "NULL"),
    ("nv_like", {"floor_rule": 3}, "DATAPATH"),
    ("nv_like", {"frac_bits": 1025}, "DATAPATH"),
    ("nv_like", {"integer_rule": lib.EMU_UNLIMITED}, "DATAPATH"),
    ("nv_like", {"c_kind": lib.EMU_C_ADDED}, "DATAPATH"),
    ("nv_like", {"c_kind": lib.EMU_C_LAST}, "DATAPATH"),
    ("nv_like", {"c_kind": lib.EMU_C_REALIGNED}, "DATAPATH"),
    ("int64", {"accumulator_bits": 7}, "DATAPATH"),
    ("int64", {"accumulator_bits": 1025}, "DATAPATH"),
    ("cdna3_fp8", {"f2": 23}, "DATAPATH"),
    ("cdna3_fp8", {"f2": 60}, "DATAPATH"),
    ("cdna3_fp8", {"split": 9}, "DATAPATH"),
    ("cdna3_fp8", {"group": 2}, "DATAPATH"),
    ("promote", {"group": 8}, "DATAPATH"),
    ("promote", {"flushes_result": 1}, "DATAPATH"),
    ("promote", {"term": ffi.NULL}, "ROUNDING"),
]


@pytest.mark.parametrize(("name", "fields", "error"), REFUSED, ids=str)
def test_descriptors_that_contradict_themselves_are_refused(name: str, fields: dict[str, Any], error: str) -> None:
    good = native.datapath_descriptor(PLANS[name]).pointer
    bad = ffi.new("emu_datapath *", good[0])
    assert lib.emu_check_datapath(bad) == lib.EMU_OK
    for field, value in fields.items():
        setattr(bad, field, value)
    widths = ffi.new("emu_widths *", {"frac_bits": 77})
    assert lib.emu_check_datapath(bad) == lib.emu_derive_widths(bad, widths) == getattr(lib, f"EMU_ERROR_{error}")
    assert widths.frac_bits == 77


def test_formats_that_cannot_be_elements_scales_or_results_are_refused() -> None:
    good = native.datapath_descriptor(resolve("ideal", "e2m1", "e2m1", "ue4m3", 16)).pointer
    cases = (("a", "e8m0"), ("b", "nf4"), ("scale", "int4"), ("widest_scale", "nf4"), ("result", "e4m3"), ("result", "e8m0"), ("a", "e6m2"))
    for field, name in cases:
        bad = ffi.new("emu_datapath *", good[0])
        found = lib.emu_find_format(name.encode())
        assert found != ffi.NULL, name
        setattr(bad, field, found)
        assert lib.emu_check_datapath(bad) == lib.EMU_ERROR_FORMAT, (field, name)
    wide = ffi.new("emu_datapath *", good[0])
    wide.a = wide.b = lib.emu_find_format(b"fp32")
    assert lib.emu_check_datapath(wide) == lib.EMU_ERROR_DATAPATH  # a group of binary32 products needs more than a term may have


def test_shapes_and_codes_are_checked() -> None:
    plan = resolve("blackwell_mxf4nvf4_b16_ue4m3")
    made = native.datapath_descriptor(plan).pointer
    good = {
        "a": np.zeros((2, 64), np.uint8),
        "b": np.zeros((2, 64), np.uint8),
        "scale_a": np.zeros((2, 4), np.uint8),
        "scale_b": np.zeros((2, 4), np.uint8),
        "c": np.zeros((2, 1), np.uint32),
        "d": np.zeros((2, 1), np.uint32),
    }
    changes: list[tuple[dict[str, Any], str]] = [
        ({}, "OK"),
        ({"a": np.zeros((2, 63), np.uint8)}, "SHAPE"),
        ({"a": np.zeros((2, 128), np.uint8), "scale_a": np.zeros((2, 8), np.uint8)}, "SHAPE"),
        ({"b": np.zeros((3, 64), np.uint8), "scale_b": np.zeros((3, 4), np.uint8)}, "SHAPE"),
        ({"scale_a": np.zeros((2, 5), np.uint8)}, "SHAPE"),
        ({"scale_a": None}, "NULL"),
        ({"c": np.zeros((1, 2), np.uint32)}, "SHAPE"),
        ({"c": None}, "NULL"),
        ({"d": np.zeros((2, 1), np.uint16)}, "SHAPE"),
        ({"a": np.full((2, 64), 16, np.uint8)}, "CODE"),
        ({"b": np.full((2, 64), 1 << 40, np.uint64)}, "CODE"),
        ({"scale_b": np.full((2, 4), 256, np.uint16)}, "CODE"),
        ({"c": np.full((2, 1), 1 << 32, np.uint64)}, "CODE"),
    ]
    for change, error in changes:
        arrays = {**good, **change}
        pointers = [ffi.NULL if array is None else ffi.new("emu_matrix *", matrix(array)) for array in arrays.values()]
        wanted = lib.EMU_OK if error == "OK" else getattr(lib, f"EMU_ERROR_{error}")
        assert lib.emu_dot(made, *pointers, ffi.NULL) == wanted, change
