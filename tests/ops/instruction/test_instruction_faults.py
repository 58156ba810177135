"""Bad input of instructions and bad files: one line that says what, where and how to mend it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emu
from emu.base.errors import EngineError, OpenError, OperandError, ShapeError, SpecError
from emu.ops.instruction import instruction
from emu.spec import get
from emu.spec.registry import isolated, shipped_root

E2M1 = "cvt.rn.satfinite.e2m1x2.f32"
MMA = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
A, B, S = np.zeros((16, 64), np.uint8), np.zeros((8, 64), np.uint8), np.zeros((16, 4), np.uint8)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: instruction("cvt.rn.satfinite.e2m1x3.f32"), SpecError, "did you mean cvt.rn.satfinite.e2m1x2.f32"),
        (
            lambda: instruction("ptx_cvt_f4x2"),
            SpecError,
            "ptx_cvt_f4x2 is a family of 3 instructions: name one, such as cvt.rn.satfinite.e2m1x2.f32",
        ),
        (lambda: instruction(E2M1, random="share16"), SpecError, "random='share16' is no choice, the spec lists nothing"),
        (
            lambda: instruction("cvt.rs.satfinite.e2m1x4.f32", random="share8"),
            SpecError,
            "the spec lists one of share16, split8, b200_bitrev",
        ),
        (lambda: instruction("cvt.rs.satfinite.e2m1x4.f32")(1, 2, 3, 4, 5), OpenError, "choose random=share16 or split8 or b200_bitrev"),
        (lambda: instruction(E2M1)(1), OperandError, "needs b: it takes a, b"),
        (lambda: instruction(E2M1)(1, 2, 3), OperandError, "takes a, b: 3 operands are given"),
        (lambda: instruction(E2M1)(1, a=2), OperandError, "a is given twice"),
        (lambda: instruction(E2M1)(1, 2, rbits=3), OperandError, "rbits is none of them"),
        (lambda: instruction(E2M1)(1 << 32, 0), OperandError, "a has more than 32 bits"),
        (lambda: instruction(E2M1)(-1, 0), OperandError, "a must be raw bits"),
        (lambda: instruction(E2M1)(1.0, 0), OperandError, "a must be raw bits"),
        (lambda: instruction(E2M1)([[1], [1, 2]], 0), OperandError, "a is no array"),
        (lambda: instruction(E2M1)(0, 0, engine="gpu"), EngineError, "gpu"),
        (lambda: instruction("cvt.rn.f16x2.e2m3x2")(0x4000), OperandError, "a code has more than 6 bits"),
        (lambda: instruction("v_cvt_scalef32_pk32_fp6_f16")(np.zeros(3, np.uint32), 0), ShapeError, "register of 512 bits: give 16 words"),
        (lambda: instruction("vcvtps2hf8s xmm")(np.array([0x7FC00000, 0, 0, 0], np.uint32)), OpenError, "the result of NaN is open"),
        (lambda: instruction("vcvtps2hf8s xmm")(np.array([0, 0, 0, 0xFF800000], np.uint32)), OpenError, "the result of Inf is open"),
        (lambda: instruction("v_cvt_scalef32_pk_f32_fp4")(0, 0x7FC00000), OpenError, "the result of NaN is open"),
        (lambda: instruction(MMA)(A, B, S, S[:8], np.zeros((16, 9), np.uint32)), ShapeError, r"c must have the shape \(16, 8\)"),
        (lambda: instruction(MMA)(np.zeros((17, 64), np.uint8), B, S, S[:8]), ShapeError, "a has 17 rows, the instruction takes 16"),
        (lambda: instruction(MMA)(A[:, :32], B, S, S[:8]), ShapeError, "a must be a matrix with 64 codes in a row"),
        (lambda: instruction(MMA)(A, B, S, S), ShapeError, "b_scales has 16 rows, its matrix 8"),
        (lambda: instruction(MMA)(A, B, S, S[:8, :2]), ShapeError, "b_scales must be a matrix with 4 codes in a row"),
        (lambda: instruction(MMA)(A + 16, B, S, S[:8]), OperandError, "e2m1"),
        (lambda: instruction(MMA)(A.astype(float), B, S, S[:8]), OperandError, "a must be raw codes"),
        (lambda: instruction(MMA)(A, B), OperandError, "needs a_scales, b_scales"),
    ],
)
def test_bad_input(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_c_may_be_left_out_and_rows_may_be_fewer() -> None:
    found = instruction(MMA)(A[:2], B[:3], S[:2], S[:3])
    assert found.shape == (2, 3) and found.dtype == np.uint32 and not found.any()


def test_operands_broadcast_and_the_dtype_is_the_register() -> None:
    call = emu.instruction(E2M1)
    assert (call.operands, call.status, call.mnemonic, call.form.id) == (("a", "b"), "vendor", E2M1, "cvt_rn_satfinite_e2m1x2_f32")
    found = call(np.full((2, 3), 0x3F800000, np.uint32), np.array([0, 0x3F800000, 0xBF800000], np.uint32))
    assert found.dtype == np.uint8 and found.tolist() == [[0x20, 0x22, 0x2A]] * 2
    assert emu.instruction("cvt.rn.f16x2.e2m1x2")(np.uint8([0x2F])).dtype == np.uint32
    assert emu.instruction(E2M1)(np.zeros(0, np.uint32), 0).shape == (0,)


FILE = """kind: "instruction"
id: "mine"
title: "a test"
status: "inferred"
facts:
  isa: "ptx"
  mnemonic: "cvt.{rounding}.mine.{source}"
  performs: "convert"
  to: "e2m1"
  result: {name: "d", lanes: 2, first: "high"}
  policy: "nvidia"
  flags: "none"
  axes:
    rounding:
      rn: {rounding: "rne"}
    source:
      f32: {source: "fp32", operands: [{name: "a"}, {name: "b"}]}
