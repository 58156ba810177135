"""What a spec object does to a fixed set of inputs, by the reference model: one digest. Golden tests keep it; a changed fact changes it.

Not here: worked examples (`expect`), which say what is right; a digest only says that something changed.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from support.behaviour_datapath import datapath_runs
from support.behaviour_instruction import family_runs

from emu.base.errors import EmuError
from emu.checkpoint.value import stored_value
from emu.engines.exact.block import QuantizedCodes, decode_block_value, dequantize, quantize
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.epilogue import scaled
from emu.engines.exact.layout import place
from emu.engines.exact.random_bits import element_bits
from emu.engines.exact.round import round_value
from emu.engines.exact.transform import transform_codes
from emu.engines.exact.value import Value, finite
from emu.spec import (  # fmt: skip
    Block,
    Checkpoint,
    Coverage,
    Epilogue,
    Format,
    Layout,
    Policy,
    Recipe,
    Rounding,
    Series,
    SpecObject,
    Training,
    Transform,
    derive,
    get,
    names,
)
from emu.spec.contract import fits
from emu.spec.levels import binary32_plan
from emu.spec.models.rounding import Word
from emu.spec.programs.program import quantize_program
from emu.spec.series import choices, member_id
from emu.spec.training import kept_layers, plan_of

NUMBERS = tuple(Fraction(n, 64) for n in (1, 3, 7, 8, 16, 17, 24, 31, 40, 48, 56, 63, 65, 80, 96, 112, 160, 225, 352))
LARGE = (
    *(Fraction(n) for n in (7, 9, 29, 200, 448, 464, 480, 61440, 1 << 17)),
    Fraction(2) ** 127,
    Fraction(2) ** 128,
    Fraction(2) ** 1024,
)
TINY = (Fraction(2) ** -10, Fraction(2) ** -18, Fraction(2) ** -127, Fraction(2) ** -150)
SPECIAL = (Value("finite", 0), Value("finite", 1), Value("inf", 0), Value("inf", 1), Value("nan", 0), Value("nan", 1))
SIZES = ("3F800000", "42C80000", "3A83126F", "00000500", "7F000000", "45280000")


class Tensor(NamedTuple):
    """One input of a recipe: rows of binary32 codes, the tensor maximum and the random integers where the program reads them."""

    rows: list[list[int]]
    amax: int | None = None
    random: list[list[int]] | None = None


def behaviour(thing: SpecObject, tensors: Sequence[Any] = ()) -> str:
    """Return the sha256 of what an object does to the fixed inputs; a refused input counts as the class of its error.

    tensors: more inputs for a recipe (Tensor); all inputs of a datapath (behaviour_datapath.Rows).
    """
    found = hashlib.sha256()
    given = {"recipe": _recipe, "datapath": datapath_runs}.get(thing.kind)
    for item in _RUNS[thing.kind](thing) if given is None else given(thing, tensors):  # type: ignore[operator]
        found.update(f"{_plain(item)}\n".encode("ascii"))
    return found.hexdigest()


def _plain(item: Any) -> Any:
    """Return a result as text that does not depend on the names of classes."""
    if isinstance(item, Value):
        return f"{item.kind} {item.sign} {item.magnitude}"
    if isinstance(item, QuantizedCodes):
        return f"{item.codes} {sorted(item.levels.items())}"
    return item


def _tried(function: Any, *arguments: Any, **named: Any) -> Any:
    try:
        return function(*arguments, **named)
    except (EmuError, AssertionError) as error:
        return type(error).__name__


def values() -> list[Value]:
    """Return the inputs of conversions: specials, thresholds and what lies near them, beyond every maximum, both signs."""
    numbers = [*NUMBERS, *LARGE, *TINY]
    return [*SPECIAL, *(finite(sign * number) for number in numbers for sign in (1, -1))]


def _format(fmt: Format) -> Iterator[Any]:
    known = derive.codes(fmt)
    yield known.bits, known.sign_bit, known.max_code, known.nan, known.inf
    yield from (_tried(decode_code, code, fmt) for code in _codes(fmt))
    entry, rne = _tried(derive.policy_entry, get("policy", "nvidia"), fmt), get("rounding", "rne")
    inputs = [*values(), *(_midpoints(fmt) if known.bits <= 8 else [])]
    yield from (entry if isinstance(entry, str) else _tried(convert_value, value, fmt, rne, entry) for value in inputs)


def _codes(fmt: Format) -> list[int]:
    """Return every code of at most 8 bits, landmarks of a wider format; and codes with a bit too many."""
    known = derive.codes(fmt)
    wide = [1 << known.bits, 2 << known.bits, 256 << known.bits]
    if known.bits <= 8:
        return [*range(1 << known.bits), *wide]
    return sorted({*range(9), *(1 << bit for bit in range(known.bits)), known.max_code, *known.nan, (1 << known.bits) - 1, *wide})


def _midpoints(fmt: Format) -> list[Value]:
    """Return what lies half way between neighbours, where a tie rule speaks."""
    found = sorted(
        {item.signed for item in (_tried(decode_code, code, fmt) for code in range(1 << derive.codes(fmt).bits)) if _is_finite(item)}
    )
    return [finite((low + high) / 2) for low, high in itertools.pairwise(found)]


def _is_finite(item: Any) -> bool:
    return isinstance(item, Value) and item.kind == "finite"


def _draws(rounding: Rounding) -> list[int | None]:
    bits = rounding.random_bits
    return [0, 1 << bits - 1, (1 << bits - 1) - 1, (1 << bits) - 1] if bits else [None]


def _rounding(rounding: Rounding) -> Iterator[Any]:
    policies = [("fp16", "ieee"), ("e5m2", "nvidia"), ("e2m1", "nvidia")]
    for random in _draws(rounding):
        yield from (_tried(round_value, value, get("format", grid), rounding, random) for value in values() for grid in ("e2m1", "e4m3"))
        for name, policy in policies:
            entry = derive.policy_entry(get("policy", policy), get("format", name))
            yield from (_tried(convert_value, value, get("format", name), rounding, entry, random) for value in values())
    shared = rounding.facts.random
    if isinstance(shared, Word):
        yield from (_tried(element_bits, 1 << bit, rounding, lane) for bit in range(shared.word + 1) for lane in range(shared.lanes + 1))


P3109 = {f"series_p3109_{sign}_{domain}": f"binary4p2{sign}{domain}" for sign in "su" for domain in "ef"}


def _conversion(policy: Policy) -> Iterator[Any]:
    for key, mode in itertools.product(policy.facts, ("rne", "rz", "ru", "rd")):
        fmt = get("format", {"with_nan": "e4m3", "without_nan": "e2m3", **P3109}.get(key, key))
        entry = _tried(derive.entry_codes, policy.facts[key], fmt)
        yield from (
            entry if isinstance(entry, str) else _tried(convert_value, value, fmt, get("rounding", mode), entry) for value in values()
        )


def _block(block: Block) -> Iterator[Any]:
    yield [(level.name, str(level.granularity)) for level in block.facts.levels], block.facts.shape, block.facts.packing
    names = [level.name for level in block.facts.levels]
    tops = [[0, 1, *(1 << bit for bit in range(1, derive.codes(get("format", level.format)).bits))] for level in block.facts.levels]
    for index in range(max(map(len, tops), default=1)):
        held = {name: top[index % len(top)] for name, top in zip(names, tops, strict=True)}
        yield from (_tried(decode_block_value, block, code, held) for code in range(16))


def _transform(transform: Transform) -> Iterator[Any]:
    fp32, size = get("format", "fp32"), transform.facts.size
    for seed in range(3):
        codes = [int(word, 16) for word in itertools.islice(_words(seed), size)]
        yield _tried(transform_codes, codes, fp32, transform)
        yield _tried(transform_codes, codes, fp32, transform, 0b1011)
    for code in ("7F7FFFFF", "00000003", "3F800001", "7FC00000"):
        yield _tried(transform_codes, [int(code, 16)] * size, fp32, transform)


def _layout(layout: Layout) -> Iterator[Any]:
    yield [name for name in names("block") if fits(get("block", name), layout)]
    for rows, codes in ((1, 1), (5, 3), (130, 9), (257, 5)):
        yield [place(row, idx, rows, codes, layout) for row in range(rows) for idx in range(codes)]


def _words(seed: int) -> Iterator[str]:
    """Yield binary32 codes of magnitudes between 2^-8 and 2^8, both signs; the same for a seed everywhere."""
    for number in itertools.count():
        raw = int.from_bytes(hashlib.sha256(f"{seed}/{number}".encode("ascii")).digest()[:4], "big")
        yield f"{raw & 0x807FFFFF | (119 + (raw >> 23 & 15)) << 23:08X}"


def _coverage(model: Coverage) -> Iterator[Any]:
    """A coverage model names bins; what they mean is code, which its worked examples show."""
    yield model.facts_json()


def _checkpoint(store: Checkpoint) -> Iterator[Any]:
    """Names and types are plain facts; packing and scales show in the values of each lane, and under each scale byte."""
    yield store.facts_json()
    for name in store.facts.blocks:
        columns = get("block", name).facts.shape[1]
        packed, tops = bytes(range(16, 256, 15))[: columns // 2], {"codes": columns}
        others = {level.level: bytes.fromhex("3E800000") for level in store.facts.levels if level.meaning != "scale"}
        for byte, lane in [*((byte, 3) for byte in range(256)), *((0x38, lane) for lane in range(tops["codes"]))]:
            stored = {"codes": packed, "scale": bytes([byte]), **others}
            if store.facts.record is not None:
                blocks = store.facts.record.elements // columns
                stored = {"record": bytes([byte]) * blocks + (packed * blocks)[: store.facts.record.elements // 2]}
            yield _tried(stored_value, store, stored, lane, name)


def _training(recipe: Training) -> Iterator[Any]:
    """Who quantizes which operand is plain facts; what follows is each operand's blocks and the layers left alone."""
    yield recipe.facts_json()
    plan = plan_of(recipe)
    for key, operand in plan.operands.items():
        yield key, operand.multiple, operand.rows, operand.axis, operand.random_bits
    yield [sorted(kept_layers(recipe, layers)) for layers in range(1, 24)]


