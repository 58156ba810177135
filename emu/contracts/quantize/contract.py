"""quantize: one block or tile of source codes -> element codes and levels under a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from emu.base.caches import lazy
from emu.base.errors import EmuError
from emu.contracts import suites
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.contract import Batch, Contract, Deviation, Values, array_of, native, present, stored_bits
from emu.contracts.examples import compare_codes, split
from emu.contracts.form import EXTRAS, Form, integer_dtype, takes_signs
from emu.contracts.program_wires import Cells, Stepped, lanes_of
from emu.contracts.quantize import cases, decision
from emu.contracts.quantize.cover import QuantizeCover
from emu.contracts.quantize.form import QuantizeForm
from emu.contracts.quantize.tiles import Lists, amax_program_of, element_format, level_parts, marked, unmarked
from emu.contracts.quantize.trace import trace_quantize
from emu.contracts.quantize.variants import Variant, code_variants, scale_variants
from emu.contracts.rows import Answer, unpack
from emu.contracts.suites import SEED, Inputs
from emu.engines.exact.block import dequantize, quantize
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.program import run
from emu.engines.exact.value import Value, finite
from emu.engines.numpy.block import quantize as numpy_quantize
from emu.engines.numpy.convert import element_random, to_fp32
from emu.spec import Block, derive
from emu.spec.contract import ContractName
from emu.spec.derive import OPEN
from emu.spec.models import Format, Recipe, Rounding, SpecObject
from emu.spec.models.block import LevelFacts
from emu.spec.models.common import digest_json
from emu.spec.programs.program import Program, quantize_program
from emu.spec.programs.types import extent_of
from emu.spec.registry import digest, get

TS_MEANS = "amax_bits: the tensor maximum as fp32 bits, the recipe's operand tensor_amax"
N_VALID_MEANS = "elements 0 .. n_valid - 1 exist; the lanes above hold junk"


@dataclass(frozen=True, eq=False)
class QuantizeContract(Stepped, Contract):
    """quantize/<recipe> from one source format, a tile a row."""

    recipe: Recipe
    source: Format
    opens = "source"
    formats = ("fp32", "bf16", "fp16")
    examples: ClassVar[tuple[str, ...]] = ("recipe",)
    chooser: ClassVar[Any] = cases
    smoke = 10

    @classmethod
    def of(cls, name: ContractName, given: str = "") -> Self:
        """Return the contract of a name. given: id of the source format, fp32 unless told."""
        recipe: Recipe = get("recipe", name.parts[0])
        source: Format = get("format", given or "fp32")
        return cls(name, source.id, quantize_program(recipe).block.id, recipe.id, recipe, source)

    @classmethod
    def sameness(cls, name: ContractName) -> Any:
        """The recipe, its block and steps."""
        recipe: Recipe = get("recipe", name.parts[0])
        facts = recipe.facts_json()
        return (name.op, digest(recipe), digest_json([facts["block"], facts["steps"]]))

    @lazy
    def program(self) -> Program:
        """The steps of the recipe."""
        return quantize_program(self.recipe)

    @lazy
    def ragged(self) -> bool:
        """Tell whether a row may hold fewer elements than lanes."""
        return self.recipe.facts.tail != "error" and self.rows == 1

    @lazy
    def reads_amax(self) -> bool:
        """Tell whether the recipe takes the maximum of the tensor."""
        return self.program.reads("tensor_amax")

    @lazy
    def rounding(self) -> Rounding | None:
        """The rounding that draws random integers, if one does."""
        return self.program.drawing

    @lazy
    def stored(self) -> list[LevelFacts]:
        """The levels that come out; one that is the tensor maximum itself does not."""
        return [level for level in self.block.facts.levels if self.program.outputs[level.name] != "tensor_amax"]

    @lazy
    def amax_program(self) -> Program | None:
        """The steps up to the block maximum."""
        return amax_program_of(self.program)

    @lazy
    def layout(self) -> Layout:
        """x, ts, n_valid, r -> codes, levels, amax."""
        return self._columns()

    def whole(self) -> Iterator[Inputs]:
        """The decision space of a bf16 recipe with two levels."""
        if decision.applies(self):
            inputs = "bf16 significands of block and tensor maximum and their exponent gap 0 .. 20, block <= tensor; other lanes drawn"
            told = suites.about(True, inputs, "quantize.decision", SEED)
            yield Inputs("all", told, rows=decision.SIZE, draw=lambda start, stop: decision.cases(self, start, stop))

    def _columns(self) -> Layout:
        ins = [Column("x", "in", self.n * stored_bits(self.source), self.src, self.n)]
        ins += [Column("ts", "in", 32, "fp32", means=TS_MEANS)] if self.reads_amax else []
        ins += [Column("n_valid", "in", 8, means=N_VALID_MEANS)] if self.ragged else []
        if self.rounding is not None:
            shared, bits = self.rounding.random_operand
            lanes = self.n // shared
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

    def form(self, result: Format) -> Form:
        """x and what goes with it -> levels, codes."""
        levels = {level.name: get("format", level.format) for level in self.block.facts.levels}  # outermost first
        drawing: Rounding | None = self.rounding
        present = (self.reads_amax, drawing is not None, takes_signs(self.recipe))
        extras = tuple(name for name, here in zip(EXTRAS, present, strict=True) if here)
        formats: dict[str, Format | None] = {"tensor_amax": get("format", "fp32")}
        operands = {"x": self.source} | {name: formats.get(name) for name in extras}
        return QuantizeForm(self, operands, {**levels, "codes": get("format", self.block.element_formats[0])}, drawing, self.block, extras)

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
            used = -(-width // self.rounding.random_operand[0])
            drawn = [list(integers[row * per_row : row * per_row + used]) for row in range(self.rows)]
        return matrix, named.get("ts"), drawn

    def cover(self) -> QuantizeCover:
        """The axes of spec/coverage/quantize.yaml."""
        return QuantizeCover(self)

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
        """numpy and the C reference give codes and levels, numpy the block maximum where it is plain."""
        table: dict[str, Batch] = {"numpy": lambda rows: self.batch(rows, self.numpy, stages=True)}
        if native() is not None:
            table["c_ref"] = lambda rows: self.batch(rows, self.c_ref, stages=False)
        return present(table)

    def numpy(self, stacked: Any, amax: int | None, drawn: Any) -> tuple[Lists, dict[str, Lists]]:
        """Quantize stacked tiles through the NumPy engine."""
        found = numpy_quantize(self.recipe, stacked, self.source, tensor_amax=amax, random=drawn, masked=True)
        codes = unmarked(found.codes, get("format", self.block.element_formats[0]))
        return codes, {level.name: unmarked(found.levels[level.name], get("format", level.format)) for level in self.stored}

    def c_ref(self, stacked: Any, amax: int | None, drawn: Any) -> tuple[Lists, dict[str, Lists]]:
        """Quantize stacked tiles through the C reference."""
        from emu.engines.c_ref.block import quantize_with_open

        found, is_open = quantize_with_open(self.recipe, stacked, self.source, tensor_amax=amax, random=drawn)
        levels = {level.name: marked(found.levels[level.name], is_open.levels[level.name]) for level in self.stored}
        return marked(found.codes, is_open.codes), levels

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

    def trace(self, values: Values, lane: int = 0) -> Any:
        """Every step of the recipe."""
        return trace_quantize(self, values, lane)

    def deviations(self) -> Iterator[Deviation]:
        """The recipe with one step rounded another way, then with one rule of an axis applied."""
        seen = {self.recipe.facts_digest}
        for text, stage, recipe in (*_rounded(self.recipe), *_ruled(self.recipe)):
            if recipe.facts_digest not in seen:
                seen.add(recipe.facts_digest)
                yield Deviation(text, stage, replace(self, recipe=recipe).exact)
        yield from self.wrong_steps()

    def _given(self, rows: Sequence[Values]) -> Cells | None:
        """Return what rows hand in, a row of the suite a panel."""
        cases = [self.taken(values) for values in rows]
        x = np.zeros((len(rows), self.rows, self.columns), integer_dtype(self.source))
        for number, (matrix, _, _) in enumerate(cases):
            x[number, :, : len(matrix[0])] = matrix
        shape = (len(rows), *self.cells)
        cells: Cells = {"x": to_fp32(x, self.source).reshape(shape)}
        if self.reads_amax:
            cells["tensor_amax"] = np.array([amax for _, amax, _ in cases], np.uint32).view(np.float32).reshape(-1, 1, 1, 1)
        if self.rounding is not None:
            drawn = np.zeros(x.shape, np.uint32)
            for number, (matrix, _, integers) in enumerate(cases):
                wide = len(matrix[0])
                words = np.array(integers, np.uint32)
                each = element_random(words, self.rounding, (self.rows, wide))
                assert each is not None
                drawn[number, :, :wide] = each.reshape(self.rows, wide)
            cells["random"] = drawn.reshape(shape)
        return cells

    def _read(self, cells: Mapping[str, Any], rows: Sequence[Values]) -> list[Answer | None]:
        """Return the answers of rows; lanes that the contract leaves open stay open."""
        plain = self._plain(tuple(rows))
        found = [lanes_of(cells, self.program, "codes", (self.rows, self.columns))]
        names = [column.name for column in self.layout.columns if column.role == "out"][1:]
        parts = {level.name: level_parts(level, self.block) for level in self.stored}
        found += [lanes_of(cells, self.program, name, parts[name]) for name in names]
        out: list[Answer | None] = []
        for number, answer in enumerate(plain):
            changed = [
                tuple(code if known >= 0 else OPEN for code, known in zip(lanes[number], right, strict=True))
                for lanes, right in zip(found, answer or (), strict=False)
            ]
            out.append(tuple(changed) if answer is not None else None)
        return out

    def _plain(self, rows: tuple[Values, ...]) -> list[Answer | None]:
        """Return the right answers of the rows that were asked last."""
        if self._last[0] != rows:
            self._last[:] = [rows, self.batch(rows, self.numpy, stages=False)]
        found: list[Answer | None] = self._last[1]
        return found

    @lazy
    def _last(self) -> list[Any]:
        return [(), []]

    @classmethod
    def replay(cls, thing: SpecObject, example: Any) -> str | None:
        """Return None where a worked example of a recipe holds, else what came out instead."""
        assert isinstance(thing, Recipe)
        block: Block = get("block", thing.facts.block)
        element, source = get("format", block.element_formats[0]), get("format", example.source)
        rows, columns = block.facts.shape
        x = split(example.x, source)
        width = columns if rows > 1 else len(x)
        draws = None if example.random is None else _draws(example.random, thing)
        amax = None if example.tensor_amax is None else int(example.tensor_amax, 16)
        random = None if draws is None else _fold(draws, len(draws) // max(len(x) // width, 1))
        found = quantize(thing, _fold(x, width), source, tensor_amax=amax, random=random)
        fault = compare_codes("codes", _flat(found.codes), split(example.codes, element))
        for name, text in example.levels.items():
            level = next(item for item in block.facts.levels if item.name == name)
            fault = fault or compare_codes(name, _flat(found.levels[name]), split(text, get("format", level.format)))
        for profile, text in example.values.items():
            values = dequantize(thing, found.codes, found.levels, profile=profile)
            fault = fault or compare_codes(f"values of {profile}", _flat(values), split(text, get("format", thing.facts.arithmetic.to)))
        return fault

    def described(self) -> dict[str, Any]:
        """Tail rule, arithmetic and domain."""
        facts = self.recipe.facts
        sr = (
            {"bits": self.rounding.random_bits, "op": self.rounding.facts.add, "source": "per_element"}
            if self.rounding is not None
            else None
        )
        return {"rounding": facts.arithmetic.round, "subnormals_in": "keep", "subnormals_out": "keep", "sr": sr}


# Deviations of a quantizer: one step rounded another way, and every rule of the axes that kernels differ on, applied alone.


MODES = ("rne", "rz", "rna", "ru", "rd")


def _rounded(recipe: Recipe) -> Iterator[tuple[str, str, Recipe]]:
    facts = recipe.facts
    for number, step in enumerate(facts.steps):
        if not hasattr(step, "round"):
            continue
        mine = step.round or facts.arithmetic.round
        for mode in MODES:
            if mode != mine:
                steps = (*facts.steps[:number], step.model_copy(update={"round": mode}), *facts.steps[number + 1 :])
                changed = recipe.model_copy(update={"facts": facts.model_copy(update={"steps": steps})})
                name = getattr(step, "out", "")
                try:
                    quantize_program(changed)
                except EmuError:
                    continue
                yield f"step {name} ({step.op}) rounds {mode}, not {mine}", f"step {name}", changed


def _ruled(recipe: Recipe) -> Iterator[tuple[str, str, Recipe]]:
    base = Variant(recipe, recipe.id)
    for stage, found in (("scale", scale_variants(base)), ("codes", code_variants(base))):
        yield from ((item.changes[0][1], stage, item.recipe) for item in found if item.changes)


# Worked examples of recipes: one tensor each, by the exact engine: codes, levels, and values of the profiles.


def _draws(text: str, recipe: Recipe) -> list[int]:
    """Return the random integers of a hex string: as many digits each as the recipe's rounding draws bits (or has in its word)."""
    rounding = quantize_program(recipe).drawing
    assert rounding is not None
    digits = -(-rounding.random_operand[1] // 4)
    packed = text.replace(" ", "")
    return [int(packed[start : start + digits], 16) for start in range(0, len(packed), digits)]


def _fold(items: list[int], width: int) -> list[list[int]]:
    return [items[start : start + width] for start in range(0, len(items), width)]


def _flat(rows: list[list[int]]) -> list[int]:
    return [code for row in rows for code in row]
