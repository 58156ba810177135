"""Derive the rows of a suite by one engine and compare: what the process with a fault in it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from support.mutation import CALCULATE, WORDS
from support.mutation_rows import KILL, Suite

from emu.contracts import OPERATIONS, Contract, parse
from emu.contracts.rows import Answer, Row, inputs_of, mismatches, unpack, value_of
from emu.engines.exact import arithmetic
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.random_bits import element_bits
from emu.spec.models import Format, Rounding
from emu.spec.registry import get
from emu.vectors.files.manifest import parse_stem


def operation_of(suite: Suite) -> Contract:
    """Return the contract of a suite, by its string and name alone: a changed spec need not plan it."""
    stem = parse_stem(suite.stem.replace(f"__{KILL}", "__directed"))
    return parse(suite.contract, {"source": stem.src, "result": stem.dst, "": ""}[OPERATIONS[stem.op].opens])


def expected(suite: Suite) -> list[Answer | None]:
    """Return the whole answer of each row; None where a mask leaves a part of it open."""
    if suite.stem.startswith((WORDS, CALCULATE)):
        return []
    layout, out = operation_of(suite).layout, []
    for _, values in suite.rows:
        row = Row("", (), values)
        whole = all(value_of(layout, row, f"m_{column.name}") == (1 << column.bits) - 1 for column in layout.results)
        out.append(tuple(unpack(value_of(layout, row, column.name), column) for column in layout.results) if whole else None)
    return out


def differing(suite: Suite, engine: str, wanted: Sequence[Answer | None]) -> tuple[list[int], int]:
    """Return the ids of rows that an engine derives otherwise, and how many rows it derived. A row it raises on differs.

    wanted: as `expected` gives it.
    """
    if suite.stem.startswith(WORDS):
        return _differing_words(suite, engine)
    if suite.stem.startswith(CALCULATE):
        return _differing_results(suite, engine)
    op = operation_of(suite)
    rows = [Row("", flags, values) for flags, values in suite.rows]
    values = [inputs_of(op.layout, row) for row in rows]
    if engine == "exact":
        answers = [_tried(op.exact, value) for value in values]
    else:
        batch = op.engines().get(engine)
        answers = [None] * len(rows) if batch is None else _batch(batch, values)
    found = []
    for number, (row, answer, whole) in enumerate(zip(rows, answers, wanted, strict=True), 1):
        same = whole is not None and answer is not None and answer == whole[: len(answer)]
        if not same and _differs(op, row, answer):
            found.append(number)
    return found, sum(answer is not None for answer in answers)


def _tried(function: Any, *arguments: Any) -> Any:
    """Return a result, or the word `raises`: a fault may break an invariant, and that is a difference."""
    try:
        return function(*arguments)
    except Exception:
        return "raises"


def _batch(batch: Any, values: Sequence[tuple[int, ...]]) -> list[Any]:
    """Return the answers of an engine; one row at a time where a batch raises."""
    answers = _tried(batch, values)
    if answers != "raises":
        return list(answers)
    singles = [_tried(batch, [value]) for value in values]
    return [single if single == "raises" else single[0] for single in singles]


def _differs(op: Contract, row: Row, answer: Answer | str | None) -> bool:
    """Tell whether an answer is not that of the row: another bit, a code that is open in the row, or an error."""
    if answer is None or isinstance(answer, str):
        return answer is not None
    if mismatches(op.layout, row, answer):
        return True
    outputs = zip(op.layout.results, answer, strict=False)
    return any(
        column.role == "out" and any(code >= 0 for code in lanes) and not value_of(op.layout, row, "m_" + column.name)
        for column, lanes in outputs
    )


def _differing_words(suite: Suite, engine: str) -> tuple[list[int], int]:
    """The same for shared words: each engine splits a word into the integers of its lanes."""
    rounding: Rounding = get("rounding", suite.contract)
    found = []
    for number, (_, (word, *lanes)) in enumerate(suite.rows, 1):
        if _tried(_split, word, rounding, len(lanes), engine) != lanes:
            found.append(number)
    return found, len(suite.rows)


def _split(word: int, rounding: Rounding, lanes: int, engine: str) -> list[int]:
    if engine == "exact":
        return [element_bits(word, rounding, lane) for lane in range(lanes)]
    words = np.array([word], np.uint64)
    if engine == "numpy":
        from emu.engines.numpy.convert import element_random

        split: Any = element_random(words, rounding, (lanes,))
    else:
        from emu.engines.c_ref.convert import element_random as split_words

        split = split_words(words, rounding, lanes)
    return [int(part) for part in split]


def _differing_results(suite: Suite, engine: str) -> tuple[list[int], int]:
    """The same for single operations of programs; the NumPy engine has no door for them, the C reference none for all."""
    name, *ids = suite.contract.split("/")
    compute = {"exact": _exactly, "c_ref": _by_c}.get(engine)
    if compute is None or (engine == "c_ref" and name not in _IN_C):
        return [], 0
    rows = enumerate(suite.rows, 1)
    return [number for number, (_, (*args, result)) in rows if _tried(compute, name, ids, args) != result], len(suite.rows)


def _exactly(name: str, ids: Sequence[str], args: Sequence[int]) -> int:
    """Return the code of an operation's result by the reference model."""
    fmt: Format = get("format", ids[0])
    to: Format = get("format", ids[1])
    rounding: Rounding = get("rounding", ids[2])
    values = [decode_code(code, fmt) for code in args]
    if name.startswith("e8m0_"):
        return arithmetic.e8m0_rule(values[0], name.removeprefix("e8m0_"), 2, 1, args[0])
    if name.startswith("sum_"):
        return encode_value(arithmetic.total(values, name.removeprefix("sum_"), to, rounding), to)
    if name == "pow2":
        return encode_value(arithmetic.two_to_the(values[0], to), to)
    exact = {
        "add": lambda: arithmetic.add(values[0], values[1], rounding),
        "mul": lambda: arithmetic.multiply(values[0], values[1]),
        "div": lambda: arithmetic.divide(values[0], values[1]),
        "fma": lambda: arithmetic.add(arithmetic.multiply(values[0], values[1]), values[2], rounding),
        "round": lambda: values[0],
    }[name]()
    return encode_value(arithmetic.round_result(exact, to, rounding), to)


_IN_C: Final = ("add", "mul", "div", "fma", "round")


def _by_c(name: str, ids: Sequence[str], args: Sequence[int]) -> int:
    """Return the same by the C reference."""
    from emu.engines.c_ref._c import ffi, lib
    from emu.engines.c_ref.descriptors import format_descriptor, rounding_descriptor
    from emu.engines.c_ref.program import OPERATION

    fmt, to = (format_descriptor(get("format", name)) for name in ids[:2])
    rounding = rounding_descriptor(get("rounding", ids[2]), get("format", ids[1]), to)
    cells = [ffi.new("uint64_t[1]", [code]) for code in args] + [ffi.NULL] * (3 - len(args))
    out = ffi.new("uint64_t[1]")
    error = lib.emu_calculate_array(OPERATION[name], fmt.pointer, to.pointer, rounding, 0, cells[0], cells[1], cells[2], 1, out)
    return -error if error else int(out[0])
