"""The suites of a check by name: what is asked in each the contract says; here it is made what a kernel takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from emu.base.errors import OperandError
from emu.check.cutting import rectangle
from emu.contracts.form import Arrays, Asked, Bits, Form, Question
from emu.contracts.grid import code_at
from emu.engines.exact.decode import decode_code
from emu.engines.run import run_amax
from emu.spec import derive, get

FEW: Final = "few_decisions"
_ASKED: Final[dict[str, Callable[[Form, Asked], Iterator[Question]]]] = {
    "directed": lambda form, asked: form.directed(asked),
    "exhaustive": lambda form, asked: form.exhaustive(asked),
    "stratified": lambda form, asked: form.stratified(asked),
    "decisions": lambda form, asked: form.decisions(asked),
    "shapes": lambda form, asked: form.in_shapes(asked),
    FEW: lambda form, asked: form.decisions(replace(asked, few=True)),
}
SUITES: Final = tuple(name for name in _ASKED if name != FEW)


def completed(form: Form, suites: Iterable[str]) -> tuple[str, ...]:
    """Return the suites that a check asks for: those named, and some decisions of a contract that has any, where they are not named."""
    named = tuple(suites)
    return named if not form.decides or "decisions" in named else (*named, FEW)


def questions(form: Form, suite: str, takes_amax: bool, options: Mapping[str, Any], takes_signs: bool = True) -> Iterator[Question]:
    """Yield the questions of a suite as a kernel takes them.

    suite: as `completed` returns it.   takes_amax: hand tensor maxima in as operands; else the tensor holds its own, in a further tile.
    takes_signs: hand signs of a rotation in as an operand; else every tensor is asked under those of its object.
    options: count, key, multiple; where they are known shapes (a user's own) and calls (how the target is called, emu.check.model.Calls).
    Tests: tests/check/test_check_inputs.py.
    """
    own = tuple(tuple(shape) for shape in options.get("shapes", ()))
    multiple = (int(options["multiple"][0]), int(options["multiple"][1]))
    asked = Asked(options["key"], options["count"], multiple, own, calls=options.get("calls", "files"))
    for question in _ASKED[suite](form, asked):
        for part in (question,) if takes_amax or "tensor_amax" not in question.operands else carried(form, question):
            yield padded(form, part if takes_signs else under_own_signs(form, part), multiple)


def under_own_signs(form: Form, question: Question) -> Question:
    """Return a question under the signs that the rotation's object has where a caller hands none in."""
    if "signs" not in question.operands:
        return question
    part = None if question.part is None else {**question.part, **form.own_signs}
    return replace(question, operands={**question.operands, **form.own_signs}, part=part)


def carried(form: Form, question: Question) -> Iterator[Question]:
    """Yield a question without the operand of the tensor maximum, which a further tile holds where the tensor does not.

    Where no tile can hold it, because it is no number of the source or elements are larger, the tensor is asked under its own; where NaN or
    Inf is among its elements, each tile alone.
    """
    operands = dict(question.operands)
    amax, source, x, tall = int(operands.pop("tensor_amax")), form.operands[form.main], operands[form.main], form.tile[0]
    assert source is not None
    held, most = run_amax(x, source) if x.size else amax, derive.codes(get("format", "fp32")).max_code
    code = code_at(decode_code(min(amax, most), get("format", "fp32")).magnitude, source)
    if held == amax:
        yield replace(question, operands=operands)
    elif max(held, amax) > most:
        for top in range(0, len(x), tall):
            part = rectangle(form, operands, (top, top + tall), (0, x.shape[1]))
            del part["tensor_amax"]
            yield Question(part, question.why[top : top + tall] if len(question.why) == len(x) else question.why)
    elif held < amax == run_amax(np.array([[code]], x.dtype), source):
        out = widened(form, operands, (len(x) + tall, x.shape[1]))
        out[form.main][len(x), 0] = code
        why = (*question.why, *["carrier"] * tall) if len(question.why) == len(x) else question.why
        yield replace(question, operands=out, why=why)
    else:
        yield replace(question, operands=operands, reach=None)


def padded(form: Form, question: Question, multiple: tuple[int, int]) -> Question:
    """Return a question whose rows and columns are multiples, filled up with zeros; as it is where rows are on their own."""
    main = question.operands[form.main]
    if form.by_row or multiple == (1, 1):
        return question
    height, width = (-(-size // step) * step for size, step in zip(main.shape, multiple, strict=True))
    more = ["padding"] * (height - len(main)) if len(question.why) == len(main) else []
    return replace(question, operands=widened(form, question.operands, (height, width)), why=(*question.why, *more))


def widened(form: Form, operands: Arrays, shape: tuple[int, int]) -> dict[str, Bits]:
    """Return operands with rows and columns of zeros up to a shape; as they are where an operand has parts of another shape."""
    main, out = operands[form.main], dict(operands)
    if main.shape == shape or any(array.shape not in ((), main.shape) for name, array in operands.items() if name != "random"):
        return out
    more = [(0, wide - size) for wide, size in zip(shape, main.shape, strict=True)]
    for name, array in operands.items():
        if array.shape == main.shape:
            out[name] = np.pad(array, more)
        elif name == "random":  # words that several elements share: as many as are needed
            out[name] = np.resize(array, (1, -(-shape[0] * shape[1] * array.size // main.size)))
    return out


def parse_shapes(text: str, sides: int = 2) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of "4096x5120,1x128". sides: 2 of a tensor, 3 of a product (M, N, K), where 4 are several. Raises: OperandError."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"[1-9]\d{0,8}" + r"(?:x[1-9]\d{0,8})" * (sides - 1) + r"(?:x[1-9]\d{0,8})?" * (sides == 3), part.strip())
        if match is None:
            what = "rows x columns, such as 128x64" if sides == 2 else "M x N x K, such as 128x64x256 (E x M x N x K of several products)"
            raise OperandError(f"--shapes {part.strip()!r}: write {what}, several with commas")
        found.append(tuple(int(side) for side in match[0].split("x")))
    return tuple(found)
