"""Steps of recipe programs for the kernels: words to numbers, which steps the kernels have, and steps run on arrays of lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.engines.native._kernels import ffi, lib
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.programs.types import Constant, Instruction

ARITHMETIC: Final = {"add": lib.EMU_STEP_ADD, "sub": lib.EMU_STEP_SUB, "mul": lib.EMU_STEP_MUL, "div": lib.EMU_STEP_DIV}
PLAIN: Final = {
    "min": lib.EMU_STEP_MIN,
    "max": lib.EMU_STEP_MAX,
    "clamp": lib.EMU_STEP_CLAMP,
    "abs": lib.EMU_STEP_ABS,
    "neg": lib.EMU_STEP_NEG,
    "select": lib.EMU_STEP_SELECT,
}
NAN: Final = {"propagate": lib.EMU_NAN_PROPAGATES, "drop": lib.EMU_NAN_DROPS}
TEST: Final = {
    "zero": lib.EMU_TEST_ZERO,
    "nan": lib.EMU_TEST_NAN,
    "inf": lib.EMU_TEST_INF,
    "neg": lib.EMU_TEST_NEG,
    "lt": lib.EMU_TEST_LT,
    "le": lib.EMU_TEST_LE,
    "ge": lib.EMU_TEST_GE,
}
RULE: Final = {
    "floor": lib.EMU_RULE_FLOOR,
    "ceil": lib.EMU_RULE_CEIL,
    "even": lib.EMU_RULE_EVEN,
    "field_up": lib.EMU_RULE_FIELD_UP,
}
TWO_ARGUMENTS: Final = ("lt", "le", "ge")
EVERY_BF16: Final = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)


class Unable(Exception):
    """The kernel has no such step; seen in this module only."""


def use_arithmetic(step: Any, fmt: Format | None, inputs: NDArray[np.uint32], wanted: NDArray[Any]) -> None:
    """Let a cast or decode compute its codes where that gives the whole table, for every input.

    step: an emu_kernel_step with its table.   inputs: every bf16 number, or every code.   wanted: the results.
    """
    if fmt is None or not isinstance(fmt.facts, FloatFacts) or not 0 <= fmt.facts.bias <= 126:
        return
    own, known = ffi.new("emu_kernel_step *", step[0]), derive.codes(fmt)
    own.operation = lib.EMU_STEP_CAST_FLOAT if step.operation == lib.EMU_STEP_CAST else lib.EMU_STEP_DECODE_FLOAT
    own.frac_bits, own.bias, own.largest, own.nan = fmt.facts.frac_bits, fmt.facts.bias, known.max_code, known.nan[0] if known.nan else -1
    own.out, own.args = 1, [0, 0, 0, 0]
    if np.array_equal(run_steps([own[0]], inputs, 0, 1, {}, form=lib.emu_best_form()), wanted[: inputs.size]):
        step.operation, step.frac_bits, step.bias, step.largest, step.nan = own.operation, own.frac_bits, own.bias, own.largest, own.nan


def run_steps(
    steps: Sequence[Any], inputs: NDArray[np.uint32], start: int, last: int, constants: dict[int, int], form: int
) -> NDArray[np.uint32]:
    """Return register `last` after steps on inputs in register `start`, a register of lanes at a time; constants: bits to register."""
    bits, out = np.zeros((lib.EMU_MAX_REGISTERS, lib.EMU_LANES), np.uint32), np.empty(inputs.size, np.uint32)
    array = ffi.new("emu_kernel_step[]", list(steps)) if steps else ffi.NULL
    for constant, number in constants.items():
        bits[number] = constant
    for first in range(0, out.size, lib.EMU_LANES):
        part = inputs[first : first + lib.EMU_LANES]
        bits[start, : part.size] = part
        require(not lib.emu_run_steps(form, array, len(steps), part.size, ffi.from_buffer("uint32_t[]", bits)))
        out[first : first + part.size] = bits[last, : part.size]
    return out


def require(condition: bool) -> None:
    """Raise Unable unless the condition holds."""
    if not condition:
        raise Unable


def sees_one_number(item: Instruction) -> bool:
    """Tell whether a step is a function of one number that rounding to odd into bf16 decides: it compares with even bf16 constants only."""
    if item.op not in PLAIN or item.type.is_code:
        return False
    compared = item.args
    if item.op == "select":
        if not isinstance(item.args[0], str):
            return False
        compared = item.args[:-2] if item.step.test in TWO_ARGUMENTS else ()
    return all(arg.bits & 0x1FFFF == 0 for arg in compared if isinstance(arg, Constant))
