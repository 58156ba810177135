"""Many inputs: every pattern of a 16-bit source, and strata: all exponents, beside the decision points, powers of two, zeros, specials.

Drawn with Philox from the key and the contract; any count gives the same first inputs. Not here: chosen rows (inputs_directed.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from emu.base.philox import draw, stream_of, words
from emu.check.inputs.boundaries import beside_scale_steps
from emu.check.inputs.drawn import blocks, numbers
from emu.check.inputs.ordinary import KINDS, tensors
from emu.check.inputs.thresholds import scale_thresholds
from emu.contracts.dot import cases as cases_dot
from emu.contracts.form import Bits, Form, Question, draw_bits, integer_dtype
from emu.engines.numpy.convert import to_fp32
from emu.engines.run import run_amax
from emu.spec import derive, get
from emu.spec.contract import plan_of
from emu.spec.ieee import binary_format
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

ELEMENTS: Final = 1 << 16  # least number of stratified elements
STRATA: Final = ("convert", "quantize", "dequantize", "transform", "dot")  # operations with inputs of their own here
DOT_ROWS: Final = 1 << 12
WIDTH: Final = 1 << 8  # a suite is then taller than 128 rows and wider than four scales: several tiles of a scale layout each way
BASE: Final = 1 << 18  # elements that are drawn one by one
CHUNK: Final = 1 << 22  # elements of one question
WINDOW: Final = 8  # binades of one tensor of exhaustive blocks


def narrow_of(source: Format) -> Format:
    """Return the 16-bit format whose patterns all are tried: the source itself, or bf16 widened."""
    return source if derive.codes(source).bits <= 16 else get("format", "bf16")


def patterns(source: Format) -> Bits:
    """Return every pattern of the 16-bit source, or of bf16 (and of fp16) as codes of a wider one."""
    if derive.codes(source).bits <= 16:
        return np.arange(1 << derive.codes(source).bits, dtype=integer_dtype(source))
    every = np.arange(1 << 16, dtype=np.uint16)
    half = to_fp32(every, get("format", "fp16")).view(np.uint32)
    return np.concatenate([every.astype(np.uint32) << np.uint32(16), half]) if source.id == "fp32" else every.astype(integer_dtype(source))


def exhaustive(form: Form, takes_amax: bool, multiple: tuple[int, int] = (1, 1)) -> Iterator[Question]:
    """Yield every pattern of 16 bits as an input; blocks of a recipe hold neighbours, tensors a few binades."""
    if form.op == "convert":
        source = form.operands["codes"]
        assert source is not None
        codes = patterns(source)
        yield Question({"codes": codes, **random_operand(form, (1, codes.size), 1)}, ("exhaustive",))
    elif form.op in ("quantize", "transform"):
        source = form.operands["x"]
        assert source is not None
        for codes in _windows(source):
            yield _matrix(form, codes, takes_amax, multiple, "exhaustive", 1)


def _windows(source: Format) -> Iterator[Bits]:
    """Yield the patterns of some binades at a time, both signs in turn; last those that are no numbers."""
    codes = patterns(source)[: 1 << 16]
    plain = codes & ~codes.dtype.type(derive.codes(source).sign_bit)
    facts = narrow_of(source).facts
    assert isinstance(facts, FloatFacts)
    frac = facts.frac_bits + (derive.codes(source).bits - derive.codes(narrow_of(source)).bits)
    place = plain >> codes.dtype.type(frac)
    finite = plain <= derive.codes(source).max_code
    for first in range(0, int(place[finite].max()) + 1, WINDOW):
        inside = codes[finite & (place >= first) & (place < first + WINDOW)]
        yield inside[np.argsort(inside & ~codes.dtype.type(derive.codes(source).sign_bit), kind="stable")]
    if not bool(finite.all()):
        yield np.repeat(codes[~finite], 16)


def random_operand(form: Form, shape: tuple[int, int], key: int, first: int = 0) -> dict[str, Bits]:
    """Return the random operand for elements of a shape, where the contract draws."""
    if form.draws is None:
        return {}
    lanes, bits = draw_bits(form.draws)
    drawn = draw(key, -(-shape[0] * shape[1] // lanes), bits, stream_of(f"random {form.contract} {first}")).astype(
        integer_dtype(None, bits)
    )
    flat = form.op == "convert"
    return {"random": drawn if flat else drawn.reshape(shape) if lanes == 1 else drawn.reshape(1, -1)}


def _matrix(form: Form, codes: Bits, takes_amax: bool, multiple: tuple[int, int], why: str, key: int, first: int = 0) -> Question:
    """Return codes as a matrix of at least two blocks a row, the rest zero, with the operands of the contract."""
    tall, wide = (1, 16) if form.block is None else form.block.facts.shape
    wide, tall = int(np.lcm(wide, multiple[1])), int(np.lcm(tall, multiple[0]))
    width = wide * max(1, min(WIDTH, codes.size // 4) // wide)
    height = -(-codes.size // width)
    height = -(-height // tall) * tall
    x = np.zeros(height * width, codes.dtype)
    x[: codes.size] = codes
    operands: dict[str, Bits] = {"x": x.reshape(height, width)}
    source = form.operands["x"]
    assert source is not None
    if "tensor_amax" in form.extras and takes_amax:
        operands["tensor_amax"] = np.array(run_amax(operands["x"], source), "u4")
    operands |= random_operand(form, (height, width), key, first)
    if "signs" in form.extras:
        operands["signs"] = np.array(_signs(form, key), "u4")
    return Question(operands, (why,))


def _signs(form: Form, key: int) -> int:
    """Return a drawn mask, so that one is seen which is not the transform's own."""
    name = form.contract.parts[0]
    if form.op == "quantize":
        name = next(step.transform for step in get("recipe", name).facts.steps if step.op == "transform")
    transform = get("transform", name)
    return int(draw(key, 1, transform.facts.size, stream_of(f"signs {form.contract}"))[0])


