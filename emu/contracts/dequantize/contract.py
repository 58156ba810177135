"""dequantize: element codes and levels of one block or tile -> values, rounded as a recipe's profile says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, Self

import numpy as np

from emu.base.caches import lazy
from emu.base.errors import EmuError, OpenError
from emu.base.philox import stream_of, words
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.contract import Batch, Contract, Deviation, Values, array_of, entry, native, present, stored_bits
from emu.contracts.dequantize import cases
from emu.contracts.drawn import ELEMENTS, WIDTH
from emu.contracts.examples import compare, split
from emu.contracts.form import Arrays, Asked, Bits, Expected, Form, Question, Shape, chosen_engine, integer_dtype, parts_of
from emu.contracts.program_wires import Cells, Stepped
from emu.contracts.quantize.steps import program_lines, trace_dequantize
from emu.contracts.quantize.tiles import element_format, level_parts
from emu.contracts.quantize.trace import program_steps
from emu.contracts.rows import Answer, Input, pack, unpack
from emu.contracts.shapes import tiles
from emu.contracts.text import code_text
from emu.engines.exact.block import decode_block_value, dequantize
from emu.engines.exact.encode import code_of_one
from emu.engines.numpy.convert import convert_marked, to_fp32
from emu.engines.run import run_dequantize
from emu.spec import derive
from emu.spec.contract import ContractName
from emu.spec.derive import OPEN
from emu.spec.models import Block, Format, Recipe, SpecObject
from emu.spec.models.block import LevelFacts
from emu.spec.models.common import digest_json
from emu.spec.programs.program import Program, dequantize_program
from emu.spec.programs.types import extent_of
from emu.spec.registry import digest, get

Levels = dict[str, list[list[int]]]


FIRST_RECIPES: Final = ("mxfp4_te_pow2", "nvfp4_torchao_1level")


@dataclass(frozen=True, eq=False)
class DequantizeContract(Stepped, Contract):
    """dequantize/<recipe>/<profile> to one result format, a tile a row."""

    recipe: Recipe
    profile: str
    result: Format
    opens = "result"
    formats = ("fp32", "bf16", "fp16")
    examples: ClassVar[tuple[str, ...]] = ("block",)
    chooser: ClassVar[Any] = cases
    smoke = 10

    @classmethod
    def of(cls, name: ContractName, given: str = "") -> Self:
        """Return the contract of a name. given: id of the result format, fp32 unless told."""
        recipe: Recipe = get("recipe", name.parts[0])
        profile, result = name.parts[1], get("format", given or "fp32")
        block = dequantize_program(recipe, profile).block
        return cls(name, block.id, result.id, f"{recipe.id}_{profile}", recipe, profile, result)

    @classmethod
    def precedence(cls, name: ContractName) -> tuple[Any, ...]:
        """Those first whose rows were published first: their files keep their names."""
        return (name.parts[0] not in FIRST_RECIPES, *super().precedence(name))

    @classmethod
    def sameness(cls, name: ContractName) -> Any:
        """The block, the arithmetic and the steps of the profile."""
        recipe: Recipe = get("recipe", name.parts[0])
        facts = recipe.facts_json()
        steps = digest_json([facts["arithmetic"], facts["dequantize"][name.parts[1]]])
        return (name.op, digest(get("block", recipe.facts.block)), steps)

    @lazy
    def program(self) -> Program:
        """The steps of the profile."""
        return dequantize_program(self.recipe, self.profile)

    @lazy
    def levels(self) -> list[LevelFacts]:
        """The levels, that of the tensor last."""
        return sorted(self.block.facts.levels, key=lambda item: item.granularity == "tensor")

    @lazy
    def layout(self) -> Layout:
        """codes, levels (the tensor level last, named ts) -> y."""
        return self._columns()

    def _columns(self) -> Layout:
        n = self.rows * self.columns
        element: Format = get("format", self.block.element_formats[0])
        ins = [Column("codes", "in", n * stored_bits(element), element_format(self.block), n)]
        for level in self.levels:
            fmt: Format = get("format", level.format)
            parts = level_parts(level, self.block)
            count = parts[0] * parts[1]
            name = "ts" if level.granularity == "tensor" else level.name
            means = f"level {level.name}: {level.meaning}" if name == "ts" else None
            ins.append(Column(name, "in", count * stored_bits(fmt), fmt.id, count, means))
        return layout_of([*ins, Column("y", "out", n * derive.codes(self.result).bits, self.dst, n, any_nan=True)])

    def form(self, result: Format) -> Form:
        """codes, levels -> values."""
        levels = {level.name: get("format", level.format) for level in reversed(self.block.facts.levels)}  # innermost first
        return DequantizeForm(self, {"codes": get("format", self.block.element_formats[0]), **levels}, {"values": result}, block=self.block)

    def taken(self, values: Values) -> tuple[list[list[int]], Levels]:
        """Return the code rows and the levels of a case."""
        columns = self.layout.inputs
        lanes = unpack(values[0], columns[0])
        codes = [list(lanes[row * self.columns : (row + 1) * self.columns]) for row in range(self.rows)]
        levels: Levels = {}
        for level, column, value in zip(self.levels, columns[1:], values[1:], strict=True):
            flat, wide = unpack(value, column), level_parts(level, self.block)[1]
            levels[level.name] = [list(flat[at : at + wide]) for at in range(0, len(flat), wide)]
        return codes, levels

    def exact(self, values: Values) -> Answer:
        """Return the values as codes of the result format; OPEN for a level code that nobody knows."""
        codes, levels = self.taken(values)
        try:
            found = dequantize(self.recipe, codes, levels, profile=self.profile, result=self.result)
        except OpenError:
            return ((OPEN,) * (self.rows * self.columns),)
        return (tuple(code for row in found for code in row),)

    def engines(self) -> dict[str, Batch]:
        """numpy and the C reference give y."""
        table: dict[str, Batch] = {"numpy": lambda rows: self.batch(rows, partial(run_dequantize, engine="numpy"))}
        if native() is not None:
            from emu.engines.c_ref.block import dequantize as c_dequantize

            table["c_ref"] = lambda rows: self.batch(rows, c_dequantize)
        return present(table)

    def batch(self, rows: Sequence[Values], engine: Callable[..., Any]) -> list[Answer | None]:
        """Dequantize through an array column, rows of one tensor level together; a row with an open level alone."""
        out: list[Answer | None] = [None] * len(rows)
        batches: dict[tuple[Any, ...], list[int]] = {}
        tensor = [level.name for level in self.levels if extent_of(level.granularity, self.block).rows == 0]
        for extent, values in enumerate(rows):
            _, levels = self.taken(values)
            known = self.known(levels)
            batches.setdefault((*(levels[name][0][0] for name in tensor), -1 if known else extent), []).append(extent)
        for extents in batches.values():
            cases = [self.taken(rows[extent]) for extent in extents]
            codes = array_of([row for rows_of, _ in cases for row in rows_of], get("format", self.block.element_formats[0]))
            stacked = {
                level.name: array_of(
                    cases[0][1][level.name] if level.name in tensor else [row for _, levels in cases for row in levels[level.name]],
                    get("format", level.format),
                )
                for level in self.levels
            }
            try:
                found = engine(self.recipe, codes, stacked, profile=self.profile, result=self.result).tolist()
            except OpenError:
                out[extents[0]] = ((OPEN,) * (self.rows * self.columns),)
                continue
            for number, extent in enumerate(extents):
                out[extent] = (tuple(code for row in found[number * self.rows : (number + 1) * self.rows] for code in row),)
        return out

    def known(self, levels: Levels) -> bool:
        """Tell whether no level code has an unused bit set."""
        return not any(
            code >> derive.codes(get("format", level.format)).bits for level in self.levels for row in levels[level.name] for code in row
        )

    def trace(self, values: Values, lane: int = 0) -> Any:
        """Every step of the profile for one lane, then the value rounded to the result."""
        codes, levels = self.taken(values)
        code = codes[lane // self.columns][lane % self.columns]
        element: Format = get("format", self.block.element_formats[0])
        out = [entry("code", "read", f"lane {lane}", code_text(code, element))]
        out += [entry(name, "read", "levels", " ".join(f"{part:x}" for row in rows for part in row)) for name, rows in levels.items()]
        if not self.known(levels):
            return [*out, entry("y", "decode", f"lane {lane}", "open: a level code has a bit above it set")]
        arrays = {name: np.array(rows, object) for name, rows in levels.items()}
        program, cells = trace_dequantize(self.form(self.result), self.profile, np.array(codes), arrays)
        out += program_steps(program, cells, (self.rows, self.columns), lane)
        return [*out, entry("y", "round", f"lane {lane}", code_text(self.exact(values)[0][lane], self.result))]

    @classmethod
    def replay(cls, thing: SpecObject, example: Any) -> str | None:
        """An element of a block has the value that is written."""
        assert isinstance(thing, Block)
        codes = split(example.codes, get("format", thing.element_formats[0]))
        levels = {name: int(code, 16) for name, code in example.levels.items()}
        return compare(decode_block_value(thing, codes[example.lane], levels), example.value)

    def deviations(self) -> Iterator[Deviation]:
        """A level that is not applied, or whose first code all parts take."""
        for extent, (level, column) in enumerate(zip(self.levels, self.layout.inputs[1:], strict=True), 1):
            one = _code_of_one(get("format", level.format))
            if one is not None:
                ones = pack([one] * column.lanes, column.lane_bits)
                yield Deviation(f"level {level.name} is not applied", level.name, self._with(extent, partial(_fixed, ones)))
            if column.lanes > 1:
                yield Deviation(f"every part takes the first code of {level.name}", level.name, self._with(extent, partial(_first, column)))

        yield from self.wrong_steps()

    def _given(self, rows: Sequence[Values]) -> Cells | None:
        """Return what rows hand in, a row of the suite a panel."""
        cases = [self.taken(values) for values in rows]
        shape = (len(rows), *self.cells)
        cells: Cells = {"codes": array_of([codes for codes, _ in cases], get("format", self.block.element_formats[0])).reshape(shape)}
        for level in self.levels:
            fmt: Format = get("format", level.format)
            known = (1 << derive.codes(fmt).bits) - 1
            tall, wide = level_parts(level, self.block)
            codes = array_of([[code & known for row in levels[level.name] for code in row] for _, levels in cases], fmt)
            part = codes.reshape(len(rows), tall, 1, wide)
            cells[level.name] = part if self.program.given[level.name].is_code else to_fp32(part, self.program.arithmetic)
        return cells

    def _read(self, cells: Mapping[str, Any], rows: Sequence[Values]) -> list[Answer | None]:
        """Return the answers of rows; None where a level code is open."""
        values = np.broadcast_to(cells[self.program.outputs["values"]], (len(rows), *self.cells))
        bits = np.ascontiguousarray(values).view(np.uint32).reshape(-1)
        bits = np.where(np.isnan(bits.view(np.float32)), np.uint32(0x7FC00000), bits)
        to, nearest = self.result, get("rounding", "rne")
        found = bits
        if to.facts_digest != self.program.arithmetic.facts_digest:
            found = convert_marked(bits, self.program.arithmetic, to, nearest, derive.arithmetic_entry(to))
        lanes = found.reshape(len(rows), -1).tolist()
        return [(tuple(row),) if self.known(self.taken(values)[1]) else None for row, values in zip(lanes, rows, strict=True)]

    def _with(self, extent: int, change: Callable[[int], int]) -> Callable[[Values], Answer]:
        """Return the answer to a row with one of its inputs changed."""
        return lambda values: self.exact((*values[:extent], change(values[extent]), *values[extent + 1 :]))

    def described(self) -> dict[str, Any]:
        """Roundings of the profile's steps, then one to the result."""
        unused = any(derive.unused_high_bits(get("format", level.format)) for level in self.levels)
        return {"rounding": "rne", "overflow": "ieee_inf", "zero_sign": "keep", "subnormals_in": "keep", "subnormals_out": "keep",
                "scale_signbit": "open" if unused else None}  # fmt: skip


