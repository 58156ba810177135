"""Directed rows of a contract as questions: the cases of the golden suites, stacked into arrays. How they are chosen is in emu.vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from emu.base.errors import OperandError
from emu.base.philox import draw, stream_of
from emu.check.inputs.boundaries import beside_scale_steps
from emu.check.inputs.thresholds import scale_thresholds
from emu.contracts.examples import split
from emu.contracts.form import Bits, Form, Question, draw_bits, integer_dtype
from emu.contracts.grid import code_at
from emu.contracts.quantize.contract import QuantizeContract
from emu.engines.exact.decode import decode_code
from emu.spec import Block, Format, Recipe, derive, get
from emu.strategies import element_maximum

KEY = 1
Tile = tuple[str, list[list[int]], list[list[int]] | None]  # why it is asked, its elements, its own random integers
BINADES_APART = 32  # of blocks beside a scale edge: the reference model judges them
PRECEDENCE = ("nan", "inf", "ragged", "zero_block", "scale_edge", "scale_tie", "tie", "threshold", "step_tie", "overflow", "subnormal")


def why_of(flags: Sequence[str]) -> str:
    """Return the flag that names a row: the most special one of those that it has, else the last."""
    return next((flag for flag in PRECEDENCE if flag in flags), flags[-1])


def directed(form: Form, source: str, takes_amax: bool, multiple: tuple[int, int] = (1, 1)) -> Iterator[Question]:
    """Yield the directed questions of a contract.

    takes_amax: False puts the tensor maximum of a case into the tensor, as an element of a further tile; cases with a smaller one are left
    out.   multiple: rows and columns are padded with zeros to multiples.   Tests: tests/check/test_check_inputs.py.
    """
    if form.op == "quantize":
        yield from _quantize(form, source, takes_amax, multiple)
        return
    cases = form.operation.directed(f"check {form.contract}")
    for operands, members in form.stacked(cases) if cases else ():
        yield Question(operands, tuple(why_of(case.flags) for case in members))


def _quantize(form: Form, source: str, takes_amax: bool, multiple: tuple[int, int]) -> Iterator[Question]:
    """Tiles of one tensor maximum and width together, one under the other."""
    op = QuantizeContract.of(form.contract, source)
    groups: dict[tuple[int | None, int], list[Tile]] = {}
    for why, matrix, amax, drawn in _cases(op):
        carried = amax if takes_amax else _carried(amax, matrix, op)
        groups.setdefault((carried, len(matrix[0])), []).append((why, matrix, drawn))
    for (amax, width), members in groups.items():
        tiles = [members] if takes_amax or amax is not None or not op.reads_amax else [[member] for member in members]
        for part in tiles:
            yield _tiles(form, op, part, amax, width, takes_amax, multiple)
    if not op.reads_amax and op.rounding is None:
        yield _tiles(form, op, _above_powers(op), None, op.columns, takes_amax, multiple)
        beside = beside_scale_steps(form, short=True, every=BINADES_APART)
        if beside is not None:
            rows: list[Tile] = [("scale_edge", [row], None) for row in beside.operands["x"].tolist()]
            yield _tiles(form, op, rows, None, op.columns, takes_amax, multiple)
    yield from scale_thresholds(form, takes_amax, multiple, short=True)


def _cases(op: QuantizeContract) -> Iterator[tuple[str, list[list[int]], int | None, list[list[int]] | None]]:
    """Yield (why, elements, tensor maximum, random integers) of the rows of the golden suites, then of the recipe's worked examples."""
    for case in op.directed(f"check {op.name}"):
        yield why_of(case.flags), *op.taken(case.values)
    for matrix, amax in examples(op.recipe, op.source) if op.rounding is None else ():
        yield "example", matrix, amax, None


def _above_powers(op: QuantizeContract) -> list[Tile]:
    """Return tiles of one element, an ulp above a power of two times the largest element: there an exponent by logarithm is too low."""
    top, found = element_maximum(op.recipe), []
    for exp in range(-120, 121, 4):
        first = code_at(top * Fraction(2) ** exp, op.source) + 1
        if 1 < first < derive.codes(op.source).max_code:
            tile = [[first if not row + lane else 0 for lane in range(op.columns)] for row in range(op.rows)]
            found.append(("scale_rule", tile, None))
    return list({tuple(tile[0]): (why, tile, drawn) for why, tile, drawn in found}.values())


