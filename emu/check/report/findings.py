"""What differs, class by class: counts, the best candidates for a counterexample, and the counterexample itself, shrunk and confirmed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from emu.check.judge import Difference
from emu.check.report.classes import CLASSES
from emu.check.report.explain import example_of
from emu.check.report.model import Failure
from emu.check.report.sorting import Case, Index, class_of, inputs_near, sample, whole_class
from emu.check.shrink import shrink
from emu.contracts.form import Arrays, Expected, Form, Question

if TYPE_CHECKING:
    from emu.check.run import _Checker

MOST: Final = {"convert": 4096, "decode": 4096, "quantize": 24}  # differences of one answer that are looked at one by one
OTHERS: Final = 96
MOST_RANKED: Final = 4096  # elements that are looked at to rank a candidate
TRACED: Final = 240  # differences of a recipe in all: each is sorted by the reference model's steps
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
        self.left, self.budget = 0, TRACED

    def add(self, question: Question, expected: Expected, got: Arrays, difference: Difference) -> None:
        """Sort the differences of one answer into classes; of many, some of each reason for asking."""
        case = Case(question.operands, expected, got)
        whole = whole_class(self.form, case, difference, any(name == "nibble_order" for name, _ in self.found))
        most = MOST.get(self.form.op, OTHERS)
        places = sample(difference.wrong, min(most, max(self.budget, 2)) if self.form.op == "quantize" else most)
        if whole is not None:
            self._put(whole, difference.name, difference.count, Candidate((0, 0), question, got, places[0]))
            return
        self.left += difference.count - len(places)
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
            checker.report.notes.append(f"{self.left} further differences were counted, but not sorted into classes")
        order = list(CLASSES)
        out = []
        for (name, stage), found in sorted(self.found.items(), key=lambda item: order.index(item[0][0])):
            shrunk = shrink(checker, found.candidates, name, stage)
            out.append(Failure(name, stage, found.count, example_of(checker, shrunk, name, stage)))
        return out
