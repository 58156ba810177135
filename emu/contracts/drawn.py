"""Inputs of a check that are drawn, or all there are: tensors as they come in training, every pattern of 16 bits, numbers beside decisions.

Drawn with Philox from the key and the contract; any count gives the same first inputs. Not here: inputs that are searched with the recipe
(quantize/search.py), and the rows of the golden suites.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from emu.base.philox import stream_of, words
from emu.contracts.form import Asked, Bits, Form, Question, integer_dtype
from emu.contracts.grid import code_at
from emu.engines.numpy.convert import to_fp32
from emu.spec import derive, get
from emu.spec.ieee import binary_format
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.strategies import decision_sample

ELEMENTS: Final = 1 << 16  # least number of stratified elements
ORDINARY: Final = 1 << 18  # of tensors: each is then taller than 128 rows; fewer of a target that takes long to ask
CHUNK: Final = 1 << 22  # elements of one question
WIDTH: Final = 1 << 8  # of a tensor: wider than four scales, so that a scale layout has several tiles each way
WINDOW: Final = 8  # binades of one tensor of exhaustive blocks
GROUP: Final = 64  # numbers of like size, where sizes are any
LARGE: Final = 37  # one column of so many is large among activations
COLUMN_FACTOR: Final = 24


def _normal(drawn: Bits) -> Bits:
    """Return numbers near a normal distribution of variance one: sums of four uniform ones, exact in binary64."""
    parts = drawn.view(np.uint8).reshape(-1, 4).astype(np.float64)
    return np.asarray((parts.sum(axis=1) - 510) / 148 + (drawn & np.uint32(0xFFFF)).astype(np.float64) * 2.0**-24)


def weights(drawn: Bits, width: int) -> Bits:
    """Small normal numbers."""
    return _normal(drawn) / 50


def activations(drawn: Bits, width: int) -> Bits:
    """Normal numbers, some columns large."""
    return _normal(drawn) * np.where(np.arange(drawn.size) % width % LARGE == LARGE // 2, COLUMN_FACTOR, 1)


def gradients(drawn: Bits, width: int) -> Bits:
    """Numbers of many exponents, all small."""
    return np.ldexp(_normal(drawn), -10 - (drawn >> np.uint32(7) & np.uint32(15)).astype(np.int64))


def rectified(drawn: Bits, width: int) -> Bits:
    """What a ReLU leaves: half zeros."""
    return np.maximum(_normal(drawn), 0) * 3


def rounded(drawn: Bits, width: int) -> Bits:
    """Normal numbers of 8 significant bits: a bf16 tensor in a wider format."""
    bits = _normal(drawn).view(np.uint64) + np.uint64(1 << 44)
    return np.asarray((bits >> np.uint64(45) << np.uint64(45)).view(np.float64))


def integers(drawn: Bits, width: int) -> Bits:
    """Small integers: their largest is one, and many ratios are exact."""
    return (drawn % np.uint32(49)).astype(np.float64) - 24


def anywhere(drawn: Bits, width: int) -> Bits:
    """Groups of numbers of any size at all: most of their blocks are nothing beside the largest."""
    exponents = (drawn[::GROUP] >> np.uint32(9)).astype(np.int64) % 300 - 160
    return np.ldexp(_normal(drawn), exponents.repeat(GROUP)[: drawn.size])


KINDS: Final[tuple[Callable[[Bits, int], Bits], ...]] = (weights, activations, gradients, rectified, rounded, integers, anywhere)


def tensor(source: Format, kind: int, count: int, width: int, key: int, stream: int, start: int = 0) -> Bits:
    """Return `count` source codes of a kind of tensor with rows of `width`. kind: place in KINDS.   start: first word of the generator."""
    return codes_of(KINDS[kind](words(key, count, start, stream + kind), width), source)


def codes_of(values: Bits, source: Format) -> Bits:
    """Return numbers as codes of a float format, cut to its precision; zero for those beyond its largest."""
    facts, derived = source.facts, derive.codes(source)
    assert isinstance(facts, FloatFacts)
    magnitudes = np.abs(values)
    field = np.maximum((magnitudes.view(np.uint64) >> np.uint64(52)).astype(np.int64) - 1023 + facts.bias, 1)
    whole = np.ldexp(magnitudes, facts.bias + facts.frac_bits - field).astype(np.uint64)
    codes = ((field - 1).astype(np.uint64) << np.uint64(facts.frac_bits)) + whole
    signs = np.where(values < 0, np.uint64(derived.sign_bit), np.uint64(0))
    return np.asarray((np.where(codes > derived.max_code, np.uint64(0), codes) | signs).astype(integer_dtype(source)))


def ordinary(form: Form, asked: Asked) -> Iterator[Question]:
    """Yield tensors of every kind, each under its own maximum. asked: its count is of elements over all kinds."""
    source = form.operands[form.main]
    if source is None or not isinstance(source.facts, FloatFacts):
        return
    size = -(-max(asked.count or 0, ELEMENTS if asked.calls == "programs" else ORDINARY) // len(KINDS))
    for kind in range(len(KINDS)):
        for start in range(0, size, CHUNK):
            codes = tensor(source, kind, min(CHUNK, size - start), WIDTH, asked.key, stream_of(f"ordinary {form.contract}"), start)
            yield matrix(form, codes, "stratified", asked.key, f"{kind} {start}")


def every_binade(form: Form, asked: Asked) -> Iterator[Question]:
    """Yield tensors that together hold every pattern of 16 bits: neighbours in the blocks, a few binades in a tensor, no numbers last."""
    source = form.operands[form.main]
    assert source is not None
    derived, codes = derive.codes(source), patterns(source)[: 1 << 16]
    plain = codes & ~codes.dtype.type(derived.sign_bit)
    finite = plain <= derived.max_code
    binade = plain >> codes.dtype.type(source.facts.frac_bits if isinstance(source.facts, FloatFacts) else 0)
    parts = [finite & (binade >= first) & (binade < first + WINDOW) for first in range(0, int(binade[finite].max()) + 1, WINDOW)]
    for number, part in enumerate(parts):
        yield matrix(form, codes[part][np.argsort(plain[part], kind="stable")], "exhaustive", asked.key, str(number))
    if not bool(finite.all()):
        yield matrix(form, np.repeat(codes[~finite], 16), "exhaustive", asked.key, "no numbers")


def patterns(source: Format) -> Bits:
    """Return every pattern of a format of at most 16 bits; of a wider one those of its upper 16, of binary32 all binary16 numbers too."""
    every: Bits = np.arange(1 << min(derive.codes(source).bits, 16), dtype=integer_dtype(source))
    every = every << every.dtype.type(max(derive.codes(source).bits - 16, 0))
    if binary_format(source) != "binary32":
        return every
    return np.concatenate([every, to_fp32(np.arange(1 << 16, dtype=np.uint16), get("format", "fp16")).view(np.uint32)])


def matrix(form: Form, codes: Bits, why: str, key: int, stream: str) -> Question:
    """Return codes as a tensor of at least two tiles a row, the rest zero, with what else the contract takes."""
    tall, wide = form.tile
    width = wide * max(1, min(WIDTH, codes.size // 4) // wide)
    height = -(-codes.size // (width * tall)) * tall
    x = np.zeros(height * width, codes.dtype)
    x[: codes.size] = codes
    return Question(form.completed({form.main: x.reshape(height, width)}, key, f"{why} {stream}"), (why,))


def numbers(source: Format, to: Format, size: int, key: int, stream: int, start: int = 0) -> Bits:
    """Return source codes: half with every exponent alike, half beside the decision points of the destination, 0 .. 2^k ulps away."""
    facts, derived = source.facts, derive.codes(source)
    drawn = words(key, 2 * size, 2 * start, stream).reshape(2, size)
    kind = np.dtype(integer_dtype(source))
    wide = drawn[0].astype(np.uint64) << np.uint64(32) | drawn[1]
    out: Bits = (wide & np.uint64((1 << derived.bits) - 1)).astype(kind)
    if not isinstance(facts, FloatFacts):
        return out
    near = np.array([code_at(point, source) for point in decision_sample(to)], np.int64)
    half = size // 2
    chosen = near[drawn[0][:half] % near.size]
    reach = np.int64(1) << (drawn[1][:half] % np.uint32(facts.frac_bits)).astype(np.int64)
    away = (drawn[1][:half] >> np.uint32(8)).astype(np.int64) % (2 * reach + 1) - reach
    beside = np.clip(chosen + away, 0, derived.max_code).astype(kind)
    sign = (drawn[0][:half] >> np.uint32(31)).astype(kind) * kind.type(derived.sign_bit)
    out[:half] = beside | sign
    return out
