"""Operands that make orders of summation differ, and what a kernel answers. Nothing here is free of the order: that is the purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from emu.base.errors import OperandError
from emu.check.matmul.envelope import values_of
from emu.check.matmul.locate import unequal
from emu.check.matmul.numbers import Draws, exact_of
from emu.check.matmul.pair import Pair, Side
from emu.check.matmul.question import ONE, raw
from emu.check.matmul.sets import Limits, Operands, palette
from emu.contracts.form import integer_dtype
from emu.identify.matmul.sums import Terms
from emu.spec import derive

KINDS: Final = {"cancelling": 5, "random": 4, "wide": 12, "masked": 12}  # exponents of the scales on either side of the middle
PICKED: Final = 6  # rows and columns whose outputs are compared
FIRST: Final = 2  # of them, those that every candidate is tried on


@dataclass(eq=False)
class Question:
    """One call. a, sa, b, sb: codes and scale codes by row.   rows, columns: whose outputs are compared.   got: their codes, when asked.

    scalars: ta, tb, alpha, beta as binary32 numbers.   levels: codes of the tensor levels.   c: [M, N] codes of the result, or None.
    """

    pair: Pair
    a: Any
    sa: Any
    b: Any
    sb: Any
    rows: Any
    columns: Any
    scalars: dict[str, Any] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)
    c: Any = None
    got: Any = None
    _terms: Terms | None = None

    @property
    def k(self) -> int:
        """K."""
        return int(self.a.shape[1])

    def ask(self, target: Any, wants: tuple[str, ...]) -> None:
        """Ask a kernel. Raises: TargetError."""
        none = np.zeros((0, 0), np.int64)
        asked = Operands("", self.a, self.sa, self.b, self.sb, none, none, none, 0, "")
        c = np.zeros((len(self.a), len(self.b)), integer_dtype(self.pair.out)) if self.c is None else self.c
        operands = raw(self.pair, asked, {}, c, wants)
        for name, code in self.levels.items():
            operands[f"{name}_level"] = np.array(code, np.uint32)
            operands[f"{name}_tensor"] = np.array(np.float32(self.scalars[f"t{name}"]).view(np.uint32))
        for name in ("alpha", "beta"):
            operands[name] = np.array(np.float32(self.scalars.get(name, 1)).view(np.uint32))
        self.got = np.asarray(target(operands)["d"])[np.ix_(self.rows, self.columns)]

    def part(self, count: int) -> Question:
        """Return the outputs of the first rows and columns alone."""
        return replace(self, rows=self.rows[:count], columns=self.columns[:count], got=self.got[:count, :count], _terms=None)

    def sides(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Return codes and scales of the compared rows of a and of b."""
        pick: Callable[[Any, Any], Any] = lambda array, at: None if array is None else array[at]  # noqa: E731
        return (self.a[self.rows], pick(self.sa, self.rows)), (self.b[self.columns], pick(self.sb, self.columns))

    def terms(self) -> Terms:
        """Return the products of the compared outputs, exact."""
        if self._terms is None:
            x, y = (_floats(side.values(*codes)) for side, codes in zip((self.pair.a, self.pair.b), self.sides(), strict=True))
            self._terms = Terms((x[:, None] * y[None]).reshape(-1, self.k))
        return self._terms

    @property
    def addend(self) -> Any:
        """C of the compared outputs as binary64, [R]."""
        return values_of(self.c[np.ix_(self.rows, self.columns)], self.pair.out).reshape(-1)

    def same(self, codes: Any) -> bool:
        """Tell whether codes [R] are what the kernel gave, zeros of both signs alike."""
        return not bool(unequal(self.got, np.asarray(codes).reshape(self.got.shape), self.pair).any())


def _floats(exact: Any) -> Any:
    return np.ldexp(exact.n.astype(np.float64), exact.e.astype(np.int32))


def scale_table(side: Side, reach: int, most: int) -> Any:
    """Return scale codes within some powers of two of the middle. most: significand bits of a scale."""
    found = palette(side, Limits())
    middle = (
        min(max(0, int(found.top.min()) + reach), int(found.top.max()) - reach)
        if int(np.ptp(found.top)) > 2 * reach
        else int(found.top.mean())
    )
    near = (np.abs(found.top - middle) <= reach) & (found.n < 1 << most)
    return found.scales[near]


