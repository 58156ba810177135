"""Shrinking: the fewest non-zero elements and the simplest numbers with which the same stage still fails in the same class.

Every step asks the target again and lets the exact engine judge; the number of calls is bounded. Not here: what is explained (explain.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Final

import numpy as np

from emu.base.errors import EmuError, EngineError, OperandError, ShapeError, TargetError
from emu.check.cutting import cut, rectangle
from emu.check.inputs.suites import carried, padded
from emu.check.judge import judge
from emu.check.report.sorting import Case, Index, class_of, sample, whole_class
from emu.contracts.form import Arrays, Bits, Expected, Form, Question
from emu.engines.exact.encode import code_of_one
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

if TYPE_CHECKING:
    from emu.check.report.findings import Candidate
    from emu.check.run import _Checker

CALLS: Final = 160
SECONDS: Final = 20
FEW: Final = 2  # elements that are not zero: another candidate would not read better
SMALL: Final = 1 << 10  # elements of a counterexample that the reference model judges again
LARGE: Final = 1 << 14  # elements of a question that is shrunk by halves


@dataclass(frozen=True)
class Shrunk:
    """The smallest question found that fails, both answers, the place, the calls made; alone: the part fails by itself."""

    operands: dict[str, Bits]
    expected: Expected
    got: Arrays
    index: Index
    why: str
    calls: int
    alone: bool


def shrink(checker: _Checker, candidates: Sequence[Candidate], name: str, stage: str) -> Shrunk:
    """Return the counterexample of a class. Raises: EngineError (the engine that judged the bulk differs from the reference model)."""
    best: Shrunk | None = None
    calls = 0
    for candidate in candidates if not checker.stored else ():
        found = _shrunk(_Worker(checker, name, stage), candidate)
        if found is None:
            continue
        calls += found.calls
        if best is None or _size(checker.form, found) < _size(checker.form, best):
            best = found
        if _size(checker.form, best)[0] <= FEW:
            break
    if best is not None:
        return replace(best, calls=calls)
    return _Worker(checker, name, stage).whole(candidates[0])


def _size(form: Form, found: Shrunk) -> tuple[int, int]:
    """Return how many elements of a counterexample are not zero, and how many there are."""
    main = found.operands[form.main]
    return int(np.count_nonzero(main)), int(main.size)


def _shrunk(worker: _Worker, candidate: Candidate) -> Shrunk | None:
    """Return the smallest failure found from one candidate; None where no part of its question fails by itself."""
    why = why_at(candidate.question.why, candidate.index)
    for operands in worker.parts(candidate):
        found = worker.fails(operands)
        if found is None:
            continue
        found = worker.minimise(found)
        if found.operands[worker.form.main].size <= SMALL:
            found = worker.judged(found.operands, found.got, "exact")
        if found is not None:
            return replace(found, why=why, calls=worker.calls)
    return None


def why_at(why: tuple[str, ...], index: Index) -> str:
    """Return why a row was asked."""
    return why[index[0]] if len(why) > 1 and index and index[0] < len(why) else why[0] if why else "chosen"


class _Worker:
    """Asks the target for smaller and smaller questions."""

    def __init__(self, checker: _Checker, name: str, stage: str) -> None:
        self.checker, self.form, self.name, self.stage = checker, checker.form, name, stage
        self.calls, self.begin = 0, perf_counter()

    def spent(self) -> bool:
        """Tell whether the budget is used up."""
        return self.calls >= CALLS or perf_counter() - self.begin > SECONDS

    def parts(self, candidate: Candidate) -> Iterator[dict[str, Bits]]:
        """Yield what to begin with: the tile alone, with a tile that carries the tensor's maximum, rows and blocks halved, all."""
        form, operands = self.form, candidate.question.operands
        small, _ = cut(form, operands, self.stage, candidate.index)
        amax = small.pop("tensor_amax", None) if "tensor_amax" in form.extras and not self.checker.takes_amax else None
        yield self.padded(small)
        if form.by_row:
            return
        if amax is not None:
            yield from (self.padded(part.operands) for part in carried(form, Question({**small, "tensor_amax": amax})))
        if operands[form.main].size <= LARGE:
            yield self.halved(dict(operands))

    def padded(self, operands: Arrays) -> dict[str, Bits]:
        """Return a small tensor filled up with zeros to the multiples that the target needs."""
        return dict(padded(self.form, Question(operands), self.checker.multiple).operands)

    def halved(self, whole: dict[str, Bits]) -> dict[str, Bits]:
        """Return a question with as few rows and columns of tiles as still fail, by halving."""
        steps = [int(np.lcm(self.form.tile[axis], self.checker.multiple[axis])) for axis in (0, 1)]
        size = list(whole[self.form.main].shape)
        now = whole
        for axis in (0, 1):
            while size[axis] > steps[axis] and not self.spent():
                keep = -(-(size[axis] // 2) // steps[axis]) * steps[axis]
                if keep >= size[axis]:
                    break
                found = None
                for start in (0, (size[axis] - keep) // steps[axis] * steps[axis]):
                    spans = [(0, size[0]), (0, size[1])]
                    spans[axis] = (start, start + keep)
                    part = rectangle(self.form, now, *spans)
                    if not self.checker.takes_amax:
                        part.pop("tensor_amax", None)
                    if self.fails(part) is not None:
                        found = part
                        break
                if found is None:
                    break
                now, size[axis] = found, keep
        return now

    def fails(self, operands: dict[str, Bits]) -> Shrunk | None:
        """Ask the target; return the failure when the same stage fails in the same class."""
        self.calls += 1
        try:
            return self.judged(operands, self.checker.call(operands), "auto")
        except (TargetError, OperandError, ShapeError):
            return None

    def judged(self, operands: dict[str, Bits], got: Arrays, engine: str) -> Shrunk | None:
        """Return the failure of an answer when the same stage fails in the same class. engine: that judges. Raises: as the engine."""
        expected = self.checker.expect(operands, engine, got)
        for difference in judge(self.form, expected, got).differences:
            if difference.name == self.stage:
                case = Case(operands, expected, got)
                whole = whole_class(self.form, case, difference)
                for index in sample(difference.wrong, 4):
                    if (whole or class_of(self.form, case, self.stage, index)) == self.name:
                        return Shrunk(operands, expected, got, index, "", self.calls, True)
        return None

    def minimise(self, best: Shrunk) -> Shrunk:
        """Return the smallest failure: zeros first, in halves, then simpler numbers."""
        for name in self.names():
            best = self.zeros(best, name)
        for name in self.names():
            best = self.simpler(best, name)
        return self.zeros(best, self.form.main) if not self.spent() else best

    def names(self) -> list[str]:
        """Return the operands that are shrunk."""
        return [name for name in self.form.operands if name != "signs"]

    def zeros(self, best: Shrunk, name: str) -> Shrunk:
        """Set runs of elements to the plainest code, halving the runs until single elements."""
        plain = plain_code(self.form, name)
        flat = best.operands[name].reshape(-1) if name in best.operands else np.zeros(0, np.uint8)
        if flat.size < 2:
            return best
        size = flat.size
        while size >= 1 and not self.spent():
            places = np.flatnonzero(best.operands[name].reshape(-1) != plain)
            runs = [places[at : at + size] for at in range(0, len(places), size)]
            for run in runs:
                if self.spent():
                    break
                found = self.fails(replaced(best.operands, name, run, plain))
                best = found or best
            size //= 2
        return best

    def simpler(self, best: Shrunk, name: str) -> Shrunk:
        """Make each number plainer: another sign, fewer fraction bits, one."""
        fmt = self.form.operands[name]
        if name not in best.operands or name == "random" or fmt is None:
            return best
        plain = plain_code(self.form, name)
        for place in np.flatnonzero(best.operands[name].reshape(-1) != plain)[:32].tolist() if best.operands[name].size > 1 else [0]:
            for _ in range(64):
                if self.spent():
                    return best
                code = int(best.operands[name].reshape(-1)[place])
                found = None
                for other in plainer(code, fmt):
                    found = self.fails(replaced(best.operands, name, np.array([place]), other))
                    if found is not None or self.spent():
                        break
                if found is None:
                    break
                best = found
        return best

    def whole(self, candidate: Candidate) -> Shrunk:
        """Return a failure that no smaller question shows, its part judged again by the reference model."""
        form, operands = self.form, candidate.question.operands
        got = candidate.got
        small, place = cut(form, operands, self.stage, candidate.index)
        auto = self.checker.expect(operands, "auto", got)
        own = self.checker.by_reference(small, "values" in got)
        if auto.arrays[self.stage][candidate.index] not in [found.arrays[self.stage][place] for found in own]:
            raise EngineError(
                f"check {form.contract}: an engine of emu and its reference model differ in {self.stage} at {candidate.index}: report this"
            )
        why = why_at(candidate.question.why, candidate.index)
        return Shrunk(dict(operands), auto, got, candidate.index, why, self.calls, False)


def replaced(operands: dict[str, Bits], name: str, places: Bits, code: int) -> dict[str, Bits]:
    """Return operands with some codes of one of them replaced."""
    array = operands[name].copy()
    array.reshape(-1)[places] = code
    return {**operands, name: array}


def plain_code(form: Form, name: str) -> int:
    """Return the plainest code of an operand: zero, or one for a scale."""
    fmt = form.operands[name]
    is_scale = name.startswith("scale") or (form.block is not None and name != form.main)
    if fmt is None or not is_scale:
        return 0
    try:
        return code_of_one(fmt)
    except EmuError:
        return 0


def plainer(code: int, fmt: Format) -> list[int]:
    """Return simpler codes: positive, one, a power of two, fewer bits of the fraction; simplest first."""
    facts, derived = fmt.facts, derive.codes(fmt)
    out = []
    if code & derived.sign_bit:
        out.append(code & ~derived.sign_bit)
    if isinstance(facts, FloatFacts) and facts.frac_bits:
        ones = (1 << facts.frac_bits) - 1
        sign = code & derived.sign_bit
        if code & ones:
            out += [code & ~ones, *(code & ~((1 << drop) - 1) for drop in (facts.frac_bits // 2, facts.frac_bits // 4, 8, 4, 2, 1) if drop)]
            lowest = code & ones & -(code & ones)
            out.append(code ^ lowest)
        elif derived.bits > 8:
            one = code_of_one(fmt)
            exp, middle = code & ~derived.sign_bit, one
            if exp != middle and code & ~derived.sign_bit <= derived.max_code:
                half = (exp + middle) // 2 & ~ones
                out += [sign | middle, *([sign | half] if half not in (exp, middle) else [])]
    return list(dict.fromkeys(other for other in out if other != code))
