"""Engine `native`, dequantize: the program of a profile as a plan of the dequantize kernel, or None. No recipe is named here.

The shape: steps on the levels of a block, and the value of the element's code times or by some of what they give, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emu.base.caches import Cache
from emu.base.errors import EngineError, OpenError, ShapeError
from emu.engines.c_ref.call import Codes, code_dtype
from emu.engines.c_ref.convert import convert_with_open
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.convert import BEST_FORM, address, check, usable
from emu.engines.native.program import KernelPlanBuilder
from emu.engines.native.steps import Unable, require
from emu.engines.native.tables import decode_table
from emu.spec import derive, digest
from emu.spec.ieee import is_binary32, is_single, is_within
from emu.spec.models import Format, Recipe
from emu.spec.programs.program import Program, dequantize_program
from emu.spec.programs.steps import OPERATIONS
from emu.spec.programs.types import ELEMENT, TENSOR, Instruction
from emu.spec.registry import get


@dataclass
class DequantizePlan:
    """An emu_back_plan, the memory it points into, and the register of each name."""

    program: Program
    pointer: Any
    initial: Any
    registers: dict[str, int]
    memory: list[Any] = field(default_factory=list)


_plans: Cache[tuple[str, str], DequantizePlan | None] = Cache("emu.engines.native.dequantize._plans", 512)


def back_plan_of(recipe: Recipe, profile: str | None) -> DequantizePlan | None:
    """Return the plan of a dequantize program, or None where the kernel cannot do it. Raises: SpecError (unknown profile)."""
    key = (digest(recipe), profile or next(iter(recipe.facts.dequantize)))
    if key not in _plans:
        try:
            _plans[key] = _BackBuilder(dequantize_program(recipe, profile)).back_plan()
        except Unable:
            _plans[key] = None
    return _plans[key]


def can_dequantize(recipe: Recipe, profile: str | None) -> bool:
    """Tell whether the kernel dequantizes by this profile, to binary32."""
    return back_plan_of(recipe, profile) is not None


class _BackBuilder(KernelPlanBuilder):
    """Names to registers, instructions to steps, of a dequantize program."""

    def back_plan(self) -> DequantizePlan:
        """Return the plan. Raises: Unable."""
        program, lanes = self.program, self.block.columns
        require(is_binary32(program.arithmetic) and program.block.facts.shape[0] == 1 and len(program.block.element_formats) == 1)
        require(2 <= lanes <= lib.EMU_LANES and not lanes & (lanes - 1))
        element: Format = get("format", program.block.element_formats[0])
        require(derive.codes(element).bits == 4 and is_within(element, program.arithmetic))
        chain = self.chain()
        others = [item for item in program.instructions if item.type.extent != ELEMENT]
        require(all(item.type.extent in (TENSOR, self.block) and not OPERATIONS[item.op].may_refuse for item in others))
        out = ffi.new("emu_back_plan *")
        out.block, out.values, out.count = lanes, self.hold("uint32_t[]", np.ascontiguousarray(decode_table(element)[:16])), len(chain)
        for level in program.block.facts.levels:
            self.register(level.name)
        once = [self.step(item) for item in others if item.type.extent == TENSOR]
        steps = [self.step(item) for item in others if item.type.extent == self.block]
        out.once, out.once_count, out.steps, out.step_count = self.keep(once), len(once), self.keep(steps), len(steps)
        for number, (divides, name) in enumerate(chain):
            out.divides[number], out.factors[number] = divides, self.argument(name)
        self.given_levels(out)
        require(len(self.registers) + len(self.constants) <= lib.EMU_MAX_REGISTERS)
        initial = ffi.new("uint32_t[]", lib.EMU_MAX_REGISTERS)
        for bits, number in self.constants.items():
            initial[number] = bits
        out.initial, out.register_count = initial, max([*self.registers.values(), *self.constants.values()]) + 1
        return DequantizePlan(program, out, initial, self.registers, self.memory)

    def chain(self) -> list[tuple[int, Any]]:
        """Return (divides, factor) of each operation on elements, in order. Raises: Unable."""
        items = [item for item in self.program.instructions if item.type.extent == ELEMENT]
        require(bool(items) and items[0].op == "decode" and items[0].args == ("codes",) and items[0].step.format is None)
        found, name = [], items[0].out
        for item in items[1:]:
            found.append(self.factor(item, name))
            name = item.out
        require(name == self.program.outputs["values"] and len(found) <= 4)
        return found

    def factor(self, item: Instruction, name: str) -> tuple[int, Any]:
        """Return (divides, factor) of one operation. Raises: Unable."""
        require(item.op in ("mul", "div") and is_single(item.to, item.rounding) and name in item.args and len(set(item.args)) == 2)
        require(item.op == "mul" or item.args[0] == name)
        return int(item.op == "div"), next(arg for arg in item.args if arg != name)

    def given_levels(self, out: Any) -> None:
        """Name the registers of the levels that have a code for each block. Raises: Unable."""
        levels = self.program.block.facts.levels
        names = [level.name for level in levels if level.granularity == "block"]
        require(len(names) <= 4 and all(level.granularity in ("block", "tensor") for level in levels))
        out.level_count = len(names)
        for number, name in enumerate(names):
            out.levels[number], out.level_bytes[number] = self.registers[name], 1 if self.program.given[name].is_code else 4


def dequantize(
    recipe: Recipe,
    codes: Codes,
    levels: Mapping[str, Codes],
    *,
    profile: str | None = None,
    result: Format | None = None,
    out: Codes | None = None,
    form: int = BEST_FORM,
) -> Codes:
    """Return the values of codes and levels as codes of `result` (None: fp32).

    codes: unsigned [R, C] of 4 bits (the caller checks; the kernel reads the low half of a byte), row-major or column-major (else copied),
    C a multiple of the block or cut off from one.
    levels: as quantize returns them.   profile: None: the recipe's first.
    out: a place for the values.   Returns: in the memory order of `codes`; `out` where the kernel can write into it.
    Exactness: equals emu.engines.exact.block.dequantize bit for bit.
    Raises: SpecError (profile), ShapeError (levels against codes), OpenError (an unused bit of a level), EngineError.
    Tests: tests/engines/native/test_native_dequantize.py.
    """
    plan = back_plan_of(recipe, profile)
    if plan is None:
        raise EngineError(f"engine native cannot dequantize {recipe.id}: use engine='numpy'")
    block = plan.program.block.facts.shape[1]
    if codes.ndim != 2 or 0 in codes.shape:
        raise ShapeError("quantize and dequantize take a matrix with at least one element")
    transposed, missing = abs(codes.strides[0]) < abs(codes.strides[1]), -codes.shape[1] % block
    if missing and recipe.facts.tail != "zero_pad_drop":
        raise ShapeError(f"codes of {recipe.id} have {codes.shape[1]} columns, no multiple of the block of {block}")
    full = np.pad(codes, ((0, 0), (0, missing))) if missing else codes
    memory = np.require(full.T if transposed else full, np.uint8, ("C", "A"))
    given, tensor = _levels(plan, levels, (full.shape[0], full.shape[1] // block), transposed)
    own = ffi.new("emu_back_plan *", plan.pointer[0])
    initial = ffi.new("uint32_t[]", list(plan.initial))
    for number, bits in tensor.items():
        initial[number] = bits
    narrows = result is not None and not is_binary32(result)
    place = None if out is None or narrows else usable(out.T if transposed else out, memory.shape, np.uint32)
    own.initial, values = initial, np.empty(memory.shape, np.uint32) if place is None else place
    targets = ffi.new("void *[]", [address(level) for level in given] or [ffi.NULL])
    rows, columns = memory.shape
    check(lib.emu_dequantize_4bit(form, own, address(memory), rows, columns, transposed, targets, address(values)))
    if place is not None:
        assert out is not None
        return out
    narrow: Codes = values
    if narrows:
        assert result is not None
        nearest = get("rounding", "rne")
        narrow = convert_with_open(values, plan.program.arithmetic, result, nearest, derive.arithmetic_entry(result))[0]
    return (narrow.T if transposed else narrow)[:, : codes.shape[1]]


def _levels(
    plan: DequantizePlan, levels: Mapping[str, Codes], shape: tuple[int, int], transposed: bool
) -> tuple[list[Codes], dict[int, int]]:
    """Return the levels of blocks in memory order, and register -> bits of those of the tensor. Raises: ShapeError, OpenError."""
    found, tensor = list[Codes](), dict[int, int]()
    for level in plan.program.block.facts.levels:
        fmt: Format = get("format", level.format)
        wanted = shape if level.granularity == "block" else (1, 1)
        if level.name not in levels or levels[level.name].shape != wanted:
            raise ShapeError(f"level {level.name} must have shape {wanted}")
        given = levels[level.name]
        spare = derive.unused_high_bits(fmt)
        if spare and int(given.max()) >> derive.codes(fmt).bits:
            raise OpenError(f"level {level.name}: what a set bit {derive.codes(fmt).bits} of {fmt.id} means is open")
        if level.granularity == "block":
            found.append(np.require(given.T if transposed else given, code_dtype(fmt), ("C", "A")))
        else:
            tensor[plan.registers[level.name]] = int(given[0, 0])
    return found, tensor
