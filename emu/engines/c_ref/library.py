"""A descriptor in Python: the C reference computes with formats, roundings, policies, recipes and datapaths that no YAML file has.

What a descriptor does not have is looked for in the shipped spec. All arrays of codes are of 64 bits in C, one code each. Python only
hands over: no number is made here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from emu.base.errors import OperandError, ShapeError, SpecError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.block import workspace_of
from emu.engines.c_ref.call import check, matrix
from emu.engines.c_ref.program import sign_words

MARKS = {1: "open", 2: "refused"}
UNKNOWN = (lib.EMU_ERROR_OPEN, lib.EMU_ERROR_REFUSED, lib.EMU_ERROR_OVERFLOW)


class Marked(NamedTuple):
    """Results. codes: uint64.   marks: uint8 of the same shape: 0 the code stands, 1 nobody knows it, 2 the described library raises."""

    codes: NDArray[np.uint64]
    marks: NDArray[np.uint8]

    def words(self) -> list[str]:
        """Return the codes in hex, row by row; open or refused where there is none."""
        return [MARKS.get(mark, f"0x{code:X}") for code, mark in zip(self.codes.ravel().tolist(), self.marks.ravel().tolist(), strict=True)]


class Library:
    """The objects of a descriptor (docs/descriptors.md), found by id; "": the shipped spec alone.

    Raises: SpecError (a wrong line, with its number).   Tests: tests/engines/c_ref/test_c_library.py.
    """

    def __init__(self, text: str = "") -> None:
        self._memory: Any = None
        self._at: Any = ffi.NULL
        if not text:
            return
        data, size, library, fault = text.encode("latin-1"), ffi.new("size_t *"), ffi.new("const emu_library **"), ffi.new("emu_fault *")
        if lib.emu_measure_descriptor(data, len(data), size):
            size[0] = 1  # too long, which emu_load_descriptor refuses with both numbers
        self._memory = ffi.new("char[]", size[0])
        if lib.emu_load_descriptor(data, len(data), self._memory, size[0], library, fault):
            raise SpecError(f"descriptor line {fault.line}: {ffi.string(fault.text).decode('latin-1')}")
        self._at = library[0]

    def convert(
        self, codes: ArrayLike, to: str, rounding: str, policy: str, source: str = "fp32", random: ArrayLike | None = None
    ) -> Marked:
        """Convert codes of a format to another one. random: an integer for each code, for a rounding that draws.

        Raises: SpecError (a name), OperandError (a code or an integer that is too wide).
        """
        given, drawn = _codes(codes), None if random is None else _codes(random)
        if drawn is not None and (drawn.shape != given.shape or bool((drawn >> np.uint64(32)).any())):
            raise OperandError(
                f"convert/{to}/{rounding}/{policy}: random has one integer below 2^32 for each code, in their shape {given.shape}"
            )
        out, code, mark = _empty(given.shape), ffi.new("uint64_t *"), ffi.new("uint8_t *")
        formats = self._found("format", source), self._found("format", to)
        rules = self._found("rounding", rounding), self._found("policy", policy, to)
        for place in np.ndindex(given.shape):
            error = lib.emu_convert_code(*formats, *rules, int(given[place]), 0 if drawn is None else int(drawn[place]), code, mark)
            check(error, f"convert/{to}/{rounding}/{policy}")
            out.codes[place], out.marks[place] = code[0], mark[0]
        return out

    def quantize(
        self,
        x: ArrayLike,
        recipe: str,
        source: str = "fp32",
        tensor_amax: int | None = None,
        random: ArrayLike | None = None,
        signs: int | None = None,
    ) -> tuple[Marked, list[Marked]]:
        """Quantize a matrix of codes [R, C]: element codes, and the codes of each level, outermost first.

        tensor_amax: fp32 code.   random: an integer for each value.   signs: of the recipe's rotations, bit i negates element i.
        Raises: SpecError, ShapeError, OperandError.
        """
        program, given = self._program(recipe, None), _codes(x)
        turned = [step.transform.size for step in program.steps[0 : program.step_count] if step.operation == lib.EMU_OP_TRANSFORM]
        if signs is not None and (not turned or not 0 <= signs < 1 << min(turned)):
            raise OperandError(f"quantize/{recipe}: signs {signs:#x}: " + (f"write {min(turned)} bits" if turned else "it rotates nothing"))
        at = _pointer(given)
        rows, columns = (-(-size // tile) * tile for size, tile in zip(given.shape, (program.tile_rows, program.tile_columns), strict=True))
        made = _empty(given.shape if program.tail == lib.EMU_TAIL_DROP else (rows, columns))
        shapes = [(level.rows, level.columns) for level in program.levels[0 : program.level_count]]
        levels = [_empty((rows // tall if tall else 1, columns // wide if wide else 1)) for tall, wide in shapes]
        drawn = None if random is None else _codes(random)
        work, words = workspace_of(program, given.shape[1])
        check(
            lib.emu_quantize(
                program,
                self._found("format", source),
                at,
                ffi.NULL if tensor_amax is None else ffi.new("uint32_t *", tensor_amax),
                _pointer(drawn),
                ffi.NULL if signs is None else ffi.new("uint64_t[]", sign_words(signs)),
                _pointer(*made),
                ffi.new("emu_matrix[]", [matrix(*level) for level in levels]) if levels else ffi.NULL,
                work,
                words,
            ),
            f"quantize/{recipe}",
        )
        return made, levels

    def dequantize(self, codes: ArrayLike, levels: list[ArrayLike], recipe: str, profile: str, to: str = "fp32") -> NDArray[np.uint64]:
        """Return the values of codes [R, C] under the codes of each level, codes of a format. Raises: SpecError, OpenError, ShapeError."""
        program, given, sides = self._program(recipe, profile), _codes(codes), [_codes(level) for level in levels]
        if any(side.ndim != 2 for side in sides):
            raise ShapeError(f"dequantize/{recipe}/{profile}: the codes of a level are a matrix")
        at, out = _pointer(given), np.zeros(given.shape, np.uint64)
        work, words = workspace_of(program, given.shape[1])
        held = ffi.new("emu_matrix[]", [matrix(side) for side in sides]) if sides else ffi.NULL
        check(
            lib.emu_dequantize(program, at, held, self._found("format", to), _pointer(out), work, words),
            f"dequantize/{recipe}/{profile}",
        )
        return out

    def dot(
        self,
        a: ArrayLike,
        b: ArrayLike,
        datapath: str,
        a_scales: ArrayLike | None = None,
        b_scales: ArrayLike | None = None,
        c: int | None = None,
        random: ArrayLike | None = None,
    ) -> Marked:
        """Multiply one row of codes a with one of b: D, [1, 1]. datapath: id and choices, as mine/e4m3xe4m3.   c: code.

        random: the words of a datapath of levels that draws.   Raises: SpecError, ShapeError.
        """
        addend = None if c is None else [c]
        given = [None if codes is None else _codes(codes).reshape(1, -1) for codes in (a, b, a_scales, b_scales, addend)]
        out, products = _empty((1, 1)), np.size(a)
        pointers = [_pointer(codes) for codes in given]
        fused = ffi.new("emu_datapath *")
        if not self._fused(datapath, fused):
            check(lib.emu_dot(fused, *pointers, _pointer(*out), ffi.NULL), f"dot/{datapath}")
            return out
        levels, draws, count, row = ffi.new("emu_levels *"), ffi.new("size_t *"), ffi.new("size_t *"), ffi.new("size_t *")
        check_name(lib.emu_find_levels_in(self._at, datapath.encode(), levels), "datapath", datapath)
        check(lib.emu_count_dot_levels(levels, products, draws, count), f"dot/{datapath}")
        words = None if random is None else _codes(random).reshape(1, -1)
        room, order = ffi.new("emu_number[]", max(count[0], 1)), ffi.new("uint32_t[]", max(draws[0], 1))
        error = lib.emu_dot_levels(levels, *pointers, _pointer(words), _pointer(*out), order, room, count[0], row)
        if error in UNKNOWN:
            out.marks[:] = 1
        else:
            check(error, f"dot/{datapath}")
        return out

    def add(self, x: Marked, y: Marked, datapath: str) -> Marked:
        """Return the sum of two results of a fused datapath, rounded to nearest even in its result format: how parts of K join."""
        out, fused = _empty(x.codes.shape), ffi.new("emu_datapath *")
        check_name(self._fused(datapath, fused), "datapath", datapath)
        check(lib.emu_add_results(fused, _pointer(x.codes), _pointer(y.codes), _pointer(out.codes)), f"dot/{datapath}")
        out.marks[:] = x.marks | y.marks
        return out

    def _fused(self, name: str, fused: Any) -> int:
        """Fill an emu_datapath; not 0: there is none of this name."""
        error = int(lib.emu_find_datapath_in(self._at, name.encode(), fused))
        return int(lib.emu_find_datapath_in(ffi.NULL, name.encode(), fused)) if error else 0

    def _program(self, recipe: str, profile: str | None) -> Any:
        return self._named("program", recipe.encode(), ffi.NULL if profile is None else profile.encode())

    def _found(self, kind: str, *ids: str) -> Any:
        return self._named(kind, *(name.encode() for name in ids))

    def _named(self, kind: str, *ids: Any) -> Any:
        found = getattr(lib, f"emu_find_{kind}_in")(self._at, *ids)
        check_name(found == ffi.NULL, kind, "/".join(name.decode() for name in ids if isinstance(name, bytes)))
        return found


def check_name(error: int, kind: str, name: str) -> None:
    """Raise where C found no object. Raises: SpecError."""
    if error:
        raise SpecError(f"{kind} {name}: neither the descriptor nor the shipped spec has it: see emu list")


def _codes(codes: ArrayLike) -> NDArray[np.uint64]:
    """Return integers as the array that C reads. Raises: OperandError (numbers that are no codes)."""
    try:
        array = np.asarray(codes)
    except ValueError as error:
        raise OperandError(f"codes are no array: {error}") from None
    if array.size and (array.dtype.kind not in "iu" or int(array.min()) < 0):
        raise OperandError(f"codes are integers from 0, not {array.dtype}" + (f" down to {array.min()}" if array.dtype.kind == "i" else ""))
    return np.ascontiguousarray(array, np.uint64)


def _empty(shape: tuple[int, ...]) -> Marked:
    return Marked(np.zeros(shape, np.uint64), np.zeros(shape, np.uint8))


def _pointer(codes: NDArray[np.uint64] | None, marks: NDArray[np.uint8] | None = None) -> Any:
    """Return an emu_matrix over arrays, which must outlive it; NULL for none."""
    if codes is None:
        return ffi.NULL
    if codes.ndim != 2:
        raise ShapeError(f"codes are a matrix [R, C], not of shape {codes.shape}")
    return ffi.new("emu_matrix *", matrix(codes, marks))
