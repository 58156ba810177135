"""A counterexample explained: its operands as hex, every step of the contract by the oracle, what was wanted and what came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from emu.base.errors import EmuError
from emu.check.cutting import cut
from emu.check.form import MAIN, Form
from emu.check.judge import format_of
from emu.check.model import Bits
from emu.check.report.model import Example
from emu.check.shrink import Shrunk
from emu.check.trace import trace_dequantize, trace_quantize, value_at
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.program import Cells
from emu.engines.exact.round import locate, round_magnitude
from emu.engines.exact.value import Value
from emu.explain.dot import numbers as dot_text
from emu.spec import derive, get
from emu.spec.models import Format
from emu.spec.models.format import CodebookFacts
from emu.spec.programs.program import Constant, Program

if TYPE_CHECKING:
    from emu.check.run import _Checker

MOST = 64  # elements that are printed of an operand


def example_of(checker: _Checker, shrunk: Shrunk, name: str, stage: str) -> Example:
    """Return a counterexample with its steps."""
    form, index = checker.form, shrunk.index
    fmt = format_of(form, stage, shrunk.expected.arrays[stage])
    want, have = int(shrunk.expected.arrays[stage][index]), int(shrunk.got[stage][index])
    try:
        steps = tuple(_STEPS[form.op](checker, shrunk, stage))
    except EmuError as error:
        steps = (f"(not explained: {error})",)
    note = "" if shrunk.alone else "only inside the whole question: the part by itself comes out right, or is too large to be cut"
    place = stage + ("" if not index else f"[{', '.join(map(str, index))}]")
    return Example(
        operands_text(form, shrunk, stage), place, code_text(want, fmt), code_text(have, fmt), shrunk.why, steps, shrunk.calls, note
    )


def code_text(code: int, fmt: Format) -> str:
    """Return a code in hex with its value."""
    wide = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    try:
        value = value_text(decode_code(code, fmt))
    except EmuError:
        value = "open"
    return f"0x{code:0{-(-wide // 4)}X} ({value})"


def value_text(value: Value | int) -> str:
    """Return an exact value as text, never rounded."""
    if isinstance(value, int):
        return f"code 0x{value:X}" if value >= 0 else "open"
    return dot_text.value_text(value)


def operands_text(form: Form, shrunk: Shrunk, stage: str) -> dict[str, str]:
    """Return the operands of a counterexample as hex codes; of large ones the shape and the part around the failure."""
    out = {}
    source = dict(shrunk.operands)
    if not shrunk.alone and source[MAIN[form.op]].size > MOST:
        source = cut(form, source, stage, shrunk.index if len(shrunk.index) else ())[0]
    for name, array in source.items():
        fmt = form.operands.get(name)
        digits = array.dtype.itemsize * 2 if fmt is None else -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)
        rows = np.atleast_2d(array)
        shown = [" ".join(f"{int(code):0{digits}X}" for code in row[:MOST]) for row in rows[:16]]
        out[name] = " / ".join(shown) + ("" if array.size <= MOST * 16 else f" ... of {array.shape}")
    return out


def _convert(checker: _Checker, shrunk: Shrunk, stage: str) -> Iterator[str]:
    """decode, round, overflow, encode of one code."""
    form, (to, rounding_name, policy) = checker.form, checker.form.contract.parts
    source, fmt, rounding = form.operands["codes"], get("format", to), get("rounding", rounding_name)
    assert source is not None
    (at,) = shrunk.index
    code = int(shrunk.operands["codes"][at])
    value = decode_code(code, source)
    yield f"decode   {source.id} 0x{code:X} is {value_text(value)}"
    entry = derive.policy_entry(get("policy", policy), fmt)
    random = _drawn(form, shrunk, at)
    if value.kind == "finite" and not value.is_zero and not isinstance(fmt.facts, CodebookFacts):
        place = locate(value.magnitude, fmt)
        yield f"round    {place.lost} of an ulp above the magnitude code {place.code}; {rounding.id}" + (
            "" if random is None else f", random {random}"
        )
        rounded = round_magnitude(value.magnitude, value.sign, fmt, rounding, random)
        most = derive.codes(fmt).max_code
        yield f"overflow magnitude code {rounded}, the largest is {most}" + (f": {entry.overflow}" if rounded > most else "")
    else:
        yield f"special  {value_text(value)}: policy {policy}"
    found = convert_value(value, fmt, rounding, entry, random)
    yield "encode   " + (code_text(found, fmt) if found >= 0 else "nobody knows")


def _drawn(form: Form, shrunk: Shrunk, at: int) -> int | None:
    if form.draws is None:
        return None
    from emu.engines.numpy.convert import element_random

    drawn = element_random(shrunk.operands["random"], form.draws, shrunk.operands["codes"].shape)
    return None if drawn is None else int(drawn[at])


def _element(form: Form, shrunk: Shrunk, stage: str) -> tuple[dict[str, Bits], int, int]:
    """Return a small tensor with the place that differs, and the first element of that place."""
    operands, index = shrunk.operands, shrunk.index
    if operands[MAIN[form.op]].size > MOST * 16:
        operands, index = cut(form, operands, stage, index)
    if not index:
        return operands, 0, 0
    shapes = form.shapes(operands)
    base = shapes.get("codes", operands[MAIN[form.op]].shape)
    shape = shapes[stage]
    return operands, index[0] * base[0] // shape[0], index[1] * base[1] // shape[1]


def _program(program: Program, cells: dict[str, Cells], row: int, column: int, answer: str | None = None) -> Iterator[str]:
    """One line a step that leads to an answer: name, operation, arguments, the value for one element."""
    needed = {program.outputs[answer]} if answer is not None else set(program.types)
    for item in reversed(program.instructions):
        needed |= {arg for arg in item.args if isinstance(arg, str)} if item.out in needed else set()
    for item in program.instructions:
        if item.out not in needed:
            continue
        args = ", ".join(_argument(arg, program) for arg in item.args)
        value = value_at(program, cells, item.out, row, column)
        fmt = item.type.formats[0] if item.type.formats else None
        if isinstance(value, int):
            text = "open" if value < 0 else code_text(value, fmt) if fmt is not None else f"{value:#x}"
        else:
            text = value_text(value)
        yield f"{item.out} = {item.op}({args}) = {text}"


def _argument(arg: str | Constant, program: Program) -> str:
    return arg if isinstance(arg, str) else value_text(decode_code(arg.bits, program.arithmetic))


def _quantize(checker: _Checker, shrunk: Shrunk, stage: str) -> Iterator[str]:
    form = checker.form
    operands, row, column = _element(form, shrunk, stage)
    program, cells = trace_quantize(form, operands)
    x = operands["x"]
    if row < x.shape[0] and column < x.shape[1]:
        source = form.operands["x"]
        assert source is not None
        yield f"x[{row}, {column}] = {code_text(int(x[row, column]), source)}"
    yield from _program(program, cells, row, column, None if stage == "values" else stage)
    if stage == "values":
        found = checker.expect(operands, "exact", {"values": x})
        levels = {name: bits for name, bits in found.arrays.items() if name not in ("codes", "values")}
        yield from _program(*trace_dequantize(form, checker.profile, found.arrays["codes"], levels), row, column)


def _dequantize(checker: _Checker, shrunk: Shrunk, stage: str) -> Iterator[str]:
    form = checker.form
    operands, row, column = _element(form, shrunk, stage)
    levels = {name: array for name, array in operands.items() if name != "codes"}
    yield from _program(*trace_dequantize(form, form.contract.parts[1], operands["codes"], levels), row, column)


def _decode(checker: _Checker, shrunk: Shrunk, stage: str) -> Iterator[str]:
    fmt = checker.form.operands["codes"]
    assert fmt is not None
    yield f"decode {fmt.id} {code_text(int(shrunk.operands['codes'][shrunk.index]), fmt)}"


def _transform(checker: _Checker, shrunk: Shrunk, stage: str) -> Iterator[str]:
    turn = get("transform", checker.form.contract.parts[0])
    facts = turn.facts
    signs = int(shrunk.operands["signs"]) if "signs" in shrunk.operands else int(facts.signs, 16)
    yield f"signs 0x{signs:X}: bit i set negates element i of each {facts.size}"
    yield f"sum in order {facts.sum}, rounded to {facts.sum_format}; result {facts.result}"


def _dot(checker: _Checker, shrunk: Shrunk, stage: str) -> Iterator[str]:
    from emu.explain.dot.rows import DotRow
    from emu.explain.dot.text import lines_of
    from emu.explain.dot.trace import explain_dot
    from emu.spec.contract import plan_of

    (row,) = shrunk.index
    operands = shrunk.operands
    a, b, scale_a, scale_b = (tuple(operands[name][row].tolist()) if name in operands else () for name in ("a", "b", "scale_a", "scale_b"))
    yield from lines_of(explain_dot(DotRow(a, b, scale_a, scale_b, int(operands["c"][row])), plan_of(checker.form.contract)))


_STEPS = {"convert": _convert, "quantize": _quantize, "dequantize": _dequantize, "decode": _decode, "transform": _transform, "dot": _dot}
