"""Random recipe programs, every step that the checker accepts: each column gives the reference model's bits, or the same kind of error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

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
from emu.spec.models.rounding import Word
from emu.spec.programs import program as programs
from emu.spec.registry import get
from tests.support.descriptor_samples import Loaded
from tests.support.program_samples import own_blocks, random_recipe
from tests.support.structs import plain
from tests.support.whole import tries

SPECIAL = np.frombuffer(
    bytes.fromhex(
        "00000000 80000000 7F800000 FF800000 7FC00000 FFC00001 7F800001 00000001 80000001 007FFFFF 00800000 7F7FFFFF"
        "FF7FFFFF 3F800000 BF800000 40C00000 40E00000 3E800000 3E800001 43E80000 43E80001 7F000000"
    ),
    ">u4",
).astype(np.uint32)
AMAXES = (None, None, None, 0, 1, 0x00400000, 0x3F800000, 0x40C00000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000)


@pytest.fixture(scope="module", autouse=True)
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The blocks of this file in a registry of their own."""
    with own_blocks(tmp_path_factory.mktemp("blocks")):
        yield


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
@pytest.mark.parametrize("part", range(16))
def test_random_programs(part):
    assert compare(range(30 * part, 30 * part + 30)) > 20


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("part", range(4))
def test_many_random_programs(part):
    assert compare(range(1000 + 500 * part, tries(1250, 1500) + 500 * part)) > tries(180, 375)


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
    assert same_from_a_file(range(1000, tries(1250, 1500))) > tries(140, 300)
