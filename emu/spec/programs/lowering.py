"""A typed program made ready for engines that work on arrays, from facts alone. It is done here once, for the engines numpy and torch.

1. Steps that nothing reads are dropped, unless the operation may refuse a value: an engine refuses where the reference model does.
2. A chain of steps that depends on one value and ends in a cast that does not draw is a function of that value. Where rounding to odd into
   bf16 keeps every decision of the chain (one_table.py says when), 65,536 codes hold the whole function: the engine makes the table by
   running the chain on every bf16 number. No recipe is named here; any program gets it.
3. What lives once for the tensor runs once, the rest for each chunk of rows and columns.

Not here: any arithmetic, rounding to odd itself, and tables; each engine has its own. The engines exact and c_ref run the typed program as
it stands and know nothing of this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from emu.base.caches import Cache
from emu.spec.ieee import is_binary32, is_within
from emu.spec.models import Format, Rounding
from emu.spec.models.common import digest_json
from emu.spec.one_table import is_even_bf16, table_is_exact
from emu.spec.programs.program import Program, cast_entry
from emu.spec.programs.steps import OPERATIONS, compared
from emu.spec.programs.types import TENSOR, Constant, Instruction


@dataclass(frozen=True)
class LoweredStep:
    """One instruction; or with a head, the whole chain of instructions from the value `head` to it.

    key: names the table of the chain by everything that it follows from, the same in all programs that have the chain; "" without one.
    """

    item: Instruction
    head: str | None = None
    chain: tuple[Instruction, ...] = ()
    key: str = ""


@dataclass(frozen=True)
class LoweredProgram:
    """once: steps of the whole tensor.   each: steps of every chunk.   whole_rows: a chunk must hold whole rows."""

    program: Program
    once: tuple[LoweredStep, ...]
    each: tuple[LoweredStep, ...]
    whole_rows: bool


_lowered: Cache[str, LoweredProgram] = Cache("emu.spec.programs.lowering._lowered", 512)
_refusals: Cache[tuple[str, str], tuple[str | None]] = Cache("emu.spec.programs.lowering._refusals", 1024)


def lower(program: Program) -> LoweredProgram:
    """Return a checked program as engines on arrays run it."""
    found = _lowered.get(program.digest)
    return found if found is not None else _lowered.keep(program.digest, _lower(program))


def _lower(program: Program) -> LoweredProgram:
    by_name = {item.out: item for item in program.instructions}
    needed, kept = set(program.outputs.values()), list[LoweredStep]()
    for item in reversed(program.instructions):
        if item.out in needed or OPERATIONS[item.op].may_refuse:
            step = _with_chain(item, by_name, program)
            kept.append(step)
            needed |= item.reads if step.head is None else {step.head}
    kept.reverse()
    once = tuple(step for step in kept if step.item.type.extent == TENSOR)
    each = tuple(step for step in kept if step.item.type.extent != TENSOR)
    return LoweredProgram(program, once, each, any(step.item.type.extent.columns == 0 for step in each))


def _with_chain(item: Instruction, by_name: dict[str, Instruction], program: Program) -> LoweredStep:
    """Return a step, with its chain where it is a cast that one table gives."""
    arg = item.args[0]
    if item.op != "cast" or not isinstance(arg, str) or not is_binary32(program.arithmetic):
        return LoweredStep(item)
    assert item.to is not None and item.rounding is not None
    if not table_is_exact(program.arithmetic, item.to, item.rounding, cast_entry(item)):
        return LoweredStep(item)
    chain = [item]
    while arg in by_name and _keeps_decisions(by_name[arg]):
        chain.append(by_name[arg])
        arg = next(name for name in by_name[arg].args if isinstance(name, str))
    chain.reverse()
    return LoweredStep(item, arg, tuple(chain), digest_json([program.arithmetic.facts_digest, [each.facts for each in chain]]))


def _keeps_decisions(item: Instruction) -> bool:
    """Tell whether a step is a function of one value that does the same before and after rounding to odd into bf16."""
    if not OPERATIONS[item.op].keeps_odd or item.type.is_code or len({arg for arg in item.args if isinstance(arg, str)}) != 1:
        return False
    if item.op == "select" and not isinstance(item.args[0], str):
        return False
    return all(is_even_bf16(arg.bits) for arg in compared(item) if isinstance(arg, Constant))


def lacking(program: Program, engine: str) -> str | None:
    """Return the first operation of a program that an engine does not have, or None."""
    return next((item.op for item in program.instructions if engine not in OPERATIONS[item.op].engines), None)


def refusal(program: Program, engine: str, can_cast: Callable[[Format, Format, Rounding], bool]) -> str | None:
    """Return why an engine that carries values as binary32 does not run a program, or None.

    can_cast: whether the engine converts from one format to another with a rounding.
    """
    key = (program.digest, engine)
    found = _refusals.get(key)
    return (found if found is not None else _refusals.keep(key, (_refusal(program, engine, can_cast),)))[0]


def _refusal(program: Program, engine: str, can_cast: Callable[[Format, Format, Rounding], bool]) -> str | None:
    if not is_binary32(program.arithmetic):
        return f"arithmetic in {program.arithmetic.id}, not fp32"
    missing = lacking(program, engine)
    if missing is not None:
        return f"the operation {missing}"
    return next(filter(None, (_refused(item, program, can_cast) for item in program.instructions)), None)


def decodes_beyond(program: Program) -> Format | None:
    """Return a format that a step decodes and whose values are not all numbers of the program's arithmetic, or None."""
    decoded = (item.to for item in program.instructions if item.op == "decode" and item.to is not None)
    return next((fmt for fmt in decoded if not is_within(fmt, program.arithmetic)), None)


def _refused(item: Instruction, program: Program, can_cast: Callable[[Format, Format, Rounding], bool]) -> str | None:
    to: Any = item.to
    if item.op == "sum" and item.step.order == "exact":
        return "a sum of order exact"
    if item.op == "decode" and not is_within(to, program.arithmetic):
        return f"values of {to.id} that are no {program.arithmetic.id} numbers"
    if item.op == "cast" and item.rounding is not None and not can_cast(program.arithmetic, to, item.rounding):
        return f"a cast to {to.id} with {item.rounding.id}"
    return None
