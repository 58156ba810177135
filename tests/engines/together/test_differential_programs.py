"""Random recipe programs, every step that the checker accepts: each column gives the reference model's bits, or the same kind of error.

Levels of granularity {sub: 1} hold intermediate values as they are, so that what is compared is every step and not only the codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from emu.base.errors import EmuError, EngineError, SpecError
from emu.engines.c_ref import block as native
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.engines.c_ref.program import program_descriptor
from emu.engines.exact import block as exact
from emu.engines.numpy import block as numpy_block
from emu.engines.numpy import tables
from emu.engines.table import TABLE
from emu.spec import derive
from emu.spec.models import Format, Recipe
from emu.spec.models.recipe import DecodeProgramStep, Step
from emu.spec.models.rounding import Word
from emu.spec.programs import program as programs
from emu.spec.programs.steps import type_step
from emu.spec.registry import get, isolated, load_spec, shipped_root
from tests.support.descriptor_samples import Loaded
from tests.support.structs import plain

BLOCK = """kind: "block"
id: "{id}"
title: "t"
status: "proposed"
facts: {{element: {{format: "{element}"}}, shape: {shape}, packing: "none", scale_layout: "row_major", levels: [{levels}]}}
sources: []
"""
LEVEL = '{{name: "{0}", format: "{1}", granularity: {2}, meaning: "multiply"}}'
BLOCKS = {  # id: (element, rows and lanes, levels as (name, format, granularity))
    "plain": (
        "e2m1",
        [1, 8],
        [("every", "fp32", "{sub: 1}"), ("pair", "fp32", "{sub: 2}"), ("scale", "fp32", '"block"'), ("line", "fp32", '"row"')],
    ),
    "tiled": (
        "e1m2",
        [4, 8],
        [("every", "fp32", "{sub: 1}"), ("half", "ue4m3", "{sub: 4}"), ("whole", "fp32", '"tile"'), ("line", "fp32", '"row"')],
    ),
    "six": (
        "int4",
        [1, 6],
        [("every", "fp32", "{sub: 1}"), ("third", "fp32", "{sub: 3}"), ("scale", "e8m0", '"block"'), ("one", "fp32", '"tensor"')],
    ),
    "single": ("nf4", [1, 1], [("every", "fp32", '"block"'), ("line", "fp32", '"row"')]),
    "odd_tile": ("e4m3", [3, 5], [("every", "fp32", "{sub: 1}"), ("scale", "bf16", '"block"'), ("whole", "e6m2", '"tile"')]),
    "column": ("e5m2fnuz", [2, 1], [("every", "fp32", '"block"'), ("whole", "fp32", '"tile"')]),
    "flags": ("e3m0", [1, 16], [("every", "fp32", "{sub: 1}"), ("flag", "uint1", "{sub: 4}"), ("eight", "fp32", "{sub: 8}")]),
}
MODES = ("rne", "rne", "rne", "rz", "ru", "rd", "rna", "odd")
DRAWS = ("sr_add8", "sr_cmp8", "sr_half8", "sr_te_fma8", "sr_add16", "sr_te_sw8")
NARROW = (
    *("e2m1", "e1m2", "e0m3", "e3m0", "int4", "nf4", "e2m3", "e3m2", "e4m3", "e5m2", "e8m0", "ue4m3", "ue5m3", "e6m2"),
    *("bf16", "fp16", "int8", "e4m3fnuz", "e5m2fnuz", "ue1m0", "uint1"),
)
CONSTANTS = (
    *("0", "1", "-1", "2", "1/2", "6", "7/4", "448", "2^-126", "-2^-149", "2^127", "0x7F7FFFFF", "0x3E2AAAAB", "0x80000000"),
    *("0x7F800000", "0x7FC00000", "0xFF800000", "3/4", "-7", "5/2", "2^-9", "0x3F800001", "0x45280000", "0x00000001"),
)
SPECIAL = np.frombuffer(
    bytes.fromhex(
        "00000000 80000000 7F800000 FF800000 7FC00000 FFC00001 7F800001 00000001 80000001 007FFFFF 00800000 7F7FFFFF"
        "FF7FFFFF 3F800000 BF800000 40C00000 40E00000 3E800000 3E800001 43E80000 43E80001 7F000000"
    ),
    ">u4",
).astype(np.uint32)
AMAXES = (None, None, None, 0, 1, 0x00400000, 0x3F800000, 0x40C00000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000)
OPS = {
    "amax": 2, "sum": 1, "two": 4, "fma": 1, "sign": 1, "minmax": 2, "clamp": 2, "round": 1, "grid": 1, "e8m0_rule": 1,
    "cast": 4, "decode": 2, "select": 3, "code_select": 1, "pow2": 0.1,
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The blocks of this file in a registry of their own."""
    folder: Path = tmp_path_factory.mktemp("blocks")
    for name, (element, shape, levels) in BLOCKS.items():
        text = ", ".join(LEVEL.format(*level) for level in levels)
        (folder / f"{name}.yaml").write_text(BLOCK.format(id=name, element=element, shape=shape, levels=text), encoding="utf-8")
    with isolated(shipped_root()):
        load_spec(folder)
        yield


