"""Every right product passes, whatever its order, and what it does is said: epilogue, accumulator, datapath."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import emu
from emu.base.errors import EmuError, OperandError
from emu.check.matmul.pair import pair_of
from emu.ops.order import Order
from emu.spec import load_spec
from emu.testing import check, check_matmul

SHAPES = [(17, 9, 96), (9, 33, 160), (4, 17, 288)]
QUICK = {"shapes": SHAPES}


def wide(q):
    return q.dequantize(np.float64)


def binary64(a, b):
    return (wide(a) @ wide(b).T).astype(np.float32)


def chain(a, b, order):
    x, y = a.dequantize(), b.dequantize()
    out = np.zeros((len(x), len(y)), np.float32)
    for k in order(x.shape[1]):
        out = out + x[:, k, None] * y[None, :, k]
    return out


def permuted(k):
    return np.argsort(np.arange(k) * 7919 % 65537)


def split(a, b, parts=4):
    x, y = a.dequantize(), b.dequantize()
    edges = np.linspace(0, x.shape[1], parts + 1).astype(int)
    out = np.zeros((len(x), len(y)), np.float32)
    for low, high in itertools.pairwise(edges):
        out = out + (x[:, low:high] @ y[:, low:high].T)
    return out


def pairwise(a, b):
    x, y = a.dequantize(), b.dequantize()
    terms = x[:, None, :] * y[None, :, :]
    while terms.shape[2] > 1:
        if terms.shape[2] % 2:
            terms = np.concatenate([terms, np.zeros_like(terms[:, :, :1])], axis=2)
        terms = terms[:, :, 0::2] + terms[:, :, 1::2]
    return terms[:, :, 0]


def blocks_first(a, b):
    """Sums of codes in a block, then both scales, as block-scaled units do."""
    out = np.zeros((a.shape[0], b.shape[0]), np.float32)
    x, y = (emu.decode(q.codes, "e2m1") for q in (a, b))
    sx, sy = (emu.decode(q.scales, "ue4m3") for q in (a, b))
    for at in range(sx.shape[1]):
        cut = slice(16 * at, 16 * at + 16)
        out += (x[:, cut] @ y[:, cut].T) * (sx[:, at, None] * sy[None, :, at])
    scale = [q.levels[0].codes.view(np.float32) * np.float32(1 / 2688) for q in (a, b)]
    return out * scale[0] * scale[1]


RIGHT = {
    "binary64": binary64,
    "sequential": lambda a, b: chain(a, b, range),
    "reversed": lambda a, b: chain(a, b, lambda k: range(k - 1, -1, -1)),
    "permuted": lambda a, b: chain(a, b, permuted),
    "np.dot": lambda a, b: np.dot(a.dequantize(), b.dequantize().T),
    "split K": split,
    "pairwise": pairwise,
    "einsum": lambda a, b: np.einsum("mk,nk->mn", a.dequantize(), b.dequantize()),
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", RIGHT)
def test_every_order_of_summation_passes(name):
    report = check_matmul(RIGHT[name], "nvfp4", "nvfp4", name=name, **QUICK)
    assert report.verdict == "pass" and report.differing == 0 and report.accumulator_bits == 24
    assert report.epilogue.startswith("operands are dequantized to fp32") and report.envelope_ratio <= 1


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "pair", ["nvfp4_1level/nvfp4_1level", "mxfp4/mxfp4", "ufp4/ufp4", "nvint4/nvufp4", "nve0m3/mxe1m2", "nvfp4_tile16/nvfp4_tile16"]
)
def test_other_pairs_pass(pair):
    report = check_matmul(lambda a, b: chain(a, b, permuted), *pair.split("/"), **QUICK)
    assert report.verdict == "pass" and report.compared > 2000 and report.accumulator_bits == 24


def test_epilogue_of_two_scales_is_named():
    report = check(blocks_first, "matmul/nvfp4_te_ref/nvfp4_te_ref/fp32", shapes=SHAPES)
    assert report.epilogue == "(S * ta) * tb"


@pytest.mark.cases(2)
@pytest.mark.parametrize("datapath", ["blackwell_mxf4nvf4_b16_ue4m3", "nv_like", "cheap", "ideal", "late_c"])
def test_own_datapaths_pass_and_are_named(datapath):
    def kernel(a, b):
        return emu.matmul(a, b.T, datapath, order=Order(tail="zero_pad"))

    report = check_matmul(kernel, "nvfp4_1level", "nvfp4_1level", **QUICK)
    assert report.verdict == "pass" and f"{datapath}, ascending" in report.equals


@pytest.mark.parametrize("order", [Order(tail="zero_pad", direction="descending"), Order(tail="zero_pad", split_k=2, combine="pairwise")])
def test_own_datapaths_pass_in_other_orders(order):
    def kernel(a, b):
        return emu.matmul(a, b.T, "nv_like", order=order)

    assert check_matmul(kernel, "nvfp4_1level", "nvfp4_1level", shapes=[(5, 3, 160), (3, 5, 288)]).verdict == "pass"


def raw(a_packed, a_scales, b_packed, b_scales, alpha, beta, c, k):
    sides = []
    for packed, scales in ((a_packed, a_scales), (b_packed, b_scales)):
        codes = np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1)[:, :k]
        sides.append(emu.decode(codes, "e2m1") * np.repeat(emu.decode(scales, "ue4m3"), 16, axis=1)[:, :k])
    found = alpha * (sides[0] @ sides[1].T)
    return found if beta == 0 else found + beta * c


def test_raw_operands_alpha_beta_and_c():
    report = check_matmul(raw, "nvfp4", "nvfp4", **QUICK)
    assert report.verdict == "pass" and report.epilogue == "S * alpha, + beta * C"
    assert check_matmul(raw, "nvfp4", "nvfp4", epilogue="S * alpha, +", **QUICK).verdict == "pass"
    other = check_matmul(raw, "nvfp4", "nvfp4", epilogue="fma(beta", raises=False, **QUICK)
    assert other.verdict == "differs" and "declared was fma(beta" in other.message


@pytest.mark.parametrize(("out", "dtype"), [("bf16", ml_dtypes.bfloat16), ("fp16", np.float16)])
def test_narrow_results_pass(out, dtype):
    report = check_matmul(lambda a, b: binary64(a, b).astype(dtype), "nvfp4", "nvfp4", out=out, **QUICK)
    assert report.verdict == "pass" and report.accumulator_bits == 24


@pytest.mark.cases(3)
@pytest.mark.parametrize("layout", ["row_major", "128x4"])
@pytest.mark.parametrize("packing", ["low_nibble_first", "high_nibble_first"])
def test_packing_and_scale_layouts(layout, packing):
    def kernel(a_packed, a_scales, b_packed, b_scales, k):
        halves = [(4, 0), (0, 4)][packing == "low_nibble_first"]
        sides = []
        for packed, scales in ((a_packed, a_scales), (b_packed, b_scales)):
            codes = np.stack([packed >> halves[0] & 15, packed >> halves[1] & 15], axis=-1).reshape(len(packed), -1)[:, :k]
            places = slice(None)
            if layout == "128x4":
                rows, blocks = np.indices((len(packed), k // 16))
                tile = rows // 128 * -(-(k // 16) // 4) + blocks // 4
                places = tile * 512 + rows % 32 * 16 + rows % 128 // 32 * 4 + blocks % 4
            sides.append(emu.decode(codes, "e2m1") * np.repeat(emu.decode(scales[places], "ue4m3"), 16, axis=1))
        return sides[0] @ sides[1].T

    assert check_matmul(kernel, "nvfp4", "nvfp4", packing=packing, scale_layout=layout, **QUICK).verdict == "pass"


def test_torch_tensors():
    torch = pytest.importorskip("torch")

    def kernel(a, b):
        assert isinstance(a.codes, torch.Tensor)
        return torch.matmul(a.dequantize("float32"), b.dequantize("float32").T)

    assert check_matmul(kernel, "nvfp4", "nvfp4", takes="torch", **QUICK).verdict == "pass"


@pytest.mark.exhaustive
def test_declared_classes_accumulators_and_reductions_pass():
    def narrow(a, b):
        x, y = (q.dequantize("bfloat16").astype(np.float32) for q in (a, b))
        return x @ y.T

    assert check_matmul(narrow, "nvfp4_1level", "nvfp4_1level", operands="bf16", **QUICK).verdict == "pass"

    def halves(a, b):
        out = np.zeros((a.shape[0], b.shape[0]), np.float16)
        x, y = a.dequantize(), b.dequantize()
        for k in range(x.shape[1]):
            out = (out + (x[:, k, None] * y[None, :, k]).astype(np.float16)).astype(np.float16)
        return out.astype(np.float32)

    report = check_matmul(halves, "nvfp4_1level", "nvfp4_1level", accumulate="fp16", **QUICK)
    assert report.accumulator_bits == 11

    def partials(a, b):
        x, y = a.dequantize(), b.dequantize()
        parts = [(x[:, at::2] @ y[:, at::2].T).astype(ml_dtypes.bfloat16).astype(np.float32) for at in (0, 1)]
        return (parts[0] + parts[1]).astype(ml_dtypes.bfloat16).astype(np.float32)

    report = check_matmul(partials, "nvfp4_1level", "nvfp4_1level", reduce="bf16", **QUICK)
    assert report.accumulator_bits == 8


@pytest.mark.exhaustive
def test_default_shapes_are_off_every_tile_size_and_one_pass_is_whole():
    report = check_matmul(binary64, "mxfp4_te_pow2", "nvfp4_te_ref")
    assert report.verdict == "pass" and report.compared > 100_000
    assert [stage.name for stage in report.stages][-1] == "random data"
    assert "pass" in report.text() and report.junit() and report.data()["accumulator_bits"] == 24


@pytest.mark.parametrize("answer", [lambda d, flags: (d, flags), lambda d, flags: {"flags": flags, "d": d}], ids=["pair", "names"])
def test_flags_that_come_along_are_said_not_to_be_compared(answer):
    def kernel(a, b):
        d = binary64(a, b)
        return answer(d, np.zeros(d.shape, np.uint8))

    report = check_matmul(kernel, "nvfp4", "nvfp4", **QUICK)
    assert report.verdict == "pass" and [note for note in report.notes if "flags were not compared" in note] == [
        "flags were not compared: this contract names no datapath that says them; check dot/DATAPATH compares them row by row"
    ]
    assert not any("flags" in note for note in check_matmul(binary64, "nvfp4", "nvfp4", **QUICK).notes)


@pytest.mark.exhaustive
def test_given_shapes_are_the_only_ones_that_are_asked():
    asked = set()

    def kernel(a, b):
        asked.add((*a.shape[:1], *b.shape))
        return binary64(a, b)

    shapes = [(128, 128, 128), (128, 256, 256)]
    assert check_matmul(kernel, "nvfp4", "nvfp4", shapes=shapes).verdict == "pass" and asked == set(shapes)


def test_a_split_that_depends_on_the_number_of_rows_is_said_and_no_fault():
    def kernel(a, b):
        return split(a, b, 4) if a.shape[0] < 8 else chain(a, b, range)

    report = check_matmul(kernel, "nvfp4", "nvfp4", count=2)
    assert report.verdict == "pass" and report.batch_invariant is False and "no fault" in report.stages[-1].reached["batches"]
    assert check_matmul(binary64, "nvfp4", "nvfp4", count=2).batch_invariant is True


@pytest.mark.parametrize("options", [{"shapes": []}, {"count": 0}])
def test_no_shapes_are_refused(options):
    with pytest.raises(OperandError, match="at least one"):
        check_matmul(binary64, "nvfp4", "nvfp4", **options)


@pytest.mark.parametrize("shapes", [[(0, 1, 16)], [(1, 1, 17)], [(1, 2)]])
def test_shapes_that_are_none_are_refused(shapes):
    with pytest.raises(OperandError, match="multiple of 16"):
        check_matmul(binary64, "nvfp4", "nvfp4", shapes=shapes)


@pytest.mark.parametrize("adapter", [{"takes": "jax"}, {"packing": "odd"}, {"scale_layout": "odd"}])
def test_unknown_words_are_refused(adapter):
    with pytest.raises(EmuError):
        check_matmul(binary64, "nvfp4", "nvfp4", **adapter)


BARE_BLOCK = """kind: "block"
id: "bare4"
title: "16 E2M1 elements, one FP32 scale for the tensor"
status: "proposed"
facts:
  element: {format: "e2m1"}
  shape: [1, 16]
  packing: "low_nibble_first"
  scale_layout: "row_major"
  levels:
    - {name: "tensor", format: "fp32", granularity: "tensor", meaning: "multiply"}