def _recipe(recipe: Recipe, more: Sequence[Tensor]) -> Iterator[Any]:
    fp32 = get("format", "fp32")
    rows, columns = get("block", recipe.facts.block).facts.shape
    program = quantize_program(recipe)
    few = 2 if rows > 1 and not get("block", recipe.facts.block).is_alone else None  # tensors of a large tile, which is cut
    every = itertools.islice(_tensors(1 if few else rows, max(columns, 16)), few)  # 16 of a whole row, or of a tensor
    own = [Tensor(x, int(SIZES[number % len(SIZES)], 16)) for number, x in enumerate(every)]
    for x, amax, random in (*own, *more):
        named: dict[str, Any] = {"tensor_amax": amax} if program.reads("tensor_amax") else {}
        if any(item.rounding is not None and item.rounding.random_bits for item in program.instructions):
            named["random"] = random or [[(37 * c + 101 * r) % 256 for c in range(len(row))] for r, row in enumerate(x)]
        found = _tried(quantize, recipe, x, fp32, masked=True, **named)
        yield found
        if not isinstance(found, str):
            yield from (_tried(dequantize, recipe, found.codes, found.levels, profile=name) for name in recipe.facts.dequantize)


def _tensors(rows: int, columns: int) -> Iterator[list[list[int]]]:
    """Yield the input tensors of a recipe: scaled samples, a special value in each of a few blocks, several blocks, a tail."""
    for number, size in enumerate(SIZES):
        top = int(size, 16)
        sample = [[int(word, 16) for word in itertools.islice(_words(10 * number + r), columns)] for r in range(rows)]
        shift = (top >> 23) - 134 << 23
        yield [[code & 0x80000000 | max((code & 0x7FFFFFFF) + shift, number) for code in row] for row in sample]
    for special in (0x7FC00000, 0x7F800000, 0x80000000, 0x00000001):
        sample = [[int(word, 16) for word in itertools.islice(_words(special + r), columns)] for r in range(rows)]
        sample[0][1] = special
        yield sample
    yield [[0] * columns for _ in range(rows)]
    pair = [[int(word, 16) for word in itertools.islice(_words(20 + r), 2 * columns)] for r in range(2 * rows)]
    yield [[code - ((12 << 23) if c >= columns else 0) for c, code in enumerate(row)] for row in pair]  # the second block is far smaller
    yield [[int(word, 16) for word in itertools.islice(_words(7), columns + 3)] for _ in range(rows + 1)]


