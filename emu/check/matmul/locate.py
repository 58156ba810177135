"""What did a wrong product do? Single mistakes are tried until one reproduces every output of a question exactly; nothing is guessed.

A mistake is: operands read otherwise (halves of bytes exchanged, scales shifted, transposed, ignored, of the other operand, another element
format), terms missing, twice or stale (an element, a block, the end of K), rows or tiles of the result left out or taken from elsewhere,
a tensor scale, alpha or C missing or misplaced, a rounding where none may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product as combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EmuError
from emu.check.matmul.ends import WRAPS
from emu.check.matmul.groups import column, of_groups
from emu.check.matmul.mistakes import wrong_groups
from emu.check.matmul.numbers import NARROW, Bits, Exact, exact_of, in_units, product
from emu.check.matmul.pair import Pair, Side
from emu.check.matmul.sets import Operands
from emu.engines.exact.encode import code_of_one
from emu.engines.numpy.layout import places
from emu.ops.functions import convert
from emu.spec import derive, get, names
from emu.spec.models.format import FloatFacts, Format

Values = NDArray[np.float64]
Found = dict[str, Any]
TILES: Final = (8, 16, 32, 64, 128, 256)
MANY: Final = 4096  # terms or blocks that are tried one by one


class Case:
    """A question that a kernel answered wrongly.

    got, want: codes of the result.   known: where they are compared.   powers: exponents of ta, tb, alpha, beta.   c: float64 or None.
    encode: float64 sums before scales, scaled and rounded to codes.
    """

    def __init__(self, pair: Pair, asked: Operands, got: Bits, want: Bits, known: Bits, powers: dict[str, int], c: Values | None,
                 encode: Callable[[Values], Bits], values: Callable[[Bits], Values]) -> None:  # fmt: skip
        self.pair, self.asked, self.got, self.want, self.known = pair, asked, got, want, known
        self.powers, self.c, self.encode, self.values = powers, c, encode, values
        self.wrong = unequal(got, want, pair) & known

    def gives(self, sums: Values) -> bool:
        """Tell whether sums, scaled and rounded as they should be, are what the kernel gave. sums: of the outputs, or of all rows of b."""
        return self.same(self.encode(of_groups(self.asked, sums)))

    def same(self, codes: Bits) -> bool:
        """Tell whether codes of the result are what the kernel gave."""
        return bool(self.agrees(codes).all())

    def agrees(self, codes: Bits) -> Bits:
        """Return where codes of the result are what the kernel gave, or nothing is known."""
        return ~(unequal(self.got, codes, self.pair) & self.known)

    def sums(self, one: Exact, other: Exact) -> Values:
        """Return the product of exact operands, of all rows with all rows."""
        return _sums(one, other)


def unequal(one: Bits, other: Bits, pair: Pair) -> Bits:
    """Return where codes of a result differ by value: zeros of both signs are equal, and so are NaNs."""
    derived = derive.codes(pair.out)
    mask = one.dtype.type(derived.sign_bit - 1)
    nan = ((one & mask) > derived.inf) & ((other & mask) > derived.inf)
    return np.asarray((one != other) & ~(((one | other) & mask) == 0) & ~nan)


def wrapped_blocks(cases: list[Case]) -> Found:
    """Return the number of blocks at which an index of the scales wraps, where that gives every output of all questions; else nothing."""
    blocks = max(case.asked.a.shape[1] // case.pair.block for case in cases)
    for at, sides in combinations(WRAPS, ("ab", "a", "b")):
        if at < blocks and all(_wraps(case, at, sides) for case in cases):
            said = f"the index of the block wraps at {at} in the scales of {' and '.join(sides)}"
            return {"hypothesis": said, "explains": f"{len(cases)} of {len(cases)} questions"}
    return {}


def _wraps(case: Case, at: int, sides: str) -> bool:
    values = []
    for name, side, codes, scales in (("a", case.pair.a, case.asked.a, case.asked.sa), ("b", case.pair.b, case.asked.b, case.asked.sb)):
        late = scales if scales is None or name not in sides else scales[:, np.arange(scales.shape[1]) % at]
        exact = side.values(codes, late)
        values.append(np.ldexp(exact.n.astype(np.float64), exact.e.astype(np.int32)))
    made = case.encode(of_groups(case.asked, values[0] @ values[1].T))
    return not bool((unequal(case.got, made, case.pair) & case.known).any())


def locate(cases: list[Case], dense: list[Case]) -> Found:
    """Return the mistake that gives all outputs of the most questions, of several the first that is tried; {} for none.

    Its words are under `hypothesis`, and k, block, tile, row or column of the first question where they are known.
    dense: wrong questions with wrong sums of several blocks; a term that explains none of them is no cause: where one block of a row is
    live, a wrong term and a wrong output are the same.
    """
    found: dict[str, Found] = {}
    times: dict[str, int] = {}
    of_terms: set[str] = set()
    for case in cases:
        here: dict[str, Found] = {}
        for search in (_groups, _result, _scalars, _operands, _ends, _terms, _roundings, _single_codes, _left_zero):
            new = {item["hypothesis"]: item for item in search(case) if item["hypothesis"] not in here}
            of_terms |= set(new) if search is _terms else set()
            here |= new
        for text, item in here.items():
            found.setdefault(text, {**item, "M, N, K" if case.asked.groups is None else "E, M, N, K": "x".join(map(str, case.asked.shape))})
            times[text] = times.get(text, 0) + 1
    if of_terms and dense:
        kept = {item["hypothesis"] for case in dense for item in _terms(case)}
        times = {text: count for text, count in times.items() if text not in of_terms or text in kept}
    best = max(times, key=lambda text: times[text], default="")
    return {**found[best], "explains": f"{times[best]} of {len(cases)} questions"} if best else {}


def is_dense(case: Case) -> bool:
    """Tell whether a wrong term can be told from a wrong output: products of several blocks are added in one, and differences are known."""
    if _difference(case) is None:
        return False
    asked, pair = case.asked, case.pair
    a, b = (side.values(codes, scales).n != 0 for side, codes, scales in ((pair.a, asked.a, asked.sa), (pair.b, asked.b, asked.sb)))
    size = _block(pair)
    live = sum((_met(a[:, at : at + size], b[:, at : at + size]) for at in range(0, a.shape[1], size)), np.zeros((len(a), len(b))))
    return bool((of_groups(asked, live) > 1)[case.wrong].any())


def _met(a: Bits, b: Bits) -> Values:
    return np.asarray(a.astype(np.float64) @ b.T.astype(np.float64) > 0, np.float64)


def _block(pair: Pair) -> int:
    """Return the length of a block along K whose loss is tried."""
    return pair.step if pair.step > 1 else 16


def where(case: Case) -> Found:
    """Return the first wrong output and how far the wrong ones reach."""
    rows, columns = np.nonzero(case.wrong)
    out: Found = {"row": int(rows[0]), "column": int(columns[0])}
    box = (int(rows.min()), int(rows.max()) + 1, int(columns.min()), int(columns.max()) + 1)
    if (box[1] - box[0], box[3] - box[2]) != case.wrong.shape:
        out["tile"] = f"rows {box[0]} to {box[1] - 1}, columns {box[2]} to {box[3] - 1}"
    return out


def _sums(one: Exact, other: Exact) -> Values:
    """Return the product of exact operands in binary64: exact where the integers are short, which the sets make them."""
    try:
        (x, unit_x), (y, unit_y) = in_units(one), in_units(other)
        return np.ldexp(product(x, y).astype(np.float64), (unit_x[:, None] + unit_y[None, :]).astype(np.int32))
    except EmuError:
        return _floats(one) @ _floats(other).T


def _floats(exact: Exact) -> Values:
    return np.ldexp(exact.n.astype(np.float64), exact.e.astype(np.int32))


def _right(case: Case) -> Values:
    return np.ldexp(case.asked.sums.astype(np.float64), case.asked.unit.astype(np.int32))


def _result(case: Case) -> Iterator[Found]:
    """The result is put together wrongly: transposed, negated, rows or tiles missing or taken from elsewhere."""
    m, n = case.got.shape
    if case.same(case.want.reshape(n, m).T) or (m == n and case.same(np.ascontiguousarray(case.want.T))):
        yield {"hypothesis": "the result is transposed, or the operands are exchanged"}
    if case.same(np.ascontiguousarray(case.want.T).reshape(m, n)):
        yield {"hypothesis": "the result lies column after column in memory"}
    if case.gives(-_right(case)):
        yield {"hypothesis": "the result is negated"}
    rows, columns = case.wrong.any(axis=1), case.wrong.any(axis=0)
    for word, axis, bad in (("row", 0, rows), ("column", 1, columns)):
        at = np.flatnonzero(bad)
        if len(at) == case.got.shape[axis] or not len(at):
            continue
        got, want = (case.got, case.want) if axis == 0 else (case.got.T, case.want.T)
        for i in at[:1]:
            source = [j for j in range(len(want)) if j != i and not unequal(got[i], want[j], case.pair).any()]
            if source and len(at) <= len(want) // 2 + 1:
                yield {"hypothesis": f"a {word} of the result is that of another {word}", word: int(i), "taken from": source[0]}


def _left_zero(case: Case) -> Iterator[Found]:
    if not case.values(case.got)[case.wrong].any():
        yield {"hypothesis": "outputs are left zero (a masked row or tile)", **where(case)}


def _groups(case: Case) -> Iterator[Found]:
    """Rows of a group meet another matrix of b, or are rows of another group; scales lie where another group's do."""
    return wrong_groups(case)


