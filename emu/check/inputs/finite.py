"""Questions without NaN and Inf, for kernels that promise nothing about them. Not here: which questions there are (suites.py)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from emu.base.caches import bounded
from emu.check.inputs.suites import padded
from emu.contracts.form import Bits, Form, Question
from emu.engines.exact.decode import decode_code
from emu.spec import derive, get
from emu.spec.models import Format

NARROW = 8  # bits of a format whose codes are looked up one by one


@dataclass
class LeftOut:
    """How many inputs were left out of each suite: numbers of a conversion, rows of a matrix, dot products."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, suite: str, count: int) -> None:
        """Count inputs."""
        self.counts[suite] = self.counts.get(suite, 0) + count

    def note(self) -> str:
        """Return the line of the report."""
        each = ", ".join(f"{suite} {count}" for suite, count in self.counts.items() if count) or "none"
        return f"finite: inputs with NaN or Inf were left out, nothing is said about them (numbers, or rows of a matrix): {each}"


def finite_only(form: Form, suite: str, questions: Iterator[Question], multiple: tuple[int, int], left_out: LeftOut) -> Iterator[Question]:
    """Yield the questions of a suite without their rows (rows of tiles) that hold NaN or Inf; a question with none left is not asked.

    multiple: rows stay a multiple of the first.   left_out: gets the counts.   Tests: tests/check/test_check_finite.py.
    """
    for question in questions:
        height = question.operands[form.main].shape[0]
        keep = _rows(form, question, height, form.tile[0])
        left_out.add(suite, height - int(keep.sum()))
        if keep.all():
            yield question
        elif keep.any():
            yield padded(form, _without(question, keep), multiple)


def _rows(form: Form, question: Question, height: int, tall: int) -> Bits:
    """Return which rows of the main operand hold numbers only, and all other rows of their tile too."""
    strips = -(-height // tall)
    good = np.ones(strips, bool)
    for name, bits in question.operands.items():
        fmt = form.operands[name]
        if fmt is None:
            continue
        wild = is_wild(bits, fmt)
        if not bits.shape:
            good &= not bool(wild)
        elif bool(wild.any()):
            rows = np.flatnonzero(wild.reshape(len(wild), -1).any(axis=1))
            good[rows // tall if len(bits) == height else rows * strips // len(bits)] = False
    return good.repeat(tall)[:height]


def is_wild(bits: Bits, fmt: Format) -> Bits:
    """Tell which codes of a format are NaN or Inf."""
    derived = derive.codes(fmt)
    if derived.bits <= NARROW:
        found: Bits = _table(fmt.id)[bits & bits.dtype.type((1 << derived.bits) - 1)]
        return found
    plain = bits & ~bits.dtype.type(derived.sign_bit)
    return np.asarray(plain > derived.max_code)


@bounded(64, names=True)
def _table(format_id: str) -> Bits:
    fmt: Format = get("format", format_id)
    return np.array([decode_code(code, fmt).kind in ("nan", "inf") for code in range(1 << derive.codes(fmt).bits)])


def _without(question: Question, keep: Bits) -> Question:
    """Return the rows that are kept."""
    height, kept = keep.size, int(keep.sum())
    operands: dict[str, Bits] = {}
    for name, bits in question.operands.items():
        if not bits.shape:
            operands[name] = bits
        elif len(bits) == height:
            operands[name] = bits[keep]
        elif name == "random":  # words that several elements share: any will do, as many as are needed
            operands[name] = bits.reshape(-1)[: -(-kept * bits.size // height)].reshape((1, -1) if bits.ndim > 1 else -1)
        else:
            operands[name] = bits[keep.reshape(len(bits), -1).all(axis=1)]
    why = question.why
    if len(why) == height:
        why = tuple(word for word, here in zip(why, keep.tolist(), strict=True) if here)
    return Question(operands, why)
