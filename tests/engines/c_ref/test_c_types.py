"""What registers of a program hold in C: a select between codes of two formats is decoded by either, by no third, in every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import TypeAdapter

from emu.engines import run, table
from emu.engines.c_ref._c import lib
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.engines.c_ref.trace import dequantize_registers, quantize_registers
from emu.spec.models import Recipe
from emu.spec.models.recipe import DecodeProgramStep, EmitStep, Step
from emu.spec.registry import get
from tests.support.descriptor_samples import Loaded, sealed

TYPES = "a program that takes a value for a code, or a code for one of another format"
MORE = (  # after "codes", a select between INT4 and E2M1; the scale becomes what the second format makes of it
    {"out": "second", "op": "decode", "args": ("codes",), "format": "e2m1"},
    {"out": "again", "op": "select", "test": "neg", "args": ("second", "codes_float", "codes")},
    {"out": "first", "op": "decode", "args": ("again",), "format": "int4"},
    {"out": "largest", "op": "amax", "args": ("second",), "nan": "drop", "at": "block"},
    {"out": "smallest", "op": "amax", "args": ("first",), "nan": "drop", "at": "block"},
    {"out": "moved", "op": "sub", "args": ("largest", "smallest")},
    {"out": "moved_flag", "op": "cast", "args": ("moved",), "to": "uint1"},
)
BEFORE = (  # given codes, chosen before a step decodes them
    {"out": "chosen", "op": "select", "test": "nan", "args": ("tensor", "codes", "codes")},
    {"out": "chosen_value", "op": "decode", "args": ("chosen",), "format": "int4"},
)


def mixed() -> Recipe:
    """IF4, where codes of a select are decoded by the format of the second arm, and by that of the first."""
    model: Recipe = get("recipe", "if4_abs_max")
    quantize, back = TypeAdapter(Step), TypeAdapter(DecodeProgramStep)
    *steps, emit = model.facts.steps
    assert isinstance(emit, EmitStep)
    emit = emit.model_copy(update={"levels": {**emit.levels, "flag": "moved_flag"}})
    *values, last, out = model.facts.dequantize["f46"]
    last = last.model_copy(update={"args": ("flag_value", "chosen_value", "value_int")})
    facts = {
        "steps": (*steps, *map(quantize.validate_python, MORE), emit),
        "dequantize": {"f46": (*map(back.validate_python, BEFORE), *values, last, out)},
    }
    return model.model_copy(update={"id": "mixed", "facts": model.facts.model_copy(update=facts)})


def test_every_engine_decodes_the_codes_of_a_select_by_either_format() -> None:
    recipe, fp32 = mixed(), get("format", "fp32")
    x = np.random.default_rng(1).normal(size=(24, 32)).astype(np.float32).view(np.uint32)
    x[:, 8:16] &= np.uint32(0x7FFFFFFF)
    ways = {"quantize": (recipe, fp32), "dequantize": (recipe, None)}
    able = [{row.engine for row in table.TABLE if row.operation == way and row.can(*facts)} for way, facts in ways.items()]
    asked = set.intersection(*able)
    assert {"exact", "c_ref", "numpy"} <= asked
    found: dict[str, list[Any]] = {}
    for engine in sorted(asked):
        codes, levels = run.run_quantize(recipe, x, fp32, engine=engine)
        values = run.run_dequantize(recipe, codes, levels, profile=None, result=fp32, engine=engine)
        found[engine] = [each.tolist() for each in (codes, *levels.values(), values)]
    assert all(mine == found["exact"] for mine in found.values())
    assert {0, 1} == {flag for row in found["exact"][3] for flag in row}


def test_registers_of_such_a_recipe_are_those_of_the_reference_model() -> None:
    recipe, fp32 = mixed(), get("format", "fp32")
    x = np.arange(32, dtype=np.float32).reshape(2, 16).view(np.uint32)
    stored = run.run_quantize(recipe, x, fp32, engine="c_ref")
    registers = {each.name: each for each in quantize_registers(recipe, x, fp32)}
    assert registers["again"].bits == 4 and registers["codes"].cells.tolist() == stored[0].tolist()
    back = {each.name: each for each in dequantize_registers(recipe, *stored)}
    assert back["chosen"].cells.tolist() == stored[0].tolist()


def test_a_third_format_and_arms_that_do_not_fit_are_refused() -> None:
    text = descriptor_text([get("format", "e1m2"), get("format", "e4m3"), mixed()])
    assert Loaded(text).error == lib.EMU_OK
    lines = text.split("\n")
    quantize = lines.index("quantize")
    select = next(number for number, line in enumerate(lines) if number > quantize and line.startswith("step select neg "))
    again, yes, no = (lines[select].split(" ")[place] for place in (3, 5, 6))
    decode = next(number for number, line in enumerate(lines) if line.startswith("step decode ") and line.endswith(f" {again} int4"))
    scale = next(line.split(" ")[2] for line in lines if line.startswith("step cast ") and " ue4m3 " in line)
    value = lines[select].split(" ")[4]
    arms = f" {yes} {no}"
    faults = [(decode, " int4", " e1m2"), (decode, " int4", " e4m3")]
    faults += [(select, arms, f" {scale} {no}"), (select, arms, f" {value} {no}"), (select, arms, f" {yes} {value}")]
    for number, old, new in faults:
        assert old in lines[number]
        found = Loaded(sealed("\n".join([*lines[:number], lines[number].replace(old, new), *lines[number + 1 :]])))
        assert found.error == lib.EMU_ERROR_DESCRIPTOR and TYPES in found.line, found.line
