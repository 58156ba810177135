"""Outside implementations under the policy that names them: ml_dtypes, NumPy, gfloat. Peers, never judges of their own specials."""

from __future__ import annotations

from typing import Any

import gfloat
import gfloat.formats
import ml_dtypes
import numpy as np
import pytest

import emu
from emu import strategies
from emu.base.philox import words

DTYPES = {
    "e2m1": ml_dtypes.float4_e2m1fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}
BF16 = np.arange(1 << 16, dtype=np.uint16)


def peer_codes(x: Any, dtype: Any) -> Any:
    with np.errstate(all="ignore"):
        return x.astype(dtype).view(np.uint8)


def same(x: Any, mine: Any, theirs: Any) -> None:
    bad = np.flatnonzero(mine != theirs)
    assert mine.size > 1000 and not bad.size, [(x[i], int(mine[i]), int(theirs[i])) for i in bad[:3]]


def fp32_sample(name: str) -> Any:
    near = [code for point in strategies.decision_points(name) for code in strategies.codes_near(point, "fp32")]
    some = np.array([*near, *strategies.edge_codes("fp32")], np.uint32)
    return np.concatenate([some, some ^ np.uint32(1 << 31), words(11, 1 << 18)]).view(np.float32)


@pytest.mark.parametrize("name", DTYPES)
def test_ml_dtypes_on_every_bf16(name: str) -> None:
    x = BF16.view(ml_dtypes.bfloat16)
    same(x, emu.convert(x, name, policy="ml_dtypes"), peer_codes(x, DTYPES[name]))


@pytest.mark.parametrize("name", DTYPES)
def test_ml_dtypes_on_every_fp16(name: str) -> None:
    x = BF16.view(np.float16)
    same(x, emu.convert(x, name, policy="ml_dtypes"), peer_codes(x, DTYPES[name]))


@pytest.mark.parametrize("name", DTYPES)
def test_ml_dtypes_on_fp32(name: str) -> None:
    x = fp32_sample(name)
    same(x, emu.convert(x, name, policy="ml_dtypes"), peer_codes(x, DTYPES[name]))


def test_ml_dtypes_rounds_fp64_twice() -> None:
    """0.25 + 2^-54 is above the tie: code 1. The peer goes through binary32, where it is the tie."""
    x = np.array([0.25, 0.25 + 2.0**-54])
    assert emu.convert(x, "e2m1", policy="ml_dtypes").tolist() == [0, 1]
    assert peer_codes(x, ml_dtypes.float4_e2m1fn).tolist() == [0, 0]


def test_ml_dtypes_e8m0_but_for_its_wrong_region() -> None:
    """Positive finite bf16, ties up: equal but for 31 codes in (2^-127, 1.5 * 2^-127), and overflow, which does not saturate there."""
    codes = BF16[1:0x7F80]
    mine = emu.convert(codes, "e8m0", rounding="rna", source="bf16")
    theirs = peer_codes(codes.view(ml_dtypes.bfloat16), ml_dtypes.float8_e8m0fnu)
    differ = codes[(mine != theirs) & (codes < 0x7F40)]
    assert differ.tolist() == list(range(0x0041, 0x0060)) and len(differ) == 31
    assert set(theirs[codes >= 0x7F40].tolist()) == {0xFF} and set(mine[codes >= 0x7F40].tolist()) == {0xFE}


@pytest.mark.parametrize(("name", "dtype"), [("fp16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_numpy_narrowing(name: str, dtype: Any) -> None:
    """binary32 to 16 bits under the policy of IEEE 754; NaN payloads are the library's own."""
    x = np.concatenate([words(12, 1 << 18).view(np.float32), (BF16.astype(np.uint32) << 16 | 0x8000).view(np.float32)])
    x = np.concatenate([x, (BF16.astype(np.uint32) << 13 | 0x1000 | 0x38000000).view(np.float32)])
    with np.errstate(all="ignore"):
        theirs = x.astype(dtype).view(np.uint16)
    number = ~np.isnan(x)
    same(x[number], emu.convert(x, name, policy="ieee")[number], theirs[number])


INFOS = {name: getattr(gfloat.formats, f"format_info_ocp_{name}") for name in ("e2m1", "e2m3", "e3m2", "e4m3", "e5m2")}
ROUND = {"rne": "TiesToEven", "rna": "TiesToAway", "rz": "TowardZero", "ru": "TowardPositive", "rd": "TowardNegative"}


@pytest.mark.parametrize("mode", ROUND)
@pytest.mark.parametrize("name", INFOS)
def test_gfloat_on_every_16th_bf16(name: str, mode: str) -> None:
    """Finite sources, saturating; every 16th pattern under rne, every 64th under the other modes."""
    info, rounding = INFOS[name], getattr(gfloat.RoundMode, ROUND[mode])
    codes = BF16[:: 16 if mode == "rne" else 64]
    codes = codes[(codes & 0x7FFF) < 0x7F80]
    mine = emu.convert(codes, name, rounding=mode, source="bf16")
    theirs = [
        gfloat.encode_float(info, gfloat.round_float(info, value, rounding, True))
        for value in codes.view(ml_dtypes.bfloat16).astype(float).tolist()
    ]
    same(codes, mine, np.array(theirs)) if mode == "rne" else None
    assert mine.tolist() == theirs


@pytest.mark.parametrize("policy", ["gfloat_sat", "gfloat_nosat"])
@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_gfloat_specials_under_its_own_policy(name: str, policy: str) -> None:
    values = [float("inf"), float("-inf"), float("nan"), 464.0, 465.0, -1e6, 61440.0, 61439.0, 0.0, -0.0, 1e-9, -1e-9]
    info, saturate = INFOS[name], policy == "gfloat_sat"
    theirs = [gfloat.encode_float(info, gfloat.round_float(info, value, gfloat.RoundMode.TiesToEven, saturate)) for value in values]
    assert emu.convert(np.array(values), name, policy=policy).tolist() == theirs
