"""A counterexample explained: its operands as hex, every step of the contract by the reference model, what was wanted and what came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from emu.base.errors import EmuError
from emu.check.cutting import cut
from emu.check.judge import format_of
from emu.check.report.model import Example
from emu.check.shrink import Shrunk
from emu.contracts.form import Form
from emu.contracts.quantize.steps import code_text
from emu.spec import derive

if TYPE_CHECKING:
    from emu.check.run import _Checker

MOST = 64  # elements that are printed of an operand


def example_of(checker: _Checker, shrunk: Shrunk, name: str, stage: str) -> Example:
    """Return a counterexample with its steps."""
    form, index = checker.form, shrunk.index
    fmt = format_of(form, stage, shrunk.expected.arrays[stage])
    want, have = int(shrunk.expected.arrays[stage][index]), int(shrunk.got[stage][index])
    try:
        operands, at = dict(shrunk.operands), shrunk.index
        if not form.by_row and operands[form.main].size > MOST * 16:
            operands, at = cut(form, operands, stage, at)
        steps = tuple(form.steps(operands, at, stage, checker.profile))
    except EmuError as error:
        steps = (f"(not explained: {error})",)
    note = "" if shrunk.alone else "only inside the whole question: the part by itself comes out right, or is too large to be cut"
    place = stage + ("" if not index else f"[{', '.join(map(str, index))}]")
    return Example(
        operands_text(form, shrunk, stage), place, code_text(want, fmt), code_text(have, fmt), shrunk.why, steps, shrunk.calls, note
    )


def operands_text(form: Form, shrunk: Shrunk, stage: str) -> dict[str, str]:
    """Return the operands of a counterexample as hex codes; of large ones the shape and the part around the failure."""
    out = {}
    source = dict(shrunk.operands)
    if not shrunk.alone and source[form.main].size > MOST:
        source = cut(form, source, stage, shrunk.index if len(shrunk.index) else ())[0]
    for name, array in source.items():
        fmt = form.operands.get(name)
        digits = array.dtype.itemsize * 2 if fmt is None else -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)
        rows = np.atleast_2d(array)
        shown = [" ".join(f"{int(code):0{digits}X}" for code in row[:MOST]) for row in rows[:16]]
        out[name] = " / ".join(shown) + ("" if array.size <= MOST * 16 else f" ... of {array.shape}")
    return out