def _scalars(case: Case) -> Iterator[Found]:
    """Tensor scales, alpha, beta and C: missing, twice, of the other operand."""
    given = [name for name in ("ta", "tb", "alpha") if name in case.powers]
    right = _right(case)
    words = {0: "is missing", 2: "enters twice", -1: "divides"}
    label = {"ta": "the tensor scale of a", "tb": "the tensor scale of b", "alpha": "alpha"}
    tries = sorted(combinations((1, 0, 2, -1), repeat=len(given)), key=lambda item: sum(power != 1 for power in item))
    for powers in tries:
        shift = sum((power - 1) * case.powers[name] for name, power in zip(given, powers, strict=True))
        wrong = [f"{label[name]} {words[power]}" for name, power in zip(given, powers, strict=True) if power != 1]
        if wrong and set(given) >= {"ta", "tb"} and dict(zip(given, powers, strict=True)) | {"alpha": 1} in (
            {"ta": 2, "tb": 0, "alpha": 1}, {"ta": 0, "tb": 2, "alpha": 1},
        ):  # fmt: skip
            wrong = [f"the tensor scale of {'a' if powers[0] == 2 else 'b'} is used for both operands"]
        if np.any(shift) and wrong and case.gives(np.ldexp(right, shift)):
            yield {"hypothesis": " and ".join(wrong)}
    if case.c is None:
        return
    scaled = np.ldexp(right, sum(case.powers[name] for name in given))
    c, beta = case.c, 2.0 ** case.powers.get("beta", 0)
    alpha = 2.0 ** case.powers.get("alpha", 0)
    options = {"C is missing": 0 * c, "C enters twice": 2 * beta * c, "C is multiplied by alpha": alpha * beta * c}
    options |= {"C is subtracted": -beta * c, "beta is missing": c, "C is transposed": beta * np.ascontiguousarray(c.T).reshape(c.shape)}
    for text, addend in options.items():
        if case.same(_codes(case, scaled + addend)):
            yield {"hypothesis": text}


