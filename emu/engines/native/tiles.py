"""A recipe program as steps on tiles side by side, or None. No recipe is named here: every program without draws, rotations and maxima of
whole rows whose steps the kernel has gets it. Programs of the shape of program.py take its faster kernel first.

Codes of signed float formats are computed by arithmetic where that equals the C reference on every bf16 number and beside every decision
point: it rounds binary32 numbers as they are, so nothing between those points differs. Other casts go through tables over bf16.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from emu.base.caches import Cache
from emu.base.errors import EngineError
from emu.engines.c_ref.call import Codes, code_dtype
from emu.engines.c_ref.convert import convert_with_open
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.convert import BEST_FORM, address, check, workspace
from emu.engines.native.program import KernelPlanBuilder
from emu.engines.native.steps import EVERY_BF16, NAN, Unable, require
from emu.engines.native.tables import decides_by_bf16, decode_table, source_of, table_of
from emu.spec import derive, digest
from emu.spec.ieee import binary_format, direction, is_binary32, is_nearest_even, is_single, is_within
from emu.spec.models import Format, Recipe
from emu.spec.models.format import FloatFacts, IntegerFacts
from emu.spec.one_table import values_and_middles
from emu.spec.programs.program import Program, cast_entry, quantize_program
from emu.spec.programs.steps import OPERATIONS
from emu.spec.programs.types import TENSOR, Argument, Constant, Extent, Instruction, extent_of
from emu.spec.registry import get

MOST_ROWS: Final = 1024  # of a name of a tile: 256 KiB
TOWARD: Final = {"rne": lib.EMU_TO_EVEN, "rz": lib.EMU_TO_ZERO, "rna": lib.EMU_TO_AWAY}
ORDER: Final = {"sequential": lib.EMU_ADDS_IN_TURN, "halves": lib.EMU_ADDS_IN_HALVES, "tree": lib.EMU_ADDS_AS_TREE}
NARROW: Final = {"mul": lib.EMU_STEP_MUL_BF16, "div": lib.EMU_STEP_DIV_BF16}
INFINITY: Final = 0x7F800000


@dataclass
class TilePlan:
    """An emu_tile_plan and the memory it points into.

    constants: row of the room -> binary32 bits.   amax: the row of tensor_amax, -1: nothing reads it.
    parts: names of the levels that the kernel writes, after the codes.   tensor: level of the tensor -> row.
    """

    program: Program
    pointer: Any
    rows: int
    constants: dict[int, int]
    amax: int
    parts: list[str]
    tensor: dict[str, int]
    memory: list[Any] = field(default_factory=list)


_plans: Cache[str, TilePlan | None] = Cache("emu.engines.native.tiles._plans", 512)


def tile_plan_of(recipe: Recipe) -> TilePlan | None:
    """Return the plan of a recipe, or None where the kernel cannot do it. Raises: SpecError (a bad program)."""
    key = digest(recipe)
    if key not in _plans:
        try:
            _plans[key] = _TileBuilder(quantize_program(recipe)).tile_plan()
        except (Unable, EngineError):  # also a format or a rounding that the C reference does not take
            _plans[key] = None
    return _plans[key]


class _TileBuilder(KernelPlanBuilder):
    """Names to rows of a room, instructions to steps on them."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        rows, columns = program.block.facts.shape
        self.shape = rows, columns
        self.marked: set[str] = set()

    def tile_plan(self) -> TilePlan:
        """Return the plan. Raises: Unable."""
        program = self.program
        require(is_binary32(program.arithmetic) and program.drawing is None and self.rotated is None)
        rows, columns = self.shape
        require(rows * columns <= MOST_ROWS and columns <= lib.EMU_TILE_TERMS)
        items = self.shortened(self.live())
        once = [item for item in items if item.type.extent == TENSOR]
        steps = [item for item in items if item.type.extent != TENSOR]
        made = {item.out: self.tile_step(item) for item in (*once, *steps)}
        place = self.placed(once, steps)
        for item in items:
            step = made[item.out]
            own = step.step
            own.out, step.rows = place[self.registers[item.out]], self.rows_of(item.type.extent)
            for k in range(4):
                arg = item.args[k if k < len(item.args) else 0]
                inner = self.rows_of(self.extent(arg))
                own.args[k] = place[own.args[k]]
                reduces = item.op in ("amax", "sum")
                step.terms = max(step.terms, inner // step.rows if reduces else 1)
                step.shift[k] = 0 if reduces else self.shift(step.rows, inner)
            require(step.terms <= lib.EMU_TILE_TERMS)
        return self.finished(place, [made[item.out] for item in once], [made[item.out] for item in steps])

    def live(self) -> list[Instruction]:
        """Return the steps that the outputs come from, in order. Raises: Unable for an operation that may refuse a value."""
        wanted, kept = set(self.program.outputs.values()), list[Instruction]()
        for item in reversed(self.program.instructions):
            require(not OPERATIONS[item.op].may_refuse)
            if item.out in wanted:
                kept.append(item)
                wanted |= {arg for arg in item.args if isinstance(arg, str)}
        return kept[::-1]

    def shortened(self, items: list[Instruction]) -> list[Instruction]:
        """Return the steps without clamps that only a cast reads and that change none of its codes: those at the ends of its format."""
        read = Counter([*(arg for item in items for arg in item.reads), *self.program.outputs.values()])
        by_name, source = {item.out: item for item in items}, dict[Argument, Argument]()
        for item in items:
            chain, arg = list[Instruction](), item.args[0] if item.op == "cast" else ""
            while isinstance(arg, str) and read[arg] == 1 and arg in by_name and _is_unary(by_name[arg]):
                chain.insert(0, by_name[arg])
                arg = chain[0].args[0]
            clamps = dict[Argument, Argument]()
            for each in chain:
                if each.op == "clamp":
                    clamps[each.out] = clamps.get(each.args[0], each.args[0])
            if clamps and self.saturates(item, chain, clamps):
                source |= clamps
        return [_reading(item, source) for item in items if item.out not in source]

    def saturates(self, cast: Instruction, chain: list[Instruction], clamps: dict[Argument, Argument]) -> bool:
        """Tell whether a cast after a chain of unary steps gives the same codes without the clamps, wherever one of them may change."""
        step = _TileBuilder(self.program).kernel_step(cast)
        if step.operation not in (lib.EMU_STEP_CAST_SIGNED, lib.EMU_STEP_CAST_INTEGER):
            return False
        assert cast.to is not None
        inputs = _near(cast.to, [arg.bits for each in chain for arg in each.args if isinstance(arg, Constant)])
        first, shorter = chain[0].args[0], [_reading(each, clamps) for each in chain if each.out not in clamps]
        return np.array_equal(run_one(step, self.after(chain, first, inputs)), run_one(step, self.after(shorter, first, inputs)))

    def extent(self, arg: str | Constant) -> Extent:
        """Return where an argument lives."""
        return TENSOR if isinstance(arg, Constant) else self.program.types[arg].extent

    def rows_of(self, extent: Extent) -> int:
        """Return how many values a tile has at an extent. Raises: Unable (more than a tile shares one; parts of several rows)."""
        if extent == TENSOR:
            return 1
        rows, columns = self.shape
        require(0 < extent.rows <= rows and 0 < extent.columns <= columns and not rows % extent.rows and not columns % extent.columns)
        require(extent.rows == 1 or extent == Extent(rows, columns))
        return (rows // extent.rows) * (columns // extent.columns)

    def shift(self, rows: int, inner: int) -> int:
        """Return by how many bits the number of a row is shifted to that of its argument. Raises: Unable (no power of two)."""
        if inner == 1:
            return 30
        times = rows // inner
        require(rows == times * inner and not times & (times - 1))
        return times.bit_length() - 1

    def argument(self, arg: Any) -> int:
        """Return the number of an argument."""
        return super().argument(arg) if isinstance(arg, Constant) else self.register(arg)

    def placed(self, once: list[Instruction], steps: list[Instruction]) -> dict[int, int]:
        """Return number -> first row: what is read for the last time gives its rows to a later step of the same size."""
        place, used = dict[int, int](), 0
        for output in self.program.outputs.values():
            self.argument(output)  # also what no step reads: a constant, the maximum of the tensor
        lasting = [*self.constants.values(), *(self.registers[item.out] for item in once)]
        lasting += [self.registers[name] for name in ("tensor_amax",) if name in self.registers]
        for number in lasting:
            place[number], used = used, used + 1
        last = {arg: k for k, item in enumerate(steps) for arg in item.args if isinstance(arg, str)}
        last |= dict.fromkeys(self.program.outputs.values(), len(steps))
        free: dict[int, list[int]] = {}
        self.register("x")
        for k, name in enumerate(["x", *(item.out for item in steps)], -1):
            rows = self.rows_of(self.program.types[name].extent)
            spare = free.setdefault(rows, [])
            place[self.registers[name]] = spare.pop() if spare else used
            used = max(used, place[self.registers[name]] + rows)
            ended = {arg for arg in steps[k].args if isinstance(arg, str) and last[arg] == k} if k >= 0 else set[str]()
            for arg in sorted(ended):
                if self.registers[arg] not in lasting:
                    free.setdefault(self.rows_of(self.program.types[arg].extent), []).append(place[self.registers[arg]])
        self.room_rows = used
        return place

    def finished(self, place: dict[int, int], once: list[Any], steps: list[Any]) -> TilePlan:
        """Fill in the emu_tile_plan."""
        program, out = self.program, ffi.new("emu_tile_plan *")
        (out.rows, out.columns), out.room_rows, out.x = self.shape, self.room_rows, place[self.registers["x"]]
        arrays = [ffi.new("emu_tile_step[]", [step[0] for step in part]) if part else ffi.NULL for part in (once, steps)]
        self.memory += [*arrays, *once, *steps]
        out.once, out.once_count, out.steps, out.step_count = arrays[0], len(once), arrays[1], len(steps)
        names, tensor = list[str](), dict[str, int]()
        codes = program.outputs["codes"]
        self.part(out, 0, place[self.registers[codes]], Extent(1, 1), program.types[codes].extent, 1)
        for level in program.block.facts.levels:
            output, extent = program.outputs[level.name], extent_of(level.granularity, program.block)
            row = place[self.argument(output)]
            if extent == TENSOR:
                tensor[level.name] = row
                continue
            names.append(level.name)
            require(len(names) < lib.EMU_TILE_PARTS)
            width = np.dtype(code_dtype(get("format", level.format))).itemsize
            self.part(out, len(names), row, extent, self.extent(output), width)
        out.part_count = 1 + len(names)
        constants = {place[number]: bits for bits, number in self.constants.items()}
        amax = place[self.registers["tensor_amax"]] if "tensor_amax" in self.registers else -1
        return TilePlan(program, out, self.room_rows, constants, amax, names, tensor, self.memory)

    def part(self, out: Any, number: int, row: int, extent: Extent, inner: Extent, width: int) -> None:
        """Fill in what comes out of a tile at an extent. inner: where its value lives.   width: bytes."""
        require(width in (1, 4))
        rows, columns = self.shape
        part, count = out.parts[number], self.rows_of(extent)
        part.row, part.rows, part.columns, part.bytes = row, rows // extent.rows, columns // extent.columns, width
        part.shift = self.shift(count, self.rows_of(inner))

    def tile_step(self, item: Instruction) -> Any:
        """Return an instruction as an emu_tile_step whose registers are numbers. Raises: Unable."""
        out = ffi.new("emu_tile_step *")
        out.step, out.terms = self.kernel_step(item)[0], 1
        if item.op == "select" and self.marked.intersection(item.args):
            self.marked.add(item.out)
        return out

    def kernel_step(self, item: Instruction) -> Any:
        """Return an instruction as an emu_kernel_step."""
        args = [self.argument(arg) for arg in item.args]
        out = ffi.new("emu_kernel_step *", {"out": self.register(item.out), "args": (args + args[:1] * 4)[:4]})
        if item.op == "amax":
            out.operation, out.variant = lib.EMU_STEP_AMAX, NAN[item.step.nan]
        elif item.op == "sum":
            require(is_single(item.to, item.rounding) and item.step.order in ORDER)
            out.operation, out.variant = lib.EMU_STEP_SUM, ORDER[item.step.order]
        elif item.op in NARROW and not is_single(item.to, item.rounding):
            require(_is_bf16(item))
            out.operation = NARROW[item.op]
        elif item.op == "round":
            self.round(out, item)
        elif item.op == "cast":
            self.cast(out, item)
        elif item.op == "decode":
            self.decode(out, item)
        elif item.op == "nearest":
            self.nearest(out, item)
        elif item.op == "clamp" and all(isinstance(arg, Constant) and arg.bits & 0x7FFFFFFF <= INFINITY for arg in item.args[1:]):
            require(item.step.nan == "propagate")
            out.operation = lib.EMU_STEP_CLAMP_NUMBERS
        elif item.op == "select" and item.type.is_code:
            out.operation, out.variant = lib.EMU_STEP_SELECT, self.variant(item)
        else:
            return super().step(item)
        return out

    def round(self, out: Any, item: Instruction) -> None:
        """A number on the grid of a format: bf16 as IEEE 754 has it, or a grid without an end."""
        assert item.to is not None and item.rounding is not None
        facts = item.to.facts
        require(is_nearest_even(item.rounding) and isinstance(facts, FloatFacts))
        assert isinstance(facts, FloatFacts)
        if _is_bf16(item) and item.step.overflow != "none":
            out.operation = lib.EMU_STEP_ROUND_BF16
            return
        require(item.step.overflow == "none" and _is_plain(facts) and is_within(item.to, self.program.arithmetic))
        out.operation, out.frac_bits, out.bias = lib.EMU_STEP_ROUND_GRID, facts.frac_bits, facts.bias

    def cast(self, out: Any, item: Instruction) -> None:
        """By arithmetic where that is right, else by a table; a NaN without a code is open."""
        assert item.to is not None and item.rounding is not None
        entry, facts = cast_entry(item), item.to.facts
        bits, toward = derive.codes(item.to).bits, direction(item.rounding)
        if isinstance(facts, FloatFacts) and derive.codes(item.to).sign_bit and bits <= 8 and _is_plain(facts) and toward in TOWARD:
            out.operation, out.variant = lib.EMU_STEP_CAST_SIGNED, TOWARD[str(toward)]
            out.frac_bits, out.bias, out.largest, out.sign_bit = facts.frac_bits, facts.bias, derive.codes(item.to).max_code, bits - 1
            if entry.overflow == "wrap":
                require(is_nearest_even(item.rounding))
                out.variant, out.wraps = lib.EMU_TO_EVEN_WRAPPED, (1 << bits) - 1
            if self.computes(out, item, entry.nan):
                return
        if (
            isinstance(facts, IntegerFacts)
            and derive.is_twos_complement(item.to)
            and bits <= 8
            and not facts.unit_exp
            and is_nearest_even(item.rounding)
        ):
            out.operation, out.sign_bit, out.largest = lib.EMU_STEP_CAST_INTEGER, bits - 1, derive.codes(item.to).max_code
            out.emax = out.largest + 1
            if self.computes(out, item, entry.nan):
                return
        require(decides_by_bf16(item.to, item.rounding, entry))
        table, every = table_of(get("format", "bf16"), item.to, item.rounding, entry), EVERY_BF16 & np.uint32(0x7FFFFFFF)
        marked = table > 0xFF
        if not marked.any():
            found = super().step(item)
            out[0] = found[0]
            return
        require(np.array_equal(marked, every > INFINITY))
        out.operation, out.codes = lib.EMU_STEP_CAST_OPEN, self.hold("uint8_t[]", table.astype(np.uint8))
        self.marked.add(item.out)

    def computes(self, out: Any, item: Instruction, nan: tuple[int, ...]) -> bool:
        """Tell whether a cast goes by arithmetic; then it is whole, with the code of NaN, or a mark where that is open."""
        is_open = any(code < 0 for code in nan)
        out.nan = lib.EMU_TILE_OPEN if is_open else nan[0]
        if not self.agrees(out, item):
            return False
        if is_open:
            self.marked.add(item.out)
        return True

    def agrees(self, step: Any, item: Instruction) -> bool:
        """Tell whether a cast by arithmetic equals the C reference on every bf16 number and beside every decision point."""
        assert item.to is not None and item.rounding is not None
        inputs = _near(item.to)
        codes, unanswered = convert_with_open(inputs, get("format", "fp32"), item.to, item.rounding, cast_entry(item))
        wanted = np.where(unanswered != 0, np.uint32(lib.EMU_TILE_OPEN), codes.astype(np.uint32))
        return np.array_equal(run_one(step, inputs), wanted)

    def decode(self, out: Any, item: Instruction) -> None:
        """By arithmetic where that gives the table, else by the table; what is open is NaN."""
        assert item.to is not None
        require(derive.codes(item.to).bits <= 8 and is_within(item.to, self.program.arithmetic))
        values, facts, codes = decode_table(item.to), item.to.facts, np.arange(1 << derive.codes(item.to).bits, dtype=np.uint32)
        if isinstance(facts, FloatFacts) and derive.codes(item.to).sign_bit and _is_plain(facts):
            out.operation, out.frac_bits, out.bias = lib.EMU_STEP_DECODE_SIGNED, facts.frac_bits, facts.bias
            out.sign_bit = derive.codes(item.to).bits - 1
            if np.array_equal(run_one(out, codes), values[: codes.size]):
                return
        if isinstance(facts, IntegerFacts) and derive.is_twos_complement(item.to):
            out.operation, out.sign_bit = lib.EMU_STEP_DECODE_INTEGER, derive.codes(item.to).bits - 1
            if np.array_equal(run_one(out, codes), values[: codes.size]):
                return
        if item.args[0] in self.marked:
            out.operation, out.values = lib.EMU_STEP_DECODE_OPEN, self.hold("uint32_t[]", values)
            return
        found = super().step(item)
        out[0] = found[0]

    def nearest(self, out: Any, item: Instruction) -> None:
        """The first code with the least rounded error, of those with finite values."""
        assert item.to is not None
        require(is_single(self.program.arithmetic, item.rounding) and derive.codes(item.to).bits <= 8)
        values = decode_table(item.to)[: 1 << derive.codes(item.to).bits]
        finite = np.flatnonzero(values & 0x7FFFFFFF < INFINITY)
        half = values.size // 2
        if derive.codes(item.to).sign_bit == half and values[0] == 0 and np.array_equal(values[half:], values[:half] ^ np.uint32(1 << 31)):
            out.sign_bit, finite = half.bit_length() - 1, finite[finite < half]
        out.operation, out.largest = lib.EMU_STEP_NEAREST, finite.size
        out.values, out.codes = self.hold("uint32_t[]", values[finite]), self.hold("uint8_t[]", finite.astype(np.uint8))


def _near(fmt: Format, ends: Sequence[int] = ()) -> Codes:
    """Return bits of every bf16 number and, of both signs, of those beside decision points, powers of two and `ends`."""
    values, middles = values_and_middles(fmt, "inf")  # the first number beyond the largest too
    points = np.array([float(abs(point)) for point in sorted(values | middles)], np.float64).astype(np.float32).view(np.uint32)
    points = np.concatenate([points, np.array(ends, np.uint32) & np.uint32(0x7FFFFFFF)])
    beyond = np.array([float(2**k) for k in range(-2, 12)], np.float32).view(np.uint32)
    near = np.concatenate([np.concatenate([points, beyond]) + np.uint32(k) for k in (0, 1, 2)] + [points[points > 0] - np.uint32(1)])
    return np.concatenate([EVERY_BF16, near, near | np.uint32(1 << 31)])


def _is_unary(item: Instruction) -> bool:
    """Tell whether a step changes numbers of one name to constants: a clamp, or a selection."""
    others = item.args[1:]
    if item.op == "select" and item.args[2:] == item.args[:1]:
        others = others[:1]
    return item.op in ("clamp", "select") and all(isinstance(arg, Constant) for arg in others)


def _reading(item: Instruction, source: dict[Argument, Argument]) -> Instruction:
    """Return a step that reads what clamps clamp in their place."""
    return replace(item, args=tuple(source.get(arg, arg) for arg in item.args))


def _is_plain(facts: FloatFacts) -> bool:
    """Tell whether numbers of a format have subnormal ones and exponents that the arithmetic of the kernel takes."""
    return facts.subnormals == "yes" and facts.bias >= 0 and facts.bias + facts.frac_bits <= 126 and facts.frac_bits <= 22


def _is_bf16(item: Instruction) -> bool:
    return item.to is not None and item.rounding is not None and binary_format(item.to) == "bfloat16" and is_nearest_even(item.rounding)


def run_one(step: Any, inputs: Codes) -> Codes:
    """Return what one emu_kernel_step of one argument gives for binary32 bits or codes."""
    rows = -(-inputs.size // lib.EMU_ACROSS)
    room = np.zeros((2 * rows, lib.EMU_ACROSS), np.uint32)
    room.reshape(-1)[: inputs.size] = inputs
    own = ffi.new("emu_tile_step *", {"step": step[0], "rows": rows, "terms": 1})
    own.step.out, own.step.args = rows, [0, 0, 0, 0]
    check(lib.emu_run_tiles(BEST_FORM, own, 1, 2 * rows, ffi.from_buffer("uint32_t[]", room)))
    found: Codes = room[rows:].reshape(-1)[: inputs.size]
    return found


def fill(
    plan: TilePlan, memory: Codes, source: Format, transposed: bool, amax: int, form: int, place: Codes | None
) -> tuple[Codes, dict[str, Codes], int]:
    """Call the kernel on a matrix in memory order that is padded to whole tiles; return codes, levels and whether a code is open."""
    block = plan.program.block
    height, width = memory.T.shape if transposed else memory.shape
    rows, columns = block.facts.shape
    out: Codes = np.empty(memory.shape, np.uint8) if place is None else place
    levels = dict[str, Codes]()
    for level in block.facts.levels:
        extent = extent_of(level.granularity, block)
        shape = (1, 1) if level.name in plan.tensor else (height // extent.rows, width // extent.columns)
        levels[level.name] = np.empty(shape[::-1] if transposed else shape, code_dtype(get("format", level.format)))
    room = workspace(plan.rows * lib.EMU_ACROSS, np.uint32).reshape(plan.rows, lib.EMU_ACROSS)
    for row, bits in plan.constants.items():
        room[row] = bits
    if plan.amax >= 0:
        room[plan.amax] = amax
    targets = ffi.new("void *[]", [address(array) for array in (out, *(levels[name] for name in plan.parts))])
    marks, size = ffi.new("uint8_t *"), (height // rows, width // columns, transposed)
    own = ffi.from_buffer("uint32_t[]", room)
    check(lib.emu_quantize_tiles(form, plan.pointer, source_of(source), address(memory), *size, targets, own, marks))
    for name, row in plan.tensor.items():
        bits = int(room[row, 0])
        levels[name][0, 0] = 0x7FC00000 if bits & 0x7FFFFFFF > INFINITY else bits
    return out, levels, int(marks[0])
