"""Rows of the conversion tables that speak of instructions, and the packing rows of the manuals, written by hand."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from emu.ops.instruction import instruction
from emu.spec.loader import read

ROWS = Path(__file__).parents[2] / "engines" / "exact" / "rows"


def groups(name: str) -> list[dict[str, Any]]:
    return list(read(ROWS / f"{name}.yaml").data["groups"])


def test_ptx_nan_rows() -> None:
    """NaN is the positive maximum; both lanes of the pair."""
    seen = 0
    for group in groups("ptx_cvt"):
        call = instruction(f"cvt.rn.satfinite.{group['to']}x2.f32")
        for _, code, wanted in (row.split() for row in group["rows"]):
            lane = int(call(int(code, 16), 0x3F800000)) >> (4 if group["to"] == "e2m1" else 8)
            other = int(call(0x3F800000, int(code, 16))) & (0xF if group["to"] == "e2m1" else 0xFF)
            assert lane == other == int(wanted, 16)
            seen += 1
    assert seen == 6


@pytest.mark.parametrize(("name", "profile"), [("ptx_share16", "share16"), ("ptx_split8", "split8"), ("b200_bitrev", "b200_bitrev")])
def test_rows_of_the_stochastic_form(name: str, profile: str) -> None:
    call = instruction("cvt.rs.satfinite.e2m1x4.f32", random=profile)
    rows = [row.split() for group in groups(name) for row in group["rows"]]
    numbers = np.array([[int(word, 16) for word in row[1:]] for row in rows], np.uint64)
    a, b, e, f, rbits, wanted = numbers.T
    assert np.array_equal(call(a, b, e, f, rbits), wanted) and len(rows) == 39
    assert np.array_equal(call(a=a, b=b, e=e, f=f, rbits=rbits), wanted)


def test_x86_rows() -> None:
    """FP8 to E2M1: 16 rows to a register, lane 0 in the low nibble."""
    seen = 0
    for group in groups("x86_ace"):
        call = instruction(f"vcvt{'hf8' if group['source'] == 'e4m3' else 'bf8'}2bf4s xmm")
        rows = [row.split() for row in group["rows"]]
        for start in range(0, len(rows), 16):
            part = rows[start : start + 16]
            source = sum(int(row[1], 16) << 8 * place for place, row in enumerate(part))
            wanted = sum(int(row[2], 16) << 4 * place for place, row in enumerate(part))
            words = np.array([source >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)], np.uint32)
            assert int(call(words)) == wanted
            seen += len(part)
    assert seen == 47


def test_riscv_rows() -> None:
    for group in groups("riscv_zvfofp8min"):
        call = instruction(f"vfncvtbf16.f.f.w altfmt={int(group['to'] == 'e5m2')} rne")
        assert [tuple(map(int, call(int(code, 16)))) for _, code, _ in map(str.split, group["rows"])] == [(0x7F, 0), (0x7F, 0)]


def flags_of(words: str) -> int:
    """NV DZ OF UF NX as bits."""
    return 0 if words == "none" else sum(1 << ("NX", "UF", "OF", "DZ", "NV").index(word) for word in words.split())


def test_every_row_of_zvfofp8min_with_its_flags() -> None:
    """36 sources in five modes, without and with .sat; those that are BF16 numbers through the other instruction too."""
    rows = yaml.safe_load(Path(__file__).with_name("riscv_zvfofp8min_rows.yaml").read_text(encoding="utf-8"))["rows"]
    cells = narrow = 0
    for row, saturation, mode in itertools.product(rows, ("plain", "sat"), ("rne", "rtz", "rdn", "rup", "rmm")):
        word, form = "" if saturation == "plain" else ".sat", f"altfmt={int(row['to'] == 'e5m2')} {mode}"
        calls = [(f"vfncvt{word}.f.f.q {form}", row["x"])]
        calls += [(f"vfncvtbf16{word}.f.f.w {form}", row["x"] >> 16)] if not row["x"] & 0xFFFF else []
        for mnemonic, x in calls:
            code, flags = (int(found) for found in instruction(mnemonic)(x))
            assert code == row[saturation][mode], (mnemonic, hex(x))
            assert f"flags_{mode}" not in row or flags == flags_of(row[f"flags_{mode}"]), (mnemonic, hex(x))
        cells, narrow = cells + 1, narrow + len(calls) - 1
    assert cells == 360 and narrow > 100


def test_zvfofp4min_widens_every_code() -> None:
    wanted = [0x00, 0x30, 0x38, 0x3C, 0x40, 0x44, 0x48, 0x4C, 0x80, 0xB0, 0xB8, 0xBC, 0xC0, 0xC4, 0xC8, 0xCC]
    assert [int(instruction("vfext.vf2")(code)) for code in range(16)] == wanted


def test_amd_rows() -> None:
    """The host model: conversions with scale 1, and its rows with a NaN scale, which a plain conversion cannot state."""
    seen = scaled = 0
    for group in groups("amd_hip_host"):
        if (group["kind"], group["source"], group["to"]) != ("convert", "fp32", "e2m1"):
            continue
        call = instruction("v_cvt_scalef32_pk_fp4_f32")
        scale = 0x7FC00000 if "scale" in group else 0x3F800000
        for _, code, wanted in (row.split() for row in group["rows"]):
            assert int(call(int(code, 16), 0, scale)) & 0xF == int(wanted, 16)
            assert int(call(0x3F800000, int(code, 16), scale)) >> 4 == int(wanted, 16)
            seen += 1
            scaled += "scale" in group
    assert seen >= 15 and scaled == 2


PACKING = [  # mnemonic, operands, result, source
    ("cvt.rn.satfinite.e2m1x2.f32", (0x3F800000, 0xC0C00000), 0x2F, "PTX: d[7:4] = a, d[3:0] = b"),
    ("v_cvt_scalef32_pk_fp4_f32", (0x3F800000, 0xC0C00000, 0x3F800000), 0xF2, "HIP: y << 4 | x"),
    ("cvt.rn.satfinite.e2m1x2.f16x2", (0x3C00C600,), 0x2F, "PTX: upper half to upper nibble"),
    ("cvt.rn.satfinite.e4m3x2.f32", (0x3F800000, 0xC0C00000), 0x38CC, "PTX: d[15:8] = a"),
    ("cvt.rn.satfinite.e2m3x2.f32", (0x3F800000, 0xC0C00000), 0x083C, "PTX: d[15:14] = d[7:6] = 0"),
    ("cvt.rn.satfinite.e3m2x2.bf16x2", (0x3F80C0C0,), 0x0C36, "PTX: d[15:14] = d[7:6] = 0"),
    ("cvt.rz.satfinite.ue8m0x2.f32", (0x3F800000, 0x41000000), 0x7F82, "PTX: d[15:8] = a"),
    ("cvt.rn.bf16x2.ue8m0x2", (0x7F82,), 0x3F804100, "PTX: upper to upper"),
    ("cvt.rn.f16x2.e2m1x2", (0x2F,), 0x3C00C600, "PTX: upper to upper"),
    ("vfext.vf2", (0xF,), 0xCC, "one element"),
    ("fcvt.h.s rne", (0x3F800000,), (0x3C00, 0), "one element"),
]


@pytest.mark.parametrize(("mnemonic", "operands", "wanted", "source"), PACKING, ids=[row[0] for row in PACKING])
def test_packing(mnemonic: str, operands: tuple[int, ...], wanted: Any, source: str) -> None:
    found = instruction(mnemonic)(*operands)
    assert (tuple(map(int, found)) if isinstance(found, tuple) else int(found)) == wanted, source


def test_four_lanes_are_a_b_e_f_from_the_top() -> None:
    one, two, three, four = 0x3F800000, 0x40000000, 0x40400000, 0x40800000
    assert int(instruction("cvt.rs.satfinite.e2m1x4.f32", random="share16")(one, two, three, four, 0)) == 0x2456
    assert int(instruction("cvt.rs.satfinite.e4m3x4.f32", random="share16")(one, two, three, four, 0)) == 0x38404448


def test_one_random_bit_at_a_time_moves_the_lane_that_the_profile_says() -> None:
    """x = 129/512 in all lanes: only the top bit of a lane's field carries. Lanes (a, b, e, f)."""
    first = {"share16": (31, 31, 23, 23), "split8": (31, 15, 23, 7), "b200_bitrev": (8, 31, 0, 23)}
    for profile, bits in first.items():
        call = instruction("cvt.rs.satfinite.e2m1x4.f32", random=profile)
        moved = call(*[np.uint32(0x3E810000)] * 4, rbits=np.uint64(1) << np.arange(32, dtype=np.uint64))
        for lane, bit in enumerate(bits):
            assert list(np.flatnonzero(moved >> np.uint16(12 - 4 * lane) & np.uint16(0xF))) == [bit]
