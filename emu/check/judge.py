"""Where answers differ from a contract, stage by stage: layout, outer levels, scales, codes, values.

The codes of a block whose scale differs follow from that scale: they are a consequence, not failures of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from emu.contracts.form import Arrays, Bits, Expected, Form, spread
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts


@dataclass(frozen=True)
class Difference:
    """Where one answer differs by itself. name: of the answer, which is the stage.   wrong: bool, shape of the answer.   count: of them."""

    name: str
    wrong: Bits
    count: int


class Judged(NamedTuple):
    """What came of one question. compared: codes that were compared.   differences: in the order of the stages, none empty.

    hidden: codes that were not, because a level that they follow from differs.
    """

    compared: int
    differences: tuple[Difference, ...]
    hidden: int = 0


def judge(form: Form, expected: Expected, got: Arrays) -> Judged:
    """Compare the answers to one question. Raises: nothing; shapes were checked when the answers were read."""
    compared, hidden, found = 0, 0, []
    spoiled: Bits | None = None
    for name in form.answers_of(got):
        want, have = expected.arrays[name], got[name]
        fmt = format_of(form, name, expected)
        wrong = differing(want, have, fmt, form.any_nan(name))
        known = expected.known.get(name)
        if known is not None:
            wrong &= known
        behind = 0
        if spoiled is not None:
            touched = _touched(spoiled, wrong.shape)
            wrong &= ~touched
            behind = int(np.count_nonzero(touched if known is None else touched & known))
        compared += (want.size if known is None else int(np.count_nonzero(known))) - behind
        hidden += behind
        if wrong.any():
            found.append(Difference(name, wrong, int(np.count_nonzero(wrong))))
            if not form.by_row:
                here = spread(wrong, elements_shape(form, expected, got))
                spoiled = here.copy() if spoiled is None else spoiled | here
    return Judged(compared, tuple(found), hidden)


def elements_shape(form: Form, expected: Expected, got: Arrays) -> tuple[int, ...]:
    """Return the shape of the elements of a question: codes, or values."""
    return tuple(expected.arrays["codes" if "codes" in expected.arrays else next(iter(got))].shape)


def format_of(form: Form, name: str, expected: Expected) -> Format:
    """Return the format of an answer; of values the one that was asked for."""
    return expected.result if name == "values" and expected.result is not None else form.answers[name]


def _touched(spoiled: Bits, shape: tuple[int, ...]) -> Bits:
    """Return which parts of a place hold a spoiled element."""
    if spoiled.shape == shape:
        return spoiled
    if not shape:
        return np.asarray(bool(spoiled.any()))
    if shape[0] * shape[1] > spoiled.size:
        return spread(spoiled, shape)
    out = np.zeros(shape, bool)
    rows, columns = np.nonzero(spoiled)
    tall, wide = -(-spoiled.shape[0] // shape[0]), -(-spoiled.shape[1] // shape[1])
    inside = (rows // tall < shape[0]) & (columns // wide < shape[1])
    out[rows[inside] // tall, columns[inside] // wide] = True
    return out


def differing(want: Bits, have: Bits, fmt: Format, free_nan: bool) -> Bits:
    """Return where codes differ. free_nan: any NaN equals any NaN. A NaN scale's unused sign bit is open: it is not compared."""
    wrong: Bits = np.asarray(want != have)
    if not wrong.any():
        return wrong
    spare = derive.unused_high_bits(fmt)
    if spare:
        low = (1 << derive.codes(fmt).bits) - 1
        both = is_nan(want & low, fmt) & is_nan(have & low, fmt)
        return wrong & ~both
    if free_nan:
        return wrong & ~(is_nan(want, fmt) & is_nan(have, fmt))
    return wrong


def is_nan(codes: Bits, fmt: Format) -> Bits:
    """Return where codes are NaN."""
    derived, facts = derive.codes(fmt), fmt.facts
    if isinstance(facts, FloatFacts) and facts.nan == "ieee":
        assert derived.inf is not None
        magnitude = codes & ~codes.dtype.type(derived.sign_bit)
        return np.asarray(magnitude > derived.inf)
    return np.isin(codes, np.array(derived.nan, np.uint64)) if derived.nan else np.zeros(codes.shape, bool)