def _series(series: Series) -> Iterator[Any]:
    """Yield every member and the value of each of its codes."""
    for choice in choices(series):
        fmt: Format = get(series.facts.of, member_id(series, choice))
        values = (decode_code(code, fmt) for code in range(1 << derive.codes(fmt).bits))
        yield fmt.id, [(value.kind, value.sign, str(value.magnitude)) for value in values]


def _epilogue(library: Epilogue) -> Iterator[Any]:
    """Yield what each rule makes of sums, scales, a factor and C: with a single scale, with none of one operand, and with many."""
    plan = binary32_plan()
    numbers = itertools.product(
        (0x3F800001, 0xC0490FDB, 0x00000003), (0x40400000, 0x3EAAAAAB), (0x40E00001, None), (True, False), (None, 0x3F800003)
    )
    for rules in (library.facts.tensors, library.facts.rows):
        yield rules.c_place
    for (d, a, b, single, c), rules in itertools.product(numbers, (library.facts.tensors, library.facts.rows)):
        yield _tried(scaled, d, a, b, single, Fraction(1, 7225344), c, rules, plan)


_RUNS: dict[str, Any] = {
    "format": _format,
    "rounding": _rounding,
    "policy": _conversion,
    "block": _block,
    "layout": _layout,
    "transform": _transform,
    "instruction": family_runs,
    "coverage": _coverage,
    "checkpoint": _checkpoint,
    "training": _training,
    "series": _series,
    "epilogue": _epilogue,
}
