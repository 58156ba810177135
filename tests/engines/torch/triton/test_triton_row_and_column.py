"""Both directions in one pass: rows as quantize(x), columns as quantize of the transposed matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import emu
from emu.base import philox

SHAPES = [(32, 32), (48, 80), (17, 40)]


def numbers(shape: tuple[int, int]) -> Any:
    return np.random.default_rng(8).standard_normal(shape).astype(np.float32).view(np.uint32)


def rotated(codes: Any, name: str | None) -> Any:
    """Values after a rotation of zero-padded rows, cut to their length."""
    if name is None:
        return codes.view(np.float32)
    wide = np.zeros((codes.shape[0], -(-codes.shape[1] // 16) * 16), np.uint32)
    wide[:, : codes.shape[1]] = codes
    return emu.transform(wide, name, source="fp32")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("recipe", "other"), [("nvfp4_te_ref", None), ("ufp4", None), ("nvfp4_te_ref", "ufp4")])
def test_both_sides(tensor: Any, equal: Any, shape: tuple[int, int], recipe: str, other: str | None) -> None:
    from emu.engines.torch.triton.row_and_column import quantize_both

    codes = numbers(shape)
    found = quantize_both(tensor(codes, "fp32"), recipe, other)
    equal(emu.quantize(codes, recipe, source="fp32"), found.rows)
    equal(emu.quantize(codes.T.copy(), other or recipe, source="fp32"), found.columns)


@pytest.mark.parametrize(("row_turn", "column_turn"), [("rht16_te", None), (None, "rht16_te"), ("rht16_te", "rht16_butterfly")])
def test_a_rotation_on_either_side(tensor: Any, equal: Any, row_turn: str | None, column_turn: str | None) -> None:
    from emu.engines.torch.triton.row_and_column import quantize_both

    codes = numbers((48, 32))
    found = quantize_both(tensor(codes, "fp32"), "nvfp4_te_ref", rotate=row_turn, column_rotate=column_turn)
    equal(emu.quantize(rotated(codes, row_turn), "nvfp4_te_ref"), found.rows)
    equal(emu.quantize(rotated(codes.T.copy(), column_turn), "nvfp4_te_ref"), found.columns)


def test_random_integers_go_by_the_place_in_x_on_both_sides(torch: Any, device: str, tensor: Any, equal: Any) -> None:
    from emu.engines.torch.triton.row_and_column import quantize_both

    codes = numbers((32, 48))
    first, second = (philox.draw(5, codes.size, 8, stream).reshape(codes.shape) for stream in (1, 2))
    rows = emu.quantize(codes, "ufp4_sr", source="fp32", random=first)
    columns = emu.quantize(codes.T.copy(), "ufp4_sr", source="fp32", random=second.T.copy())
    for operands in (
        {"key": 5, "stream": 1, "column_stream": 2},
        {
            "random": torch.from_numpy(first.astype(np.int32)).to(device),
            "column_random": torch.from_numpy(second.astype(np.int64)).to(device),
        },
    ):
        found = quantize_both(tensor(codes, "fp32"), "ufp4_sr", **operands)
        equal(rows, found.rows)
        equal(columns, found.columns)


def test_a_key_that_nobody_needs_is_refused(torch: Any, device: str) -> None:
    from emu.engines.torch.triton.row_and_column import quantize_both

    with pytest.raises(emu.base.errors.OperandError, match="leave key out"):
        quantize_both(torch.ones((16, 16), device=device), "ufp4", key=1)
