"""The step interpreter: one small machine for every recipe. A step's exact result is rounded once; places say what is shared."""

from __future__ import annotations

from collections.abc import Mapping

from emu.engines.exact import arithmetic as ar
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.transform import transform_values
from emu.engines.exact.value import NAN, Value
from emu.spec.derive import OPEN
from emu.spec.programs.program import Program, cast_entry
from emu.spec.programs.types import Constant, Extent, Instruction
from emu.spec.registry import get

Cells = dict[tuple[int, int], Value | int]


def cell_of(extent: Extent, row: int, column: int) -> tuple[int, int]:
    """Return which part of a place holds an element."""
    return (row // extent.rows if extent.rows else 0, column // extent.columns if extent.columns else 0)


def run(program: Program, given: Mapping[str, Cells], rows: int, columns: int, signs: int | None = None) -> dict[str, Cells]:
    """Run a program over a whole padded tensor of rows x columns.

    given: name -> cells of its place.   signs: sign mask for transforms that take one.
    Returns: every name -> cells; values, or codes (OPEN where nobody knows).
    """
    # A straight line of steps, each repeated as its granularity says: docs/how_it_works.md#a-recipe-is-a-straight-line-program
    machine = _Machine(program, given, rows, columns, signs)
    for item in program.instructions:
        machine.step(item)
    return machine.cells


class _Machine:
    """The named cells of one run."""

    def __init__(self, program: Program, given: Mapping[str, Cells], rows: int, columns: int, signs: int | None) -> None:
        self.program = program
        self.cells: dict[str, Cells] = dict(given)
        self.rows, self.columns, self.signs = rows, columns, signs

    def corners(self, extent: Extent) -> list[tuple[tuple[int, int], int, int]]:
        """Return (cell, first row, first column) of every part of a place."""
        row_step, column_step = extent.rows or self.rows, extent.columns or self.columns
        starts = [(r, c) for r in range(0, self.rows, row_step) for c in range(0, self.columns, column_step)]
        return [(cell_of(extent, r, c), r, c) for r, c in starts]

    def fetch(self, arg: str | Constant, row: int, column: int) -> Value | int:
        """Return the argument's cell that holds an element."""
        if isinstance(arg, Constant):
            return decode_code(arg.bits, self.program.arithmetic)
        return self.cells[arg][cell_of(self.program.types[arg].extent, row, column)]

    def step(self, item: Instruction) -> None:
        """Run one instruction."""
        extent = item.type.extent
        out: Cells = {}
        if item.op in ("amax", "sum"):
            for cell, row, column in self.corners(extent):
                out[cell] = self.reduce(item, self.group(item, row, column))
        elif item.op == "transform":
            out = self.transform(item)
        else:
            drawn = getattr(item.step, "random", None)
            known: dict[tuple[Value | int | None, ...], Value | int] = {}  # equal arguments have one result: padding and repeated codes
            for cell, row, column in self.corners(extent):
                args = [self.fetch(arg, row, column) for arg in item.args]
                random = self.fetch(drawn, row, column) if drawn else None
                key = (*args, random)
                if key not in known:
                    known[key] = _apply(item, args, random, self.program)
                out[cell] = known[key]
        self.cells[item.out] = out

    def group(self, item: Instruction, row: int, column: int) -> list[Value]:
        """Return the values below one part of a reduction, row-major."""
        arg = item.args[0]
        inner = self.program.types[arg].extent if isinstance(arg, str) else item.type.extent
        last_row = min(row + (item.type.extent.rows or self.rows), self.rows)
        last_column = min(column + (item.type.extent.columns or self.columns), self.columns)
        found = []
        for r in range(row, last_row, inner.rows or self.rows):
            for c in range(column, last_column, inner.columns or self.columns):
                value = self.fetch(arg, r, c)
                assert isinstance(value, Value)
                found.append(value)
        return found

    def reduce(self, item: Instruction, values: list[Value]) -> Value:
        """amax or sum of one group."""
        if item.op == "amax":
            return ar.largest_magnitude_of(values, item.step.nan)
        assert item.to is not None and item.rounding is not None
        return ar.total(values, item.step.order, item.to, item.rounding)

    def transform(self, item: Instruction) -> Cells:
        """Rotate each group of `size` elements of every row."""
        chosen = get("transform", item.step.transform)
        size, out = chosen.facts.size, {}
        for row in range(self.rows):
            for start in range(0, self.columns, size):
                values = [self.fetch(item.args[0], row, start + i) for i in range(size)]
                rotated = transform_values([v for v in values if isinstance(v, Value)], chosen, self.signs)
                out.update({(row, start + i): value for i, value in enumerate(rotated)})
        return dict(out)


def _apply(item: Instruction, args: list[Value | int], random: Value | int | None, program: Program) -> Value | int:
    """Return the result of an elementwise instruction on one cell."""
    op, step = item.op, item.step
    if op == "decode":
        assert isinstance(args[0], int) and item.to is not None
        return NAN if args[0] == OPEN else decode_code(args[0], item.to)
    if op == "select":
        tested = args[:-2]
        values = [value for value in tested if isinstance(value, Value)]
        return args[-2] if ar.holds(step.test, values[0], values[-1] if len(values) > 1 else None) else args[-1]
    values = [value for value in args if isinstance(value, Value)]
    if op == "cast":
        assert item.to is not None and item.rounding is not None
        bits = random if isinstance(random, int) else None
        return convert_value(values[0], item.to, item.rounding, cast_entry(item), bits)
    if op == "nearest":
        assert item.to is not None and item.rounding is not None
        return ar.nearest_code(values[0], values[1], item.to, program.arithmetic, item.rounding)
    if op == "wrap":
        assert item.to is not None
        return ar.wrapped(values[0], item.to)
    if op == "e8m0_rule":
        code = encode_value(values[0], program.arithmetic)
        return ar.e8m0_rule(values[0], step.rule, step.emax or 0, step.frac_bits or 0, code)
    return ar.value_result(item, values, program.arithmetic)
