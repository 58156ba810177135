"""Typed programs made ready for array engines: what is kept is kept by facts, and one table stands for a chain only where that is exact."""

from __future__ import annotations

import importlib
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest

from emu.base.caches import clear
from emu.base.errors import EngineError
from emu.engines.exact.block import quantize as exact_quantize
from emu.engines.exact.convert import convert_value
from emu.engines.exact.value import finite
from emu.engines.run import run_quantize
from emu.engines.table import TABLE
from emu.spec import derive
from emu.spec.models import Recipe
from emu.spec.one_table import table_is_exact
from emu.spec.programs import program as programs
from emu.spec.programs.lowering import LoweredProgram, LoweredStep, lower
from emu.spec.programs.steps import OPERATIONS
from emu.spec.registry import get, names

ENGINES = ["numpy", *(["torch"] if find_spec("torch") else [])]
FP32 = get("format", "fp32")


def test_programs_of_equal_facts_are_lowered_once_and_others_are_not() -> None:
    """Two typed programs of one recipe, built apart, share one lowered program; a program that differs in one constant has its own."""
    base = get("recipe", "nvfp4_te_ref")
    one, two = programs.build(base, None), programs.build(base, None)
    assert one is not two and one.digest == two.digest and lower(one) is lower(two)
    facts = base.model_dump(mode="json", by_alias=True)
    step = next(step for step in facts["facts"]["steps"] if step["op"] == "clamp" and step["args"][-1] == "6")
    step["args"] = [step["args"][0], "-4", "4"]
    other = programs.build(Recipe.model_validate(facts, strict=False), None)
    assert other.digest != one.digest and chain_keys(lower(other)) != chain_keys(lower(one))


def chain_keys(lowered: LoweredProgram) -> set[str]:
    return {step.key for step in (*lowered.once, *lowered.each) if step.head is not None}


def test_programs_with_one_chain_share_its_table() -> None:
    """The table of a chain is named by what it follows from: recipes that scale differently and cast alike ask for the same one."""
    found: dict[str, set[str]] = {}
    for name in names("recipe"):
        for key in chain_keys(lower(programs.quantize_program(get("recipe", name)))):
            found.setdefault(key, set()).add(name)
    assert max(map(len, found.values())) > 1 and "" not in found


def test_steps_that_nothing_reads_are_dropped_unless_they_may_refuse() -> None:
    program = programs.quantize_program(get("recipe", "nvfp4_te_ref"))
    first = program.instructions[0]
    spare = [
        programs.Instruction("spare", "abs", ("x",), programs.Typed(programs.ELEMENT, False, (FP32,)), first.step),
        programs.Instruction("power", "pow2", ("x",), programs.Typed(programs.ELEMENT, False, (FP32,)), first.step),
    ]
    more = programs.Program(
        program.arithmetic, program.rounding, program.block, program.given, (*program.instructions, *spare), program.outputs, program.types
    )
    kept = [step.item.out for step in steps_of(lower(more))]
    assert "power" in kept and "spare" not in kept and set(kept) - {"power"} == {step.item.out for step in steps_of(lower(program))}


def steps_of(lowered: LoweredProgram) -> tuple[LoweredStep, ...]:
    return lowered.once + lowered.each


@pytest.mark.parametrize("overflow", ["saturate", "wrap"])
def test_whole_numbers_that_wrap_have_no_table(overflow: str) -> None:
    """Every integer decides the code of one that wraps: 257 and 258 are one code of bf16 after rounding to odd, and two codes of INT4."""
    fmt, mode = get("format", "int4"), get("rounding", "rne")
    entry = derive.EntryCodes(overflow, (0, 0))
    assert table_is_exact(FP32, fmt, mode, entry) == (overflow == "saturate")
    pair = [convert_value(finite(Fraction(number)), fmt, mode, entry) for number in (257, 259)]
    assert (pair[0] == pair[1]) == (overflow == "saturate")


@pytest.mark.parametrize("engine", [*ENGINES, "c_ref"])
def test_a_cast_to_whole_numbers_that_wraps(engine: str) -> None:
    """Elements between bf16 numbers, beyond 256, cast to INT4 with overflow wrap: what the exact engine gives."""
    asked = get("recipe", "f46_nvint4").model_dump(mode="json", by_alias=True)
    steps = asked["facts"]["steps"]
    casts = [step for step in steps if step["op"] == "cast" and step["to"] == "int4"]
    assert len(casts) == 1
    casts[0].update(args=["x"], overflow="wrap")
    made = Recipe.model_validate({**asked, "expect": ()}, strict=False)
    x = np.array([[257, 259, -257, 1025, 2049, -4097, 300, 5, *range(501, 509)]], np.float32).view(np.uint32)
    wanted = exact_quantize(made, x.tolist(), FP32)
    codes, _ = run_quantize(made, x, FP32, engine=engine)
    assert codes.tolist() == wanted.codes and len(set(wanted.codes[0])) > 8


def test_the_table_of_operations_says_who_has_what() -> None:
    """Each engine's own list of operations against the column `engines` of the table; exact has all of the models."""
    c_ref, native = (importlib.import_module(f"emu.engines.{name}") for name in ("c_ref.program", "native.steps"))
    said = {engine: {op for op, known in OPERATIONS.items() if engine in known.engines} for engine in ("c_ref", "native", "numpy", "torch")}
    assert said["c_ref"] == set(c_ref.OPERATION)
    assert said["native"] == {*native.ARITHMETIC, *native.PLAIN, "amax", "transform", "e8m0_rule", "cast", "decode"}
    assert said["numpy"] == said["torch"] == set(OPERATIONS)
    models = importlib.import_module("emu.spec.models.recipe").Operation.__args__
    assert set(OPERATIONS) == {word for model in models for word in model.model_fields["op"].annotation.__args__}


@pytest.mark.parametrize("engine", [*ENGINES, "c_ref"])
def test_an_engine_that_lacks_an_operation_refuses_it(engine: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A fact of the table, not a crash: the engine is not asked, and its own interpreter says the same in one line."""
    made = get("recipe", "nvfp4_te_ref")
    row = next(row for row in TABLE if row.operation == "quantize" and row.engine == engine)
    assert row.can(made, FP32)
    known = OPERATIONS["clamp"]
    without = tuple(name for name in known.engines if name != engine)
    monkeypatch.setitem(OPERATIONS, "clamp", type(known)(known.rule, without, known.exact, known.may_refuse, known.keeps_odd, known.words))  # type: ignore[index]
    clear()  # what an engine takes is kept by digests of programs, which say nothing of this table
    request.addfinalizer(clear)
    assert not row.can(made, FP32)
    with pytest.raises(EngineError, match=f"engine {engine} cannot quantize this"):
        run_quantize(made, np.zeros((1, 16), np.uint32), FP32, engine=engine)
