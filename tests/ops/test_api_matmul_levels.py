"""emu.matmul with a datapath of levels: every output is a row of the reference model, in the order that is asked for; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import emu
from emu.base.errors import OperandError, ShapeError, SpecError
from emu.engines.datapath import ROWS_AT_ONCE
from emu.engines.exact.levels import dot
from emu.ops.operands import operand_of
from emu.ops.order import Order
from emu.spec.levels import check_levels, resolve_levels
from emu.spec.models import Datapath
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get

RECIPE = "nvfp4_torchao_1level"


def machine(rounding: str = "rne") -> Datapath:
    """Groups of 16 E2M1 products under UE4M3 scales, added one by one into a register of bfloat16 that C starts."""
    model: Datapath = get("datapath", "e1m2_bf16_register")
    facts: Any = model.facts.model_dump()
    facts |= {"a": ("e2m1",), "b": ("e2m1",)}
    facts["levels"][1]["hold"]["rounding"] = rounding
    found = model.model_copy(update={"id": f"e2m1_{rounding}", "facts": DatapathLevels.model_validate(facts)})
    check_levels(found)
    return found


def operands(m: int, k: int, n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    a, b = (rng.standard_normal((m, k)) * 4).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    return emu.quantize(a, RECIPE), emu.quantize(b, RECIPE, axis=0)


def expected(a: Any, b: Any, model: Datapath, c: Any = None, random: Any = None, order: list[int] | None = None) -> np.ndarray:
    """Row by row, by the reference model. order: of the instructions."""
    plan = resolve_levels(model)
    k, per = plan.facts.k, plan.facts.k // plan.block
    total = a.shape[1] // k
    chain = order or list(range(total))

    def pick(codes: np.ndarray, size: int) -> list[int]:
        return [int(code) for part in chain for code in codes[part * size : (part + 1) * size]]

    out = np.zeros((a.shape[0], b.shape[1]), np.uint16)
    sa, sb = a.scales, b.scales
    for i, j in np.ndindex(out.shape):
        words = [] if random is None else [int(word) for word in random[i, j]]
        addend = 0 if c is None else int(c[i, j])
        found = dot(pick(a.codes[i], k), pick(b.codes[:, j], k), pick(sa[i], per), pick(sb[:, j], per), addend, words, plan)
        out[i, j] = found.code
    return out


@pytest.mark.parametrize("engine", ["auto", "exact", "numpy", "c_ref"])
def test_every_output_is_a_row_of_the_reference_model(engine):
    a, b = operands(5, 192, 3)
    c = np.arange(15, dtype=np.uint16).reshape(5, 3) * 977
    assert np.array_equal(emu.matmul(a, b, machine(), c, bits=True, engine=engine), expected(a, b, machine(), c))
    assert np.array_equal(emu.matmul(a, b, machine(), bits=True, engine=engine), expected(a, b, machine()))


def test_the_order_along_k_is_an_argument():
    a, b = operands(4, 192, 4)
    found = emu.matmul(a, b, machine(), order=Order(direction="descending"), bits=True)
    assert np.array_equal(found, expected(a, b, machine(), order=[2, 1, 0]))
    assert not np.array_equal(found, emu.matmul(a, b, machine(), bits=True))


def test_random_words_are_those_of_each_output():
    a, b = operands(3, 128, 2)
    model = machine("sr_add8")
    words = np.random.default_rng(3).integers(0, 256, (3, 2, 8), np.uint32)
    found = emu.matmul(a, b, model, random=words, bits=True)
    assert np.array_equal(found, expected(a, b, model, random=words))
    assert not np.array_equal(found, emu.matmul(a, b, model, random=words[..., ::-1], bits=True))
    with pytest.raises(ShapeError, match="random: shape"):
        emu.matmul(a, b, model, random=words[:2], bits=True)


def test_more_outputs_than_are_asked_at_once():
    """Rows of A in several parts: the last part is shorter, and every output is that of its own row and column."""
    a, b = operands(70, 64, 61)
    assert ROWS_AT_ONCE < 70 * 61
    found = emu.matmul(a, b, machine(), bits=True, engine="c_ref")
    assert np.array_equal(found[[0, 66, 67, 69]], emu.matmul(emu.quantize(_rows(a), RECIPE), b, machine(), bits=True, engine="c_ref"))


def flagging() -> Datapath:
    """The same into a register of fp16, which overflows; a NaN in C may signal."""
    facts: Any = machine().facts.model_dump()
    facts["levels"][1]["hold"] = {"format": "fp16", "rounding": "rne"}
    facts |= {"out": {"format": "fp16", "rounding": "rne"}, "flags": {"report": ("NV", "OF"), "signalling": ("bf16",)}}
    facts["special"] = {"when": "per_add", "nan": "0x7E00"}
    found = machine().model_copy(update={"id": "e2m1_flags", "facts": DatapathLevels.model_validate(facts)})
    check_levels(found)
    return found


@pytest.mark.parametrize("engine", ["auto", "exact", "numpy", "c_ref"])
@pytest.mark.parametrize("direction", ["ascending", "descending"])
def test_flags_of_every_output(engine: str, direction: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some sums overflow, some C signal; one row of A at a time."""
    monkeypatch.setattr("emu.engines.datapath.ROWS_AT_ONCE", 4)
    rng, model = np.random.default_rng(11), flagging()
    x, y = (rng.standard_normal(shape).astype(np.float32) * 100 for shape in ((5, 128), (128, 4)))
    a, b = emu.quantize(x, RECIPE), emu.quantize(y, RECIPE, axis=0)
    c = np.zeros((5, 4), np.uint16)
    c[1], c[2, 1], c[3, 2] = 0x7F80, 0x7FA0, 0x7FC0
    want = np.zeros((2, 5, 4), np.uint16)
    plan, chain = resolve_levels(model), slice(None, None, 1 if direction == "ascending" else -1)
    for i, j in np.ndindex(5, 4):
        rows = [codes.reshape(2, -1)[chain].reshape(-1).tolist() for codes in (a.codes[i], b.codes[:, j], a.scales[i], b.scales[:, j])]
        found = dot(*rows, int(c[i, j]), [], plan)
        want[:, i, j] = found.code, found.flags
    codes, flags = emu.matmul(a, b, model, c, bits=True, engine=engine, flags=True, order=Order(direction=direction))
    assert np.array_equal(codes, want[0]) and np.array_equal(flags, want[1]) and flags.dtype == np.uint8
    assert set(flags.reshape(-1).tolist()) >= {0, 1, 2}
    values, same = emu.matmul(a, b, model, c, flags=True, engine=engine, order=Order(direction=direction))
    assert values.dtype == np.float16 and np.array_equal(same, flags)


