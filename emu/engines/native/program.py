"""A recipe program as a plan of the quantize kernel, or None. No recipe is named here: a program of this shape gets the kernel.

The shape: a rotation of 16 elements, or none; maximum of |x| in each block; steps on blocks, to a factor; x * factor or x / factor; steps
that see that one number, and the cast to 4 bits, by random bits too (kernel_stochastic). The last part becomes one table over bf16, after
rounding to odd: what the same steps give for every bf16 number. So a constant that is compared with must be a bf16 number with an even last
bit; kernel_tables says why that is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import Cache
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.steps import (
    ARITHMETIC,
    EVERY_BF16,
    NAN,
    PLAIN,
    RULE,
    TEST,
    Unable,
    require,
    run_steps,
    sees_one_number,
    use_arithmetic,
)
from emu.engines.native.stochastic import spares_the_grid, stochastic_of
from emu.engines.native.tables import Table, decides_by_bf16, decode_table, table_of, thresholds_in
from emu.engines.native.transform import SIZE, can_rotate
from emu.spec import derive, digest
from emu.spec.ieee import is_binary32, is_single, is_within
from emu.spec.models import Recipe, Rounding, Transform
from emu.spec.programs.program import Program, cast_entry, quantize_program
from emu.spec.programs.steps import OPERATIONS
from emu.spec.programs.types import ELEMENT, TENSOR, Argument, Constant, Extent, Instruction
from emu.spec.registry import get


@dataclass
class KernelPlan:
    """An emu_kernel_plan, the memory it points into, and the register of each name."""

    program: Program
    pointer: Any
    initial: Any
    registers: dict[str, int]
    transform: Transform | None
    rounding: Rounding | None
    memory: list[Any] = field(default_factory=list)


_plans: Cache[str, KernelPlan | None] = Cache("emu.engines.native.program._plans", 512)


def plan_of(recipe: Recipe) -> KernelPlan | None:
    """Return the plan of a recipe, or None where the kernel cannot do it. Raises: SpecError (a bad program)."""
    key = digest(recipe)
    if key not in _plans:
        try:
            _plans[key] = KernelPlanBuilder(quantize_program(recipe), finite=recipe.facts.domain.non_finite == "no").plan()
        except Unable:
            _plans[key] = None
    return _plans[key]


class KernelPlanBuilder:
    """Names to registers, instructions to steps; also of kernel_back.py."""

    def __init__(self, program: Program, finite: bool = False) -> None:
        self.finite, self.gate, self.gate_out = finite, "", ""
        self.program, self.by_name = program, {item.out: item for item in program.instructions}
        self.registers: dict[str, int] = {}
        self.constants: dict[int, int] = {}
        self.memory: list[Any] = []
        self.block = Extent(1, program.block.facts.shape[1])
        rotations = [item for item in program.instructions if item.op == "transform"]
        self.rotated = rotations[0] if rotations else None
        self.elements_name = self.rotated.out if self.rotated else "x"

    def plan(self) -> KernelPlan:
        """Return the plan. Raises: Unable."""
        program, lanes = self.program, self.block.columns
        require(is_binary32(program.arithmetic) and program.block.facts.shape[0] == 1)
        require(
            not [
                item
                for item in program.instructions
                if item.out != program.outputs["codes"] and item.rounding and item.rounding.random_bits
            ]
        )
        require(2 <= lanes <= lib.EMU_LANES and not lanes & (lanes - 1))
        if self.rotated is not None:
            chosen = get("transform", self.rotated.step.transform)
            require(self.rotated.args == ("x",) and lanes == SIZE and can_rotate(chosen) and chosen.facts.sum != "exact")
        scaled, chain = self.elements()
        kept = self.needed(scaled)
        maxima = [item for item in kept if item.op == "amax"]
        require(len(maxima) == 1 and maxima[0].args == (self.elements_name,) and maxima[0].type.extent == self.block)
        self.register("tensor_amax")
        for item in kept:
            require(item.type.extent in (TENSOR, self.block))
        once = [self.step(item) for item in kept if item.type.extent == TENSOR]
        steps = [self.step(item) for item in kept if item.type.extent == self.block and item is not maxima[0]]
        out = ffi.new("emu_kernel_plan *")
        out.block, out.amax, out.drops = lanes, self.register(maxima[0].out), NAN[maxima[0].step.nan]
        factor = self.argument(next(arg for arg in scaled.args if arg != self.elements_name))
        out.factor, out.divides = self.gated(factor, steps), scaled.op == "div"
        out.once, out.once_count, out.steps, out.step_count = self.keep(once), len(once), self.keep(steps), len(steps)
        out.stochastic = self.stochastic(chain)
        last = replace(chain[-1], rounding=get("rounding", "rne")) if out.stochastic else chain[-1]
        out.thresholds = self.thresholds(self.gate_out or scaled.out, [*chain[:-1], last])
        self.levels(out)
        return self.finish(out)

    def finish(self, out: Any) -> KernelPlan:
        """Fill in the values that registers start with."""
        require(len(self.registers) + len(self.constants) <= lib.EMU_MAX_REGISTERS)
        initial = ffi.new("uint32_t[]", lib.EMU_MAX_REGISTERS)
        for bits, number in self.constants.items():
            initial[number] = bits
        out.initial, out.register_count = initial, max([*self.registers.values(), *self.constants.values()]) + 1
        transform = None if self.rotated is None else get("transform", self.rotated.step.transform)
        mode = self.by_name[self.program.outputs["codes"]].rounding
        assert mode is not None
        return KernelPlan(self.program, out, initial, self.registers, transform, mode if mode.random_bits else None, self.memory)

    def elements(self) -> tuple[Instruction, list[Instruction]]:
        """Return the step that scales elements, and the chain from it to the codes."""
        item, chain = self.instruction(self.program.outputs["codes"]), list[Instruction]()
        require(item.op == "cast" and item.to is not None and derive.codes(item.to).bits == 4)
        while item.op not in ("mul", "div"):
            if self.is_gate(item, chain):
                self.gate, self.gate_out = str(item.args[0]), item.out
                item = self.instruction(str(item.args[2]))
                require(item.op == "mul")
                continue
            chain.append(item)
            names = {arg for arg in item.args if isinstance(arg, str)}
            require(len(names) == 1 and item.type.extent == ELEMENT and (item is chain[0] or sees_one_number(item)))
            item = self.instruction(names.pop())
        name = self.elements_name
        others = [arg for arg in item.args if arg != name]
        require(len(others) == 1 and (item.op == "mul" or item.args[0] == name) and is_single(item.to, item.rounding))
        return item, chain[::-1]

    def is_gate(self, item: Instruction, later: list[Instruction]) -> bool:
        """Tell whether a step gives 0 for all elements of a block whose tested value is 0, so that a factor of 0 does the same.

        Elements are finite, and a later step turns the -0 of such a product into 0.
        """
        zero = Constant(0)
        if item.op != "select" or item.step.test != "zero" or item.args[1] != zero or not isinstance(item.args[0], str):
            return False
        cleared = any(step.op == "select" and step.step.test == "zero" and step.args[1] == zero for step in later)
        return self.finite and cleared and self.program.types[item.args[0]].extent == self.block

    def gated(self, factor: int, steps: list[Any]) -> int:
        """Return the register of the factor, 0 where the gate is closed; adds the step that makes it so."""
        if not self.gate:
            return factor
        args, out = [self.register(self.gate), self.argument(Constant(0)), factor, factor], self.register("gated factor")
        steps.append(
            ffi.new("emu_kernel_step *", {"operation": lib.EMU_STEP_SELECT, "variant": lib.EMU_TEST_ZERO, "out": out, "args": args})
        )
        return out

    def stochastic(self, chain: list[Instruction]) -> Any:
        """Return the emu_stochastic of a cast that draws, NULL for one that does not. Raises: Unable (a chain that sees more than zero)."""
        *unary, cast = chain
        assert cast.rounding is not None and cast.to is not None
        if not cast.rounding.random_bits:
            return ffi.NULL
        require(all(spares_the_grid(item, cast.to) for item in unary))
        found = stochastic_of(cast.to, cast.rounding)
        require(found is not None)
        self.memory.append(found)
        return found

    def instruction(self, name: str) -> Instruction:
        """Return the step that sets a name. Raises: Unable (a given name)."""
        require(name in self.by_name)
        return self.by_name[name]

    def needed(self, scaled: Instruction) -> list[Instruction]:
        """Return the steps that the factor and the levels come from, in order. Raises: Unable for an operation that may refuse a value."""
        wanted = {arg for arg in scaled.args if isinstance(arg, str)} | set(self.program.outputs.values())
        wanted |= {self.gate} - {""}
        wanted -= {self.program.outputs["codes"]}
        kept = []
        for item in reversed(self.program.instructions):
            require(not OPERATIONS[item.op].may_refuse)
            if item is self.rotated:
                continue
            if item.out in wanted:
                kept.append(item)
                wanted |= {arg for arg in item.args if isinstance(arg, str)}
        return kept[::-1]

    def register(self, name: str) -> int:
        """Return the register of a name."""
        return self.registers.setdefault(name, len(self.registers) + len(self.constants))

    def argument(self, arg: Any) -> int:
        """Return the register of an argument."""
        if isinstance(arg, Constant):
            return self.constants.setdefault(arg.bits, len(self.registers) + len(self.constants))
        require(arg not in ("x", self.elements_name))
        return self.register(arg)

    def step(self, item: Instruction) -> Any:
        """Return an instruction as an emu_kernel_step. Raises: Unable."""
        args = [self.argument(arg) for arg in item.args]
        out = ffi.new("emu_kernel_step *", {"out": self.register(item.out), "args": (args + args[:1] * 4)[:4]})
        if item.op in ARITHMETIC:
            require(is_single(item.to, item.rounding))
            out.operation = ARITHMETIC[item.op]
        elif item.op in PLAIN:
            require(not item.type.is_code)
            out.operation, out.variant = PLAIN[item.op], self.variant(item)
        elif item.op == "e8m0_rule":
            out.operation, out.variant = lib.EMU_STEP_E8M0, RULE[item.step.rule]
            out.emax, out.frac_bits = item.step.emax or 0, item.step.frac_bits or 0
        elif item.op == "cast":
            table = self.cast_table(item)
            require(int(table.max()) <= 0xFF)  # a code that nobody knows is marked above
            out.operation, out.codes = lib.EMU_STEP_CAST, self.hold("uint8_t[]", table.astype(np.uint8))
            use_arithmetic(out, item.to, EVERY_BF16, table)
        elif item.op == "decode":
            assert item.to is not None
            require(derive.codes(item.to).bits <= 8 and is_within(item.to, self.program.arithmetic))
            values = decode_table(item.to)
            out.operation, out.values = lib.EMU_STEP_DECODE, self.hold("uint32_t[]", values)
            use_arithmetic(out, item.to, np.arange(1 << derive.codes(item.to).bits, dtype=np.uint32), values)
        else:
            raise Unable
        return out

    def variant(self, item: Instruction) -> int:
        """Return the NaN rule or the test of a plain step."""
        if item.op == "select":
            return TEST[item.step.test]
        return NAN[item.step.nan] if item.op in ("min", "max", "clamp") else 0

    def cast_table(self, item: Instruction) -> Table:
        """Return the codes of a cast over bf16. Raises: Unable (the cast is not decided there)."""
        assert item.to is not None and item.rounding is not None
        entry = cast_entry(item)
        require(decides_by_bf16(item.to, item.rounding, entry))
        return table_of(get("format", "bf16"), item.to, item.rounding, entry)

    def after(self, chain: Sequence[Instruction], first: Argument, inputs: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return what steps that see one number each, the first of them `first`, make of numbers. Raises: Unable."""
        inner, number = KernelPlanBuilder(self.program), "the number"  # by its own name it may be one that steps do not read
        start = inner.register(number)
        steps = [inner.step(replace(item, args=tuple(number if arg == first else arg for arg in item.args)))[0] for item in chain]
        return run_steps(steps, inputs, start, inner.register(chain[-1].out if chain else number), inner.constants, lib.EMU_PORTABLE)

    def thresholds(self, scaled: str, chain: list[Instruction]) -> Any:
        """Return the emu_thresholds of a chain: the kernel's own steps on every bf16 number. Raises: Unable (too many)."""
        *unary, cast = chain
        bits = self.after(unary, scaled, EVERY_BF16)
        odd = ((bits & np.uint32(0xFFFF)) + np.uint32(0xFFFF) | bits) >> np.uint32(16)
        found = thresholds_in(self.cast_table(cast)[odd])
        require(found is not None)
        self.memory.append(found)
        return found

    def levels(self, out: Any) -> None:
        """Name the registers of the levels that have a code for each block."""
        names = [level.name for level in self.program.block.facts.levels if level.granularity == "block"]
        others = [level for level in self.program.block.facts.levels if level.granularity not in ("block", "tensor")]
        require(len(names) <= 4 and not others)
        out.level_count = len(names)
        for number, name in enumerate(names):
            output = self.program.outputs[name]
            out.levels[number] = self.argument(output)
            out.level_bytes[number] = 1 if self.program.types[output].is_code else 4

    def keep(self, steps: Sequence[Any]) -> Any:
        """Return steps as a C array that lives as long as the plan."""
        array = ffi.new("emu_kernel_step[]", [step[0] for step in steps]) if steps else ffi.NULL
        self.memory += [array, *steps]
        return array

    def hold(self, kind: str, array: Any) -> Any:
        """Return the address of an array that lives as long as the plan."""
        self.memory += [array, ffi.from_buffer(kind, array)]
        return self.memory[-1]
