"""emu.matmul of operands with a scale for each row beside those of blocks, and of epilogues by id: NumPy's binary32 by hand, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import emu
from emu.base.errors import OperandError, SpecError
from emu.ops.operands import operand_of
from emu.spec import get
from emu.spec.models.levels import EpilogueFacts

NVFP4 = "blackwell_mxf4nvf4_b16_ue4m3"
ROWS, TENSOR, LIBRARY = "nvfp4_te_row_scaled", "nvfp4_te_ref", "te_nvfp4"
ENGINES = ("auto", "exact", "numpy", "c_ref", "native")
F32 = np.float32
C = F32(1) / F32(6 * 6 * 448 * 448)


def operands(left: str, right: str, m: int = 5, n: int = 3) -> tuple[Any, Any]:
    """A [m, 64] and B [64, n], rows and columns of other sizes each."""
    rng = np.random.default_rng(11)
    a = rng.standard_normal((m, 64)).astype(F32) * F32([1, 300, 0.07, 5e-3, 11])[:m, None]
    b = rng.standard_normal((64, n)).astype(F32) * F32([0.3, 19, 7e-4])[:n]
    return emu.quantize(a, left), emu.quantize(b, right, axis=0)


def sums(a: Any, b: Any) -> Any:
    """What the codes and the scales of blocks alone give, by the reference model."""
    left, right = operand_of(a, "a", -1, None), operand_of(b, "b", 0, None)
    given = (np.repeat(left.codes[:, None], len(right.codes), 1), np.repeat(right.codes[None], len(left.codes), 0), NVFP4)
    scales = (np.repeat(left.scales[:, None], len(right.codes), 1), np.repeat(right.scales[None], len(left.codes), 0))
    return emu.dot(*given, *scales, engine="exact").view(F32)


def stored(q: Any, axis: int) -> Any:
    """The maxima in binary32, one or one for each row, along the axis of the result."""
    (codes,) = [level.codes for level in q.levels if level.name in ("row_amax", "tensor")]
    found = np.asarray(codes).reshape(-1).view(F32)
    return found[:, None] if axis == 0 else found[None]


@pytest.mark.parametrize(("left", "right"), [(ROWS, ROWS), (ROWS, TENSOR), (TENSOR, ROWS)])
@pytest.mark.parametrize(("m", "n"), [(5, 3), (1, 3), (5, 1)])
def test_rows_as_the_library_computes_them(left: str, right: str, m: int, n: int) -> None:
    """Where one of the vectors has one number, both are multiplied first: in the source numel() decides, so also for M = 1 or N = 1."""
    a, b = operands(left, right, m, n)
    row, column, bare = stored(a, 0), stored(b, 1), sums(a, b) * C
    wanted = bare * (row * column) if 1 in (row.size, column.size) else bare * row * column
    bias = np.linspace(-3, 2, n, dtype=F32)[None].repeat(m, 0)
    for engine in ENGINES:
        assert np.array_equal(emu.matmul(a, b, NVFP4, epilogue=LIBRARY, engine=engine), wanted), engine
        assert np.array_equal(emu.matmul(a, b, NVFP4, bias, epilogue=LIBRARY, engine=engine), wanted + bias), engine


def test_the_orders_of_rows_differ() -> None:
    a, b = operands(ROWS, ROWS)
    rules = get("epilogue", LIBRARY).facts.rows
    found = {order: emu.matmul(a, b, NVFP4, epilogue=rules.model_copy(update={"scales": order})) for order in ("a_first", "b_first")}
    assert np.array_equal(found["a_first"], emu.matmul(a, b, NVFP4, epilogue=LIBRARY))
    assert np.array_equal(found["b_first"], sums(a, b) * C * stored(b, 1) * stored(a, 0)) and (found["a_first"] != found["b_first"]).any()


@pytest.mark.parametrize(("recipe", "largest"), [(TENSOR, 448), ("nvfp4_te_2d_ref", 448), ("nvfp4_te_4over6_mae_256", 256)])
def test_tensors_as_the_library_computes_them(recipe: str, largest: int) -> None:
    rng = np.random.default_rng(3)
    a = emu.quantize(rng.standard_normal((16, 64)).astype(F32), recipe)
    b = emu.quantize(rng.standard_normal((64, 16)).astype(F32), recipe, axis=0)
    alpha = stored(a, 0) * stored(b, 1) * (F32(1) / F32(6 * 6 * largest * largest))
    wanted = sums(a, b) * alpha
    for engine in ENGINES:
        assert np.array_equal(emu.matmul(a, b, NVFP4, epilogue=LIBRARY, engine=engine), wanted), engine
    assert np.array_equal(emu.matmul(a, b, NVFP4, epilogue=get("epilogue", LIBRARY)), wanted)


def test_a_multiplier_for_each_operand_gives_other_bits() -> None:
    """What the page says: the order of the library is not the product of what each recipe multiplies by."""
    ones = np.ones((1, 64), F32)
    a, b = emu.quantize(ones, TENSOR), emu.quantize(3 * ones.T, TENSOR, axis=0)
    found = [int(emu.matmul(a, b, NVFP4, epilogue=epilogue, bits=True)[0, 0]) for epilogue in (LIBRARY, None)]
    assert found[0] == found[1] - 1


def test_rules_of_ones_own() -> None:
    """With the factor in the scales, a row multiplies as its recipe dequantizes."""
    a, b = operands(ROWS, TENSOR)
    own = EpilogueFacts(alpha="rne", d="rne", c_place="after", fused="yes", scales="b_first")
    third = F32(1) / F32(2688)
    for engine in ENGINES:
        found = emu.matmul(a, b, NVFP4, epilogue=own, engine=engine)
        assert np.array_equal(found, sums(a, b) * (stored(b, 1) * third) * (stored(a, 0) * third)), engine
    cut = EpilogueFacts(alpha="rz", d="ru", c_place="after", fused="no", scales="together_or_a_first", factor="sum_first")
    both = [
        emu.matmul(*operands(ROWS, ROWS), NVFP4, epilogue=cut, engine=engine, bits=True) for engine in ("auto", "exact", "numpy", "c_ref")
    ]
    assert all(np.array_equal(both[0], item) for item in both[1:])


def test_leading_axes_and_a_transpose() -> None:
    a, b = operands(ROWS, ROWS)
    high = emu.quantize(np.stack([a.dequantize(), a.dequantize()[::-1]]), ROWS)
    found = emu.matmul(high, b, NVFP4, epilogue=LIBRARY)
    flat = emu.quantize(high.dequantize().reshape(10, 64), ROWS)
    assert found.shape == (2, 5, 3) and np.array_equal(found.reshape(10, 3), emu.matmul(flat, b, NVFP4, epilogue=LIBRARY))
    turned = emu.quantize(np.ascontiguousarray(b.dequantize().T), ROWS)
    assert np.array_equal(
        emu.matmul(a, turned.T, NVFP4, epilogue=LIBRARY), emu.matmul(a, emu.quantize(b.dequantize(), ROWS, axis=0), NVFP4, epilogue=LIBRARY)
    )


def test_what_nobody_knows_is_refused() -> None:
    a, b = operands(ROWS, ROWS)
    c = np.zeros((5, 3), F32)
    for given in ({}, {"scales": "a_first"}, {"c": c, "epilogue": "after"}):
        with pytest.raises(SpecError, match=r"^a has scales of rows beside scales of blocks, .* what a library does: te_nvfp4 \(docs"):
            emu.matmul(a, b, NVFP4, **given)
    with pytest.raises(SpecError, match=r"^b has scales of rows beside"):
        emu.matmul(operands(TENSOR, ROWS)[0], b, NVFP4)
    with pytest.raises(OperandError, match="scales 'a_first' beside epilogue te_nvfp4, which says the order itself: leave scales out"):
        emu.matmul(a, b, NVFP4, epilogue=LIBRARY, scales="a_first")
    tensors = operands(TENSOR, TENSOR)
    with pytest.raises(
        SpecError, match="nobody knows where C enters beside these scales: leave c out, or give its EpilogueFacts with a c_place"
    ):
        emu.matmul(*tensors, NVFP4, c, epilogue=LIBRARY)
    with pytest.raises(SpecError, match="multiplies one stored scale of a tensor or of rows for each operand, block nvfp4_1level has none"):
        emu.matmul(a, operands(TENSOR, "nvfp4_torchao_1level")[1], NVFP4, epilogue=LIBRARY)
    with pytest.raises(SpecError, match="multiplies a stored binary32 scale, tensor of block nvfp4_divisor is fp32, divide"):
        emu.matmul(a, operands(TENSOR, "nvfp4_compressed_tensors")[1], NVFP4, epilogue=LIBRARY)
    with pytest.raises(
        SpecError, match="epilogue te_nvfp4 speaks of scales of rows beside those of blocks, and a row here has one scale alone"
    ):
        emu.matmul(*operands("e4m3_row_torchao", "e4m3_row_torchao"), "hopper_fp8", epilogue=LIBRARY)
    with pytest.raises(OperandError, match="epilogue 'nobody' is unknown: before, after, an EpilogueFacts, or one of te_nvfp4"):
        emu.matmul(a, b, NVFP4, epilogue="nobody")


def test_the_factor_may_stand_apart_in_the_file_of_a_datapath() -> None:
    tensors, rules = operands(TENSOR, TENSOR), get("epilogue", LIBRARY).facts.tensors
    model = get("datapath", NVFP4)
    own = model.model_copy(update={"facts": model.facts.model_copy(update={"epilogue": rules})})
    assert np.array_equal(emu.matmul(*tensors, own), emu.matmul(*tensors, NVFP4, epilogue=LIBRARY))
    bare = operands("nvfp4_torchao_1level", "nvfp4_torchao_1level")
    assert np.array_equal(emu.matmul(*bare, own), emu.matmul(*bare, NVFP4))
    with pytest.raises(OperandError, match="scales 'a_first': the epilogue multiplies alpha, the product of both scales, by the factor"):
        emu.matmul(*tensors, own, scales="a_first")