def _carried(amax: int | None, matrix: list[list[int]], op: QuantizeContract) -> int | None:
    """Return the tensor maximum that a further tile can carry: a finite number of the source, not below the case's own; else None."""
    if amax is None:
        return None
    wanted = decode_code(amax, get("format", "fp32"))
    values = [decode_code(code, op.source) for row in matrix for code in row]
    if wanted.kind != "finite" or any(value.kind != "finite" or value.magnitude > wanted.magnitude for value in values):
        return None
    near = code_at(wanted.magnitude, op.source)
    return amax if decode_code(near, op.source).magnitude == wanted.magnitude else None


def _tiles(
    form: Form, op: QuantizeContract, members: list[Tile], amax: int | None, width: int,
    takes_amax: bool, multiple: tuple[int, int],
) -> Question:  # fmt: skip
    rows = [row for _, matrix, _ in members for row in matrix]
    why = [flag for flag, matrix, _ in members for _ in matrix]
    if amax is not None and not takes_amax:
        carrier = code_at(decode_code(amax, get("format", "fp32")).magnitude, op.source)
        rows += [[carrier if not place else 0] + [0] * (width - 1) for place in range(op.rows)]
        why += ["carrier"] * op.rows
    height, wide = -(-len(rows) // multiple[0]) * multiple[0], -(-width // multiple[1]) * multiple[1]
    x = np.zeros((height, wide), integer_dtype(op.source))
    x[: len(rows), :width] = rows
    operands: dict[str, Bits] = {"x": x}
    if takes_amax and op.reads_amax and amax is not None:
        operands["tensor_amax"] = np.array(amax, "u4")
    if op.rounding is not None:
        operands["random"] = _random(form, op, members, x.shape, width)
    if "signs" in form.extras:
        operands["signs"] = np.array(own_signs(form), "u4")
    return Question(operands, tuple(why + ["padding"] * (height - len(rows))))


def _random(form: Form, op: QuantizeContract, members: list[Tile], shape: tuple[int, int], width: int) -> Bits:
    """Return the random operand of stacked tiles: their own integers where one belongs to one element, else drawn words."""
    assert form.draws is not None
    lanes, bits = draw_bits(form.draws)
    if lanes > 1 or shape[1] != width:
        count = -(-shape[0] * shape[1] // lanes)
        drawn = draw(KEY, count, bits, stream_of(str(form.contract))).astype(integer_dtype(None, bits))
        return drawn.reshape(shape) if lanes == 1 else drawn.reshape(1, -1)
    out = np.zeros(shape, integer_dtype(None, bits))
    own = [row for _, _, drawn in members for row in drawn or ()]
    out[: len(own), :width] = own
    return out


def own_signs(form: Form) -> int:
    """Return the sign mask that the transform of a recipe has by itself. Raises: OperandError (the recipe rotates nothing)."""
    recipe = get("recipe", form.contract.parts[0])
    for step in recipe.facts.steps:
        if step.op == "transform":
            return int(get("transform", step.transform).facts.signs, 16)
    raise OperandError(f"{form.contract} rotates nothing")


# Worked examples of a recipe as rows of a suite: blocks that its library was measured on, many of them because other rules part there.


WIDE, NARROW = "fp32", "bf16"  # the wider source holds every code of the narrower in its high bits


def examples(recipe: Recipe, source: Format) -> Iterator[tuple[list[list[int]], int | None]]:
    """Yield (source codes of a whole tile, row by row; tensor maximum as fp32 bits or None) of each worked example that a source can state.

    Left out: worked examples with random integers, with part of a tile, or with elements that are no numbers of the source.
    """
    block: Block = get("block", recipe.facts.block)
    rows, columns = block.facts.shape
    for row in recipe.expect:
        codes = _stated(split(row.x, get("format", row.source)), row.source, source.id)
        if row.random is None and codes is not None and len(codes) == rows * columns:
            amax = None if row.tensor_amax is None else int(row.tensor_amax, 16)
            yield [codes[start : start + columns] for start in range(0, len(codes), columns)], amax


def _stated(codes: list[int], mine: str, source: str) -> list[int] | None:
    """Return codes of one source as codes of another; None where that has not all of them."""
    apart = derive.codes(get("format", WIDE)).bits - derive.codes(get("format", NARROW)).bits
    if mine == source:
        return codes
    if (mine, source) == (NARROW, WIDE):
        return [code << apart for code in codes]
    if (mine, source) == (WIDE, NARROW) and not any(code & (1 << apart) - 1 for code in codes):
        return [code >> apart for code in codes]
    return None
