"""Operations on numbers in C: what the entry point refuses, before anything is written."""

from __future__ import annotations

from typing import Any

from emu.engines.c_ref._c import ffi, lib
from emu.spec.operations import OPERATIONS


def test_what_the_entry_point_refuses(c: Any) -> None:
    fp32, wide, nanless, e8m0 = c.format("fp32"), c.format({"format_class": lib.EMU_FLOAT, "has_sign": 1, "exp_bits": 4, "frac_bits": 58,
        "bias": 7, "subnormals": 1, "neg_zero": 1}), c.format("e2m1"), c.format("e8m0")  # fmt: skip
    rne, drawn, policy = c.rounding("rne"), c.rounding("add", 8), c.policy("ieee_inf", (0x7FC00000,) * 2)
    codes, out, marks = ffi.new("uint64_t[]", [1]), ffi.new("uint8_t[]", b"ABCDEFGH"), ffi.new("uint8_t[]", 1)

    def call(operation: int, source: Any, to: Any = fp32, how: Any = rne, entry: Any = policy, data: Any = codes, result: Any = out,
             opened: Any = marks) -> int:  # fmt: skip
        operands = ffi.new("emu_operand_codes[]", [{"format": source, "codes": data}] * 4)
        return int(lib.emu_operate_array(operation, operands, to, how, entry, 1, result, opened))

    null, add = ffi.NULL, lib.EMU_DO_ADD
    for found, wanted in (
        (call(-1, fp32), lib.EMU_ERROR_PROGRAM),
        (call(len(OPERATIONS), fp32), lib.EMU_ERROR_PROGRAM),
        (call(add, e8m0), lib.EMU_ERROR_FORMAT),
        (call(add, wide), lib.EMU_ERROR_FORMAT),
        (call(add, fp32, e8m0, rne, c.policy("saturate", (255, 255))), lib.EMU_ERROR_FORMAT),
        (call(add, fp32, wide, rne, c.policy("saturate", (0, 0))), lib.EMU_ERROR_FORMAT),
        (call(lib.EMU_DO_SCALED_ADD, c.format("fp64")), lib.EMU_ERROR_FORMAT),
        (call(lib.EMU_DO_NEXT_LESS_THAN, fp32), lib.EMU_ERROR_FORMAT),
        (call(lib.EMU_DO_NEXT_LESS_THAN, nanless), lib.EMU_ERROR_FORMAT),
        (call(add, fp32, how=drawn), lib.EMU_ERROR_ROUNDING),
        (call(add, fp32, fp32, null), lib.EMU_ERROR_NULL),
        (call(add, fp32, entry=null), lib.EMU_ERROR_NULL),
        (call(add, fp32, data=null), lib.EMU_ERROR_NULL),
        (call(add, fp32, result=null), lib.EMU_ERROR_NULL),
        (call(add, fp32, opened=null), lib.EMU_ERROR_NULL),
        (int(lib.emu_operate_array(add, null, fp32, rne, policy, 1, out, marks)), lib.EMU_ERROR_NULL),
        (call(lib.EMU_DO_IS_ZERO, nanless, data=ffi.new("uint64_t[]", [16])), lib.EMU_ERROR_CODE),
        (call(lib.EMU_DO_IS_ZERO, c.format("ue4m3"), data=ffi.new("uint64_t[]", [0x80])), lib.EMU_ERROR_OPEN),
    ):
        assert found == wanted
    assert bytes(ffi.buffer(out, 8)) == b"ABCDEFGH"
    assert call(lib.EMU_DO_IS_ZERO, fp32, null, null, null) == lib.EMU_OK and out[0] == 0
