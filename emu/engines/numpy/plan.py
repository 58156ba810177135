"""What the interpreter does with a program before it runs: drop unused steps, and turn `... clamp, select, cast` chains into one table.

A chain of steps that depends on one value and ends in a deterministic cast is a function of that value. Where every constant it compares
with is a bf16 number with an even last bit and the cast's own table is exact, round-to-odd into bf16 followed by one table of 65,536
codes gives the same code (tables.table_is_exact has the argument). No recipe is named here: any YAML program gets it.
"""

from __future__ import annotations

from dataclasses import dataclass

from emu.base.caches import Cache
from emu.engines.numpy import tables
from emu.spec.ieee import is_binary32
from emu.spec.programs.program import TENSOR, Constant, Instruction, Program, cast_entry


@dataclass(frozen=True)
class Step:
    """One step of a plan: an instruction, or a whole chain from `head` to a code."""

    item: Instruction
    head: str | None = None
    chain: tuple[Instruction, ...] = ()


@dataclass(frozen=True)
class ProgramPlan:
    """Steps that run once for the tensor, steps that run for each chunk, and whether chunks must hold whole rows."""

    program: Program
    once: tuple[Step, ...]
    each: tuple[Step, ...]
    whole_rows: bool


_plans: Cache[int, tuple[Program, ProgramPlan]] = Cache("emu.engines.numpy.plan._plans", 512)


def plan_of(program: Program) -> ProgramPlan:
    """Return the plan of a checked program."""
    known = _plans.get(id(program))
    if known is None or known[0] is not program:
        known = _plans[id(program)] = (program, _plan(program))
    return known[1]


def _plan(program: Program) -> ProgramPlan:
    by_name = {item.out: item for item in program.instructions}
    steps = [_fuse(item, by_name, program) for item in program.instructions]
    needed = set(program.outputs.values())
    kept: list[Step] = []
    for step in reversed(steps):
        if step.item.out in needed or step.item.op == "pow2":  # pow2 may refuse a value: as the exact engine, also where nothing reads it
            kept.append(step)
            needed |= {step.head} if step.head is not None else _reads(step.item)
    kept.reverse()
    once = tuple(step for step in kept if step.item.type.extent == TENSOR)
    each = tuple(step for step in kept if step.item.type.extent != TENSOR)
    whole = any(step.item.type.extent.columns == 0 for step in each)
    return ProgramPlan(program, once, each, whole)


def _reads(item: Instruction) -> set[str]:
    names = {arg for arg in item.args if isinstance(arg, str)}
    random = getattr(item.step, "random", None)
    return names | ({random} if random else set())


def _fuse(item: Instruction, by_name: dict[str, Instruction], program: Program) -> Step:
    """Return the step, with its chain where it is a cast whose table is exact."""
    arg = item.args[0]
    if item.op != "cast" or not isinstance(arg, str) or not is_binary32(program.arithmetic):
        return Step(item)
    assert item.to is not None and item.rounding is not None
    if not tables.table_is_exact(item.to, item.rounding, cast_entry(item)):
        return Step(item)
    chain = [item]
    while arg in by_name and _is_unary(by_name[arg]):
        chain.append(by_name[arg])
        arg = next(name for name in by_name[arg].args if isinstance(name, str))
    return Step(item, arg, tuple(reversed(chain)))


def _is_unary(item: Instruction) -> bool:
    """Tell whether a step is a function of one value whose thresholds a bf16 table sees."""
    if item.op not in ("clamp", "select", "min", "max", "abs", "neg") or item.type.is_code:
        return False
    if len({arg for arg in item.args if isinstance(arg, str)}) != 1:
        return False
    if item.op == "select":
        compared = item.args[:-2] if item.step.test in ("lt", "le", "ge") else ()
        if not isinstance(item.args[0], str):
            return False
    else:
        compared = item.args
    return all(_even_bf16(arg.bits) for arg in compared if isinstance(arg, Constant))


def _even_bf16(bits: int) -> bool:
    return bits & 0x1FFFF == 0