def _codes(case: Case, values: Values) -> Bits:
    """Return final values as codes of the result."""
    from emu.check.matmul.epilogue import to_result

    with np.errstate(over="ignore"):
        return to_result(values.astype(np.float32), case.pair.out)


def _operands(case: Case) -> Iterator[Found]:
    """One operand is read otherwise, as a whole."""
    asked, pair = case.asked, case.pair
    exact = {"a": pair.a.values(asked.a, asked.sa), "b": pair.b.values(asked.b, asked.sb)}
    found: dict[str, str] = {}
    for name, side, codes, scales in (("a", pair.a, asked.a, asked.sa), ("b", pair.b, asked.b, asked.sb)):
        foreign = asked.sb if name == "a" else asked.sa
        for text, value in _readings(side, codes, scales, foreign):
            pairs = (value, exact["b"]) if name == "a" else (exact["a"], value)
            if case.gives(_sums(*pairs)):
                found[text] = "a or b" if text in found else name
    yield from ({"hypothesis": f"{name}: {text}"} for text, name in found.items())
    yield from _both(case)


def _both(case: Case) -> Iterator[Found]:
    """The same mistake in both operands."""
    asked, pair = case.asked, case.pair
    left = list(_readings(pair.a, asked.a, asked.sa, asked.sb))
    right = dict(_readings(pair.b, asked.b, asked.sb, asked.sa))
    for text, value in left:
        if text in right and case.gives(_sums(value, right[text])):
            yield {"hypothesis": f"both operands: {text}"}


