"""Traces of the C reference: what every register of a recipe holds, and what each node of a datapath of levels leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import ShapeError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.block import given_matrix, program_of, random_of, signs_of, workspace_of
from emu.engines.c_ref.call import Codes, check, code_dtype, matrix
from emu.engines.c_ref.descriptors import format_descriptor
from emu.engines.c_ref.levels import ROWS, levels_descriptor
from emu.engines.c_ref.program import ProgramDescriptor
from emu.spec.levels import LevelsPlan
from emu.spec.models import Format, Recipe
from emu.spec.programs.program import dequantize_program, padded_size, quantize_program
from emu.spec.registry import get

SPECIALS: Final = {lib.EMU_NAN: ("nan", "nan"), lib.EMU_INFINITE: ("+inf", "-inf")}


class Register(NamedTuple):
    """One register of a program. name: as in the recipe.   rows, columns: the part of the matrix that shares a cell, 0: all of them.

    bits: width of a cell; 0: random integers.   is_value: a code of the program's arithmetic; else a code of another format.
    cells: unsigned, one for each part of the padded matrix.   is_open: 1 where nobody knows the cell, which is 0 then.
    """

    name: str
    rows: int
    columns: int
    bits: int
    is_value: bool
    cells: NDArray[np.uint64]
    is_open: NDArray[np.uint8]


class Stage(NamedTuple):
    """What a node leaves: significand * 2^lsb_exp, and the exponent that it names. live: does it raise E.   negative: of a zero."""

    significand: int
    lsb_exp: int
    exp: int
    live: bool
    negative: bool


def quantize_registers(
    recipe: Recipe, codes: Codes, source: Format, *, tensor_amax: int | None = None, random: Codes | None = None, signs: int | None = None
) -> list[Register]:
    """Return every named register of a quantize program in the order in which they are given and written.

    Arguments and errors: as emu.engines.c_ref.block.quantize; where it says that the input is open, every cell is.
    Exactness: the cells of emu.engines.exact.program.run, bit for bit.   Tests: tests/engines/c_ref/test_c_trace.py.
    """
    program = quantize_program(recipe)
    given, descriptor, origin = given_matrix(codes, source), program_of(recipe, program, None), format_descriptor(source)
    drawn = random_of(program, random, given.shape)
    registers, held = _empty(descriptor, padded_size(recipe, *given.shape))
    workspace, words = workspace_of(descriptor.pointer, given.shape[1])
    error = lib.emu_trace_quantize(
        descriptor.pointer,
        origin.pointer,
        ffi.new("emu_matrix *", matrix(given)),
        ffi.NULL if tensor_amax is None else ffi.new("uint32_t *", tensor_amax),
        ffi.NULL if drawn is None else ffi.new("emu_matrix *", matrix(drawn)),
        signs_of(recipe, signs),
        held[0],
        workspace,
        words,
    )
    check(error, f"quantize/{recipe.id}")
    return registers


def dequantize_registers(recipe: Recipe, codes: Codes, levels: Mapping[str, Codes], *, profile: str | None = None) -> list[Register]:
    """Return every named register of a dequantize program.

    Arguments and errors: as emu.engines.c_ref.block.dequantize.   Exactness: as quantize_registers.
    """
    program = dequantize_program(recipe, profile)
    descriptor = program_of(recipe, program, profile or next(iter(recipe.facts.dequantize)))
    given = given_matrix(codes, get("format", program.block.element_formats[0]))
    side = []
    for level in program.block.facts.levels:
        if level.name not in levels:
            raise ShapeError(f"level {level.name} is missing")
        side.append(given_matrix(levels[level.name], get("format", level.format)))
    registers, held = _empty(descriptor, padded_size(recipe, *given.shape))
    workspace, words = workspace_of(descriptor.pointer, given.shape[1])
    error = lib.emu_trace_dequantize(
        descriptor.pointer,
        ffi.new("emu_matrix *", matrix(given)),
        ffi.new("emu_matrix[]", [matrix(array) for array in side]) if side else ffi.NULL,
        held[0],
        workspace,
        words,
    )
    check(error, f"dequantize/{recipe.id}")
    return registers


def _empty(descriptor: ProgramDescriptor, size: tuple[int, int]) -> tuple[list[Register], Any]:
    """Return the named registers with nothing in their cells, and the matrices of all of them with the memory that they stand for."""
    program = descriptor.pointer
    types = ffi.new("const emu_format *[]", program.register_count)
    check(lib.emu_type_registers(program, types), "trace")
    named, held = [], []
    for number in range(program.register_count):
        place, name = program.registers[number], program.names[number]
        shape = (size[0] // place.rows if place.rows else 1, size[1] // place.columns if place.columns else 1)
        cells, marks = np.zeros(shape, np.uint64), np.zeros(shape, np.uint8)
        held.append((cells, marks))
        if name != ffi.NULL:
            fmt = types[number]
            bits = 0 if fmt == ffi.NULL else _bits(fmt)
            is_value = fmt == program.arithmetic
            named.append(Register(ffi.string(name).decode(), place.rows, place.columns, bits, is_value, cells, marks))
    return named, (ffi.new("emu_matrix[]", [matrix(*both) for both in held]), held)


def _bits(fmt: Any) -> int:
    if fmt.format_class == lib.EMU_FLOAT:
        return int(fmt.has_sign + fmt.exp_bits + fmt.frac_bits + fmt.unused_high_bits)
    return int(fmt.bits)


def level_stages(
    a: Sequence[int],
    b: Sequence[int],
    scale_a: Sequence[int],
    scale_b: Sequence[int],
    c: int | None,
    random: Sequence[int],
    plan: LevelsPlan,
) -> tuple[int, dict[str, Stage | str]]:
    """Return the code of D of one row of a datapath of levels, and what each node leaves: a Stage, or "nan", "+inf", "-inf".

    Operands: as emu.engines.exact.levels.dot.   Names of stages: as there, `<level>_<node>`, of a chain `<level>_<node>_<addition>` too.
    Exactness: the stages of the reference model.   Raises: as emu.engines.c_ref.levels.dot.   Tests: tests/engines/c_ref/test_c_trace.py.
    """
    made, what = levels_descriptor(plan), f"dot/{plan.name}"
    counts, place = ffi.new("size_t[2]"), ffi.new("size_t *")
    check(lib.emu_count_dot_levels(made.pointer, len(a), counts, counts + 1), what)
    check(lib.emu_find_stage(made.pointer, len(a), len(plan.levels) + 1, 0, -1, place), what)
    count, d = place[0], np.zeros((1, 1), code_dtype(plan.d))
    formats = ((a, plan.a), (b, plan.b), (scale_a, plan.scale), (scale_b, plan.scale), (() if c is None else (c,), plan.c))
    arrays = [np.array([codes], code_dtype(fmt)) if fmt is not None and len(codes) else None for codes, fmt in formats]
    arrays += [np.array([random], np.uint32) if len(random) else None, d]
    stages, known = ffi.new("emu_number[]", count), ffi.new("uint8_t[]", count)
    pointers = [ffi.NULL if array is None else ffi.new("emu_matrix *", matrix(array)) for array in arrays]
    order, room = ffi.new("uint32_t[]", counts[0] + 1), ffi.new("emu_number[]", counts[1])
    error = lib.emu_trace_levels(made.pointer, *pointers, order, room, counts[1], stages, known, count)
    if error in ROWS:
        raise ROWS[error][0](f"{what}: {ROWS[error][1]}")
    check(error, what)
    found: dict[str, Stage | str] = {}
    for name, level, node, addition in _stage_names(plan, len(a)):
        check(lib.emu_find_stage(made.pointer, len(a), level, node, addition, place), what)
        if known[place[0]]:
            found[name] = _stage(stages[place[0]])
    return int(d[0, 0]), found


def _stage_names(plan: LevelsPlan, products: int) -> list[tuple[str, int, int, int]]:
    """Return every stage of a row: its name, level, node and addition."""
    out = [(f"product_{node}", 0, node, -1) for node in range(products)]
    for number, (level, nodes) in enumerate(zip(plan.levels, plan.shape(products), strict=True), 1):
        for node, children in enumerate(nodes):
            out.append((f"{level.facts.id}_{node}", number, node, -1))
            if level.facts.add == "chain":
                additions = range(-(-len(children) // (level.facts.by or 1)))
                out += [(f"{level.facts.id}_{node}_{turn}", number, node, turn) for turn in additions]
    return out


def _stage(number: Any) -> Stage | str:
    if number.special:
        return SPECIALS[number.special][number.sign]
    magnitude = sum(limb << 64 * place for place, limb in enumerate(number.magnitude.limbs))
    return Stage(-magnitude if number.sign else magnitude, number.lsb_exp, number.exp, bool(number.live), bool(number.negative))