def drawn(pair: Pair, shape: tuple[int, int, int], kind: str, draws: Draws) -> Question:
    """Return random operands. kind: of KINDS, or pairs: two live products an output.

    cancelling: the blocks of the second half are those of the first, exchanged and negated: an output is what rounding left.
    masked: of eight blocks the first two have the largest scales and cancel: what is left says how far below them terms are kept.
    Raises: OperandError (a format without negative numbers).
    """
    m, n, k = shape
    unit = max(1, pair.step)
    half = k // unit // 2
    order = np.argsort(draws.below(1 << 20, half), kind="stable") if half else np.zeros(0, np.int64)
    found: list[Any] = []
    for side, rows in ((pair.a, m), (pair.b, n)):
        table = palette(side, Limits()).short
        codes = draws.chosen(table, rows, k).astype(np.uint8)
        scales = None
        if side.scale is not None:
            blocks, tiles = k // side.size, -(-rows // side.rows)
            chosen = scale_table(side, KINDS.get(kind, KINDS["wide"]), 8)
            table_ = draws.chosen(chosen, tiles, blocks)
            if kind == "masked":
                value = _floats(exact_of(chosen, side.scale))
                high = draws.chosen(chosen[value >= value.max() / 4], tiles, blocks)
                table_ = np.where(np.arange(blocks) * side.size // unit % 8 == 0, high, table_)
            scales = np.repeat(table_, side.rows, axis=0)[:rows].astype(integer_dtype(side.scale))
        if kind == "cancelling" and half:
            codes = _copied(codes, order, half, unit, side if side is pair.a and not found else None)
            if scales is not None:
                scales = _copied(scales, order, half, unit // side.size, None)
        if kind == "masked":
            codes = _copied(codes, None, half, unit, side if not found else None)
            scales = scales if scales is None else _copied(scales, None, half, unit // side.size, None)
        found += [codes, scales]
    if kind == "pairs":
        live = np.zeros((m, k), bool)
        places = draws.below(k // unit, 2, m) * unit + draws.below(unit, 2, m)
        live[np.arange(m), places[0]] = live[np.arange(m), places[1]] = True
        found[0] = np.where(live, found[0], pair.a.zero).astype(np.uint8)
    a, sa, b, sb = found
    return Question(pair, a, sa, b, sb, _picks(m), _picks(n))


def _copied(codes: Any, order: Any, half: int, unit: int, negated: Side | None) -> Any:
    """Return codes whose units from `half` on are those before, in another order; without an order, of eight the second is the first."""
    out = codes.reshape(len(codes), -1, unit).copy()
    if order is None:
        two = out[:, : out.shape[1] // 8 * 8].reshape(len(out), -1, 8, unit)[:, :, :2].swapaxes(1, 2).reshape(len(out), -1, unit)
        done = _copied(two.reshape(len(out), -1), np.arange(two.shape[1] // 2), two.shape[1] // 2, unit, negated).reshape(two.shape)
        whole = out[:, : out.shape[1] // 8 * 8].reshape(len(out), -1, 8, unit)
        whole[:, :, :2] = done.reshape(len(out), 2, -1, unit).swapaxes(1, 2)
        out[:, : out.shape[1] // 8 * 8] = whole.reshape(len(out), -1, unit)
        return out.reshape(codes.shape)
    if negated is not None:
        table = palette(negated, Limits()).short
        value = _floats(exact_of(table, negated.element))
        other = dict(zip(value.tolist(), table.tolist(), strict=True))
        kept = [code for code, number in zip(table.tolist(), value.tolist(), strict=True) if -number in other]
        if len(kept) < 3:
            raise OperandError(f"format {negated.element.id} has no negative numbers")
        minus = {code: other[-number] for code, number in zip(table.tolist(), value.tolist(), strict=True) if -number in other}
        kind = [out.dtype]  # said, for there may be no units
        first = np.vectorize(lambda code: code if code in minus else negated.zero, otypes=kind)(out[:, :half])
        out[:, :half], out[:, half : 2 * half] = first, np.vectorize(minus.__getitem__, otypes=kind)(first)[:, order]
    else:
        out[:, half : 2 * half] = out[:, :half][:, order]
    return out.reshape(codes.shape)


def _picks(count: int) -> Any:
    return np.unique(np.linspace(0, count - 1, min(count, PICKED)).astype(int))


def scaled(question: Question, wants: tuple[str, ...], draws: Draws, *, scalars: bool, c: bool) -> Question:
    """Return a question with C, and with tensor scales, alpha and beta that are no powers of two."""
    from emu.check.matmul.epilogue import sees_stored, stored_values, to_result
    from emu.check.matmul.question import taken

    levels: dict[str, int] = {}
    values: dict[str, Any] = {}
    if scalars:
        given = taken(question.pair, wants)
        drawn_ = ((draws.below(1 << 23, 4) + (1 << 23)) / (1 << 23)).astype(np.float32) * np.float32(1.5)
        for at, (name, side) in enumerate((("a", question.pair.a), ("b", question.pair.b))):
            if f"t{name}" in given:
                factor = float(derive.parse_exact(side.block.facts.factor)) if side.tensor else 1.0
                levels[name] = int(np.float32(float(drawn_[at]) / factor).view(np.uint32))
                bits = side.multiplier(levels[name]) if side.tensor else ONE
                values[f"t{name}"] = np.uint32(bits).view(np.float32)
        if sees_stored(question.pair, wants):
            values |= stored_values(question.pair, levels)
        values |= {name: value for name, value in (("alpha", drawn_[2]), ("beta", -drawn_[3])) if name in given}
    codes = None
    if c and "c" in wants:
        shape = (len(question.a), len(question.b))
        size = float(np.median(np.abs(question.terms().exact()))) or 1.0
        size *= float(np.prod([float(values[name]) for name in ("ta", "tb", "alpha") if name in values]))
        noise = ((draws.below(1 << 24, *shape) - (1 << 23)) / (1 << 22)) * size
        codes = to_result(noise.astype(np.float32), question.pair.out)
    return replace(question, scalars=values, levels=levels, c=codes, got=None)
