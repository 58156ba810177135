"""quantize: one block or tile of source codes -> element codes and levels under a recipe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from emu.engines.exact.block import quantize
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.program import run
from emu.engines.exact.value import Value, finite
from emu.engines.numpy import tables
from emu.engines.numpy.block import quantize as numpy_quantize
from emu.engines.numpy.convert import to_fp32
from emu.spec import derive
from emu.spec.contract import Contract
from emu.spec.derive import OPEN
from emu.spec.models import Block, Format, Recipe, Rounding
from emu.spec.models.block import LevelFacts
from emu.spec.models.rounding import Word
from emu.spec.programs.program import Instruction, Program, extent_of, quantize_program
from emu.spec.registry import get
from emu.vectors.files.columns import Column, Layout, layout_of
from emu.vectors.files.rows import Answer, unpack
from emu.vectors.operation import Batch, Values, array_of, native, present, stored_bits

Lists = list[list[int]]
TS_MEANS = "amax_bits: the tensor maximum as fp32 bits, the recipe's operand tensor_amax"
N_VALID_MEANS = "elements 0 .. n_valid - 1 exist; the lanes above hold junk"


def level_parts(level: LevelFacts, block: Block) -> tuple[int, int]:
    """Return how many rows and columns of codes a level has in one tile."""
    extent = extent_of(level.granularity, block)
    rows, columns = block.facts.shape
    return (rows // extent.rows if extent.rows else 1, columns // extent.columns if extent.columns else 1)


def element_format(block: Block) -> str | None:
    """Return the id of the element format; None where a flag chooses."""
    return block.element_formats[0] if len(block.element_formats) == 1 else None


class QuantizeRows:
    """quantize/<recipe> from one source format, a tile a row."""

    def __init__(self, contract: Contract, source: str) -> None:
        self.contract = contract
        self.recipe: Recipe = get("recipe", contract.parts[0])
        self.program: Program = quantize_program(self.recipe)
        self.block = self.program.block
        self.source: Format = get("format", source)
        self.src, self.dst, self.part = source, self.block.id, self.recipe.id
        self.rows, self.columns = self.block.facts.shape
        self.n = self.rows * self.columns
        self.ragged = self.recipe.facts.tail != "error" and self.rows == 1
        self.reads_amax = self.program.reads("tensor_amax")
        draws = [item.rounding for item in self.program.instructions if item.rounding is not None and item.rounding.random_bits]
        self.rounding: Rounding | None = draws[0] if draws else None
        self.stored = [level for level in self.block.facts.levels if self.program.outputs[level.name] != "tensor_amax"]
        self.amax_program = _amax_program(self.program)
        self._layout = self._columns()

    @property
    def layout(self) -> Layout:
        """x, ts, n_valid, r -> codes, levels, amax."""
        return self._layout

    def _columns(self) -> Layout:
        ins = [Column("x", "in", self.n * stored_bits(self.source), self.src, self.n)]
        ins += [Column("ts", "in", 32, "fp32", means=TS_MEANS)] if self.reads_amax else []
        ins += [Column("n_valid", "in", 8, means=N_VALID_MEANS)] if self.ragged else []
        if self.rounding is not None:
            shared = self.rounding.facts.random
            lanes, bits = (self.n // shared.lanes, shared.word) if isinstance(shared, Word) else (self.n, self.rounding.random_bits)
            ins.append(Column("r", "r", lanes * bits, lanes=lanes, means=f"random integers for {self.rounding.id}"))
        element = get("format", self.block.element_formats[0])
        outs = [Column("codes", "out", self.n * stored_bits(element), element_format(self.block), self.n)]
        for level in sorted(self.stored, key=lambda item: item.name != "scale"):
            parts, fmt = level_parts(level, self.block), get("format", level.format)
            count = parts[0] * parts[1]
            outs.append(
                Column(
                    level.name,
                    "out",
                    count * stored_bits(fmt),
                    fmt.id,
                    count,
                    any_nan=fmt.facts_digest == self.program.arithmetic.facts_digest,
                )
            )
        if self.amax_program is not None:
            arithmetic = self.program.arithmetic
            outs.append(
                Column("amax", "stage", stored_bits(arithmetic), arithmetic.id, means="block maximum as the recipe takes it", any_nan=True)
            )
        return layout_of([*ins, *outs])

    def taken(self, values: Values) -> tuple[list[list[int]], int | None, list[list[int]] | None]:
        """Return the source rows (junk lanes cut off), the tensor maximum and the random rows of a case."""
        columns = self.layout.inputs
        named = {column.name: value for column, value in zip(columns, values, strict=True)}
        lanes = unpack(named["x"], columns[0])
        width = named.get("n_valid", self.columns)
        matrix = [list(lanes[row * self.columns : row * self.columns + width]) for row in range(self.rows)]
        drawn = None
        if self.rounding is not None:
            integers = unpack(named["r"], columns[-1])
            per_row = columns[-1].lanes // self.rows
            shared = self.rounding.facts.random
            used = -(-width // shared.lanes) if isinstance(shared, Word) else width
            drawn = [list(integers[row * per_row : row * per_row + used]) for row in range(self.rows)]
        return matrix, named.get("ts"), drawn

    def exact(self, values: Values) -> Answer:
        """Return codes, levels and the block maximum; OPEN for lanes that a tail rule drops."""
        matrix, amax, drawn = self.taken(values)
        found = quantize(self.recipe, matrix, self.source, tensor_amax=amax, random=drawn, masked=True)
        answer = self.answer(found.codes, found.levels)
        if self.amax_program is None:
            return answer
        known = any(code >= 0 for lanes in answer for code in lanes)
        return (*answer, (self.block_amax(matrix, amax) if known else OPEN,))

    def answer(self, codes: Sequence[Sequence[int]], levels: Any) -> Answer:
        """Return the outputs of one tile in column order."""
        flat = [list(row) + [OPEN] * (self.columns - len(row)) for row in codes]
        names = [column.name for column in self.layout.columns if column.role == "out"][1:]
        return (tuple(code for row in flat for code in row), *(tuple(code for row in levels[name] for code in row) for name in names))

    def block_amax(self, matrix: list[list[int]], amax: int | None) -> int:
        """Return the fp32 bits of the first maximum that the program takes of a whole block or tile."""
        assert self.amax_program is not None
        given: dict[str, Any] = {"x": {(r, c): finite(Fraction(0)) for r in range(self.rows) for c in range(self.columns)}}
        given["x"] |= {(r, c): decode_code(code, self.source) for r, row in enumerate(matrix) for c, code in enumerate(row)}
        if amax is not None:
            given["tensor_amax"] = {(0, 0): decode_code(amax, self.program.arithmetic)}
        cells = run(self.amax_program, given, self.rows, self.columns)
        value = cells[self.amax_program.instructions[-1].out][0, 0]
        assert isinstance(value, Value)
        return encode_value(value, self.program.arithmetic)

    def engines(self) -> dict[str, Batch]:
        """numpy and the C reference give codes and levels, fast the block maximum where it is plain."""
        table: dict[str, Batch] = {"numpy": lambda rows: self.batch(rows, self.fast, stages=True)}
        if native() is not None:
            table["c_ref"] = lambda rows: self.batch(rows, self.c_ref, stages=False)
        return present(table)

    def fast(self, stacked: Any, amax: int | None, drawn: Any) -> tuple[Lists, dict[str, Lists]]:
        """Quantize stacked tiles through the NumPy column."""
        found = numpy_quantize(self.recipe, stacked, self.source, tensor_amax=amax, random=drawn, masked=True)
        codes = _unmarked(found.codes, get("format", self.block.element_formats[0]))
        return codes, {level.name: _unmarked(found.levels[level.name], get("format", level.format)) for level in self.stored}

    def c_ref(self, stacked: Any, amax: int | None, drawn: Any) -> tuple[Lists, dict[str, Lists]]:
        """Quantize stacked tiles through the C reference."""
        from emu.engines.c_ref.block import quantize_with_open

        found, is_open = quantize_with_open(self.recipe, stacked, self.source, tensor_amax=amax, random=drawn)
        levels = {level.name: _marked(found.levels[level.name], is_open.levels[level.name]) for level in self.stored}
        return _marked(found.codes, is_open.codes), levels

    def batch(self, rows: Sequence[Values], engine: Callable[..., tuple[Lists, dict[str, Lists]]], stages: bool) -> list[Answer | None]:
        """Quantize rows of one tensor maximum and length together; NaN and Inf alone where they spread."""
        out: list[Answer | None] = [None] * len(rows)
        batches: dict[tuple[Any, ...], list[int]] = {}
        for extent, values in enumerate(rows):
            matrix, amax, _ = self.taken(values)
            alone = extent if self.recipe.facts.domain.non_finite == "no" and self.has_special(matrix) else -1
            batches.setdefault((amax, len(matrix[0]), alone), []).append(extent)
        for (amax, _, _), extents in batches.items():
            cases = [self.taken(rows[extent]) for extent in extents]
            stacked = array_of([row for matrix, _, _ in cases for row in matrix], self.source)
            drawn = None if self.rounding is None else np.array([row for _, _, integers in cases for row in integers or ()], np.uint32)
            answers = self.split(*engine(stacked, amax, drawn), len(extents))
            maxima = self.plain_amax(stacked, answers) if stages else [()] * len(answers)
            for number, extent in enumerate(extents):
                out[extent] = (*answers[number], *maxima[number])
        return out

    def plain_amax(self, stacked: Any, answers: list[Answer]) -> list[Answer]:
        """Return the stage amax of stacked tiles where it is the plain maximum of the source; else nothing."""
        if (
            self.amax_program is None
            or len(self.amax_program.instructions) > 1
            or self.amax_program.instructions[0].step.nan != "propagate"
        ):
            return [()] * len(answers)
        bits = to_fp32(stacked, self.source).view(np.uint32) & np.uint32(0x7FFFFFFF)
        found = bits.reshape(len(answers), -1).max(axis=1).tolist()
        known = [any(code >= 0 for lanes in answer for code in lanes) for answer in answers]
        return [((amax if here else OPEN,),) for amax, here in zip(found, known, strict=True)]

    def has_special(self, matrix: list[list[int]]) -> bool:
        """Tell whether an element is NaN or Inf."""
        inf = derive.codes(self.source).inf
        sign = derive.codes(self.source).sign_bit
        return inf is not None and any(code & ~sign >= inf for row in matrix for code in row)

    def split(self, codes: Lists, levels: dict[str, Lists], count: int) -> list[Answer]:
        """Return the answers of stacked tiles."""
        out = []
        for tile in range(count):
            part = {}
            for level in self.stored:
                tall = level_parts(level, self.block)[0]
                array = levels[level.name]
                whole_tensor = extent_of(level.granularity, self.block).rows == 0
                part[level.name] = array if whole_tensor else array[tile * tall : (tile + 1) * tall]
            out.append(self.answer(codes[tile * self.rows : (tile + 1) * self.rows], part))
        return out

    def described(self) -> dict[str, Any]:
        """Tail rule, arithmetic and domain."""
        facts = self.recipe.facts
        sr = (
            {"bits": self.rounding.random_bits, "op": self.rounding.facts.add, "source": "per_element"}
            if self.rounding is not None
            else None
        )
        return {"rounding": facts.arithmetic.round, "subnormals_in": "keep", "subnormals_out": "keep", "sr": sr}


def _marked(array: Any, is_open: Any) -> Lists:
    """Return an array of codes as lists, OPEN where nobody knows the code."""
    marked: Lists = np.where(is_open == 1, OPEN, array.astype(np.int64)).tolist()
    return marked


def _unmarked(array: Any, fmt: Format) -> Lists:
    """Return an array of codes as lists, OPEN in the place of its marker."""
    rows: list[list[int]] = array.tolist()
    if array.dtype != tables.marker_dtype(fmt):
        return rows
    mark = tables.mark(OPEN, fmt)
    return [[OPEN if code == mark else code for code in row] for row in rows]


def _amax_program(program: Program) -> Program | None:
    """Return the part of a program that leads to its first maximum over a whole block or tile; None where it takes none."""
    shape = program.block.facts.shape
    wanted = next((item for item in program.instructions if item.op == "amax" and item.type.extent in ((1, shape[1]), tuple(shape))), None)
    if wanted is None:
        return None
    needed: set[str] = {wanted.out}
    kept: list[Instruction] = []
    for item in reversed(program.instructions):
        if item.out in needed:
            kept.insert(0, item)
            needed |= {arg for arg in item.args if isinstance(arg, str)}
    return replace(program, instructions=tuple(kept))
