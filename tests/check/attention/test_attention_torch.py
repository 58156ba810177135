"""torch's own attention, under each backend that a CPU has, passes check_attention; with a wrong scale it fails."""

import importlib
import os

import numpy as np
import pytest

from emu.testing import check_attention

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402

THREE = ("nvfp4_torchao_1level",) * 3
BACKENDS = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION}
SHAPES = [(2, 4, 2, 5, 48, 64), (1, 2, 1, 12, 80, 128)]


def attention(backend, change=lambda scale: scale, dtype=torch.float32):
    """SDPA over dequantized operands. change: what is made of the scale."""

    def attend(q, k, v, scale, causal):
        q, k, v = (torch.from_numpy(np.array(part.dequantize(np.float32))).to(dtype) for part in (q, k, v))
        with sdpa_kernel(BACKENDS[backend]):
            return scaled_dot_product_attention(q, k, v, is_causal=causal, scale=float(change(scale)), enable_gqa=True)

    return attend


@pytest.mark.parametrize(("mask", "scales"), [("top-left", None), ("none", (0.3,))], ids=["usual scales", "no power of two"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_attention_of_torch_passes(backend, scales, mask):
    report = check_attention(attention(backend), *THREE, mask=mask, shapes=SHAPES, scales=scales)
    assert report.verdict == "pass" and report.exact > 2000 and report.bounded > 2000


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_wrong_scale_or_a_missing_mask_fails(backend):
    for change in (lambda s: s * s, lambda s: 1.0, lambda s: s * np.float32(1 + 2.0**-8)):
        assert check_attention(attention(backend, change), *THREE, shapes=SHAPES[:1], raises=False).verdict == "differs"
    unmasked = attention(backend)
    given = {"mask": "top-left", "shapes": SHAPES[:1], "raises": False}
    report = check_attention(lambda q, k, v, scale: unmasked(q, k, v, scale, False), *THREE, **given)
    assert report.verdict == "differs"
