"""skip_reason: the policy of which tensors a recipe takes."""

import pytest

from emu.files import TensorInfo, skip_reason
from emu.spec import get

TAKEN = [
    ("nvfp4_te_ref", (4, 32), "float32"),
    ("nvfp4_te_ref", (4, 33), "float16"),  # a padded tail
    ("nvfp4_te_ref", (2, 3, 5), "bfloat16"),
    ("nvfp4_te_ref", (48,), "float32"),
    ("hif4", (3, 128), "float32"),
    ("hif4", (64,), "float32"),
    ("nvfp4_te_2d_ref", (32, 32), "float32"),
    ("nvfp4_te_2d_ref", (40, 50), "float32"),  # padded tiles
    ("nvfp4_te_2d_ref", (1, 40, 50), "float32"),
    ("nvfp4_te_2d_ref", (3, 32, 50), "float32"),
]
SKIPPED = [
    ("nvfp4_te_ref", (4, 32), "float64", "dtype float64"),
    ("nvfp4_te_ref", (4, 32), "int64", "dtype int64"),
    ("nvfp4_te_ref", (), "float32", "scalar"),
    ("nvfp4_te_ref", (0, 16), "float32", "no elements"),
    ("nvfp4_te_ref", (33,), "float32", "one dimension of 33"),
    ("hif4", (3, 100), "float32", "length 100 is no multiple of the block of 64"),
    ("nvfp4_te_2d_ref", (256,), "float32", "tiles of 16x16"),
    ("nvfp4_te_2d_ref", (3, 40, 50), "float32", "40 rows of a stack are no multiple of the tile of 16"),
]


@pytest.mark.parametrize(("recipe", "shape", "dtype"), TAKEN)
def test_taken(recipe, shape, dtype):
    assert skip_reason(TensorInfo("w", shape, dtype), get("recipe", recipe)) is None


@pytest.mark.parametrize(("recipe", "shape", "dtype", "message"), SKIPPED)
def test_skipped_with_the_reason(recipe, shape, dtype, message):
    assert message in (skip_reason(TensorInfo("w", shape, dtype), get("recipe", recipe)) or "")


def test_axis_decides_the_length():
    info, hif4 = TensorInfo("w", (128, 3), "float32"), get("recipe", "hif4")
    assert skip_reason(info, hif4) is not None
    assert skip_reason(info, hif4, axis=0) is None
    assert skip_reason(info, hif4, axis=2) == "no axis 2"
    assert skip_reason(info, hif4, axis=0, row_axis=4) == "no axis 4"


def test_raw_codes_need_their_width():
    recipe, bf16 = get("recipe", "nvfp4_te_ref"), get("format", "bf16")
    assert skip_reason(TensorInfo("w", (2, 16), "uint16"), recipe, source=bf16) is None
    assert skip_reason(TensorInfo("w", (2, 16), "void16"), recipe, source=bf16) is None
    assert "unsigned codes of bf16" in (skip_reason(TensorInfo("w", (2, 16), "uint8"), recipe, source=bf16) or "")
    assert "not fp32" in (skip_reason(TensorInfo("w", (2, 16), "uint16"), recipe) or "")
