"""What a contract says: the answers by the oracle or the quickest engine. Unknown facts come as a mask, never guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from emu.base.errors import EngineError, OpenError, OperandError
from emu.check.form import Form, integer_dtype
from emu.check.model import Arrays, Bits
from emu.check.open_tiles import open_tiles, shut, without
from emu.engines.datapath import run_dot
from emu.engines.exact.block import dequantize as dequantize_exact
from emu.engines.exact.block import quantize as quantize_exact
from emu.engines.exact.convert import convert_value
from emu.engines.exact.datapath import dot as dot_exact
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.numpy.convert import element_random
from emu.engines.run import run_convert, run_decode, run_dequantize, run_quantize, run_transform
from emu.spec import derive, get
from emu.spec.contract import plan_of
from emu.spec.models import Format, Policy, Recipe, Rounding, Transform


class Expected(NamedTuple):
    """Answers by name. known: name -> bool array, False where nobody knows the code; a name that is missing is known throughout."""

    arrays: dict[str, Bits]
    known: dict[str, Bits]


def expect(
    form: Form, operands: Arrays, engine: str, result: str | None = None, profile: str | None = None, values: bool = False
) -> Expected:
    """Return the answers of a contract.

    engine: exact, auto or another name of emu.engines.   result: format of values, None: fp32.   values: of a quantize contract too, by a
    dequantize profile.   Raises: OperandError, ShapeError, EngineError.   Tests: tests/check/test_check_python.py.
    """
    return _BY_OP[form.op](form, operands, engine, get("format", result or "fp32"), profile, values)


def _masked(rows: Any, fmt: Format) -> tuple[Bits, Bits]:
    """Return codes and where they are known, out of integers that are negative where nobody knows."""
    array = np.array(rows, np.int64) if derive.codes(fmt).bits < 64 else np.array(rows, object)
    return np.where(array < 0, 0, array).astype(integer_dtype(fmt)), np.asarray(array >= 0, bool)


def _whole(name: str, bits: Bits, known: Bits) -> Expected:
    return Expected({name: bits}, {} if bool(known.all()) else {name: known})


def _decode(form: Form, operands: Arrays, engine: str, result: Format, *_: Any) -> Expected:
    fmt: Format = get("format", form.contract.parts[0])
    codes = operands["codes"]
    if engine != "exact" and derive.codes(fmt).bits <= 16 and not derive.unused_high_bits(fmt):
        return Expected({"values": run_decode(codes, fmt, result, engine)}, {})

    def one(code: int) -> int:
        try:
            return encode_value(decode_code(code, fmt), result)
        except OpenError:
            return -1

    return _whole("values", *_masked([one(int(code)) for code in codes], result))


def _convert(form: Form, operands: Arrays, engine: str, *_: Any) -> Expected:
    fmt: Format = get("format", form.contract.parts[0])
    rounding: Rounding = get("rounding", form.contract.parts[1])
    policy: Policy = get("policy", form.contract.parts[2])
    codes, random, source = operands["codes"], operands.get("random"), form.operands["codes"]
    assert source is not None
    if engine != "exact":
        try:
            return Expected({"codes": run_convert(codes, source, fmt, rounding, policy, random, engine)}, {})
        except (OpenError, OperandError):
            return _convert_rest(form, operands, engine, codes)
    entry = derive.policy_entry(policy, fmt)
    drawn = element_random(random, rounding, codes.shape)
    integers = [None] * codes.size if drawn is None else drawn.tolist()
    found = [convert_value(decode_code(code, source), fmt, rounding, entry, r) for code, r in zip(codes.tolist(), integers, strict=True)]
    return _whole("codes", *_masked(found, fmt))


def _convert_rest(form: Form, operands: Arrays, engine: str, codes: Bits) -> Expected:
    """Convert what the policy knows with the engine, NaN, Inf and negative codes with the oracle."""
    source = form.operands["codes"]
    assert source is not None
    derived = derive.codes(source)
    plain = codes & ~codes.dtype.type(derived.sign_bit)
    special = (plain > derived.max_code) | (codes != plain)
    lanes = 1 if form.draws is None else codes.size // max(operands["random"].size, 1)
    if bool(special.all()) or lanes > 1:
        return _convert(form, operands, "exact")
    parts = []
    for mask, by in ((special, "exact"), (~special, engine)):
        part = {name: array[mask] for name, array in operands.items()}
        try:
            parts.append((mask, _convert(form, part, by) if by == "exact" else _plain_convert(form, part, by)))
        except OperandError:
            return _convert(form, operands, "exact")
    out = np.empty(codes.shape, parts[0][1].arrays["codes"].dtype)
    known = np.ones(codes.shape, bool)
    for mask, found in parts:
        out[mask] = found.arrays["codes"]
        known[mask] = found.known.get("codes", True)
    return _whole("codes", out, known)


def _plain_convert(form: Form, operands: Arrays, engine: str) -> Expected:
    parts = form.contract.parts
    facts = get("format", parts[0]), get("rounding", parts[1]), get("policy", parts[2])
    source = form.operands["codes"]
    assert source is not None
    return Expected({"codes": run_convert(operands["codes"], source, *facts, operands.get("random"), engine)}, {})


def _quantize(form: Form, operands: Arrays, engine: str, result: Format, profile: str | None, values: bool) -> Expected:
    recipe: Recipe = get("recipe", form.contract.parts[0])
    tiles = open_tiles(form, operands)
    if tiles is None:
        found = _quantize_codes(form, operands, recipe, engine)
    else:
        found = _quantize_codes(form, without(operands, tiles), recipe, engine)
        found = Expected(found.arrays, shut(found.arrays, found.known, tiles))
    return _with_values(form, operands, found, recipe, result, profile, engine) if values else found


def _quantize_codes(form: Form, operands: Arrays, recipe: Recipe, engine: str) -> Expected:
    """Quantize by an engine, by the oracle where that leaves something open."""
    source = form.operands["x"]
    assert source is not None
    if engine == "exact":
        return _quantize_tiles(form, operands, recipe, source)
    try:
        codes, levels = run_quantize(recipe, operands["x"], source, engine=engine, **_extra(form, operands))
    except OpenError:
        return _quantize_tiles(form, operands, recipe, source)
    shapes = form.shapes(operands)
    return Expected({"codes": codes, **{name: array.reshape(shapes[name]) for name, array in levels.items()}}, {})


def _extra(form: Form, operands: Arrays) -> dict[str, Any]:
    """Return the operands of a recipe as its engines take them; a tensor maximum that is not given is taken from x."""
    out: dict[str, Any] = {name: int(operands[name]) for name in ("tensor_amax", "signs") if name in operands}
    return out | ({"random": operands["random"]} if "random" in operands else {})


def _quantize_tiles(form: Form, operands: Arrays, recipe: Recipe, source: Format) -> Expected:
    """Quantize by the oracle, codes that nobody knows masked."""
    extra = _extra(form, operands)
    if "random" in extra:
        extra["random"] = np.asarray(extra["random"]).tolist()
    found = quantize_exact(recipe, operands["x"].tolist(), source, masked=True, **extra)
    arrays, known = {}, {}
    shapes = form.shapes(operands)
    for name, rows in (("codes", found.codes), *found.levels.items()):
        bits, here = _masked(rows, form.answers[name])
        arrays[name] = bits.reshape(shapes[name])
        if not bool(here.all()):
            known[name] = here.reshape(shapes[name])
    return Expected(arrays, known)


def _with_values(
    form: Form, operands: Arrays, found: Expected, recipe: Recipe, result: Format, profile: str | None, engine: str
) -> Expected:
    """Add the dequantized values of codes and levels, cut to the shape of x; unknown where a code of their block is."""
    levels = {name: bits.reshape(1, 1) if not bits.shape else bits for name, bits in found.arrays.items() if name != "codes"}
    height, width = operands["x"].shape
    try:
        values = run_dequantize(recipe, found.arrays["codes"], levels, profile=profile, result=result, engine=engine)
    except OpenError:
        return Expected(
            found.arrays | {"values": np.zeros((height, width), integer_dtype(result))},
            found.known | {"values": np.zeros((height, width), bool)},
        )
    known = dict(found.known)
    if known:
        known["values"] = np.ones((height, width), bool)
        for mask in found.known.values():
            known["values"] &= spread(mask, values.shape)[:height, :width]
    return Expected(found.arrays | {"values": values[:height, :width]}, known)


def spread(mask: Bits, shape: tuple[int, ...]) -> Bits:
    """Return a mask of parts as a mask of elements: each part covers equally many rows and columns."""
    if mask.shape == shape or not mask.shape:
        return np.broadcast_to(mask, shape)
    rows, columns = -(-shape[0] // mask.shape[0]), -(-shape[1] // mask.shape[1])
    return mask.repeat(rows, axis=0).repeat(columns, axis=1)[: shape[0], : shape[1]]


def _dequantize(form: Form, operands: Arrays, engine: str, result: Format, *_: Any) -> Expected:
    recipe: Recipe = get("recipe", form.contract.parts[0])
    profile = form.contract.parts[1]
    assert form.block is not None
    levels = {level.name: operands[level.name] for level in form.block.facts.levels}
    levels = {name: array.reshape(1, 1) if not array.shape else array for name, array in levels.items()}
    codes = operands["codes"]
    try:
        return Expected({"values": run_dequantize(recipe, codes, levels, profile=profile, result=result, engine=engine)}, {})
    except OpenError:
        pass
    tall, wide = form.block.facts.shape
    out, known = np.zeros(codes.shape, integer_dtype(result)), np.ones(codes.shape, bool)
    for top in range(0, codes.shape[0], tall):
        for left in range(0, codes.shape[1], wide):
            place = (slice(top, top + tall), slice(left, left + wide))
            part = {name: _part(array, codes.shape, place) for name, array in levels.items()}
            try:
                out[place] = dequantize_exact(recipe, codes[place].tolist(), part, profile=profile, result=result)
            except OpenError:
                known[place] = False
    return Expected({"values": out}, {"values": known})


def _part(level: Bits, shape: tuple[int, ...], place: tuple[slice, slice]) -> list[list[int]]:
    """Return the codes of a level that a rectangle of elements needs."""
    rows, columns = -(-shape[0] // level.shape[0]), -(-shape[1] // level.shape[1])
    rows_of = slice(place[0].start // rows, -(-place[0].stop // rows))
    part: list[list[int]] = level[rows_of, place[1].start // columns : -(-place[1].stop // columns)].tolist()
    return part


def _transform(form: Form, operands: Arrays, engine: str, *_: Any) -> Expected:
    turn: Transform = get("transform", form.contract.parts[0])
    source = form.operands["x"]
    assert source is not None
    signs = int(operands["signs"]) if "signs" in operands else None
    return Expected({"values": run_transform(operands["x"], source, turn, signs, engine)}, {})


def _dot(form: Form, operands: Arrays, engine: str, *_: Any) -> Expected:
    plan = plan_of(form.contract)
    names = ("a", "b", "scale_a", "scale_b", "c")
    arrays = [operands.get(name) for name in names]
    known: Bits = np.ones(len(operands["a"]), bool)
    if plan.scale is not None:  # a bit above a scale's code is open, also where a model ignores it
        known = np.logical_not(((operands["scale_a"] | operands["scale_b"]) >> derive.codes(plan.scale).bits).any(axis=1))
    if engine != "exact":
        try:
            return _whole("d", run_dot(*arrays, plan, engine), known)  # type: ignore[call-arg, arg-type]
        except OpenError:
            pass

    def one(row: int) -> int:
        a, b, scale_a, scale_b = ([] if array is None else array[row].tolist() for array in arrays[:4])
        try:
            return dot_exact(a, b, scale_a, scale_b, int(operands["c"][row]), plan).code if known[row] else -1
        except OpenError:
            return -1

    return _whole("d", *_masked([one(row) for row in range(len(operands["a"]))], plan.d))


_BY_OP: dict[str, Callable[..., Expected]] = {
    "decode": _decode, "convert": _convert, "quantize": _quantize, "dequantize": _dequantize, "transform": _transform, "dot": _dot,
}  # fmt: skip


def engine_of(form: Form, operands: Arrays) -> str:
    """Return the name of the engine that auto is for a contract, for the report."""
    from emu.engines.table import choose

    known: dict[str, Callable[[], tuple[Any, ...]]] = {
        "decode": lambda: (form.operands["codes"], get("format", "fp32")),
        "convert": lambda: (
            form.operands["codes"],
            *(get(kind, part) for kind, part in zip(("format", "rounding", "policy"), form.contract.parts, strict=True)),
        ),
        "quantize": lambda: (get("recipe", form.contract.parts[0]), form.operands["x"]),
        "dequantize": lambda: (get("recipe", form.contract.parts[0]), form.contract.parts[1]),
        "transform": lambda: (get("transform", form.contract.parts[0]), form.operands["x"]),
        "dot": lambda: (plan_of(form.contract),),
    }
    try:
        return choose(form.op, "auto", *known[form.op]())
    except EngineError:
        return "exact"


def any_nan(form: Form, name: str) -> bool:
    """Tell whether every NaN of an answer counts as equal: values, levels of the program's arithmetic, a datapath that says so."""
    if form.op == "dot":
        return plan_of(form.contract).facts.special.nan == "any"
    return name == "values" or (form.op == "quantize" and name != "codes" and derive.codes(form.answers[name]).bits > 8)


def answers_of(form: Form, names: Iterable[str]) -> tuple[str, ...]:
    """Return given names in the order in which they are judged."""
    given = set(names)
    return tuple(name for name in (*form.answers, "values") if name in given)
