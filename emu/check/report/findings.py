"""What differs, class by class: counts, the best candidates for a counterexample, and the counterexample itself, shrunk and confirmed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from emu.base.errors import EmuError
from emu.check.cutting import cut
from emu.check.judge import Difference, format_of
from emu.check.progress import tell
from emu.check.report.model import CLASSES, Example, Failure
from emu.check.report.sorting import Case, Index, class_of, inputs_near, sample, whole_class
from emu.check.shrink import Shrunk, shrink
from emu.contracts.form import Arrays, Expected, Form, Question
from emu.contracts.quantize.steps import code_text
from emu.explain.link import Part, of_operands
from emu.spec import derive

if TYPE_CHECKING:
    from emu.check.run import _Checker

MOST_RANKED: Final = 4096  # elements that are looked at to rank a candidate
ANSWERS: Final = 10  # of whose differences as many are told apart one by one as the contract has it
KEPT: Final = 3  # candidates of a class


@dataclass(frozen=True)
class Candidate:
    """A difference that may become the counterexample. rank: simpler first."""

    rank: tuple[int, ...]
    question: Question
    got: Arrays
    index: Index


@dataclass
class _Found:
    stage: str
    count: int = 0
    candidates: list[Candidate] = field(default_factory=list)


class Findings:
    """The differences of a check by class."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.found: dict[tuple[str, str], _Found] = {}
        self.left, self.sorted, self.budget = 0, 0, ANSWERS * form.sorted

    def add(self, question: Question, expected: Expected, got: Arrays, difference: Difference) -> None:
        """Sort the differences of one answer into classes; of many, some of each reason for asking."""
        case = Case(question.operands, expected, got)
        whole = whole_class(self.form, case, difference, any(name == "nibble_order" for name, _ in self.found))
        places = sample(difference.wrong, min(self.form.sorted, max(self.budget, 2)))
        if whole is not None:
            self._put(whole, difference.name, difference.count, Candidate((0, 0), question, got, places[0]))
            return
        self.left += difference.count - len(places)
        self.sorted += len(places)
        self.budget -= len(places)
        for index in places:
            name = class_of(self.form, case, difference.name, index)
            self._put(name, difference.name, 1, Candidate(self._rank(case, difference.name, index), question, got, index))

    def _put(self, name: str, stage: str, count: int, candidate: Candidate) -> None:
        found = self.found.setdefault((name, stage), _Found(stage))
        found.count += count
        found.candidates.append(candidate)
        found.candidates.sort(key=lambda item: item.rank)
        del found.candidates[KEPT:]

    def _rank(self, case: Case, name: str, index: Index) -> tuple[int, ...]:
        """Return how hard the inputs of an answer are to read: elements that are not zero, bits set."""
        near = inputs_near(self.form, case, name, index).reshape(-1)[:MOST_RANKED].tolist()
        return (sum(code != 0 for code in near), sum(code.bit_count() for code in near))

    def failures(self, checker: _Checker) -> list[Failure]:
        """Return one entry per class, in the order of the list of classes, each with its counterexample."""
        if self.left:
            text = f"classes are told from {self.sorted} differences; {self.left} more are counted in the first line alone"
            checker.report.notes.append(text)
        order = list(CLASSES)
        out = []
        for (name, stage), found in sorted(self.found.items(), key=lambda item: order.index(item[0][0])):
            tell(f"smallest counterexample of {name} in {stage}")
            shrunk = shrink(checker, found.candidates, name, stage)
            out.append(Failure(name, stage, found.count, example_of(checker, shrunk, name, stage)))
        return out


# A counterexample explained: its operands as hex, every step of the contract by the reference model, what was wanted and what came.


EXPLAIN_MOST = 64  # elements that are printed of an operand


def example_of(checker: _Checker, shrunk: Shrunk, name: str, stage: str) -> Example:
    """Return a counterexample with its steps."""
    form, index = checker.form, shrunk.index
    fmt = format_of(form, stage, shrunk.expected)
    want, have = int(shrunk.expected.arrays[stage][index]), int(shrunk.got[stage][index])
    try:
        operands, at = dict(shrunk.operands), shrunk.index
        if not form.by_row and operands[form.main].size > EXPLAIN_MOST * 16:
            operands, at = cut(form, operands, stage, at)
        steps = tuple(form.steps(operands, at, stage, checker.profile))
    except EmuError as error:
        steps = (f"(not explained: {error})",)
    note = "" if shrunk.alone else "only inside the whole question: the part by itself comes out right, or is too large to be cut"
    place = stage + ("" if not index else f"[{', '.join(map(str, index))}]")
    element = form.first_element(shrunk.operands, stage, index) if index and form.block is not None else index
    shown = of_operands(form.operation, shrunk.operands, element) if shrunk.alone else Part(None)
    return Example(
        operands_text(form, shrunk, stage), place, code_text(want, fmt), code_text(have, fmt), shrunk.why, steps, shrunk.calls, note, *shown
    )


def operands_text(form: Form, shrunk: Shrunk, stage: str) -> dict[str, str]:
    """Return the operands of a counterexample as hex codes; of large ones the shape and the part around the failure."""
    out = {}
    source = dict(shrunk.operands)
    if not shrunk.alone and source[form.main].size > EXPLAIN_MOST:
        source = cut(form, source, stage, shrunk.index if len(shrunk.index) else ())[0]
    for name, array in source.items():
        fmt = form.operands.get(name)
        digits = array.dtype.itemsize * 2 if fmt is None else -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)
        rows = np.atleast_2d(array)
        shown = [" ".join(f"{int(code):0{digits}X}" for code in row[:EXPLAIN_MOST]) for row in rows[:16]]
        out[name] = " / ".join(shown) + ("" if array.size <= EXPLAIN_MOST * 16 else f" ... of {array.shape}")
    return out