def stratified(form: Form, takes_amax: bool, count: int | None, key: int, multiple: tuple[int, int] = (1, 1)) -> Iterator[Question]:
    """Yield drawn inputs, at least the minimum of the suite, in questions of at most 2^22 elements.

    count: elements (rows of a dot product).   key: of the generator.
    """
    if form.op == "decode":
        return
    if form.op not in STRATA:
        yield from form.drawn(count or 0)
        return
    if form.op == "dot":
        yield from _dot(form, max(count or 0, DOT_ROWS), key)
        return
    left, first = max(count or 0, ELEMENTS), 0
    stream = stream_of(f"check {form.contract}")
    if form.op == "dequantize":
        yield _codes(form, left, key, stream)
        return
    if form.op == "quantize":
        yield from _ordinary(form, takes_amax, -(-left // len(KINDS)), key, multiple)
    base = _base(form, min(left, BASE), key, stream)
    while left > 0:
        size = min(left, CHUNK)
        yield _question(form, takes_amax, varied(form, base, size, key, first), key, first, multiple)
        left, first = left - size, first + 1
    beside = beside_scale_steps(form, short=True)
    if beside is not None:
        yield _matrix(form, beside.operands["x"].reshape(-1), takes_amax, multiple, "scale_edge", key)
    yield from scale_thresholds(form, takes_amax, multiple)


def _ordinary(form: Form, takes_amax: bool, size: int, key: int, multiple: tuple[int, int]) -> Iterator[Question]:
    """Yield ordinary tensors of every kind, each under its own maximum: blocks of all exponents at once have none that matters."""
    source = form.operands[form.main]
    assert source is not None
    if binary_format(source) is None:
        return
    for number, codes in enumerate(tensors(source, size, WIDTH, key, stream_of(f"ordinary {form.contract}"), CHUNK), 1):
        yield _matrix(form, codes, takes_amax, multiple, "stratified", key, -number)


def _base(form: Form, size: int, key: int, stream: int) -> Bits:
    """Return the first inputs of the suite, drawn one by one."""
    source = form.operands[form.main]
    assert source is not None
    if form.op == "convert":
        return numbers(source, form.answers["codes"], size, key, stream)
    return blocks(form, source, size, key, stream)


def varied(form: Form, base: Bits, size: int, key: int, first: int) -> Bits:
    """Return `size` inputs of question `first`: the base, then copies of it with other fractions and signs, each copy with its own.

    A copy is the base exclusive-or a mask that runs through all patterns of fraction and sign: far cheaper than drawing, and every
    exponent of the base comes again with new numbers.
    """
    if size == base.size and not first:
        return base
    source = form.operands[form.main]
    assert source is not None
    facts, kind = source.facts, base.dtype.type
    free = derive.codes(source).sign_bit | ((1 << facts.frac_bits) - 1 if isinstance(facts, FloatFacts) else 0)
    copies = -(-size // base.size)
    steps = words(key, copies, copies * first, stream_of("copies")).astype(np.uint64)
    count = np.arange(base.size, dtype=base.dtype)
    out = np.empty(copies * base.size, base.dtype)
    for copy in range(copies):
        part = out[copy * base.size : (copy + 1) * base.size]
        if first == copy == 0:
            part[:] = base
            continue
        odd = kind(int(steps[copy]) & int(np.iinfo(base.dtype).max) | 1)  # times an odd number: a permutation of all patterns
        with np.errstate(over="ignore"):
            np.multiply(count, odd, out=part)
        part &= kind(free)
        part ^= base
    return out[:size]


def _question(form: Form, takes_amax: bool, codes: Bits, key: int, first: int, multiple: tuple[int, int]) -> Question:
    if form.op == "convert":
        return Question({"codes": codes, **random_operand(form, (1, codes.size), key, first)}, ("stratified",))
    return _matrix(form, codes, takes_amax, multiple, "stratified", key, first)


def _codes(form: Form, size: int, key: int, stream: int) -> Question:
    """Return random codes and levels; scales below NaN, fp32 levels within 64 binades of one."""
    assert form.block is not None
    tall, wide = form.block.facts.shape
    width = wide * max(1, WIDTH // wide)
    height = -(-size // width // tall) * tall
    element = form.operands["codes"]
    assert element is not None
    drawn = words(key, height * width, 0, stream).reshape(height, width)
    operands: dict[str, Bits] = {"codes": (drawn & np.uint32((1 << derive.codes(element).bits) - 1)).astype(integer_dtype(element))}
    shapes = _level_shapes(form, (height, width))
    for number, (name, shape) in enumerate(shapes.items(), 1):
        fmt = form.operands[name]
        assert fmt is not None
        flat = words(key, max(1, int(np.prod(shape))), 0, stream + number)
        derived = derive.codes(fmt)
        codes = (
            flat % np.uint32(derived.max_code + 1)
            if derived.bits <= 16
            else flat & np.uint32(0x7FFFFF) | (np.uint32(95) + (flat >> np.uint32(23)) % np.uint32(64)) << np.uint32(23)
        )
        operands[name] = codes.astype(integer_dtype(fmt)).reshape(shape)
    return Question(operands, ("stratified",))


def _level_shapes(form: Form, size: tuple[int, int]) -> dict[str, tuple[int, ...]]:
    from emu.contracts.form import parts_of
    from emu.spec.programs.types import extent_of

    assert form.block is not None
    return {level.name: parts_of(size, extent_of(level.granularity, form.block)) for level in form.block.facts.levels}


def _dot(form: Form, rows: int, key: int) -> Iterator[Question]:
    """Yield drawn rows of every category of dot products."""
    plan = plan_of(form.contract)
    names = [name for name in cases_dot.MAKERS if cases_dot.applies(name, plan) and name not in ("scale_signbit", "chain")]
    each = -(-rows // len(names))
    for name in names:
        cases = cases_dot.rows(name, plan, each, key << 20)
        if not cases:
            continue
        operands = {}
        for place, operand in enumerate(("a", "b", "scale_a", "scale_b", "c")):
            if operand in form.operands:
                operands[operand] = np.array([case[place] for case in cases], integer_dtype(form.operands[operand]))
        yield Question(operands, (name,))