class Writer:
    """Writes one program: steps drawn at random, those the checker refuses are thrown away."""

    def __init__(self, rng: np.random.Generator, block: Any, mode: str, given: dict[str, Any], model: Any) -> None:
        self.rng, self.block, self.types, self.model = rng, block, dict(given), TypeAdapter(model)
        self.arithmetic, self.mode, self.steps = get("format", "fp32"), get("rounding", mode), []

    def pick(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def value(self, constant: bool = True) -> str:
        names = [name for name, typed in self.types.items() if not typed.is_code]
        return self.pick(CONSTANTS) if constant and self.rng.random() < 0.3 else self.pick(names[-8:])

    def at(self, *extents: str) -> Any:
        lanes = self.block.facts.shape[1]
        extent = self.pick((*extents, "sub"))
        return {"sub": self.pick([n for n in range(1, lanes + 1) if lanes % n == 0])} if extent == "sub" else extent

    def add(self, step: dict[str, Any]) -> str | None:
        """Append a step if the checker accepts it; its name."""
        try:
            item = type_step(self.model.validate_python(step), self.types, self.arithmetic, self.mode, self.block)
        except SpecError:
            return None
        self.types[step["out"]] = item.type
        self.steps.append(step)
        return step["out"]

    def grow(self, count: int) -> None:
        for _ in range(40 * count):
            if len(self.steps) < count:
                step = self.step()
                self.add({"out": f"n{len(self.steps)}", **step})

    def step(self) -> dict[str, Any]:
        weights = np.array(list(OPS.values()), np.float64)
        op, v, nan = list(OPS)[self.rng.choice(len(OPS), p=weights / weights.sum())], self.value, self.pick(("propagate", "drop"))
        mode = {"round": self.pick(MODES)} if self.rng.random() < 0.5 else {}
        to = {"to": self.pick(("fp32", "bf16", "fp16", "e5m2"))} if self.rng.random() < 0.35 else {}
        plain: dict[str, Callable[[], dict[str, Any]]] = {
            "amax": lambda: {"op": op, "args": (v(False),), "nan": nan, "at": self.at("row", "tile", "block")},
            "sum": lambda: {"op": op, "args": (v(False),), "order": self.pick(("sequential", "halves", "tree")), "at": self.at("block")},
            "two": lambda: {"op": self.pick(("add", "sub", "mul", "div")), "args": (v(), v()), **to, **mode},
            "fma": lambda: {"op": op, "args": (v(), v(), v()), **to, **mode},
            "sign": lambda: {"op": self.pick(("abs", "neg")), "args": (v(),)},
            "minmax": lambda: {"op": self.pick(("min", "max")), "args": (v(), v()), "nan": nan},
            "clamp": lambda: {"op": op, "args": (v(), v(), v()), "nan": nan},
            "round": lambda: {"op": op, "args": (v(),), "to": self.pick(("fp32", "bf16", "fp16", "e5m2")), **mode},
            "grid": lambda: {"op": "round", "args": (v(),), "to": self.pick((*NARROW, "fp32")), "overflow": "none", **mode},
            "pow2": lambda: {"op": op, "args": (v(),)},
            "e8m0_rule": self.e8m0_rule,
            "cast": lambda: self.cast(mode),
            "decode": self.decode,
            "select": lambda: self.select(v(), v()),
            "code_select": lambda: self.select(self.code(), self.code()),
        }
        return plain[op]()

    def e8m0_rule(self) -> dict[str, Any]:
        rule = self.pick(("floor", "even", "ceil", "field_up"))
        more = {} if rule == "field_up" else {"emax": self.pick((0, 2, -3, 200))}
        more |= {"frac_bits": self.pick((0, 1, 3))} if rule == "even" else {}
        return {"op": "e8m0_rule", "args": (self.value(),), "rule": rule, **more}

    def cast(self, mode: dict[str, Any]) -> dict[str, Any]:
        word = self.pick(("saturate", "saturate", "saturate", "inf", "nan", "ieee_inf", "ieee_nan", "wrap"))
        more = {"round": self.pick(DRAWS), "random": "random"} if self.rng.random() < 0.25 else mode
        nan = {"nan": self.pick(("0x0", "0x1", "0x7"))} if self.rng.random() < 0.3 else {}
        return {"op": "cast", "args": (self.value(),), "to": self.pick(NARROW), "overflow": word, **more, **nan}

    def code(self) -> str:
        names = [name for name, typed in self.types.items() if typed.is_code and typed.formats]
        return self.pick(names) if names else "x"

    def decode(self) -> dict[str, Any]:
        name = self.code()
        formats = self.types[name].formats
        return {"op": "decode", "args": (name,), **({"format": self.pick(formats).id} if len(formats) > 1 else {})}

    def select(self, yes: str, no: str) -> dict[str, Any]:
        test = self.pick(("zero", "nan", "inf", "neg", "lt", "le", "ge"))
        tested = [self.value() for _ in range(2 if test in ("lt", "le", "ge") else 1)]
        return {"op": "select", "test": test, "args": (*tested, yes, no)}

    def output(self, out: str, fmt: str, extent: Any) -> str:
        """A name that may be stored in a format at a place, made where there is none."""
        last = [name for name, typed in self.types.items() if not typed.is_code and typed.extent.holds(extent)][-4:]
        if fmt == "fp32":
            return self.pick(last)
        known = [n for n, t in self.types.items() if t.is_code and t.extent.holds(extent) and [f.id for f in t.formats] == [fmt]]
        if known and self.rng.random() < 0.6:
            return self.pick(known)
        while True:
            found = self.add({"out": out, "op": "cast", "args": (self.pick(last),), "to": fmt, "round": self.pick(MODES)})
            if found is not None:
                return found


def random_recipe(rng: np.random.Generator) -> Recipe:
    """One recipe that the checker accepts; may still draw from two operands, which quantize_program refuses."""
    name, mode = list(BLOCKS)[rng.integers(len(BLOCKS))], MODES[rng.integers(len(MODES))]
    block, fp32 = get("block", name), get("format", "fp32")
    quantize = Writer(rng, block, mode, programs._given(block, fp32, decoding=False), Step)
    quantize.grow(int(rng.integers(3, 14)))
    levels = {
        level.name: quantize.output(f"out_{level.name}", level.format, programs.extent_of(level.granularity, block))
        for level in block.facts.levels
    }
    codes = quantize.output("out_codes", block.element_formats[0], programs.ELEMENT)
    back = Writer(rng, block, mode, programs._given(block, fp32, decoding=True), DecodeProgramStep)
    back.add({"out": "element", "op": "decode", "args": ("codes",)})
    back.grow(int(rng.integers(3, 10)))
    values = [name for name, typed in back.types.items() if not typed.is_code and typed.extent == programs.ELEMENT]
    facts = {
        "block": name,
        "tail": back.pick(("error", "zero_pad_keep", "zero_pad_drop")),
        "arithmetic": {"to": "fp32", "round": mode},
        "steps": (*quantize.steps, {"op": "emit", "codes": codes, "levels": levels}),
        "dequantize": {"p": (*back.steps, {"op": "emit", "values": back.pick(values[-3:])})},
    }
    return Recipe.model_validate({"kind": "recipe", "id": "r", "title": "t", "status": "proposed", "sources": (), "facts": facts})


def source_codes(rng: np.random.Generator, shape: tuple[int, int], special: bool) -> Any:
    """fp32 codes near one, short and long, on every exponent, and specials; in either memory order."""
    bits = rng.integers(0, 1 << 32, shape, np.uint32)
    near = bits & np.uint32(0x807FFFFF) | (np.uint32(118) + bits % np.uint32(19)) << np.uint32(23)
    kind = rng.integers(0, 6, shape)
    short = near & np.uint32(0xFFF00000)
    out = np.select([kind < 2, kind == 2, kind == 3], [near, short, bits], near & np.uint32(0xFFFF0000))
    if special:
        out = np.where(rng.random(shape) < 0.2, SPECIAL[rng.integers(0, SPECIAL.size, shape)], out)
    out = out.astype(np.uint32)
    return np.asfortranarray(out) if rng.random() < 0.2 else out


def random_operand(rng: np.random.Generator, program: Any, height: int, width: int) -> Any:
    modes = [item.rounding for item in program.instructions if item.rounding is not None and item.rounding.random_bits]
    if not modes:
        return None
    source = modes[0].facts.random
    bits, lanes = (source.word, source.lanes) if isinstance(source, Word) else (modes[0].random_bits, 1)
    drawn = rng.integers(0, 1 << bits, (1, -(-height * width // lanes)), np.uint64)
    return np.where(rng.random(drawn.shape) < 0.2, np.uint64((1 << bits) - 1), drawn)


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except EmuError as error:
        return type(error)


def by_numpy(recipe: Recipe, x: Any, fp32: Format, **operands: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The NumPy engine: codes by name, and where they are open."""
    found = numpy_block.quantize(recipe, x, fp32, masked=True, **operands)
    codes, is_open = {}, {}
    for name, fmt in formats_of(recipe).items():
        mine = found.codes if name == "codes" else found.levels[name]
        marked = mine == tables.mark(derive.OPEN, fmt) if mine.dtype == tables.marker_dtype(fmt) else np.zeros(mine.shape, np.bool_)
        codes[name], is_open[name] = np.where(marked, 0, mine).astype(numpy_block.code_dtype(fmt)), marked
    return codes, is_open


def by_c_ref(recipe: Recipe, x: Any, fp32: Format, **operands: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The C reference: codes by name, and where they are open."""
    found, marks = native.quantize_with_open(recipe, x, fp32, **operands)
    return {"codes": found.codes, **found.levels}, {"codes": marks.codes != 0, **{name: mark != 0 for name, mark in marks.levels.items()}}


QUANTIZE: dict[str, Callable[..., tuple[dict[str, Any], dict[str, Any]]]] = {"numpy": by_numpy, "c_ref": by_c_ref}
DEQUANTIZE: dict[str, Callable[..., Any]] = {"numpy": numpy_block.dequantize, "c_ref": native.dequantize}


def formats_of(recipe: Recipe) -> dict[str, Format]:
    block = get("block", recipe.facts.block)
    return {"codes": get("format", block.element_formats[0]), **{level.name: get("format", level.format) for level in block.facts.levels}}


def columns(recipe: Recipe) -> list[str]:
    """Columns that the table of engines names for both ways."""
    asked = {"quantize": (recipe, get("format", "fp32")), "dequantize": (recipe, None)}
    found = [{row.engine for row in TABLE if row.operation == way and row.can(*facts)} for way, facts in asked.items()]
    return [name for name in QUANTIZE if all(name in engines for engines in found)]


def drawn_input(recipe: Recipe, rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """One tensor, cut where the tail rule allows it, and the operands of the program."""
    program = programs.quantize_program(recipe)
    rows, lanes = program.block.facts.shape
    height, width = rows * int(rng.integers(1, 3)), lanes * int(rng.integers(1, 4))
    if recipe.facts.tail != "error":
        height, width = height - int(rng.integers(rows)), width - int(rng.integers(lanes))
    x, amax = source_codes(rng, (height, width), rng.random() < 0.5), AMAXES[rng.integers(len(AMAXES))]
    operands = {"tensor_amax": amax if program.reads("tensor_amax") else None, "random": random_operand(rng, program, height, width)}
    return x, operands


def agree(recipe: Recipe, rng: np.random.Generator, names: list[str]) -> bool:
    """Compare columns with the reference model on one drawn tensor; whether there were bits to compare both ways."""
    x, operands = drawn_input(recipe, rng)
    fp32, lists = get("format", "fp32"), dict(operands)
    lists["random"] = None if operands["random"] is None else operands["random"].tolist()
    wanted = outcome(lambda: exact.quantize(recipe, x.tolist(), fp32, masked=True, **lists))
    clean: dict[str, Any] = {}
    for column in names:
        found = outcome(lambda column=column: QUANTIZE[column](recipe, x, fp32, **operands))
        if isinstance(wanted, type) or isinstance(found, type):
            assert wanted is found, column
            continue
        codes, is_open = found
        for name in codes:
            theirs = wanted.codes if name == "codes" else wanted.levels[name]
            assert np.array_equal(np.where(is_open[name], -1, codes[name].astype(np.int64)), np.array(theirs)), (column, name)
        clean = codes
    return bool(clean) and agree_back(recipe, clean, names)


def agree_back(recipe: Recipe, levels: dict[str, Any], names: list[str]) -> bool:
    """Compare dequantize; whether it gave values."""
    codes = levels.pop("codes")
    back = outcome(lambda: exact.dequantize(recipe, codes.tolist(), {name: level.tolist() for name, level in levels.items()}))
    for column in names:
        mine = outcome(lambda column=column: DEQUANTIZE[column](recipe, codes, levels))
        same = back is mine if isinstance(back, type) or isinstance(mine, type) else np.array_equal(mine, np.array(back))
        assert same, f"{column}, backwards"
    return not isinstance(back, type)


def compare(seeds: range) -> int:
    """Run the program of each seed; how many gave bits in every column."""
    ran = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        recipe = random_recipe(rng)
        try:
            names = columns(recipe)
        except (EngineError, SpecError):
            continue  # two random operands
        try:
            ran += agree(recipe, rng, names) and len(names) == len(QUANTIZE)
        except Exception as error:
            raise AssertionError(f"program of seed {seed}: {error}\n{recipe.facts}") from error
    return ran


@pytest.mark.cases(1)
@pytest.mark.parametrize("part", range(4))
def test_random_programs(part):
    assert compare(range(120 * part, 120 * part + 120)) > 90


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("part", range(4))
def test_many_random_programs(part):
    assert compare(range(1000 + 500 * part, 1500 + 500 * part)) > 375


def same_from_a_file(seeds: range) -> int:
    """Write the recipe of each seed as a descriptor and read it again in C: the same programs, fact by fact; how many there were."""
    compared = 0
    for seed in seeds:
        recipe = random_recipe(np.random.default_rng(seed))
        try:
            wanted = [
                program_descriptor(recipe, programs.quantize_program(recipe)),
                program_descriptor(recipe, programs.dequantize_program(recipe)),
            ]
        except EmuError:  # two random operands in one program, or a limit of the C reference
            continue
        at = Loaded(descriptor_text([recipe]))
        for made, profile in zip(wanted, ((), ("p",)), strict=True):
            found = lib.emu_find_program_in(at.library, b"r", *(name.encode() for name in profile or ()), *(() if profile else (ffi.NULL,)))
            assert plain(found) == plain(made.pointer), (seed, at.line)
        compared += 1
    return compared


def test_random_programs_are_the_same_from_a_descriptor() -> None:
    assert same_from_a_file(range(40)) > 25


@pytest.mark.exhaustive
def test_many_random_programs_are_the_same_from_a_descriptor() -> None:
    assert same_from_a_file(range(1000, 1500)) > 300