def _readings(side: Side, codes: Bits, scales: Bits | None, foreign: Bits | None) -> Iterator[tuple[str, Exact]]:
    """Yield (words, values) of an operand read wrongly."""
    k = codes.shape[1]
    if k % 2 == 0:
        swapped = codes.reshape(len(codes), -1, 2)[:, :, ::-1].reshape(codes.shape)
        yield "the two halves of each byte are exchanged", side.values(swapped, scales)
    yield "the elements of a row are reversed along K", side.values(codes[:, ::-1], scales)
    yield "signs of elements are ignored", _change(side.values(codes, scales), np.abs)
    for step in (1, -1):
        if len(codes) > 1:
            yield f"codes of the {'previous' if step == 1 else 'next'} row", side.values(np.roll(codes, step, 0), scales)
        yield f"codes shifted by {step} along K", side.values(np.roll(codes, step, 1), scales)
    bits = derive.codes(side.element).bits
    for other in names("format"):
        fmt = get("format", other)
        if derive.codes(fmt).bits == bits and fmt.facts_digest != side.element.facts_digest:
            try:
                yield f"elements read as {other}", replace(side, element=fmt).values(codes, scales)
            except EmuError:
                continue
    if scales is None or side.scale is None:
        return
    for text, changed in _scale_readings(side, scales, foreign):
        try:
            yield text, side.values(codes, changed.astype(scales.dtype))
        except (EmuError, IndexError):
            continue
    plain = exact_of(scales, side.scale)
    element = exact_of(codes, side.element)
    power = np.repeat(plain.nominal, side.size, axis=1)[:, :k]
    yield "mantissas of scales are ignored", Exact(element.n, np.where(element.n == 0, 0, element.e + power), element.nominal)
    facts = side.scale.facts
    if isinstance(facts, FloatFacts) and facts.subnormals == "yes" and derive.codes(side.scale).bits <= 16:
        flushed = np.where(scales >> facts.frac_bits == 0, 0, scales)
        yield "subnormal scales are taken for zero", side.values(codes, flushed)


def _change(exact: Exact, change: Callable[[Any], Any]) -> Exact:
    return Exact(change(exact.n), exact.e, exact.nominal)


