"""A recipe's program as its wires: the result of each step. One of them is wrong; the steps after it are right.

Rows are computed side by side by the NumPy engine, and steps before the wrong one once: many edits of many rows take little time.
With none wrong the answers are those of the contract (tests/contracts/test_contracts_wires.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from emu.base.caches import lazy
from emu.contracts.contract import Deviation
from emu.contracts.quantize.tiles import Tiles, columns_of
from emu.contracts.rows import Answer
from emu.contracts.wires import edits
from emu.engines.numpy import tables
from emu.engines.numpy.program import Machine
from emu.spec import derive
from emu.spec.programs.lowering import lower
from emu.spec.programs.program import Program
from emu.spec.programs.types import ELEMENT, Argument, Constant, Instruction

Values = tuple[int, ...]
Cells = dict[str, Any]
Change = Callable[[Any], Any]  # an array of unsigned codes or patterns -> the same, edited
Given = Callable[[Sequence[Values]], Cells | None]  # rows -> the given cells, each of shape [rows, ...]; None where the engine cannot
Read = Callable[[Mapping[str, Any], Sequence[Values]], list[Answer | None]]
Batch = Callable[[Sequence[Values]], list[Answer | None]]


class Steps:
    """The steps of a program on rows, with what they leave kept for the rows that were asked last.

    given: what the rows hand in.   read: the answers of rows out of all cells.
    """

    def __init__(self, program: Program, given: Given, read: Read) -> None:
        self.program, self.given, self.read = program, given, read
        self._rows: tuple[Values, ...] = ()
        self._cells: Cells | None = None

    def cells(self, rows: Sequence[Values]) -> Cells | None:
        """Return what every step leaves, nothing wrong."""
        if tuple(rows) != self._rows:
            start = self.given(rows)
            self._rows, self._cells = tuple(rows), None if start is None else self.run(start, self.program.instructions)
        return self._cells

    def run(self, cells: Cells, items: Sequence[Instruction]) -> Cells:
        """Return the cells after some steps."""
        machine = Machine(lower(self.program), cells)
        with np.errstate(all="ignore"):
            for item in items:
                machine.cells[item.out] = np.array(machine.step(item))
        return machine.cells

    def batch(self, number: int, change: Change) -> Batch:
        """Return the answers of a machine where the result of one step is changed; None for rows that the reference model leaves open."""
        item = self.program.instructions[number]

        def answers(rows: Sequence[Values]) -> list[Answer | None]:
            known = self.cells(rows)
            if known is None:
                return [None] * len(rows)
            plain = known[item.out]
            codes = plain.view(np.uint32) if plain.dtype == np.float32 else plain.copy()
            wrong = change(codes)
            if wrong.dtype == np.uint32 and plain.dtype == np.float32:
                wrong = wrong.view(np.float32)
            cells = self.run({**known, item.out: wrong}, self.program.instructions[number + 1 :])
            return self.read(cells, rows)

        return answers

    def width(self, item: Instruction) -> int:
        """Bits of the result of a step: of its code, or of the pattern of a number."""
        if item.type.is_code:
            fmt = item.type.formats[0]
            return derive.codes(fmt).bits
        return derive.codes(self.program.arithmetic).bits

    def is_open(self, item: Instruction) -> bool:
        """Tell whether a step's codes may hold the marker of an open one."""
        return item.type.is_code and tables.marker_dtype(item.type.formats[0]) != np.uint8

    def wires(self) -> Iterator[tuple[str, str, Batch]]:
        """Yield (text, stage, answers) for every step whose result is wrong everywhere."""
        for number, item in enumerate(self.program.instructions):
            if item.op == "select" and item.type.is_code:
                continue
            if not item.type.is_code:
                for words, change in VALUES.items():
                    yield f"step {item.out}: {words}", f"step {item.out}", self.batch(number, change)
            yield from self._constant(number, item)
            yield from self._order(number, item)
            yield from self._maximum(number, item)
            yield from ((edit.words(f"step {item.out}"), f"step {item.out}", self.batch(number, _everywhere(edit, self.width(item))))
                        for edit in edits(self.width(item), deep=23 if not item.type.is_code else 4))  # fmt: skip

    def _constant(self, number: int, item: Instruction) -> Iterator[tuple[str, str, Batch]]:
        """A multiplication by a rounded constant that is a division by its reciprocal."""
        constants = [arg for arg in item.args if isinstance(arg, Constant)]
        others = [arg for arg in item.args if isinstance(arg, str)]
        if item.op != "mul" or len(constants) != 1 or len(others) != 1:
            return
        divisor = np.float32(1) / np.array(constants[0].bits, np.uint32).view(np.float32)
        if np.isfinite(divisor):
            yield (
                f"step {item.out}: divides by {float(divisor):g}",
                f"step {item.out}",
                self._made(number, lambda known: known[others[0]] / divisor),
            )

    def _order(self, number: int, item: Instruction) -> Iterator[tuple[str, str, Batch]]:
        """Three factors multiplied in another order, a constant among them perhaps as a division."""
        made = {each.out: each for each in self.program.instructions if each.op == "mul"}
        for place, arg in enumerate(item.args if item.op == "mul" else ()):
            inner = made.get(arg) if isinstance(arg, str) else None
            if inner is None:
                continue
            other = item.args[1 - place]
            for first, last in (inner.args, inner.args[::-1]):
                product = partial(self._three, other, first, last, False)
                yield (
                    f"step {item.out}: {_told(other)} times {_told(first)} first, then {_told(last)}",
                    f"step {item.out}",
                    self._made(number, product),
                )
                if isinstance(last, Constant):
                    quotient = partial(self._three, other, first, last, True)
                    yield (
                        f"step {item.out}: {_told(other)} times {_told(first)} first, then a division",
                        f"step {item.out}",
                        self._made(number, quotient),
                    )

    def _maximum(self, number: int, item: Instruction) -> Iterator[tuple[str, str, Batch]]:
        """A maximum that does not look at every lane, or looks at signed numbers."""
        arg = item.args[0]
        if item.op != "amax" or not isinstance(arg, str) or self.program.types[arg].extent != ELEMENT:
            return
        lanes = columns_of(self.program.block)

        def without(lane: int, known: Cells) -> Any:
            values = np.array(known[arg])
            values.reshape(*values.shape[:2], -1)[..., lane] = 0
            return self._reduced(item, {**known, arg: values})

        def signed(known: Cells) -> Any:
            return self._reduced(item, {**known, arg: np.where(known[arg] < 0, np.float32(0), known[arg])})

        yield f"step {item.out}: negative numbers are not looked at", f"step {item.out}", self._made(number, signed)
        for lane in range(lanes):
            yield f"step {item.out}: lane {lane} is not looked at", f"step {item.out}", self._made(number, partial(without, lane))

    def _reduced(self, item: Instruction, cells: Cells) -> Any:
        return Machine(lower(self.program), cells).step(item)

    def _three(self, x: Argument, y: Argument, z: Argument, divides: bool, known: Cells) -> Any:
        """Return x * y * z, the first two first; or with a division by 1 / z."""
        found: list[Any] = [
            np.array(arg.bits, np.uint32).view(np.float32) if isinstance(arg, Constant) else known[arg] for arg in (x, y, z)
        ]
        product = found[0] * found[1]
        return product / (np.float32(1) / found[2]) if divides else product * found[2]

    def _made(self, number: int, make: Callable[[Cells], Any]) -> Batch:
        """Return the answers of a machine that makes the result of a step in another way."""

        def answers(rows: Sequence[Values]) -> list[Answer | None]:
            known = self.cells(rows)
            if known is None:
                return [None] * len(rows)
            with np.errstate(all="ignore"):
                found = np.asarray(make(known), np.float32)
            return self.read(
                self.run({**known, self.program.instructions[number].out: found}, self.program.instructions[number + 1 :]), rows
            )

        return answers

    def wires_of_one_lane(self, lanes: int) -> Iterator[tuple[str, str, Batch]]:
        """Yield (text, stage, answers) for every step of elements whose result is wrong in one lane alone."""
        for number, item in enumerate(self.program.instructions):
            if item.type.extent != ELEMENT:
                continue
            for lane in range(lanes):
                for edit in edits(self.width(item)):
                    change = _one_lane(edit, self.width(item), lane)
                    yield edit.words(f"step {item.out}, lane {lane}"), f"step {item.out}", self.batch(number, change)


