"""kernels.transform and kernels.amax against emu.transform and emu.amax: every order of additions, specials, wide exponents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import emu

TRANSFORMS = ["rht16_butterfly", "rht16_exact", "rht16_te", "rht16_te_fp32", "rht16_ufp4"]
WIDTH = {"bf16": np.uint16, "fp16": np.uint16, "fp32": np.uint32}


def cases(source: str) -> dict[str, Any]:
    """Groups of 16: any bits; any finite ones (exponents far apart); numbers close together; zeros; cancelling pairs and a rest."""
    rng = np.random.default_rng(11)
    kind, bits = WIDTH[source], WIDTH[source](0).nbytes * 8
    drawn = rng.integers(0, 1 << bits, (24, 32), dtype=np.uint64).astype(kind)
    close = rng.standard_normal((8, 32)).astype(np.float32).view(np.uint32)
    near = (close if source == "fp32" else close >> 16).astype(kind) if source != "fp16" else drawn & kind(0x3FFF) | kind(0x3000)
    finite = drawn & kind(~(1 << (bits - 2)) & ((1 << bits) - 1))
    zeros = (drawn >> kind(bits - 1)) << kind(bits - 1)
    zeros[0] = kind(1 << (bits - 1))
    pairs = finite.copy()
    pairs[:, 1::2] = pairs[:, 0::2] ^ kind(1 << (bits - 1))
    pairs[:, 7] = np.arange(24, dtype=kind) + kind(1)
    return {"any": drawn, "finite": finite, "close": near, "zeros": zeros, "cancelling": pairs}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("source", ["bf16", "fp32", "fp16"])
def test_rotations(tensor: Any, bits: Any, name: str, source: str) -> None:
    from emu.engines.torch.triton.transform import transform

    codes = np.concatenate(list(cases(source).values()))
    want = emu.transform(codes, name, source=source, engine="native")
    found = bits(transform(tensor(codes, source), name))
    np.testing.assert_array_equal(found, want.view(found.dtype))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_rotations_against_the_reference_model(tensor: Any, bits: Any, name: str) -> None:
    from emu.engines.torch.triton.transform import transform

    codes = np.concatenate([rows[:2] for rows in cases("bf16").values()])
    want = emu.transform(codes, name, source="bf16", engine="exact")
    found = bits(transform(tensor(codes, "bf16"), name))
    np.testing.assert_array_equal(found, want.view(found.dtype))


@pytest.mark.parametrize("signs", [0, 1, 0x8000, 0xD7E8, 0xFFFF])
def test_signs(tensor: Any, bits: Any, signs: int) -> None:
    from emu.engines.torch.triton.transform import transform

    codes = cases("bf16")["close"]
    want = emu.transform(codes, "rht16_ufp4", source="bf16", signs=signs)
    np.testing.assert_array_equal(bits(transform(tensor(codes, "bf16"), "rht16_ufp4", signs=signs)), want.view(np.uint16))


@pytest.mark.parametrize("source", ["bf16", "fp32", "fp16"])
@pytest.mark.parametrize("name", [None, "rht16_te", "rht16_ufp4"])
def test_maximum(tensor: Any, bits: Any, source: str, name: str | None) -> None:
    from emu.engines.torch.triton.amax import amax

    for codes in cases(source).values():
        rotated = codes if name is None else emu.transform(codes, name, source=source)
        want = emu.amax(rotated, source) if name is None else emu.amax(rotated)
        assert bits(amax(tensor(codes, source), rotate=name))[0] == want.view(np.uint32)


def test_bad_input_is_refused(torch: Any, device: str) -> None:
    from emu.engines.torch.triton.transform import transform

    with pytest.raises(emu.base.errors.ShapeError, match="multiple"):
        transform(torch.ones((2, 17), device=device), "rht16_te")
    with pytest.raises(emu.base.errors.OperandError, match="fixed signs"):
        transform(torch.ones((2, 16), device=device), "rht16_te", signs=3)