def test_flags_that_nobody_reports_are_refused() -> None:
    a, b = operands(2, 64, 2)
    with pytest.raises(OperandError, match=r"^flags: datapath e2m1_rne reports none: leave flags out$"):
        emu.matmul(a, b, machine(), flags=True)
    with pytest.raises(OperandError, match=r"^flags: datapath blackwell_mxf4nvf4_b16_ue4m3 reports none: leave flags out$"):
        emu.matmul(a, b, "blackwell_mxf4nvf4_b16_ue4m3", flags=True)


def _rows(a: Any) -> np.ndarray:
    rng = np.random.default_rng(7)
    return (rng.standard_normal((70, 64)) * 4).astype(np.float32)[[0, 66, 67, 69]]


def machine32(epilogue: dict[str, str] | None = None) -> Datapath:
    """The same into a register of binary32, which tensor scales can multiply."""
    facts: Any = machine().facts.model_dump()
    facts["levels"][1]["hold"] = {"format": "fp32", "rounding": "rne", "overflow": "ieee"}
    facts |= {"c": "fp32", "out": {"format": "fp32", "rounding": "rne"}, "epilogue": epilogue}
    facts["special"] = {"when": "once", "nan": "0x7FFFFFFF", "zero": "ieee"}
    found = machine().model_copy(update={"id": "e2m1_fp32", "facts": DatapathLevels.model_validate(facts)})
    check_levels(found)
    return found