open: []
sources:
  - {ref: "emu", where: "here"}
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("lanes: 2, first", "lanes: 4, first", "the operands hold 2 lanes, the result 4"),
        ('rn: {rounding: "rne"}', "rn: {}", "either a rounding or a random operand"),
        ('rn: {rounding: "rne"}', 'rn: {rounding: "sr_add8"}', "rounding sr_add8 draws: state the random operand"),
        ('rn: {rounding: "rne"}', 'rn: {rounding: "rnd"}', "rounding 'rnd' is unknown"),
        ('rn: {rounding: "rne"}', 'rn: {rounding: "rne", to: "e1m2"}', "to is set by axis rounding and once more"),
        ('rn: {rounding: "rne"}', 'rn: {rounding: "open"}', "rounding is open: say so under open"),
        ("cvt.{rounding}.mine", "cvt.{mode}.mine", "mnemonic names the axes mode, source, axes has rounding, source"),
        ("result: {name", "result: {slot: 3, name", "a slot of 3 bits holds no e2m1 code of 4"),
        ('flags: "none"', 'flags: "some"', "flags"),
        ('  policy: "nvidia"\n', "", "needs policy"),
        ('policy: "nvidia"', 'policy: "riscv_zvfofp8min"', "says nothing of e2m1"),
        ("open: []", 'open:\n  - {what: "x", until: "y", fact: "flags"}', "fact 'flags' is not one that emu.instruction takes"),
        ("open: []", 'open:\n  - {what: "x", until: "y", fact: "rounding", options: ["rnx"]}', "rounding 'rnx' is unknown"),
        ('status: "inferred"', 'status: "proposed"', "rationale belongs to a proposed instruction"),
        ('lanes: 2, first: "high"', "lanes: 2", "first belongs to a register of several lanes"),
        ("open: []", 'expect:\n  - {form: "cvt.rx", operands: ["0"], result: "0"}\nopen: []', "form 'cvt.rx' is none of this family"),
        ('isa: "ptx"', 'isa: "sparc"', "sparc"),
        ("open: []", 'aliases: ["cvt.rn.satfinite.e2m1x2.f32"]\nopen: []', "already names instruction ptx_cvt_f4x2"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert FILE.count(old) == 1
    (tmp_path / "mine.yaml").write_text(FILE.replace(old, new), encoding="utf-8")
    with pytest.raises(SpecError, match=words) as error:
        emu.load_spec(tmp_path)
    assert "mine.yaml:" in str(error.value) and "\n" not in str(error.value)


def test_a_users_instruction_runs(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(FILE, encoding="utf-8")
    with isolated(shipped_root()):
        assert emu.load_spec(tmp_path) == ("instruction/mine",)
        assert int(instruction("cvt.rn.mine.f32")(0x3F800000, 0xC0C00000)) == 0x2F
        assert get("instruction", "CVT.rn.mine.f32".lower()).id == "mine"


def test_show_and_list(capsys: Any) -> None:
    from emu.cli.main import run

    assert run(["show", "cvt.rs.satfinite.e2m1x4.f32"]) == 0
    shown = capsys.readouterr().out
    assert "random=share16 | split8 | b200_bitrev" in shown and "rbits, 32 bits, read as open" in shown
    assert run(["show", "prop_mma_4bit"]) == 0
    assert "27 forms" in capsys.readouterr().out
    assert run(["list", "instructions"]) == 0
    assert "ptx_cvt_f4x2" in capsys.readouterr().out
    assert run(["list", "contracts"]) == 0
    assert "insn/cvt_rn_satfinite_e2m1x2_f32" in capsys.readouterr().out.split()