open: []
sources:
  - {ref: "emu", where: "a test"}
"""
BARE_RECIPE = """kind: "recipe"
id: "bare4_r"
title: "E2M1 under one scale for the tensor"
status: "proposed"
facts:
  block: "bare4"
  tail: "error"
  arithmetic: {to: "fp32", round: "rne"}
  domain: {non_finite: "no"}
  steps:
    - {out: "tensor", op: "div", args: ["tensor_amax", "6"]}
    - {out: "scaled", op: "div", args: ["x", "tensor"]}
    - {out: "codes", op: "cast", args: ["scaled"], to: "e2m1"}
    - {op: "emit", codes: "codes", levels: {tensor: "tensor"}}
  dequantize:
    exact:
      - {out: "code_value", op: "decode", args: ["codes"]}
      - {out: "values", op: "mul", args: ["code_value", "tensor"]}
      - {op: "emit", values: "values"}
open: []
sources:
  - {ref: "emu", where: "a test"}
"""


def test_operands_of_a_user_with_one_scale_for_the_tensor_and_none_for_blocks(tmp_path):
    (tmp_path / "bare4.yaml").write_text(BARE_BLOCK)
    (tmp_path / "bare4_r.yaml").write_text(BARE_RECIPE)
    load_spec(tmp_path)
    side = pair_of("matmul/bare4_r/nvfp4_te_ref/fp32").a
    assert (side.scale, side.size, side.rows, side.level, side.tensor) == (None, 0, 1, "", "tensor")

    def cut(a, b):
        return (wide(a)[:, :-1] @ wide(b)[:, :-1].T).astype(np.float32)

    for kernel, verdict in ((binary64, "pass"), (cut, "differs")):
        assert check_matmul(kernel, "bare4_r", "nvfp4_te_ref", shapes=[(3, 4, 32)], raises=False).verdict == verdict
