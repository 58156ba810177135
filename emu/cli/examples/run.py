"""Witnesses: the hand-checked examples of spec files, run through the oracle. Not here: who asks (emu doctor, tests)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emu.base.errors import EmuError
from emu.cli.examples.checkpoint import check as _checkpoint
from emu.cli.examples.coverage import check as _coverage
from emu.cli.examples.instruction import check as _instruction
from emu.cli.examples.training import check as _training
from emu.engines.exact.block import decode_block_value, dequantize, quantize
from emu.engines.exact.convert import convert_code
from emu.engines.exact.datapath import dot
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.layout import place
from emu.engines.exact.round import round_value
from emu.engines.exact.transform import transform_codes
from emu.engines.exact.value import Value
from emu.pages.numbers import exact_text
from emu.spec import Block, Datapath, Format, Layout, Policy, Recipe, Rounding, SpecObject, Transform, derive, get
from emu.spec.datapath import known_facts, pairs, resolve
from emu.spec.hex_rows import split
from emu.spec.models.datapath import ValueExample, WidthExample
from emu.spec.models.rounding import Word
from emu.spec.programs.program import quantize_program


def faults(thing: SpecObject) -> Iterator[tuple[int, str | None]]:
    """Yield (number of the witness, None when it holds, else what came out instead) for every witness of a spec object."""
    check = _CHECKS[thing.kind]
    for number, witness in enumerate(thing.expect):  # type: ignore[attr-defined]
        try:
            yield number, check(thing, witness)
        except EmuError as error:
            yield number, str(error)


def parse_value(text: str) -> Value:
    """Return the value of the closed forms of spec files: p, p/q, 2^k, -0, nan, +inf, -inf."""
    if text == "nan":
        return Value("nan", 0)
    if text in ("+inf", "-inf"):
        return Value("inf", int(text[0] == "-"))
    if text == "-0":
        return Value("finite", 1)
    number = derive.parse_exact(text)
    return Value("finite", int(number < 0), abs(number))


def _same(found: Value, text: str) -> str | None:
    wanted = parse_value(text)
    if found == wanted or (found.kind == wanted.kind == "nan"):
        return None
    return f"{exact_text(found)}, not {text}"


def _format(fmt: Format, witness: Any) -> str | None:
    return _same(decode_code(int(witness.code, 16), fmt), witness.value)


def _rounding(rounding: Rounding, witness: Any) -> str | None:
    return _same(round_value(parse_value(witness.value), get("format", witness.grid), rounding, witness.random), witness.rounded)


def _conversion(policy: Policy, witness: Any) -> str | None:
    to, source = get("format", witness.to), get("format", witness.source)
    found = convert_code(int(witness.x, 16), source, to, get("rounding", witness.rounding), policy, witness.random)
    return None if found == int(witness.code, 16) else f"{found:#x}, not {witness.code}"


def _block(block: Block, witness: Any) -> str | None:
    codes = split(witness.codes, get("format", block.element_formats[0]))
    levels = {name: int(code, 16) for name, code in witness.levels.items()}
    return _same(decode_block_value(block, codes[witness.lane], levels), witness.value)


def _transform(transform: Transform, witness: Any) -> str | None:
    source, result = get("format", witness.source), get("format", transform.facts.result)
    found = transform_codes(split(witness.x, source), source, transform)
    return _lists("y", found, split(witness.y, result))


def _recipe(recipe: Recipe, witness: Any) -> str | None:
    block: Block = get("block", recipe.facts.block)
    element, source = get("format", block.element_formats[0]), get("format", witness.source)
    rows, columns = block.facts.shape
    x = split(witness.x, source)
    width = columns if rows > 1 else len(x)
    draws = None if witness.random is None else _draws(witness.random, recipe)
    amax = None if witness.tensor_amax is None else int(witness.tensor_amax, 16)
    random = None if draws is None else _fold(draws, len(draws) // max(len(x) // width, 1))
    found = quantize(recipe, _fold(x, width), source, tensor_amax=amax, random=random)
    fault = _lists("codes", _flat(found.codes), split(witness.codes, element))
    for name, text in witness.levels.items():
        level = next(item for item in block.facts.levels if item.name == name)
        fault = fault or _lists(name, _flat(found.levels[name]), split(text, get("format", level.format)))
    for profile, text in witness.values.items():
        values = dequantize(recipe, found.codes, found.levels, profile=profile)
        fault = fault or _lists(f"values of {profile}", _flat(values), split(text, get("format", recipe.facts.arithmetic.to)))
    return fault


def _datapath(datapath: Datapath, witness: Any) -> str | None:
    if isinstance(witness, WidthExample):
        plan = resolve(datapath, witness.a, witness.b, witness.scale or _first(datapath, "formats"), _first(datapath, "blocks"))
        wanted = witness.model_dump(exclude_none=True, exclude={"a", "b", "scale"})
        names = {"fraction_bits": "frac_bits"}
        wrong = [key for key, value in wanted.items() if getattr(plan, names.get(key, key)) != value]
        return f"{wrong[0]} is {getattr(plan, names.get(wrong[0], wrong[0]))}, not {wanted[wrong[0]]}" if wrong else None
    if isinstance(witness, ValueExample):
        return _equal_elements(datapath, witness)
    plan = resolve(datapath, witness.a_format, witness.b_format, witness.scale_format, witness.block)
    first, second = (split(text, plan.scale) if text is not None and plan.scale else [] for text in (witness.scale_a, witness.scale_b))
    found = dot(split(witness.a, plan.a), split(witness.b, plan.b), first, second, int(witness.c, 16), plan).code
    return None if found == int(witness.d, 16) else f"{found:#x}, not {witness.d}"


def _first(datapath: Datapath, key: str) -> Any:
    offered = getattr(known_facts(datapath).scale, key)
    return offered[0] if offered else None


def _equal_elements(datapath: Datapath, witness: ValueExample) -> str | None:
    """Every choice of operands that the datapath takes must give the value, with scales 1 and C = 0."""
    facts = known_facts(datapath)
    for a, b in pairs(facts):
        plan = resolve(datapath, a, b, _first(datapath, "formats"), _first(datapath, "blocks"))
        first, second = (encode_value(parse_value(text), fmt) for text, fmt in ((witness.every_a, plan.a), (witness.every_b, plan.b)))
        ones = [encode_value(parse_value("1"), plan.scale)] * (facts.k // plan.block) if plan.scale else []
        fault = _same(decode_code(dot([first] * facts.k, [second] * facts.k, ones, ones, 0, plan).code, plan.d), witness.d)
        if fault:
            return f"{a} x {b}: {fault}"
    return None


def _draws(text: str, recipe: Recipe) -> list[int]:
    """Return the random integers of a hex string: as many digits each as the recipe's rounding draws bits (or has in its word)."""
    rounding = next(item.rounding for item in quantize_program(recipe).instructions if item.rounding and item.rounding.random_bits)
    source = rounding.facts.random
    digits = -(-(source.word if isinstance(source, Word) else rounding.random_bits) // 4)
    packed = text.replace(" ", "")
    return [int(packed[start : start + digits], 16) for start in range(0, len(packed), digits)]


def _fold(items: list[int], width: int) -> list[list[int]]:
    return [items[start : start + width] for start in range(0, len(items), width)]


def _flat(rows: list[list[int]]) -> list[int]:
    return [code for row in rows for code in row]


def _lists(name: str, found: list[int], wanted: list[int]) -> str | None:
    if len(found) != len(wanted):
        return f"{name}: {len(found)} codes, not {len(wanted)}"
    wrong = [number for number, pair in enumerate(zip(found, wanted, strict=True)) if pair[0] != pair[1]]
    return f"{name}: element {wrong[0]} is {found[wrong[0]]:#x}, not {wanted[wrong[0]]:#x}" if wrong else None


def _layout(layout: Layout, witness: Any) -> str | None:
    found = place(witness.row, witness.idx, witness.rows, witness.codes, layout)
    return None if found == witness.place else f"row {witness.row}, index {witness.idx}: place {found}, not {witness.place}"


_CHECKS: dict[str, Any] = {
    "format": _format,
    "rounding": _rounding,
    "policy": _conversion,
    "block": _block,
    "layout": _layout,
    "transform": _transform,
    "recipe": _recipe,
    "datapath": _datapath,
    "instruction": _instruction,
    "coverage": _coverage,
    "checkpoint": _checkpoint,
    "training": _training,
}