class Stepped(Tiles, ABC):
    """A contract of tiles whose rows are made by a recipe's program: it says what rows hand in, and reads the answers."""

    program: Program

    @abstractmethod
    def _given(self, rows: Sequence[Values]) -> Cells | None:
        """Return what rows hand in; None where the engine cannot."""

    @abstractmethod
    def _read(self, cells: Mapping[str, Any], rows: Sequence[Values]) -> list[Answer | None]:
        """Return the answers of rows out of all cells."""

    @lazy
    def steps(self) -> Steps:
        """The program on rows, step by step, by the NumPy engine."""
        return Steps(self.program, self._given, self._read)

    def wrong_steps(self) -> Iterator[Deviation]:
        """Yield every step whose result is wrong in all lanes."""
        for text, stage, batch in self.steps.wires():
            yield Deviation.of_rows(text, stage, batch)

    def deviations_of_one_lane(self) -> Iterator[Deviation]:
        """A step whose result is wrong in one lane."""
        for text, stage, batch in self.steps.wires_of_one_lane(self.n):
            yield Deviation.of_rows(text, stage, batch)


def _told(arg: Argument) -> str:
    return "a constant" if isinstance(arg, Constant) else arg


def _as_numbers(change: Callable[[Any], Any]) -> Change:
    def changed(codes: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.ascontiguousarray(change(np.ascontiguousarray(codes).view(np.float32)).astype(np.float32)).view(np.uint32)

    return changed


def _to_bf16(codes: Any) -> Any:
    """Binary32 patterns to the nearest bf16 number, ties to even; NaN stays."""
    rounded = (codes + np.uint32(0x7FFF) + (codes >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(codes & np.uint32(0x7FFFFFFF) > np.uint32(0x7F800000), codes, rounded)


VALUES: dict[str, Change] = {
    "twice as large": _as_numbers(lambda values: values * np.float32(2)),
    "half as large": _as_numbers(lambda values: values * np.float32(0.5)),
    "the sign is lost": lambda codes: codes & np.uint32(0x7FFFFFFF),
    "the sign is inverted": lambda codes: codes ^ np.uint32(0x80000000),
    "rounded to bf16": _to_bf16,
    "rounded to fp16": _as_numbers(lambda values: values.astype(np.float16)),
    "subnormal numbers are zero": lambda codes: np.where(codes & np.uint32(0x7F800000), codes, codes & np.uint32(0x80000000)),
    "-0 becomes +0": lambda codes: np.where(codes & np.uint32(0x7FFFFFFF), codes, np.uint32(0)),
    "NaN is zero": _as_numbers(lambda values: np.where(np.isnan(values), np.float32(0), values)),
    "Inf is the largest number": _as_numbers(lambda values: np.clip(values, -np.finfo(np.float32).max, np.finfo(np.float32).max)),
}


def lanes_of(cells: Mapping[str, Any], program: Program, output: str, parts: tuple[int, int]) -> list[list[int]]:
    """Return the codes of an output, row by row: rows and columns of a tile, row-major. Numbers as their patterns, NaN canonical."""
    found = cells[program.outputs[output]]
    if found.dtype == np.float32:
        found = np.where(np.isnan(found), np.uint32(0x7FC00000), np.ascontiguousarray(found).view(np.uint32))
    found = found.reshape(*found.shape[:2], 1, -1)
    tall, wide = parts
    if 1 < found.shape[3] < wide:
        found = np.repeat(found, wide // found.shape[3], axis=3)
    if 1 < found.shape[1] < tall:
        found = np.repeat(found, tall // found.shape[1], axis=1)
    whole: list[list[int]] = np.broadcast_to(found, (found.shape[0], tall, 1, wide)).reshape(found.shape[0], -1).tolist()
    return whole


def _everywhere(edit: Any, bits: int) -> Change:
    return lambda codes: edit.on_array(codes, bits)


def _one_lane(edit: Any, bits: int, lane: int) -> Change:
    def change(codes: Any) -> Any:
        out = np.array(codes)
        flat = out.reshape(out.shape[0], -1)  # rows of a tile and lanes, row-major: lane numbers as in the columns
        if lane < flat.shape[1]:
            flat[:, lane] = edit.on_array(flat[:, lane], bits)
        return out

    return change