def two_level(k: int = 128) -> tuple[Any, Any, np.float32]:
    """Operands with a scale of the whole tensor, and the product of both scales in binary32."""
    rng = np.random.default_rng(11)
    a, b = (rng.standard_normal((4, k)) * 300).astype(np.float32), rng.standard_normal((k, 3)).astype(np.float32)
    left, right = emu.quantize(a, "nvfp4_te_ref"), emu.quantize(b, "nvfp4_te_ref", axis=0)
    multipliers = [operand_of(item, "a", axis, None).tensor_scale for item, axis in ((left, -1), (right, 0))]
    first, second = np.array(multipliers, np.uint32).view(np.float32)
    return left, right, first * second


@pytest.mark.parametrize("engine", ["auto", "exact", "numpy", "c_ref"])
def test_tensor_scales_multiply_the_result_and_c_joins_before_or_after(engine):
    """NumPy's single operations of binary32 are correctly rounded: they stand beside each engine."""
    a, b, alpha = two_level()
    assert np.frexp(alpha)[0] != 0.5  # no power of two
    c = (np.arange(12, dtype=np.float32).reshape(4, 3) - 5) * np.float32(1.1e3)
    bare = expected_values(a, b)
    found = emu.matmul(a, b, machine32(), engine=engine)
    assert np.array_equal(found.view(np.uint32), (alpha * bare).view(np.uint32))
    after = emu.matmul(a, b, machine32(), c, epilogue="after", engine=engine)
    assert np.array_equal(after.view(np.uint32), (alpha * bare + c).view(np.uint32))
    before = emu.matmul(a, b, machine32(), c, epilogue="before", engine=engine)
    assert np.array_equal(before.view(np.uint32), (alpha * expected_values(a, b, c.view(np.uint32))).view(np.uint32))
    own = machine32({"alpha": "rne", "d": "rne", "c_place": "after", "fused": "no"})
    assert np.array_equal(emu.matmul(a, b, own, c, engine=engine).view(np.uint32), after.view(np.uint32))
    assert not np.array_equal(before, after)


def expected_values(a: Any, b: Any, c: np.ndarray | None = None) -> np.ndarray:
    """Row by row, by the reference model, without tensor scales."""
    plan, per = resolve_levels(machine32()), 4
    out = np.zeros((a.shape[0], b.shape[1]), np.uint32)
    for i, j in np.ndindex(out.shape):
        codes = [item.tolist() for item in (a.codes[i], b.codes[:, j], a.scales[i], b.scales[:, j])]
        assert len(codes[0]) == 16 * len(codes[2]) == 2 * 16 * per
        out[i, j] = dot(codes[0], codes[1], codes[2], codes[3], 0 if c is None else int(c[i, j]), [], plan).code
    return out.view(np.float32)


def test_a_nan_under_tensor_scales_is_the_datapaths():
    a, b, _ = two_level()
    c = np.full((4, 3), np.nan, np.float32)
    for place in ("before", "after"):
        assert set(emu.matmul(a, b, machine32(), c, epilogue=place, bits=True).ravel().tolist()) == {0x7FFFFFFF}


def test_tensor_scales_without_a_rule_are_refused():
    a, b, _ = two_level()
    with pytest.raises(SpecError, match="does not say where C enters"):
        emu.matmul(a, b, machine32(), np.zeros((4, 3), np.float32))
    with pytest.raises(SpecError, match="scales of tensors and rows multiply a binary32 result, not bf16"):
        emu.matmul(a, b, machine())
    facts: Any = machine().facts.model_dump() | {"epilogue": {"alpha": "rne", "d": "rne", "c_place": "after", "fused": "no"}}
    wrong = machine().model_copy(update={"facts": DatapathLevels.model_validate(facts)})
    with pytest.raises(SpecError, match="tensor scales multiply a binary32 result, not bf16"):
        check_levels(wrong)
    plain, other = operands(2, 64, 2)
    with pytest.raises(OperandError, match="c is missing"):
        emu.matmul(plain, other, machine(), epilogue="after")


def test_what_levels_do_not_take_is_refused():
    a, b = operands(2, 64, 2)
    with pytest.raises(OperandError, match="split_k"):
        emu.matmul(a, b, machine(), order=Order(split_k=2))
    with pytest.raises(SpecError, match="does not take e2m1"):
        emu.matmul(a, b, "e1m2_bf16_register")
    with pytest.raises(OperandError, match="draws nothing"):
        emu.matmul(a, b, "blackwell_mxf4nvf4_b16_ue4m3", random=np.zeros((2, 2, 1), np.uint8))