def _scale_readings(side: Side, scales: Bits, foreign: Bits | None) -> Iterator[tuple[str, Bits]]:
    """Yield (words, scales) of scales that lie in other places."""
    assert side.scale is not None
    rows, blocks = scales.shape
    one = code_of_one(side.scale)
    yield "scales are ignored", np.full_like(scales, one)
    yield "scales are reversed along K", scales[:, ::-1]
    if isinstance(side.scale.facts, FloatFacts):
        yield "the fraction field of scales is cleared", scales >> side.scale.facts.frac_bits << side.scale.facts.frac_bits
    for step in (1, -1, 2, -2):
        yield f"scales shifted by {step} blocks along K", np.roll(scales, step, 1)
        yield f"scales shifted by {step} rows", np.roll(scales, step, 0)
        held = np.clip(np.arange(blocks) - step, 0, blocks - 1)
        yield f"scales shifted by {step} blocks along K, the end repeated", scales[:, held]
    yield "scales are transposed", np.ascontiguousarray(scales.T).reshape(rows, blocks)
    yield "scales lie column after column", scales.reshape(blocks, rows).T
    yield "the scale of the first block is used for the whole row", np.repeat(scales[:, :1], blocks, 1)
    yield "the scales of the first row are used for all rows", np.repeat(scales[:1], rows, 0)
    yield "two blocks share the scale of the first", scales[:, np.arange(blocks) // 2 * 2]
    yield "blocks are twice as long as they are", scales[:, np.arange(blocks) // 2]
    yield "blocks are half as long as they are", scales[:, np.arange(blocks) * 2 % blocks]
    where = places(rows, blocks, get("layout", "sf128x4"))
    memory = np.zeros(int(where.max()) + 1, scales.dtype)
    memory[where] = scales
    if memory.size >= rows * blocks:
        yield "scales in tiles of 128x4 are read row after row", memory[: rows * blocks].reshape(rows, blocks)
    flat = np.zeros(max(int(where.max()) + 1, scales.size), scales.dtype)
    flat[: scales.size] = scales.reshape(-1)
    yield "scales row after row are read as tiles of 128x4", flat[where]
    if foreign is not None:
        yield "scales of the other operand", foreign[np.arange(rows) % len(foreign)][:, np.arange(blocks) % foreign.shape[1]]


def _ends(case: Case) -> Iterator[Found]:
    """K ends early or begins late."""
    asked, pair = case.asked, case.pair
    a, b = pair.a.values(asked.a, asked.sa), pair.b.values(asked.b, asked.sb)
    k = asked.a.shape[1]
    cuts = [(0, k - tail, f"the last {tail} elements along K are missing") for tail in (1, 2, 3, 4, *TILES) if tail < k]
    cuts += [(head, k, f"the first {head} elements along K are missing") for head in (1, *TILES) if head < k]
    cuts += [(0, k // size * size, f"K is cut to a multiple of {size}") for size in TILES[::-1] if k % size]
    for first, last, text in cuts:
        kept = [Exact(*(item[:, first:last] for item in side)) for side in (a, b)]
        if case.gives(_sums(*kept)):
            yield {"hypothesis": text, "k": f"{0 if first else last} to {(first or k) - 1}"}


def _terms(case: Case) -> Iterator[Found]:
    """An element or a block is missing, there twice, or another's; in all rows or in some."""
    asked, pair = case.asked, case.pair
    a, b = (_floats(side.values(codes, scales)) for side, codes, scales in ((pair.a, asked.a, asked.sa), (pair.b, asked.b, asked.sb)))
    difference = _difference(case)
    if difference is None:
        return
    rows, columns = np.nonzero(case.wrong)
    i, j = int(rows[0]), int(columns[0])
    k = a.shape[1]
    for sign, word in ((-1, "is missing"), (1, "enters twice"), (-2, "has the other sign")):
        for at in np.flatnonzero(a[i] * b[column(asked, i, j)] * sign == difference[i, j])[:MANY]:
            change = sign * of_groups(asked, np.outer(a[:, at], b[:, at]))
            yield from _matches(case, difference, change, f"the element at k {word}", {"k": int(at)})
    size = _block(pair)
    blocks = [slice(at, min(at + size, k)) for at in range(0, k, size)][:MANY]
    parts = [of_groups(asked, a[:, block] @ b[:, block].T) for block in blocks]
    for at, part in enumerate(parts):
        found = {"k": f"{at * size} to {min(at * size + size, k) - 1}", "block": at}
        yield from _matches(case, difference, -part, "a block along K is missing", found)
        yield from _matches(case, difference, part, "a block along K enters twice", found)
        for other in {at - 1, at + 1, 0} & set(range(len(parts))) - {at}:
            stale = {**found, "taken from": other}
            yield from _matches(case, difference, parts[other] - part, "a block along K is stale: that of another", stale)
            for name in "ab":
                one = a[:, blocks[other]] if name == "a" else a[:, blocks[at]]
                two = b[:, blocks[other]] if name == "b" else b[:, blocks[at]]
                if one.shape[1] == two.shape[1]:
                    text = f"{name}: a block along K is stale: that of another"
                    yield from _matches(case, difference, of_groups(asked, one @ two.T) - part, text, stale)
    yield from _one_scale(case, difference, a, b)


def _one_scale(case: Case, difference: Values, a: Values, b: Values) -> Iterator[Found]:
    """The scale of one block is that of a neighbour."""
    asked, pair = case.asked, case.pair
    for name, side, codes, scales in (("a", pair.a, asked.a, asked.sa), ("b", pair.b, asked.b, asked.sb)):
        if scales is None or side.scale is None:
            continue
        blocks = scales.shape[1]
        for at, other in [(block, near) for block in range(blocks) for near in (block - 1, block + 1) if 0 <= near < blocks]:
            cut = slice(at * side.size, (at + 1) * side.size)
            now = _floats(side.values(codes[:, cut], scales[:, other : other + 1]))
            change = (now - a[:, cut]) @ b[:, cut].T if name == "a" else a[:, cut] @ (now - b[:, cut]).T
            change = of_groups(asked, change)
            text = f"{name}: one block has the scale of its neighbour"
            yield from _matches(case, difference, change, text, {"k": f"{cut.start} to {cut.stop - 1}", "block": at, "taken from": other})


def _difference(case: Case) -> Values | None:
    """Return got minus want before the scales, in binary64; None where the result is rounded, or not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        found = case.values(case.got) - case.values(case.want)
    if not np.isfinite(found).all() or derive.codes(case.pair.out).bits < 32:
        return None
    shift = -sum(case.powers[name] for name in ("ta", "tb", "alpha") if name in case.powers)
    return np.asarray(np.ldexp(found, shift), np.float64)


def _matches(case: Case, difference: Values, change: Values, text: str, found: Found) -> Iterator[Found]:
    """Yield the mistake where the change is what differs: in every output, or in all of some rows or columns."""
    rows, columns = np.nonzero(case.wrong)
    if difference[rows[0], columns[0]] != change[rows[0], columns[0]]:
        return
    equal = (difference == change) | ~case.known
    if equal.all():
        yield {"hypothesis": text, **found}
        return
    if not equal[case.wrong].all():
        return
    for word, axis in (("row", 1), ("column", 0)):
        some = np.flatnonzero(case.wrong.any(axis=axis))
        if len(some) < case.wrong.shape[1 - axis] and equal.take(some, 1 - axis).all():
            yield {"hypothesis": text, **found, word: f"{some[0]} to {some[-1]}" if len(some) > 1 else int(some[0])}
            return
    yield {"hypothesis": text, **found, **where(case)}


def _roundings(case: Case) -> Iterator[Found]:
    """Something is rounded that is exact: dequantized operands, or the sum before it is scaled."""
    asked, pair = case.asked, case.pair
    exact = {"a": pair.a.values(asked.a, asked.sa), "b": pair.b.values(asked.b, asked.sb)}
    for name in ("bf16", "fp16", "e4m3"):
        rounded = {side: _rounded(_floats(value), name) for side, value in exact.items()}
        whole = {side: _floats(value) for side, value in exact.items()}
        for words, one, two in (
            ("both operands", rounded["a"], rounded["b"]), ("a", rounded["a"], whole["b"]), ("b", whole["a"], rounded["b"]),
        ):  # fmt: skip
            if case.gives(one @ two.T):
                yield {"hypothesis": f"{words}: dequantized values are rounded to {name}"}
        if case.gives(_rounded(_right(case), name)):
            yield {"hypothesis": f"the sum is rounded to {name}"}
        if case.same(_codes(case, _rounded(case.values(case.want), name))):
            yield {"hypothesis": f"the result is rounded to {name}"}


def _rounded(values: Values, name: str) -> Values:
    bits = np.ascontiguousarray(values.astype(np.float32)).view(np.uint32)
    policy = "ieee" if name != "e4m3" else "ocp_saturate"
    return _floats(exact_of(_unsigned(convert(bits, name, rounding="rne", policy=policy, source="fp32")), get("format", name)))


def _unsigned(codes: Any) -> Bits:
    array = np.asarray(codes)
    return array.view(f"u{array.dtype.itemsize}")


def _has(fmt: Format, value: Fraction) -> bool:
    """Tell whether a code of a format has a value; wide formats are taken to have all."""
    bits = derive.codes(fmt).bits
    return bits > NARROW or value in map(Fraction, _floats(exact_of(np.arange(1 << bits), fmt)).tolist())


def _single_codes(case: Case) -> Iterator[Found]:
    """One code of an element or of a scale is read as another value, the outputs of one-hot rows: first those that another code has."""
    asked, pair = case.asked, case.pair
    difference = _difference(case)
    if difference is None:
        return
    found: list[tuple[bool, str]] = []
    for name, side, codes, scales in (("a", pair.a, asked.a, asked.sa), ("b", pair.b, asked.b, asked.sb)):
        value = {"a": pair.a.values(asked.a, asked.sa), "b": pair.b.values(asked.b, asked.sb)}
        for what, table in (("element", codes), ("scale", scales)):
            if table is None or (what == "scale" and not asked.name.startswith("one-hot")):
                continue
            for code in np.unique(table):
                gone = np.repeat(table != code, side.size, axis=1)[:, : codes.shape[1]] if what == "scale" else table != code
                part = _floats(value[name]) * ~gone
                other = _floats(value["b" if name == "a" else "a"])
                change = of_groups(asked, part @ other.T if name == "a" else other @ part.T)
                live = change != 0
                if (case.wrong & ~live).any() or not case.wrong.any():
                    continue
                more, of = difference[case.wrong][0], change[case.wrong][0]
                ratio = more / of
                if bool((difference == ratio * change)[case.known].all()):
                    fmt = side.scale if what == "scale" and side.scale is not None else side.element
                    plain = float(_floats(exact_of(np.array([code]), fmt))[0])
                    read = Fraction(plain) * (1 + Fraction(more) / Fraction(of))
                    found.append((not _has(fmt, read), f"{name}: {what} code {int(code):#x} ({plain:g}) is read as {float(read):g}"))
    yield from ({"hypothesis": text, **where(case)} for _, text in sorted(found, key=lambda item: item[0]))
