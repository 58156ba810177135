"""Blocks whose maximum puts a floating scale on, beside and beyond the places where its code changes, for tensor maxima of the recipe.

Where they lie is searched with the recipe itself, by the quickest engine: no number of a format is written here. Not here: scales that
are powers of two (inputs_edges.py), the rows of the golden suites (inputs_directed.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

import numpy as np

from emu.arrays.values import float_dtype
from emu.base.caches import bounded
from emu.base.philox import draw, stream_of
from emu.contracts import form_of
from emu.contracts.form import Bits, Form, Question, draw_bits, expect, integer_dtype
from emu.contracts.grid import code_at
from emu.contracts.quantize.blocks import Blocks
from emu.contracts.quantize.contract import QuantizeContract
from emu.engines.exact.decode import decode_code
from emu.spec import derive, get
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

KEY: Final = 1
TENSORS: Final = (Fraction(1), Fraction(11, 23))  # tensor maxima, of the one that makes a scale one: plain, and one with a full fraction
MIDDLE: Final = 3  # places between the ends of the scale format whose two midpoints, to an even code and from it, are tried
WIDE: Final = 64  # elements of a tile, above which the short form takes one tensor maximum: the reference model judges it
THIN: Final = 3  # of the short form: one of so many block maxima under a further tensor maximum
FALLS: Final = 4  # places at most where a scale falls as the maximum grows
BEYOND: Final = 4  # binades above the largest scale


def scale_thresholds(form: Form, takes_amax: bool, multiple: tuple[int, int] = (1, 1), short: bool = False) -> Iterator[Question]:
    """Yield a question for each tensor maximum, a tile under each block maximum; none where no scale has exponent and fraction.

    Maxima: the last code under each scale and the first under the next, an ulp beside both, half way from one change to the next; binades
    below the first change (a floor, zero) and above the last (a clamp).   takes_amax: False puts the tensor maximum into a further tile.
    multiple: of rows and columns.   short: every subnormal scale, the ends and a few midpoints rather than all;
    fewer under the second tensor maximum.
    Tests: tests/check/test_check_thresholds.py.
    """
    source = form.operands.get("x")
    if form.op != "quantize" or source is None or not isinstance(source.facts, FloatFacts) or _scale_of(form) is None:
        return
    assert form.block is not None
    few = short and np.prod(form.block.facts.shape) > WIDE
    for number, amax in enumerate(_tensors(form, source)[: 1 if few else None]):
        tops = np.array(_tops(str(form.contract), source.id, amax, short), integer_dtype(source))
        tops = tops[::THIN] if short and number else tops
        if amax is not None and not takes_amax:
            tops = tops[_numbers(tops, source) <= float(decode_code(amax, get("format", "fp32")).magnitude)]
        yield _question(form, tops, amax, takes_amax, multiple)


def _scale_of(form: Form) -> tuple[str, Format] | None:
    """Return the name and format of the level of a whole block that is a narrow float with a fraction."""
    assert form.block is not None
    for level in form.block.facts.levels:
        fmt: Format = get("format", level.format)
        if level.granularity == "block" and isinstance(fmt.facts, FloatFacts) and fmt.facts.frac_bits and derive.codes(fmt).bits <= 8:
            return level.name, fmt
    return None


def _tensors(form: Form, source: Format) -> list[int | None]:
    """Return the tensor maxima as fp32 codes, numbers of the source; None alone where the recipe reads none."""
    if "tensor_amax" not in form.extras:
        return [None]
    unit = Blocks(QuantizeContract.of(form.contract, source.id)).tensor_unit
    numbers = [decode_code(code_at(unit * part, source), source).magnitude for part in TENSORS]
    return [code_at(number, get("format", "fp32")) for number in numbers]


@bounded(64, names=True)
def _tops(contract: str, source_id: str, amax: int | None, short: bool) -> tuple[int, ...]:
    """Return the block maxima as source codes, rising."""
    form = form_of(contract, source_id)
    source, found = form.operands["x"], _scale_of(form)
    assert source is not None and found is not None
    name, fmt = found

    def ask(tops: Bits) -> Bits:
        x = _tiles(form, tops.astype(integer_dtype(source)))
        operands: dict[str, Bits] = {"x": x} | _random(form, x.shape)
        if amax is not None:
            operands["tensor_amax"] = np.array(amax, "u4")
        return expect(form, operands, "auto").arrays[name].reshape(tops.size, -1)[:, 0].astype(np.int64)

    last, falls = changes(ask, derive.codes(fmt).max_code, source)
    near = np.array([falls + off for off in (-1, 0, 1, 2)], np.int64).reshape(-1)
    every = np.unique(np.concatenate([_beside(last, fmt, short), _beyond(last, source, fmt), near]))
    return tuple(every[(every > 0) & (every <= derive.codes(source).max_code)].tolist())


def changes(ask: Callable[[Bits], Bits], top: int, source: Format) -> tuple[Bits, Bits]:
    """Return the last block maximum under each scale code or one below it, -1 for a code that does not come; and the last before a fall.

    ask: source codes -> scale codes.   top: the largest scale code.   A scale falls where zero, or next to it, has a policy of its own.
    """
    assert isinstance(source.facts, FloatFacts)
    probes = np.arange(1, derive.codes(source).max_code, 1 << source.facts.frac_bits)
    probes = np.append(probes, derive.codes(source).max_code)
    seen, scales = ask(probes), np.arange(top + 1)
    rises = (seen[:-1, None] <= scales) & (seen[1:, None] > scales)
    place, known = rises.argmax(axis=0), rises.any(axis=0)
    falls = np.flatnonzero(seen[1:] < seen[:-1])[:FALLS]
    first, sign = np.concatenate([place, falls]), np.concatenate([np.ones(top + 1, np.int64), np.full(falls.size, -1)])
    found = _bisect(ask, probes[first], probes[first + 1], np.concatenate([scales, seen[falls]]), sign)
    return np.where(known, found[: top + 1], -1), found[top + 1 :]


def _bisect(ask: Callable[[Bits], Bits], low: Bits, high: Bits, scales: Bits, sign: Bits) -> Bits:
    """Return between each two source codes one after which the scale passes a code; sign: 1 upwards, -1 downwards."""
    while int((high - low).max()) > 1:
        middle = (low + high) // 2
        passed = ask(middle) * sign > scales * sign
        low, high = np.where(passed, low, middle), np.where(passed, middle, high)
    return low


def _beside(last: Bits, fmt: Format, short: bool) -> Bits:
    """Return the maxima on both sides of the changes, and in the middle between two changes: there the scale is a number of its format."""
    assert isinstance(fmt.facts, FloatFacts)
    normal, top = 1 << fmt.facts.frac_bits, derive.codes(fmt).max_code
    chosen = np.arange(top + 1)
    if short:
        between = [normal + (top - normal) * part // (MIDDLE + 1) for part in range(1, MIDDLE + 1)]
        some = {*range(normal + 1), *range(top - 2, top + 1), *(place + more for place in between for more in (0, 1))}
        chosen = chosen[[place in some for place in chosen.tolist()]]
    chosen = chosen[last[chosen] > 0]
    centre = [(int(last[place]) + int(last[place + 1])) // 2 for place in chosen if place < top and last[place + 1] > 0]
    near = np.array([last[chosen] + off for off in ((0, 1) if short else (-1, 0, 1, 2))], np.int64).reshape(-1)
    return np.concatenate([near, [place + off for place in centre for off in ((0,) if short else (0, 1))]]).astype(np.int64)


def _beyond(last: Bits, source: Format, fmt: Format) -> Bits:
    """Return maxima in each binade below the first change, beyond half of the smallest scale, and above the last; the next midpoint too."""
    assert isinstance(source.facts, FloatFacts) and isinstance(fmt.facts, FloatFacts)
    found = last[last > 0]
    if found.size < 2:
        return found
    binade = 1 << source.facts.frac_bits
    reach = range(1, fmt.facts.frac_bits + BEYOND)
    below = [int(found[0]) - step * binade + off for step in reach for off in (0, 1)]
    step = 2 * _numbers(found[-1:], source)[0] - _numbers(found[-2:-1], source)[0]
    next_change = int(code_at(Fraction(float(step)), source))
    above = [next_change + off for off in (-1, 0, 1, 2)]
    above += [int(found[-1]) + step * binade for step in range(1, BEYOND + 1)]
    return np.array([*below, *above], np.int64)


def _numbers(codes: Bits, source: Format) -> Bits:
    """Return finite source codes as float64, exactly."""
    return codes.astype(integer_dtype(source)).view(float_dtype(source)).astype(np.float64)


def _tiles(form: Form, tops: Bits) -> Bits:
    """Return a tile under each maximum, one under the other: the maximum first, then falling multiples with signs in turn."""
    source = form.operands["x"]
    assert source is not None and form.block is not None
    tall, wide = form.block.facts.shape
    lanes = np.arange(tall * wide)
    falling = (lanes.size - lanes) / lanes.size * np.where(lanes % 2, -1, 1)
    with np.errstate(all="ignore"):
        x = (_numbers(tops, source)[:, None] * falling).astype(float_dtype(source)).view(tops.dtype)
    x[:, 0] = tops
    return np.ascontiguousarray(x.reshape(-1, wide))


def _question(form: Form, tops: Bits, amax: int | None, takes_amax: bool, multiple: tuple[int, int]) -> Question:
    """Return tiles as a question: with the tensor maximum as an operand, or in a tile of its own; padded to multiples."""
    source = form.operands["x"]
    assert source is not None and form.block is not None
    x, why = _tiles(form, tops), ["scale_edge"] * (tops.size * form.block.facts.shape[0])
    if amax is not None and not takes_amax:
        carrier = np.zeros((form.block.facts.shape[0], x.shape[1]), x.dtype)
        carrier[0, 0] = code_at(decode_code(amax, get("format", "fp32")).magnitude, source)
        x, why = np.concatenate([x, carrier]), why + ["carrier"] * len(carrier)
    more = [-size % part for size, part in zip(x.shape, multiple, strict=True)]
    x = np.pad(x, ((0, more[0]), (0, more[1])))
    operands: dict[str, Bits] = {"x": x} | _random(form, x.shape)
    if amax is not None and takes_amax:
        operands["tensor_amax"] = np.array(amax, "u4")
    return Question(operands, (*why, *["padding"] * more[0]))


def _random(form: Form, shape: tuple[int, ...]) -> dict[str, Bits]:
    """Return the random operand, where the recipe draws."""
    if form.draws is None:
        return {}
    lanes, bits = draw_bits(form.draws)
    drawn = draw(KEY, -(-shape[0] * shape[1] // lanes), bits, stream_of(f"thresholds {form.contract}")).astype(integer_dtype(None, bits))
    return {"random": drawn.reshape(shape) if lanes == 1 else drawn.reshape(1, -1)}
