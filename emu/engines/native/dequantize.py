"""Engine `native`, dequantize: the program of a profile as a plan of the dequantize kernel, or None. No recipe is named here.

The shape: steps on the levels of a block, and the value of the element's code times or by some of what they give, one after the other.
Where a level has several codes in a block, the kernel's block is what shares the finest one, and several blocks share a code of the others.
Two such values, of which a flag of the block chooses one, are two runs of the kernel.
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
from emu.spec.programs.types import ELEMENT, TENSOR, Instruction, extent_of
from emu.spec.registry import get


@dataclass
class DequantizePlan:
    """An emu_back_plan, the memory it points into, and the register of each name.

    flag, other: level whose code 0 stands for this plan's values and any other for those of another plan; "", None: all are this one's.
    """

    program: Program
    pointer: Any
    initial: Any
    registers: dict[str, int]
    lanes: int  # of the kernel's block
    memory: list[Any] = field(default_factory=list)
    flag: str = ""
    other: DequantizePlan | None = None


_plans: Cache[tuple[str, str], DequantizePlan | None] = Cache("emu.engines.native.dequantize._plans", 512)


def back_plan_of(recipe: Recipe, profile: str | None) -> DequantizePlan | None:
    """Return the plan of a dequantize program, or None where the kernel cannot do it. Raises: SpecError (unknown profile)."""
    key = (digest(recipe), profile or next(iter(recipe.facts.dequantize)))
    if key not in _plans:
        try:
            _plans[key] = _plan_of(dequantize_program(recipe, profile))
        except Unable:
            _plans[key] = None
    return _plans[key]


def can_dequantize(recipe: Recipe, profile: str | None) -> bool:
    """Tell whether the kernel dequantizes by this profile, to binary32."""
    return back_plan_of(recipe, profile) is not None


def _plan_of(program: Program) -> DequantizePlan:
    """Return the plan of a program, of both values where a flag chooses. Raises: Unable."""
    values = program.outputs["values"]
    by_name = {item.out: item for item in program.instructions}
    if values not in by_name or by_name[values].op != "select":
        return _BackBuilder(program).back_plan(values)
    last = by_name[values]
    tested, *arms = (str(arg) for arg in last.args)
    require(last.step.test == "zero" and tested in by_name and all(arm in by_name for arm in arms))
    decoded, levels = by_name[tested], {level.name: level.granularity for level in program.block.facts.levels}
    require(decoded.op == "decode" and levels.get(str(decoded.args[0]), "tensor") != "tensor")
    first, second = (_BackBuilder(program).back_plan(arm) for arm in arms)
    first.flag, first.other = str(decoded.args[0]), second
    assert decoded.to is not None
    zeros = decode_table(decoded.to)[: 1 << derive.codes(decoded.to).bits] & 0x7FFFFFFF == 0
    require(bool(zeros[0]) and not zeros[1:].any())
    return first


class _BackBuilder(KernelPlanBuilder):
    """Names to registers, instructions to steps, of a dequantize program."""

    def back_plan(self, values: str) -> DequantizePlan:
        """Return the plan of some values of elements. Raises: Unable."""
        program = self.program
        require(is_binary32(program.arithmetic) and program.block.facts.shape[0] == 1)
        extents = {extent_of(level.granularity, program.block) for level in program.block.facts.levels} - {TENSOR}
        lanes = min((extent.columns for extent in extents), default=self.block.columns)
        require(all(extent.rows == 1 and extent.columns and not extent.columns % lanes for extent in extents))
        require(2 <= lanes <= lib.EMU_LANES and not lanes & (lanes - 1))
        element, chain = self.chain(values)
        require(derive.codes(element).bits == 4 and is_within(element, program.arithmetic))
        others = [item for item in program.instructions if item.type.extent != ELEMENT]
        require(all(item.type.extent in (TENSOR, self.block, *extents) and not OPERATIONS[item.op].may_refuse for item in others))
        out = ffi.new("emu_back_plan *")
        out.block, out.values, out.count = lanes, self.hold("uint32_t[]", np.ascontiguousarray(decode_table(element)[:16])), len(chain)
        for level in program.block.facts.levels:
            self.register(level.name)
        once = [self.step(item) for item in others if item.type.extent == TENSOR]
        steps = [self.step(item) for item in others if item.type.extent != TENSOR]
        out.once, out.once_count, out.steps, out.step_count = self.keep(once), len(once), self.keep(steps), len(steps)
        for number, (divides, name) in enumerate(chain):
            out.divides[number], out.factors[number] = divides, self.argument(name)
        self.given_levels(out)
        require(len(self.registers) + len(self.constants) <= lib.EMU_MAX_REGISTERS)
        initial = ffi.new("uint32_t[]", lib.EMU_MAX_REGISTERS)
        for bits, number in self.constants.items():
            initial[number] = bits
        out.initial, out.register_count = initial, max([*self.registers.values(), *self.constants.values()]) + 1
        return DequantizePlan(program, out, initial, self.registers, lanes, self.memory)

    def chain(self, name: str) -> tuple[Format, list[tuple[int, Any]]]:
        """Return the format of the code that a value comes from, and (divides, factor) of each operation, in order. Raises: Unable."""
        found, item = list[tuple[int, Any]](), self.instruction(name)
        while item.op != "decode":
            named = [self.by_name[arg] for arg in item.args if isinstance(arg, str) and arg in self.by_name]
            before = [other.out for other in named if other.type.extent == ELEMENT]
            require(len(before) == 1)
            found.insert(0, self.factor(item, before[0]))
            item = self.instruction(before[0])
        require(item.args == ("codes",) and item.to is not None and len(found) <= 4)
        assert item.to is not None
        return item.to, found

    def factor(self, item: Instruction, name: str) -> tuple[int, Any]:
        """Return (divides, factor) of one operation. Raises: Unable."""
        require(item.op in ("mul", "div") and is_single(item.to, item.rounding) and name in item.args and len(set(item.args)) == 2)
        require(item.op == "mul" or item.args[0] == name)
        return int(item.op == "div"), next(arg for arg in item.args if arg != name)

    def given_levels(self, out: Any) -> None:
        """Name the registers of the levels that have codes of rows, and how many blocks share one. Raises: Unable."""
        levels = [level for level in self.program.block.facts.levels if level.granularity != "tensor"]
        require(len(levels) <= 4)
        out.level_count = len(levels)
        for number, level in enumerate(levels):
            name, shared = level.name, extent_of(level.granularity, self.program.block).columns // out.block
            require(not shared & (shared - 1))
            out.levels[number], out.level_bytes[number] = self.registers[name], 1 if self.program.given[name].is_code else 4
            out.level_shifts[number] = shared.bit_length() - 1


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
    given, tensor = _levels(plan, levels, full.shape, transposed)
    narrows = result is not None and not is_binary32(result)
    place = None if out is None or narrows else usable(out.T if transposed else out, memory.shape, np.uint32)
    values = np.empty(memory.shape, np.uint32) if place is None else place
    _run(plan, memory, given, tensor, values, form, transposed)
    if plan.other is not None:
        others = np.empty(memory.shape, np.uint32)
        _run(plan.other, memory, given, tensor, others, form, transposed)
        axis = int(not transposed)
        shared = memory.shape[axis] // given[plan.flag].shape[axis]
        parted = (*memory.shape[:axis], -1, shared, *memory.shape[axis + 1 :])
        chosen = np.expand_dims(given[plan.flag], axis + 1) != 0
        np.copyto(values.reshape(parted), others.reshape(parted), where=chosen)
    if place is not None:
        assert out is not None
        return out
    narrow: Codes = values
    if narrows:
        assert result is not None
        nearest = get("rounding", "rne")
        narrow = convert_with_open(values, plan.program.arithmetic, result, nearest, derive.arithmetic_entry(result))[0]
    return (narrow.T if transposed else narrow)[:, : codes.shape[1]]


def _run(
    plan: DequantizePlan,
    memory: Codes,
    levels: Mapping[str, Codes],
    tensor: Mapping[str, int],
    values: Codes,
    form: int,
    transposed: bool,
) -> None:
    """Run the kernel on codes and levels in memory order."""
    own, initial = ffi.new("emu_back_plan *", plan.pointer[0]), ffi.new("uint32_t[]", list(plan.initial))
    for name, bits in tensor.items():
        initial[plan.registers[name]] = bits
    own.initial = initial
    targets = ffi.new("void *[]", [address(level) for level in levels.values()] or [ffi.NULL])
    rows, columns = memory.shape
    check(lib.emu_dequantize_4bit(form, own, address(memory), rows, columns, transposed, targets, address(values)))


def _levels(
    plan: DequantizePlan, levels: Mapping[str, Codes], shape: tuple[int, int], transposed: bool
) -> tuple[dict[str, Codes], dict[str, int]]:
    """Return by name the levels of rows in memory order, and the bits of those of the tensor. shape: of the codes.

    Raises: ShapeError, OpenError.
    """
    found, tensor = dict[str, Codes](), dict[str, int]()
    for level in plan.program.block.facts.levels:
        fmt: Format = get("format", level.format)
        each = extent_of(level.granularity, plan.program.block).columns
        wanted = (shape[0], shape[1] // each) if each else (1, 1)
        if level.name not in levels or levels[level.name].shape != wanted:
            raise ShapeError(f"level {level.name} must have shape {wanted}")
        given = levels[level.name]
        spare = derive.unused_high_bits(fmt)
        if spare and int(given.max()) >> derive.codes(fmt).bits:
            raise OpenError(f"level {level.name}: what a set bit {derive.codes(fmt).bits} of {fmt.id} means is open")
        if each:
            found[level.name] = np.require(given.T if transposed else given, code_dtype(fmt), ("C", "A"))
        else:
            tensor[level.name] = int(given[0, 0])
    return found, tensor