def _code_of_one(fmt: Format) -> int | None:
    try:
        return code_of_one(fmt)
    except EmuError:
        return None


def _fixed(value: int, _: int) -> int:
    return value


def _first(column: Column, value: int) -> int:
    return pack([unpack(value, column)[0]] * column.lanes, column.lane_bits)


# dequantize on whole arrays: codes [rows, n] and each level by its name -> values [rows, n].


class DequantizeForm(Form):
    """codes, levels -> values."""

    operation: DequantizeContract
    by_row = False

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """One value a code."""
        return {"values": operands["codes"].shape}

    def stacked(self, cases: Sequence[Input]) -> Iterator[tuple[dict[str, Bits], Sequence[Input]]]:
        """Tiles of one tensor level together, one under the other: a case for each row of codes."""
        op = self.operation
        tensor = [level.name for level in op.levels if level.granularity == "tensor"]
        groups: dict[tuple[int, ...], list[tuple[Input, list[list[int]], dict[str, list[list[int]]]]]] = {}
        for case in cases:
            codes, levels = op.taken(case.values)
            groups.setdefault(tuple(levels[name][0][0] for name in tensor), []).append((case, codes, levels))
        for key, members in groups.items():
            operands = {"codes": np.array([row for _, codes, _ in members for row in codes], integer_dtype(self.operands["codes"]))}
            for level in op.levels:
                rows = [row for _, _, levels in members for row in levels[level.name]]
                operands[level.name] = np.array(rows, integer_dtype(self.operands[level.name]))
            for name, code in zip(tensor, key, strict=True):
                operands[name] = np.array(code, integer_dtype(self.operands[name]))
            yield operands, [case for case, codes, _ in members for _ in codes]

    def stratified(self, asked: Asked) -> Iterator[Question]:
        """Random codes and levels in one tensor."""
        tall, wide = self.tile
        width = wide * max(1, WIDTH // wide)
        height = -(-max(asked.count or 0, ELEMENTS) // width // tall) * tall
        yield Question(self.drawn((height, width), asked.key, f"check {self.contract}"), ("stratified",))

    def in_shapes(self, asked: Asked) -> Iterator[Question]:
        """Random codes and levels in tensors of many shapes."""
        return tiles(self, asked, lambda shape, why: self.drawn(shape, asked.key, f"{why} {self.contract}"))

    def drawn(self, shape: tuple[int, int], key: int, stream: str) -> dict[str, Bits]:
        """Return random codes and levels of a shape: numbers of narrow formats, of wide ones within 64 binades."""
        block = self.operation.block
        shapes: dict[str, Shape] = {"codes": shape}
        shapes |= {level.name: parts_of(shape, extent_of(level.granularity, block)) for level in block.facts.levels}
        operands = {}
        for number, (name, each) in enumerate(shapes.items()):
            fmt = self.operands[name]
            assert fmt is not None
            flat, derived = words(key, int(np.prod(each)), 0, stream_of(stream) + number), derive.codes(fmt)
            if name == "codes":
                flat = flat & np.uint32((1 << derived.bits) - 1)
            elif derived.bits <= 16:
                flat = flat % np.uint32(derived.max_code + 1)
            else:
                flat = flat & np.uint32(0x7FFFFF) | (np.uint32(95) + (flat >> np.uint32(23)) % np.uint32(64)) << np.uint32(23)
            operands[name] = flat.astype(integer_dtype(fmt)).reshape(each)
        return operands

    def expect(self, operands: Arrays, engine: str, result: Format, profile: str | None = None, values: bool = False) -> Expected:
        """Return the values; where a level code is open, tile by tile by the exact engine."""
        op, block = self.operation, self.operation.block
        levels = {level.name: operands[level.name] for level in block.facts.levels}
        levels = {name: array.reshape(1, 1) if not array.shape else array for name, array in levels.items()}
        codes = operands["codes"]
        try:
            return Expected({"values": run_dequantize(op.recipe, codes, levels, profile=op.profile, result=result, engine=engine)}, {})
        except OpenError:
            pass
        tall, wide = block.facts.shape
        out, known = np.zeros(codes.shape, integer_dtype(result)), np.ones(codes.shape, bool)
        for top in range(0, codes.shape[0], tall):
            for left in range(0, codes.shape[1], wide):
                extent = (slice(top, top + tall), slice(left, left + wide))
                part = {name: _part(array, codes.shape, extent) for name, array in levels.items()}
                try:
                    out[extent] = dequantize(op.recipe, codes[extent].tolist(), part, profile=op.profile, result=result)
                except OpenError:
                    known[extent] = False
        return Expected({"values": out}, {"values": known})

    def engine(self, operands: Arrays) -> str:
        """The engine that does this profile."""
        return chosen_engine(self.op, (self.operation.recipe, self.operation.profile))

    def steps(self, operands: Arrays, index: tuple[int, ...], name: str = "", profile: str | None = None) -> list[str]:
        """The steps of the profile for one element of a small tensor."""
        levels = {level: array for level, array in operands.items() if level != "codes"}
        program, cells = trace_dequantize(self, self.operation.profile, operands["codes"], levels)
        return list(program_lines(program, cells, index[0], index[1]))


def _part(level: Bits, shape: tuple[int, ...], extent: tuple[slice, slice]) -> list[list[int]]:
    """Return the codes of a level that a rectangle of elements needs."""
    rows, columns = -(-shape[0] // level.shape[0]), -(-shape[1] // level.shape[1])
    rows_of = slice(extent[0].start // rows, -(-extent[0].stop // rows))
    part: list[list[int]] = level[rows_of, extent[1].start // columns : -(-extent[1].stop // columns)].tolist()
    return part
