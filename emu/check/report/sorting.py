"""Which class a difference belongs to. Facts of the inputs decide first (NaN, tails), then the reference model's steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emu.base.errors import EmuError
from emu.check.cutting import cut
from emu.check.judge import Difference, format_of, is_nan
from emu.contracts.form import FLAGS, Arrays, Bits, Expected, Form, spread
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.round import locate, round_value
from emu.engines.numpy.layout import places
from emu.spec import derive, get
from emu.spec.models import Format
from emu.spec.models.format import CodebookFacts, FloatFacts

Index = tuple[int, ...]
MATRIX = 2  # axes of an answer that has rows and columns


class Case(NamedTuple):
    """One question with both answers."""

    operands: Arrays
    expected: Expected
    got: Arrays


def whole_class(form: Form, case: Case, difference: Difference, known: bool = False) -> str | None:
    """Return the class of all differences of an answer together: right codes in wrong places; None: they are looked at one by one.

    known: nibbles were found exchanged before, so that a row of a single code is believed too.
    """
    want, have = case.expected.arrays[difference.name], case.got[difference.name]
    if want.shape != have.shape or want.ndim != MATRIX or difference.name in case.expected.known:
        return None
    if difference.name == "codes":
        even = np.pad(want, ((0, 0), (0, want.shape[1] % 2)))
        swapped = even.reshape(-1, 2)[:, ::-1].reshape(even.shape)[:, : want.shape[1]]
        if bool((swapped == have)[difference.wrong].all()) and (known or _varied(want, difference.wrong)):
            return "nibble_order"
    if difference.name in ("codes", "values", FLAGS) or not _varied(want, difference.wrong):
        return None
    if np.array_equal(np.sort(want, axis=None), np.sort(have, axis=None)) or _swizzled(want, have):
        return "layout"
    return None


def _varied(want: Bits, wrong: Bits) -> bool:
    return np.unique(want[wrong]).size > 1


def _swizzled(want: Bits, have: Bits) -> bool:
    """Tell whether an answer is the start of the 128x4 layout of the scales."""
    memory = np.zeros(-(-want.shape[0] // 128) * -(-want.shape[1] // 4) * 512, want.dtype)
    memory[places(want.shape[0], want.shape[1], get("layout", "sf128x4"))] = want
    return bool(np.array_equal(memory[: have.size], have.reshape(-1)))


def class_of(form: Form, case: Case, name: str, index: Index) -> str:
    """Return the class of one difference: a key of classes.CLASSES."""
    if name == FLAGS:
        return "flags"
    want, have = int(case.expected.arrays[name][index]), int(case.got[name][index])
    fmt = format_of(form, name, case.expected)
    if _only_sign(want, have, fmt) and not want & ~derive.codes(fmt).sign_bit:
        return "minus_zero"
    near = inputs_near(form, case, name, index)
    for rule in (_special, _of_block, _of_answer):
        found = rule(form, case, name, index, want, have, fmt, near)
        if found is not None:
            return found
    if form.draws is not None and name in ("codes", "values"):
        return "random"
    if name not in ("codes", "values", "d"):
        return "scale"
    return _of_steps(form, case, name, index, have) or ("code" if name == "codes" else "value")


def inputs_near(form: Form, case: Case, name: str, index: Index) -> Bits:
    """Return the elements that an answer is made of: the element, its block, its row."""
    main = case.operands[form.main]
    if form.by_row:
        alike = [name for name, fmt in form.operands.items() if fmt is not None and case.operands[name].shape == main.shape]
        return np.concatenate([np.atleast_1d(case.operands[name][index[0]]) for name in alike])
    if not index:
        return main.reshape(-1)
    tall, wide = form.elements_of(case.operands, name)
    if tall == wide == 1 and form.block is not None:
        tall, wide = form.together(main.shape)
        top, left = index[0] // tall * tall, index[1] // wide * wide
    else:
        top, left = index[0] * tall, index[1] * wide
    return main[top : top + tall, left : left + wide].reshape(-1)


def _special(form: Form, case: Case, name: str, index: Index, want: int, have: int, fmt: Format, near: Bits) -> str | None:
    source = form.operands[form.main]
    if source is None:
        return None
    derived = derive.codes(source)
    if derived.inf is not None and derived.nan:
        plain = (
            near
            & near.dtype.type(derived.inf | (derived.inf - 1 if derived.inf else 0))
            & near.dtype.type(~derived.sign_bit & ((1 << derived.bits) - 1))
        )
        if bool((plain > derived.inf).any()):
            return "nan"
        if bool((plain == derived.inf).any()):
            return "inf"
    amax = case.operands.get("tensor_amax")
    if amax is not None and int(amax) >= 0x7F800000:
        return "nan" if int(amax) > 0x7F800000 else "inf"
    if bool(is_nan(np.array([want, have], np.uint64), fmt).any()):
        return "nan"
    return None


def _of_block(form: Form, case: Case, name: str, index: Index, want: int, have: int, fmt: Format, near: Bits) -> str | None:
    source = form.operands[form.main]
    if form.block is None or "codes" not in form.answers or source is None or not index:
        return None
    if near.size > 1 and not bool((near & near.dtype.type(derive.codes(source).sign_bit - 1)).any()):
        return "zero_block"
    width, wide = case.operands[form.main].shape[1], form.tile[1]
    columns = case.expected.arrays[name].shape[1]
    column = index[1] * (wide if columns != width and name not in ("codes", "values") else 1)
    if width % wide and column >= width // wide * wide:
        return "tail"
    return None


def _only_sign(want: int, have: int, fmt: Format) -> bool:
    sign = derive.codes(fmt).sign_bit
    return bool(sign) and want ^ have == sign


def _of_answer(form: Form, case: Case, name: str, index: Index, want: int, have: int, fmt: Format, near: Bits) -> str | None:
    derived, scale = derive.codes(fmt), name not in ("codes", "values", "d")
    if _only_sign(want, have, fmt):
        return "sign"
    if scale:
        ends = {derived.max_code, 0 if derived.has_zero else -1, 1 if derived.has_zero else 0}
        return "scale_saturation" if want in ends else None
    source = form.operands[form.main]
    if source is None:
        return None
    plain = (
        int(case.operands[form.main][index]) & ~derive.codes(source).sign_bit if name == "codes" and _inside(case, form, index) else None
    )
    if plain is not None and form.draws is None and _beyond(form, plain, source, want & ~derived.sign_bit, derived.max_code):
        return "overflow"
    if plain is not None and isinstance(source.facts, FloatFacts) and 0 < plain < 1 << source.facts.frac_bits:
        return "subnormal"
    if derived.inf is not None and derived.inf in (want & ~derived.sign_bit, have & ~derived.sign_bit):
        return "overflow"
    frac = fmt.facts.frac_bits if isinstance(fmt.facts, FloatFacts) else 0
    if derived.bits > 4 and 0 < want & ~derived.sign_bit < 1 << frac and not have & ~derived.sign_bit:
        return "subnormal"
    return None


def _inside(case: Case, form: Form, index: Index) -> bool:
    return all(at < size for at, size in zip(index, case.operands[form.main].shape, strict=True))


def _beyond(form: Form, plain: int, source: Format, want: int, most: int) -> bool:
    """Tell whether a source code to convert lies beyond the largest number of the destination."""
    fmt = form.answers["codes"]
    if form.block is not None or isinstance(fmt.facts, CodebookFacts):
        return False
    return decode_code(plain, source).magnitude > decode_code(derive.codes(fmt).max_code, fmt).magnitude


def _of_steps(form: Form, case: Case, name: str, index: Index, have: int) -> str | None:
    """Return "tie" or "double_rounding" from the number that the last rounding to an element code sees."""
    if name != "codes":
        return None
    try:
        seen = form.rounded(*cut(form, case.operands, "codes", index))
    except EmuError:
        return None
    if seen is None or seen[0].kind != "finite" or isinstance(seen[1].facts, CodebookFacts):
        return None
    value, fmt, rounding, entry = seen
    if locate(value.magnitude, fmt).lost * 2 == 1:
        return "tie"
    nearest = get("rounding", "rne")
    for narrow in ("bf16", "fp16"):
        try:
            first = round_value(value, get("format", narrow), nearest)
            if first != value and convert_value(first, fmt, rounding, entry) == have:
                return "double_rounding"
        except EmuError:
            continue
    return None


def sample(wrong: Bits, most: int) -> list[Index]:
    """Return at most `most` places of differences, evenly spread, the first and last among them."""
    found = np.argwhere(wrong) if wrong.ndim else np.zeros((int(bool(wrong)), 0), np.int64)
    if len(found) > most:
        found = found[np.arange(most) * (len(found) - 1) // (most - 1)]
    return [tuple(int(at) for at in row) for row in found]


__all__ = ["Case", "Index", "class_of", "inputs_near", "sample", "spread", "whole_class"]
