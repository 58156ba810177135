"""What the interpreter does with a program before it runs: unused steps dropped, and chains that end in a cast made one table.

A chain of clamps and selects on one value, ended by a deterministic cast, is a function of that value. Where all its thresholds are bf16
numbers of even last bit it is a table of the bf16 codes (odd.py). The table is made by running the chain. No recipe is named here.
"""

from __future__ import annotations

from dataclasses import dataclass

from emu.base.caches import Cache
from emu.base.errors import EngineError
from emu.engines.torch.can import fault
from emu.engines.torch.odd import is_even_bf16, thresholds_are_even
from emu.spec import derive
from emu.spec.programs.program import TENSOR, Constant, Instruction, Program

_UNARY = ("clamp", "min", "max", "abs", "neg", "select")


@dataclass(frozen=True)
class Step:
    """An instruction; with a head: the whole chain of instructions from the value `head` to it."""

    item: Instruction
    head: str | None = None
    chain: tuple[Instruction, ...] = ()


@dataclass(frozen=True)
class ProgramPlan:
    """once: steps of the whole tensor.   each: steps of every chunk.   whole_rows: chunks must hold whole rows."""

    program: Program
    once: tuple[Step, ...]
    each: tuple[Step, ...]
    whole_rows: bool


_plans: Cache[int, tuple[Program, ProgramPlan]] = Cache("emu.engines.torch.plan._plans", 512)


def plan_of(program: Program) -> ProgramPlan:
    """Return the plan of a checked program. Raises: EngineError for what can.fault says."""
    known = _plans.get(id(program))
    if known is None or known[0] is not program:
        why = fault(program)
        if why is not None:
            raise EngineError(f"engine torch does not do this program ({why}): use engine='exact'")
        known = _plans[id(program)] = (program, _make(program))
    return known[1]


def _make(program: Program) -> ProgramPlan:
    by_name = {item.out: item for item in program.instructions}
    needed, kept = set(program.outputs.values()), list[Step]()
    for item in reversed(program.instructions):
        if item.out in needed or item.op == "pow2":  # pow2 may refuse a value, also where nothing reads it
            step = _fused(item, by_name)
            kept.append(step)
            needed |= _reads(item) if step.head is None else {step.head}
    kept.reverse()
    once = tuple(step for step in kept if step.item.type.extent == TENSOR)
    each = tuple(step for step in kept if step.item.type.extent != TENSOR)
    return ProgramPlan(program, once, each, any(step.item.type.extent.columns == 0 for step in each))


def _reads(item: Instruction) -> set[str]:
    random = getattr(item.step, "random", None)
    return {arg for arg in item.args if isinstance(arg, str)} | ({random} if random else set())


def _fused(item: Instruction, by_name: dict[str, Instruction]) -> Step:
    """Return the step, with its chain where it is a cast that a table gives."""
    arg = item.args[0]
    if item.op != "cast" or not isinstance(arg, str):
        return Step(item)
    assert item.to is not None and item.rounding is not None
    if derive.codes(item.to).bits > 8 or not thresholds_are_even(item.to, item.rounding):
        return Step(item)
    chain = [item]
    while arg in by_name and _is_unary(by_name[arg]):
        chain.insert(0, by_name[arg])
        arg = next(name for name in by_name[arg].args if isinstance(name, str))
    return Step(item, arg, tuple(chain))


def _is_unary(item: Instruction) -> bool:
    """Tell whether a step is a function of one value, with thresholds that round-to-odd keeps apart."""
    if item.op not in _UNARY or item.type.is_code or len({arg for arg in item.args if isinstance(arg, str)}) != 1:
        return False
    compared = item.args
    if item.op == "select":
        if not isinstance(item.args[0], str):
            return False
        compared = item.args[:-2]
    return all(is_even_bf16(arg.bits) for arg in compared if isinstance(arg, Constant))
