"""A contract on whole arrays, as kernels see it: operands, answers, shapes, and what the answers must be.

An operation whose kernels take tensors (convert, quantize, ...) has a form of its own. Otherwise the operands are the columns of a row: an
axis of rows, and one of lanes where a column has several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EngineError, OperandError, SpecError
from emu.base.philox import draw, stream_of
from emu.contracts.columns import Column
from emu.contracts.reach import Reach
from emu.contracts.rows import Answer, Input, pack
from emu.engines.exact.value import Value
from emu.engines.run import run_amax
from emu.spec import derive, get
from emu.spec.contract import ContractName
from emu.spec.models import Block, Format, Recipe, Rounding, Transform
from emu.spec.programs.types import extent_of

if TYPE_CHECKING:
    from emu.contracts.contract import Contract

EXTRAS = ("tensor_amax", "random", "signs")
OF_RESULT = ("quantize", "decode", "dequantize")  # operations of which a kernel's answer chooses the format of its values
FLAGS = "flags"  # an answer that a kernel may leave out: the report says that they were not compared
ROWS = (257, 1, 513, 2, 1025, 3, 33, 4097, 31, 65, 127)  # numbers of rows that are asked, large and small in turn
FEW_ROWS = 65  # of a target or an engine that takes long
MOST_ROWS = 1 << 12  # rows of a question, and drawn ones of an operation without strata of its own
SMALL = 16  # bits of the columns of a row of which every one is asked
PRECEDENCE = ("nan", "inf", "ragged", "zero_block", "scale_edge", "scale_tie", "tie", "threshold", "step_tie", "overflow", "subnormal")
Bits = NDArray[Any]
Arrays = Mapping[str, Bits]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Question:
    """One call: operands, and for each row why it is asked.

    why: one flag of the directed rows, "exhaustive", "stratified" or "random" for each row; () where no row stands out.
    reach: what the inputs are known to reach, None where nobody looked.   layout: how x lies in memory, "" plainly.
    part: rows of whose repetition the operands consist, so that the answers are those of the part repeated; None: all rows are their own.
    """

    operands: Arrays
    why: tuple[str, ...] = ()
    reach: Reach | None = None
    layout: str = ""
    part: Arrays | None = None


@dataclass(frozen=True)
class Asked:
    """What a check asks of a suite.

    key: of the generator.   count: stratified inputs, None for as many as the suite has at least.   multiple: of rows and columns, which
    the target needs.   shapes: a user's own.   few: some decisions for a check without that suite.   calls: how the target is called:
    "arrays" takes x however it lies in memory, "programs" takes long to ask, "files" cannot be asked again.
    """

    key: int = 1
    count: int | None = None
    multiple: tuple[int, int] = (1, 1)
    shapes: tuple[tuple[int, ...], ...] = ()
    few: bool = False
    calls: str = "pointers"


class Expected(NamedTuple):
    """Answers by name. known: name -> bool array, False where nobody knows the code; a name that is missing is known throughout.

    result: format of the values of a quantize, decode or dequantize contract, which a kernel's answer may choose; None: that of the form.
    """

    arrays: dict[str, Bits]
    known: dict[str, Bits]
    result: Format | None = None


@dataclass(frozen=True)
class Form:
    """What goes in and what comes out.

    operands: name -> format, None for plain integers; in the order in which a kernel takes them.
    answers: name -> format, the order in which they are judged; values of a quantize contract are not among them.
    draws: the rounding that draws random integers, or None.   block: of a recipe.   by_row: is every row an answer of its own.
    open_order: of additions, so that `within` masks answers on which orders part.
    decides: a check passes only where enough of its decisions were reached.   sorted: differences of an answer that are looked at singly.
    """

    operation: Contract
    operands: dict[str, Format | None]
    answers: dict[str, Format]
    draws: Rounding | None = None
    block: Block | None = None
    extras: tuple[str, ...] = ()
    by_row: ClassVar[bool] = True
    open_order: ClassVar[bool] = False
    decides: ClassVar[bool] = False
    sorted: ClassVar[int] = 96

    @property
    def contract(self) -> ContractName:
        """The parsed string."""
        return self.operation.name

    @property
    def op(self) -> str:
        """The operation of the contract."""
        return self.contract.op

    @property
    def main(self) -> str:
        """The operand that shapes follow."""
        return next(iter(self.operands))

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of what is answered together."""
        return (1, 1) if self.block is None else (self.block.facts.shape[0], self.block.facts.shape[1])

    def together(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """Return rows and columns of what shares a scale in a matrix of a shape: a tile, or the whole row."""
        return self.tile

    def elements_of(self, operands: Arrays, name: str) -> tuple[int, int]:
        """Return rows and columns of the elements that one answer belongs to: of a level those that share its code."""
        level = None if self.block is None else next((level for level in self.block.facts.levels if level.name == name), None)
        if self.block is None or level is None:
            return 1, 1
        extent, (rows, columns) = extent_of(level.granularity, self.block), operands[self.main].shape
        return extent.rows or rows, extent.columns or columns

    def first_element(self, operands: Arrays, name: str, index: tuple[int, ...]) -> tuple[int, int]:
        """Return the first element that an answer belongs to."""
        if not index:  # an answer of the whole tensor
            return 0, 0
        tall, wide = self.elements_of(operands, name)
        return index[0] * tall, index[1] * wide

    @property
    def transform(self) -> Transform | None:
        """The rotation whose signs are an operand."""
        return None

    @property
    def own_signs(self) -> Arrays:
        """The operand of signs that the rotation's object has where a caller hands none in; empty where a kernel takes none."""
        if self.transform is None or "signs" not in self.extras:
            return {}
        return {"signs": np.array(int(self.transform.facts.signs, 16), "u4")}

    def _columns(self, role: str) -> Iterator[Column]:
        return (column for column in self.operation.layout.columns if column.role in role.split())

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """Return the shape of every answer to some operands; `values` of quantize and dequantize too."""
        rows = operands[self.main].shape[:1]
        return {column.name: (*rows, column.lanes) if column.lanes > 1 else rows for column in self._columns("out")}

    def stacked(self, cases: Sequence[Input]) -> Iterator[tuple[dict[str, Bits], Sequence[Input]]]:
        """Yield operands made of rows of the suites, and the row of each; several where they do not fit one call."""
        out = {}
        for place, column in enumerate(self.operation.layout.inputs):
            lanes = [[case.values[place] >> lane * column.lane_bits & ((1 << column.lane_bits) - 1) for lane in range(column.lanes)]
                     for case in cases]  # fmt: skip
            array = np.array(lanes, integer_dtype(self.operands[column.name], column.lane_bits))
            out[column.name] = array if column.lanes > 1 else array[:, 0]
        yield out, cases

    def completed(self, operands: Arrays, key: int, stream: str) -> dict[str, Bits]:
        """Return operands with those that are missing: the tensor's own maximum, random integers, signs. key, stream: of the generator."""
        out, main = dict(operands), operands[self.main]
        source = self.operands[self.main]
        if "tensor_amax" in self.extras and "tensor_amax" not in out and source is not None:
            out["tensor_amax"] = np.array(run_amax(main, source) if main.size else 0, "u4")
        if self.draws is not None and "random" not in out:
            lanes, bits = self.draws.random_operand
            drawn = draw(key, -(-main.size // lanes), bits, stream_of(f"random {self.contract} {stream}"))
            shape = main.shape if lanes == 1 else (1,) * (main.ndim - 1) + (-1,)
            out["random"] = drawn.astype(integer_dtype(None, bits)).reshape(shape)
        if self.transform is not None and "signs" in self.extras and "signs" not in out:
            out["signs"] = np.array(draw(key, 1, self.transform.facts.size, stream_of(f"signs {self.contract}"))[0], "u4")
        return out

    # The suites of a check, and what its report asks.

    def directed(self, asked: Asked) -> Iterator[Question]:
        """Yield the rows of the directed suite, in arrays."""
        cases = self.operation.directed(f"check {self.contract}")
        for operands, members in self.stacked(cases) if cases else ():
            yield Question(self.completed(operands, asked.key, "directed"), tuple(why_of(case.flags) for case in members))

    def exhaustive(self, asked: Asked) -> Iterator[Question]:
        """Yield every input there is, or every pattern of 16 bits: every row where its columns have that many bits together."""
        bits = [column.bits for column in self.operation.layout.inputs]
        for first in range(0, 1 << sum(bits) if sum(bits) <= SMALL else 0, MOST_ROWS):
            numbers = range(first, min(first + MOST_ROWS, 1 << sum(bits)))
            yield from self._asked("exhaustive", [Input("all", ("exhaustive",), _cut(number, bits)) for number in numbers])

    def only_drawn(self) -> str:
        """Return the line of a report without an exhaustive suite: how much of the operands nobody asked."""
        bits = sum(column.bits for column in self.operation.layout.inputs)
        return f"exhaustive: a row has {bits} bits of operands, too many to ask them all: rows are drawn, --count says how many"

    def stratified(self, asked: Asked) -> Iterator[Question]:
        """Yield drawn inputs, at least as many as the count: random rows of the suites, and more of their kind; in even parts, of which
        there are two at least, so that an answer kept by the shape of the operands is seen."""
        for inputs in self.operation.suites():
            if inputs.suite == "random":
                count = max(asked.count or 0, min(inputs.size, MOST_ROWS))
                for first, stop in even_parts(count):
                    yield from self._asked("stratified", inputs.cases(first, stop))

    def _asked(self, why: str, cases: Sequence[Input]) -> Iterator[Question]:
        for operands, members in self.stacked(cases):
            yield Question(operands, (why,) * len(members))

    def decisions(self, asked: Asked) -> Iterator[Question]:
        """Yield inputs on both sides of decisions, with what they reach."""
        yield from ()

    def in_shapes(self, asked: Asked) -> Iterator[Question]:
        """Yield tensors of many shapes, and of some that lie in memory in another way; here drawn rows, in many numbers of them."""
        asks = chain(self.stratified(asked), self.exhaustive(asked), self.directed(asked))
        pool = next((question.operands for question in asks), None)
        if pool is None:
            return
        own = tuple(map(prod, asked.shapes))
        few = asked.calls == "programs" or self.engine(pool) == "exact"
        for count in dict.fromkeys((*own, *(size for size in ROWS if not few or size <= FEW_ROWS))):
            operands = {name: np.resize(array, (count, *array.shape[1:])) for name, array in pool.items()}
            yield Question(operands, (f"{count} rows",))

    def intervals(self, parts: Sequence[Fraction]) -> Bits | None:
        """Return inputs at parts of intervals between adjacent codes, where the contract draws; None where none can be named."""
        return None

    def unit_amax(self) -> Bits:
        """Return the tensor maximum under which they are asked, where the contract reads one."""
        raise OperandError(f"{self.contract} reads no tensor maximum")

    def each(self, codes: Bits, random: Bits) -> Bits:
        """Return the answers under an integer for each element, where several elements share a word of the random operand."""
        raise OperandError(f"{self.contract}: its elements share random integers in a way that is not judged")

    def rounded(self, operands: Arrays, index: tuple[int, ...]) -> tuple[Value, Format, Rounding, derive.EntryCodes] | None:
        """Return the number that the last rounding to an element code sees, with format, rounding and policy; None where there is none."""
        return None

    def row(self, operands: Arrays, number: int) -> tuple[int, ...]:
        """Return a row of the operands as the values of the columns."""
        return tuple(
            pack([int(code) for code in np.atleast_1d(operands[column.name][number])], column.lane_bits)
            for column in self.operation.layout.inputs
        )

    def expect(self, operands: Arrays, engine: str, result: Format, profile: str | None = None, values: bool = False) -> Expected:
        """Return the answers of the contract.

        engine: exact, auto or another name of emu.engines.   result: format of values.   profile, values: of a quantize contract, whose
        values are wanted too.   Raises: OperandError, ShapeError, EngineError.
        """
        rows = [self.row(operands, number) for number in range(len(operands[self.main]))]
        found: list[Answer | None] = [None] * len(rows)
        if engine != "exact":
            table = self.operation.engines()
            found = table[self.engine(operands)](rows) if table else found
        whole = [self.operation.exact(row) if answer is None else answer for row, answer in zip(rows, found, strict=True)]
        arrays, known = {}, {}
        for place, (name, shape) in enumerate(self.shapes(operands).items()):
            bits, here = masked([answer[place] for answer in whole], self.answers[name])
            arrays[name] = bits.reshape(shape)
            if not here.all():
                known[name] = here.reshape(shape)
        return Expected(arrays, known)

    def within(self, operands: Arrays, found: Expected, got: Arrays) -> Expected:
        """Return answers with those masked that lie where the contract leaves them open, and inside of what it allows there."""
        return found

    def engine(self, operands: Arrays) -> str:
        """Return the name of the engine that auto is."""
        return next(iter(self.operation.engines()), "exact")

    def any_nan(self, name: str) -> bool:
        """Tell whether every NaN of an answer counts as equal."""
        return next((column.any_nan for column in self._columns("out") if column.name == name), name == "values")

    def check_profile(self, profile: str) -> None:
        """Refuse a dequantize profile that nothing reads. Raises: OperandError (no quantize contract), SpecError (not of its recipe)."""
        raise OperandError(f"profile {profile!r} says nothing of {self.contract}: leave it out")

    def steps(self, operands: Arrays, index: tuple[int, ...], name: str = "", profile: str | None = None) -> list[str]:
        """Return the derivation of one answer, a line a stage, by the exact engine. index: of the answer of that name."""
        lane = index[1] if len(index) > 1 else 0
        return self.operation.lines(self.operation.trace(self.row(operands, index[0]), lane))

    def answers_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return given names in the order in which they are judged."""
        given = set(names)
        return tuple(name for name in dict.fromkeys((*self.answers, "values")) if name in given)


def row_form(operation: Contract, kind: type[Form] = Form) -> Form:
    """Return the form of an operation whose operands are the columns of a row. Raises: SpecError (an output without a number format)."""
    columns = operation.layout.columns
    plain = next((column.name for column in columns if column.role == "out" and column.format is None), None)
    if plain is not None:
        raise SpecError(f"check {operation.name}: {plain} holds plain integers: {operation.name.op} is not judged here, its vectors are")
    operands: dict[str, Format | None] = {
        column.name: None if column.format is None else get("format", column.format) for column in operation.layout.inputs
    }
    return kind(operation, operands, {column.name: get("format", column.format or "") for column in columns if column.role == "out"})


def repeated(part: Arrays, rows: int, main: str, why: str) -> Question:
    """Return a question of so many rows that repeat those of a part, the last time as far as they go.

    Operands of rows or of groups of rows, and random words of rows of whole words, are repeated; what the whole tensor shares is not.
    """
    height = len(part[main])
    operands = {}
    for name, array in part.items():
        if not array.shape or array.size == 1:
            operands[name] = array
        elif len(array) == 1 and height > 1:  # random words that elements share, in one row
            operands[name] = np.resize(array, (1, -(-array.size * rows // height)))
        else:
            operands[name] = np.resize(array, (-(-len(array) * rows // height), *array.shape[1:]))
    return Question(operands, (why,), part=part)


def even_parts(count: int, most: int = MOST_ROWS) -> list[tuple[int, int]]:
    """Return first and last-plus-one of parts of as many rows each, the last one aside; at least two of more than one row."""
    part = min(most, -(-count // 2))
    return [(first, min(first + part, count)) for first in range(0, count, part)]


def _cut(number: int, bits: Sequence[int]) -> tuple[int, ...]:
    """Return a number as the values of columns, the last one in the low bits."""
    out = []
    for wide in reversed(bits):
        out.append(number & ((1 << wide) - 1))
        number >>= wide
    return tuple(reversed(out))


def chosen_engine(op: str, facts: tuple[Any, ...]) -> str:
    """Return the engine that auto is for the facts of an operation."""
    from emu.engines.table import choose

    try:
        return choose(op, "auto", *facts)
    except EngineError:
        return "exact"


def why_of(flags: Sequence[str]) -> str:
    """Return the flag that names a row: the most special one of those that it has, else the last."""
    return next((flag for flag in PRECEDENCE if flag in flags), flags[-1])


def masked(rows: Any, fmt: Format) -> tuple[Bits, Bits]:
    """Return codes and where they are known, out of integers that are negative where nobody knows."""
    array = np.array(rows, np.int64) if derive.codes(fmt).bits < 64 else np.array(rows, object)
    return np.where(array < 0, 0, array).astype(integer_dtype(fmt)), np.asarray(array >= 0, bool)


def whole(name: str, bits: Bits, known: Bits) -> Expected:
    """Return one answer with its mask."""
    return Expected({name: bits}, {} if bool(known.all()) else {name: known})


def spread(mask: Bits, shape: tuple[int, ...]) -> Bits:
    """Return a mask of parts as a mask of elements: each part covers equally many rows and columns."""
    if mask.shape == shape or not mask.shape:
        return np.broadcast_to(mask, shape)
    rows, columns = -(-shape[0] // mask.shape[0]), -(-shape[1] // mask.shape[1])
    return mask.repeat(rows, axis=0).repeat(columns, axis=1)[: shape[0], : shape[1]]


def parts_of(padded: Shape, place: tuple[int, int]) -> Shape:
    """Return how many parts of a place a padded tensor has, along rows and columns; () for the tensor."""
    if place == (0, 0):
        return ()
    return (padded[0] // (place[0] or padded[0]), padded[1] // (place[1] or padded[1]))


def transforms(recipe: Recipe) -> list[Transform]:
    """Return the rotations of a recipe."""
    return [get("transform", name) for name in recipe.transforms]


def takes_signs(recipe: Recipe) -> bool:
    """Tell whether a recipe rotates by signs that the caller hands in."""
    return any(turn.facts.signs_operand != "no" for turn in transforms(recipe))


def integer_dtype(fmt: Format | None, bits: int = 0) -> str:
    """Return the unsigned dtype of codes of a format, unused high bits included; of integers of `bits` bits where there is none."""
    wide = bits if fmt is None else derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    return "u1" if wide <= 8 else "u2" if wide <= 16 else "u4" if wide <= 32 else "u8"


def check_names(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse a name that a contract does not have. Raises: OperandError."""
    table = list(known)
    for name in given:
        if name not in table:
            raise OperandError(f"{what} {name!r} is unknown here: one of {', '.join(table)}")


def expect(
    form: Form, operands: Arrays, engine: str, result: str | None = None, profile: str | None = None, values: bool = False
) -> Expected:
    """Return the answers of a contract.

    engine: exact, auto or another name of emu.engines.   result: format of values, None: fp32.   values: of a quantize contract too, by a
    dequantize profile.   Raises: OperandError, ShapeError, EngineError.   Tests: tests/check/test_check_inputs.py.
    """
    found = form.expect(operands, engine, get("format", result or "fp32"), profile, values)
    return found._replace(result=get("format", result or "fp32")) if form.op in OF_RESULT else found
