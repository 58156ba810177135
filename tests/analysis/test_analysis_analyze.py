"""tensor_report: sums recomputed by hand-sized code (the published table: test_shrinkage_tensor.py)."""

import math
from collections import Counter
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import emu
from emu.analysis.analyze import inner_transform, tensor_report
from emu.base.errors import OpenError, OperandError
from emu.engines.exact.decode import decode_code
from emu.spec import get

RHT = "rht16_ufp4"


def sample(shape, seed=1, sigma=1.0):
    random = np.random.default_rng(seed)
    return (random.standard_normal(shape) * np.exp(sigma * random.standard_normal(shape))).astype(np.float32)


NVFP4 = ["nvfp4_te_ref", "nvfp4_modelopt", "nvfp4_compressed_tensors", "nvfp4_te_2d_ref"]
RECIPES = [*NVFP4, "mxfp4_torchao_floor", "hif4", "if4_mse", "f46_nvint4"]


@pytest.mark.cases(10)
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("axis", [-1, 0])
def test_sums_by_hand(recipe, axis):
    x = sample((64, 64))
    x[3] = 0
    report = tensor_report(x, recipe, axis=axis)
    found = emu.quantize(x, recipe, axis=axis)
    y = found.dequantize()
    pairs = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True)]
    exact = [sum(a * a for a, _ in pairs), sum((b - a) ** 2 for a, b in pairs), sum(a * (b - a) for a, b in pairs)]
    for got, wanted in zip((report.signal, report.error, report.cross), exact, strict=True):
        assert abs(Fraction(got) - wanted) <= abs(exact[0]) / 2**48
    assert report.elements == 4096
    assert sum(report.histogram) == 4096
    assert report.zeros >= 64
    assert report.histogram[0] + report.histogram[-1] > 0
    assert report.clipped <= 4096


@pytest.mark.parametrize("recipe", [*NVFP4, "mxfp4_torchao_floor"])
def test_clipped_and_zeros_by_hand(recipe):
    x = sample((32, 64), seed=5)
    report = tensor_report(x, recipe)
    found = emu.quantize(x, recipe)
    block, element = found.block, get("format", found.block.element_formats[0])
    columns = block.facts.shape[1]
    largest, clipped, zeros = Fraction(6), 0, 0
    for (r, c), value in np.ndenumerate(x):
        limit = largest * Fraction(block.facts.factor)
        for level in found.levels:
            code = level.codes[()] if level.granularity == "tensor" else level.codes[r, c // columns]
            scale = decode_code(int(code), get("format", level.format)).signed
            limit = limit * scale if level.meaning == "multiply" else limit / scale
        clipped += abs(Fraction(float(value))) > limit * (1 + Fraction(1, 2**20))
        zeros += decode_code(int(found.codes[r, c]), element).is_zero
    assert (report.clipped, report.zeros) == (clipped, zeros)
    assert recipe == "nvfp4_te_2d_ref" or clipped > 0


def test_a_choice_of_formats_joins_their_values():
    # IF4: E2M1 values where the flag is 0, sevenths of 6 times an integer where it is 1
    report = tensor_report(sample((16, 64)), "if4_mse")
    found = emu.quantize(sample((16, 64)), "if4_mse")
    (flags,) = (level.codes for level in found.levels if level.meaning == "flag")
    e2m1 = [Fraction(v) for v in (0, "1/2", 1, "3/2", 2, 3, 4, 6)]
    tables = [*e2m1, *(-v for v in e2m1)], [Fraction(6, 7) * v for v in (*range(8), *range(-8, 0))]
    counts = Counter(tables[int(flags[r, c // 16])][code] for (r, c), code in np.ndenumerate(found.codes))
    assert set(np.unique(flags)) == {0, 1}
    assert report.histogram == tuple(counts[value] for value in sorted({*tables[0], *tables[1]}))


@pytest.mark.parametrize("shape", [(48,), (3, 20), (5, 17), (2, 3, 40), (1, 200000), (70000, 16)])
def test_shapes_and_tails(shape):
    x = sample(shape)
    report = tensor_report(x, "nvfp4_te_ref")
    y = emu.quantize(x, "nvfp4_te_ref").dequantize()
    e = y.astype(np.float64) - x
    assert report.elements == sum(report.histogram) == x.size
    assert abs(report.error / math.fsum((e * e).reshape(-1).tolist()) - 1) < 1e-12


@pytest.mark.parametrize("recipe", ["nvfp4_f46_mse", "nvfp4_modelopt"])
def test_kept_padding_is_not_counted(recipe):
    x = sample((5, 20))
    if get("recipe", recipe).facts.tail != "zero_pad_keep":
        pytest.fail("this test needs a recipe that keeps its padding")
    report = tensor_report(x, recipe)
    assert report.elements == sum(report.histogram) == 100


@pytest.mark.parametrize("shape", [(2, 32, 48), (2, 16, 32), (3, 4, 16, 16)])
def test_stacks_of_tiles(shape):
    x = sample(shape)
    whole = tensor_report(x, "nvfp4_te_2d_ref")
    assert whole.elements == x.size
    found = emu.quantize(x, "nvfp4_te_2d_ref")
    e = found.dequantize().astype(np.float64) - x
    assert abs(whole.error / math.fsum((e * e).reshape(-1).tolist()) - 1) < 1e-12


def test_a_rotation_inside_equals_the_rotation_before():
    x = sample((64, 64))
    inside, before = tensor_report(x, "ufp4", signs=0xD7E8), tensor_report(x, "e1m2_fp32scale", RHT, signs=0xD7E8)
    assert inside.transform == before.transform == RHT
    assert (inside.signal, inside.error, inside.histogram) == (before.signal, before.error, before.histogram)
    assert inner_transform(get("recipe", "ufp4")).id == RHT
    assert inner_transform(get("recipe", "hif4")) is None
    with pytest.raises(OperandError, match="rotates by itself"):
        tensor_report(x, "ufp4", RHT)


def test_raw_codes_and_dtypes_agree():
    x = sample((8, 64)).astype(ml_dtypes.bfloat16)
    assert tensor_report(x, "hif4") == tensor_report(x.view(np.uint16), "hif4", source="bf16")
    assert tensor_report(x, "hif4") == tensor_report(x.astype(np.float32), "hif4")


def test_nan_gives_no_figures():
    x = sample((8, 64))
    x[2, 3] = np.nan
    report = tensor_report(x, "nvfp4_te_ref")
    assert not report.is_finite
    assert report.sqnr_db is None
    with pytest.raises(OpenError, match="hif4"):
        tensor_report(x, "hif4")


def test_zeros_lose_nothing():
    report = tensor_report(np.zeros((4, 64), np.float32), "hif4")
    assert report.sqnr_db is None
    assert report.zeros == report.elements
    assert tensor_report(np.full((1, 16), 6, np.float32), "e2m1_fp32scale").sqnr_db == math.inf


def test_exact_engine_gives_the_same():
    x = sample((16, 32))
    assert tensor_report(x, "nvfp4_te_ref", engine="exact") == tensor_report(x, "nvfp4_te_ref", engine="numpy")
