"""Writers of a quantized cache of keys and values, in pages: each code and scale at its slot, and nothing else touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from emu.arrays.rows import pack_nibbles
from emu.base.errors import OperandError, TargetError
from emu.check.matmul.numbers import Bits, Draws
from emu.check.matmul.pair import side_of
from emu.check.model import RAISED
from emu.check.report.model import Report
from emu.engines.numpy.layout import places
from emu.ops.functions import quantize
from emu.ops.quantized import Quantized
from emu.spec import get
from emu.spec.models import Layout

ORDERS: Final = ("HND", "NHD")  # pages, heads, tokens of a page, or pages, tokens of a page, heads
FILLS: Final = (0xA5, 0x5A)
NAMES: Final = ("k_cache", "k_scale_cache", "v_cache", "v_scale_cache")


def check_cache(
    kernel: Callable[..., Any],
    recipe: str,
    *,
    order: str = "HND",
    k_scale_layout: str = "row_major",
    v_scale_layout: str = "row_major",
    page_size: int = 16,
    heads: int = 2,
    dim: int = 128,
    tokens: Iterable[int] = (1, 5, 16, 37),
    source: str = "fp32",
    key: int = 1,
    raises: bool = True,
) -> Report:
    """Hold a writer of a paged cache to quantize/RECIPE and a layout, bit for bit.

    kernel: (k, v, k_cache, k_scale_cache, v_cache, v_scale_cache, slots), changes the four caches in place. k, v: [tokens, heads, dim] in
    source (fp32, bf16 or fp16); slots: int64 [tokens], page x page_size + place in the page, in any order.
    order: HND: caches are [pages, heads, page_size, bytes]; NHD: [pages, page_size, heads, bytes]. Codes are packed as the block says.
    k_scale_layout, v_scale_layout: a layout of scales, over the page_size x scales of one page and head: row_major, kv_v_scale_4token.
    A recipe with a tensor scale takes it from all k, and from all v, of one call; an answer may leave it out, codes and scales tell.
    tokens: so many for each call.   Slots that are not named, before and after, must keep their bytes.
    Returns: a report.   Raises: AssertionError with the report's text; SpecError, OperandError (a word, a size).
    Tests: tests/check/attention/test_attention_cache.py.
    """
    __tracebackhide__ = True
    side, layouts = side_of(recipe), {}
    if order not in ORDERS:
        raise OperandError(f"order {order!r} is unknown: one of {', '.join(ORDERS)}")
    if side.scale is None or side.rows != 1 or dim % side.size:
        raise OperandError(f"dim {dim}: {recipe} takes scales of single rows and a multiple of its block of {side.size}")
    for name, word in (("k", k_scale_layout), ("v", v_scale_layout)):
        layout: Layout = get("layout", word)
        where = places(page_size, dim // side.size, layout) if layout.facts.holds == "scales" else np.zeros(0)
        if where.size == 0 or int(where.max()) + 1 != where.size:
            raise OperandError(f"layout {word}: {page_size} tokens of {dim // side.size} scales do not fill it: name other sizes")
        layouts[name] = where
    report = Report(getattr(kernel, "__qualname__", type(kernel).__name__), f"cache of quantize/{recipe}, {order}")
    draws, counts = Draws(key, "cache"), list(tokens)
    if not counts or min(counts) < 1:
        raise OperandError("tokens: give at least one count, each at least 1")
    try:
        for count in counts:
            for fill in FILLS:
                _ask(kernel, side, order, layouts, (page_size, heads, dim), (count, fill, source), draws, report)
    except TargetError as error:
        report.verdict, report.message = error.verdict, str(error)  # type: ignore[assignment]
    else:
        report.verdict = "differs" if report.differing else "pass"
    if raises and report.verdict != "pass":
        raise AssertionError(f"{report.message}\n{report.text()}")
    return report


def _ask(
    kernel: Callable[..., Any], side: Any, order: str, layouts: dict[str, Bits], sizes: tuple[int, int, int], asked: tuple[int, int, str],
    draws: Draws, report: Report,
) -> None:  # fmt: skip
    (page_size, heads, dim), (count, fill, source) = sizes, asked
    pages = -(-count // page_size) + 3
    slots = np.argsort(draws.below(1 << 30, pages * page_size), kind="stable")[:count].astype(np.int64)
    values = {name: _values(draws, (count, heads, dim), source) for name in "kv"}
    want: dict[str, Bits] = {}
    for name in "kv":
        q = quantize(values[name], side.known)
        codes = pack_nibbles(np.ascontiguousarray(q.codes)) if side.packs else np.asarray(q.codes)
        want |= _written(name, codes, q, slots, layouts[name], (pages, heads, page_size), order, fill)
    given = {name: np.full_like(item, fill) if item.dtype == np.uint8 else _filled(item, fill) for name, item in want.items()}
    before = {name: item.copy() for name, item in values.items()} | {"slots": slots.copy()}
    try:
        kernel(values["k"], values["v"], *(given[name] for name in NAMES), slots)
    except RAISED as error:
        raise TargetError("raises", f"{count} tokens: {type(error).__name__}: {error}") from error
    for name, item in ({**values, "slots": slots}).items():
        if item.tobytes() != before[name].tobytes():
            raise TargetError("mutates", f"the kernel changed its operand {name}")
    for name in NAMES:
        wrong = given[name] != want[name]
        report.compared += int(wrong.size)
        report.differing += int(wrong.sum())
        if wrong.any() and not report.message:
            at = tuple(int(place) for place in np.argwhere(wrong)[0])
            touched = " (a slot that was not named)" if _untouched(want[name][at], fill) else ""
            report.message = f"{name} {at}: {int(want[name][at]):#x} wanted, {int(given[name][at]):#x} given{touched}, {count} tokens"


def _untouched(code: Any, fill: int) -> bool:
    return set(np.asarray(code).tobytes()) == {fill}


def _filled(item: Bits, fill: int) -> Bits:
    return np.full(item.nbytes, fill, np.uint8).view(item.dtype).reshape(item.shape)


def _values(draws: Draws, shape: tuple[int, ...], source: str) -> Any:
    """Return numbers of many magnitudes, zeros among them, in the source format."""
    from emu.arrays.values import float_dtype

    if source not in ("fp32", "bf16", "fp16"):
        raise OperandError(f"source {source!r} is unknown: fp32, bf16 or fp16")
    whole = (draws.below(1 << 12, *shape) - (1 << 11)).astype(np.float64)
    found = np.ldexp(whole, (draws.below(7, *shape[:-1], 1) - 10).astype(np.int32))
    return found.astype(np.float32).astype(float_dtype(get("format", source)))


def _written(
    name: str, codes: Bits, q: Quantized, slots: Bits, where: Bits, sizes: tuple[int, int, int], order: str, fill: int
) -> dict[str, Bits]:
    """Return both caches of k or v as they must be: bytes that were there, and at the slots what the recipe makes."""
    pages, heads, page_size = sizes
    scales = np.asarray(q.scales)
    out = np.full((pages, heads, page_size, codes.shape[-1]), fill, np.uint8)
    side = _filled(np.zeros((pages, heads, page_size * scales.shape[-1]), scales.dtype), fill)
    page, token = slots // page_size, slots % page_size
    out[page, :, token] = codes
    for head in range(heads):
        side[page[:, None], head, where[token]] = scales[:, head]
    side = side.reshape(pages, heads, page_size, scales.shape[-1])
    if order == "NHD":
        out, side = (np.ascontiguousarray(item.swapaxes(1, 2)) for item in (out, side))
    return {f"{name}_cache": out, f"{name}_scale_cache": side}
