"""emu.dot with a datapath of levels: operands, C or none, random words, stages, and which engines take it."""

from __future__ import annotations

import numpy as np
import pytest

import emu
from emu.base.errors import EngineError, OperandError, ShapeError
from emu.engines.exact.levels import Number
from emu.engines.torch.present import has_torch
from emu.spec.registry import get

ONE, HALF_ULP = 0x3F80, 0x3B80  # 1 and 2^-8 in bfloat16


def test_rows_broadcast_and_engines_agree() -> None:
    a = np.array([[[ONE, HALF_ULP, HALF_ULP, HALF_ULP]], [[HALF_ULP, HALF_ULP, HALF_ULP, ONE]]], np.uint16)
    b = np.full((1, 3, 4), ONE, np.uint16)
    found = emu.dot(a, b, "bf16_register")
    assert found.shape == (2, 3) and found.dtype == np.uint16 and found.tolist() == [[0x3F80] * 3, [0x3F82] * 3]
    assert all((emu.dot(a, b, "bf16_register", engine=engine) == found).all() for engine in ("exact", "numpy", "c_ref"))
    assert (
        emu.dot(a, b, "bf16_register", c=np.uint16(0x4000))[0].tolist() == [0x4040] * 3
    )  # 2 + 1; the rest is less than half an ulp each time


def test_scales_and_a_block() -> None:
    a = np.zeros(64, np.uint8)
    a[[0, 32]] = 2
    assert int(emu.dot(a, a, "mx_lane24", np.uint8([0x89, 0x70]), np.uint8([0x7F, 0x7F]))) == 0x6400
    with pytest.raises(ShapeError, match="a_scales is missing"):
        emu.dot(a, a, "mx_lane24")


def test_c_where_there_is_none_and_random_words() -> None:
    a = np.array([ONE, HALF_ULP, 0, 0], np.uint16)
    ones = np.full(4, ONE, np.uint16)
    with pytest.raises(OperandError, match=r"^c: datapath rvbna4 has no C: leave it out$"):
        emu.dot(a, ones, "rvbna4", c=np.uint32(0))
    words = np.array([[0, 128, 0, 0], [0, 127, 0, 0]], np.uint16)
    pair = np.stack([a, a])
    assert emu.dot(pair, ones, "bf16_register_random", random=words).tolist() == [0x3F81, 0x3F80]
    with pytest.raises(ShapeError, match=r"^random: datapath bf16_register_random takes 4 words for K = 4, not 0$"):
        emu.dot(a, ones, "bf16_register_random")
    with pytest.raises(OperandError, match=r"^random: datapath ideal draws nothing: leave random out$"):
        emu.dot(np.zeros(64, np.uint8), np.zeros(64, np.uint8), "ideal", [0] * 4, [0] * 4, a_format="e1m2", b_format="e1m2",
                scale_format="ue4m3", random=words)  # fmt: skip


def test_stages_are_what_each_level_leaves() -> None:
    a = np.array([ONE] + [HALF_ULP] * 7, np.uint16)
    code, (stages,) = emu.dot(a, np.full(8, ONE, np.uint16), "bf16_pairwise", stages=True)
    assert int(code) == 0x3F830000 and stages["tree_0"] == Number(131, 0, 7, True)
    assert list(stages) == [*(f"product_{i}" for i in range(8)), "tree_0", "k_0_0", "k_0"]


@pytest.mark.parametrize("engine", ["numpy", "c_ref", *(["torch"] if has_torch() else [])])
def test_other_engines_give_the_same_codes_and_no_stages(engine: str) -> None:
    a, ones = np.array([[ONE] + [HALF_ULP] * 7] * 3, np.uint16), np.full((3, 8), ONE, np.uint16)
    found, stages = emu.dot(a, ones, "bf16_pairwise", engine=engine, stages=True)
    assert found.tolist() == [0x3F830000] * 3 and stages == []


WHY = {"numpy": "a product or an operand has more than 53 significant bits", "native": "an operand is beyond binary32"}


@pytest.mark.parametrize("engine", WHY)
def test_an_engine_says_what_of_a_datapath_it_does_not_take(engine: str) -> None:
    model = get("datapath", "fp32_fma_chain")
    wide = model.model_copy(update={"id": "wide", "facts": model.facts.model_copy(update={"a": ("fp64",)})})
    says = rf"^engine {engine} does not take this datapath of levels \({WHY[engine]}\); engine (c_ref or )?exact( or torch)? does$"
    with pytest.raises(EngineError, match=says):
        emu.dot(np.zeros(1, np.uint64), np.zeros(1, np.uint32), wide, engine=engine)


def test_matmul_is_a_dot_for_each_output() -> None:
    operands = emu.quantize(np.ones((2, 64), np.float32), "mxfp4_te_pow2")
    found = emu.matmul(operands, operands.T, datapath="mx_lane24", bits=True)
    one = emu.dot(operands.codes, operands.codes, "mx_lane24", operands.scales, operands.scales)
    assert found.shape == (2, 2) and set(found.reshape(-1).tolist()) == set(np.asarray(one).tolist())
