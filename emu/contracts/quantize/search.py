"""Tensors on both sides of every decision of a recipe: each change of a scale, each change of an element code, under ordinary maxima.

Where a decision lies is not computed from a formula. It is searched: the recipe itself is run on a tile, one number of the tile is moved,
and its bit pattern is halved in between until two adjacent numbers give different answers. A kernel whose scale, factor, reciprocal or
product is off in its last bit answers differently on one of the two. Any recipe can be asked that way, a user's too: the search reads the
answers and never the steps. Not here: the golden rows (cases.py), tensors that are only drawn (emu/contracts/drawn.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from emu.base.caches import Cache, bounded
from emu.base.errors import EngineError
from emu.base.philox import stream_of, words
from emu.contracts.form import Asked, Bits, Question, expect, integer_dtype
from emu.contracts.reach import Reach
from emu.engines.exact.decode import decode_code
from emu.engines.numpy.block import to_values
from emu.engines.numpy.convert import to_fp32
from emu.engines.numpy.program import Machine
from emu.engines.table import choose
from emu.spec import derive, get
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.programs.lowering import LoweredProgram, LoweredStep, lower
from emu.spec.programs.types import ELEMENT, TENSOR

if TYPE_CHECKING:
    from emu.contracts.quantize.form import QuantizeForm

WHOLE, QUICK, SLOW = 1024, 64, 96  # tensor maxima: of the suite; where it is not asked for; for a target that takes long to ask
TILE: Final = 16  # elements of a tile, of which BASES tiles come under each tensor maximum; of larger tiles fewer
BASES: Final = 8
WALKS: Final = 6  # tiles under each tensor maximum in which one element moves
EXPONENTS: Final = (-24, 12)  # of ordinary maxima: gradients, weights, activations
ANYWHERE: Final = 16  # one tensor maximum of so many has any exponent of the source
SMALLER: Final = 16  # one of so many is handed in too small, by up to BEYOND binades
BEYOND: Final = 6
SMALL: Final = 8  # one element of so many of every third tile is beside zero: there the sign of what is rounded to nothing decides
BINADES: Final = 20  # from a tensor maximum down to the smallest block maximum
NEAR: Final = 6  # binades that hold half of the block maxima
CHUNK: Final = 1 << 17  # elements that are run at once
MOST_TILES: Final = 1 << 12  # of a question of a recipe without a tensor maximum


@dataclass
class Draws:
    """Words of the generator, one after the other."""

    key: int
    stream: int
    used: int = field(default=0)

    def below(self, bound: int | Bits, *shape: int) -> Bits:
        """Return integers from 0 to below a bound, as int64."""
        count = int(np.prod(shape))
        found = words(self.key, count, self.used, self.stream).astype(np.int64).reshape(shape)
        self.used += count
        return found % bound


@dataclass(frozen=True)
class Tiles:
    """Tiles of one recipe. x: source codes [tiles, rows, columns].   amax: fp32 code of the tensor of each, or None.   random: as x."""

    x: Bits
    amax: Bits | None
    random: Bits | None

    def pick(self, chosen: Bits) -> Tiles:
        """Return some of the tiles."""
        return Tiles(self.x[chosen], *(None if item is None else item[chosen] for item in (self.amax, self.random)))


def decisions(form: QuantizeForm, asked: Asked) -> Iterator[Question]:
    """Yield a tensor for each of some tensor maxima; of a recipe without a tensor maximum as many tiles in few questions.

    The tensor holds its maximum, but for one of SMALLER tensors: there the operand is smaller than some blocks. Tests:
    tests/check/test_check_decisions.py.
    """
    source = form.source
    if not isinstance(source.facts, FloatFacts) or derive.codes(source).bits > 32:
        return
    tensors = QUICK if asked.few else SLOW if asked.calls == "programs" else WHOLE
    if form.operation.is_large:  # a large tile has the elements of many tensors
        tensors = max(4, tensors * TILE // form.operation.n)
    for number, (tiles, reach) in enumerate(searched(form, asked.key, tensors if _is_quick(form) else min(tensors, 4))):
        across = 1 if lower(form.operation.program).whole_rows else max(1 + number % 4, asked.multiple[1] // form.tile[1])
        operands = _laid(form, tiles, across)
        if tiles.amax is not None:
            operands["tensor_amax"] = np.array(tiles.amax[0], "u4")
        yield Question(form.completed(operands, asked.key, "decision"), ("decision",), reach)


def _is_quick(form: QuantizeForm) -> bool:
    """Tell whether the NumPy engine runs the recipe: then tiles of several tensors are run at once."""
    try:
        return choose("quantize", "numpy", form.recipe, form.source) == "numpy"
    except EngineError:
        return False


def searched(form: QuantizeForm, key: int, tensors: int) -> tuple[tuple[Tiles, Reach], ...]:
    """Return the tiles of each question, and what they reach."""
    known = (str(form.contract), form.source.id, key, tensors)
    kept = _SEARCHED.get(known)
    if kept is not None:
        return kept
    search = _Search(form, Draws(key, stream_of(f"decisions {form.contract} {form.source.id}")), tensors)
    every, owner = search.tiles()
    order = np.argsort(owner, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(owner[order])) + 1)
    return _SEARCHED.keep(known, tuple((every.pick(part), reach) for part, reach in zip(parts, search.reached(every, parts), strict=True)))


_SEARCHED: Final[Cache[tuple[str, str, int, int], tuple[tuple[Tiles, Reach], ...]]] = Cache("searched decisions", 8, names=True)


class _Search:
    """One search for the decisions of a recipe."""

    def __init__(self, form: QuantizeForm, draws: Draws, tensors: int) -> None:
        self.form, self.draws = form, draws
        self.source, self.program = form.source, form.operation.program
        self.tall, self.wide = form.operation.rows, form.operation.columns
        self.lanes = self.tall * self.wide
        derived = derive.codes(self.source)
        assert isinstance(self.source.facts, FloatFacts)
        self.sign, self.most, self.binade = derived.sign_bit, derived.max_code, 1 << self.source.facts.frac_bits
        self.dtype = np.dtype(integer_dtype(self.source))
        self.plan = lower(self.program)
        self.signs = int(form.transform.facts.signs, 16) if form.transform is not None and "signs" in form.extras else None
        self.ranks = _ranks(form.answers["codes"])
        self.maxima = self._maxima(tensors) if form.operation.reads_amax else None
        self.ceilings = None if self.maxima is None else self._ceilings(self.maxima)
        self.rotates = any(item.op == "transform" for item in self.program.instructions)
        bases, walks = (2, 2 * BASES) if self.rotates else (BASES, WALKS)
        every = np.arange(tensors if self.maxima is None else self.maxima.size)
        self.owner, self.walker = (every.repeat(max(2, number * TILE // self.lanes)) for number in (bases, walks))

    def tiles(self) -> tuple[Tiles, Bits]:
        """Return all tiles and the number of the question of each."""
        first, owner = self.elements()
        second, walker = self.walks()
        every = _joined(first, second)
        order = np.concatenate([owner, walker])
        if self.maxima is None:
            order = np.arange(order.size) // max(1, MOST_TILES * TILE // self.lanes)
        return every, order

    # Tensor and block maxima.

    def _maxima(self, tensors: int) -> Bits:
        """Return tensor maxima as source codes: powers of two, numbers of 8 significant bits and of all, of any ordinary exponent."""
        bias = self.source.facts.bias  # type: ignore[union-attr]
        top = self.most // self.binade
        number = np.arange(tensors)
        exponent = np.clip(bias + EXPONENTS[0] + self.draws.below(EXPONENTS[1] - EXPONENTS[0] + 1, tensors), 1 + min(NEAR, top // 4), top)
        exponent = np.where(number % ANYWHERE == ANYWHERE // 2 - 1, self.draws.below(top + 1, tensors), exponent)
        narrow = max(self.binade >> 7, 1)  # the fractions of an 8-bit significand, in turn
        eighth = (number * 5 + number // 16) % 128 * narrow % self.binade
        fraction = np.where(number % 2 == 1, self.draws.below(self.binade, tensors), eighth)
        beside = np.where(number % 16 == 4, -1, np.where(number % 16 == 8, 1, 0))
        found = exponent * self.binade + np.where(number % 16 == 12, 0, np.where(beside != 0, 0, fraction)) + beside
        found = np.clip(found, 1, self.most)
        least = self.form.recipe.facts.domain.tensor_amax_min
        return np.asarray(found if least is None else found[self.as_fp32(found) >= int(least, 16)])

    def _ceilings(self, maxima: Bits) -> Bits:
        """Return the largest block maximum under each tensor maximum: itself, and more where it is handed in too small."""
        more = np.where(np.arange(maxima.size) % SMALLER == SMALLER - 1, BEYOND * self.binade, 0)
        return np.asarray(np.minimum(maxima + more, self.most))

    def as_fp32(self, codes: Bits) -> Bits:
        """Return source codes as fp32 codes."""
        return np.asarray(to_values(codes.astype(self.dtype), self.source).view(np.uint32))

    def amax_of(self, owner: Bits) -> Bits | None:
        """Return the tensor maximum of each tile as fp32 code."""
        return None if self.maxima is None else self.as_fp32(self.maxima)[owner]

    def tops(self, owner: Bits) -> Bits:
        """Return drawn block maxima, at most the ceiling of the tensor."""
        count = owner.size
        fraction = self.draws.below(self.binade, count)
        if self.ceilings is None:
            bias = self.source.facts.bias  # type: ignore[union-attr]
            ordinary = bias + EXPONENTS[0] + self.draws.below(EXPONENTS[1] - EXPONENTS[0] + 1, count)
            anywhere = self.draws.below(self.most // self.binade + 1, count)
            found = np.where(np.arange(count) % 4 == 3, anywhere, ordinary) * self.binade + fraction
            return np.asarray(np.clip(found, 1, self.most))
        span = np.where(self.draws.below(2, count) == 0, NEAR, BINADES)
        found = self.ceilings[owner] - self.draws.below(self.binade, count) - self.draws.below(span, count) * self.binade
        return np.asarray(np.maximum(found, 1))

    def changes(self, owner: Bits, place: Bits) -> Bits:
        """Return block maxima in pairs, adjacent: where it can be, the scale changes from one to the other."""
        half = owner[::2]
        ceiling = np.full(half.size, self.most) if self.ceilings is None else self.ceilings[half]
        low = self.tops(half)
        high = np.minimum(low + 1 + self.draws.below(self.binade, half.size), ceiling)
        here, amax, random = place[::2], self.amax_of(half), self.random(half.size)

        def levels(tops: Bits) -> Bits:
            x = np.zeros((half.size, self.lanes), self.dtype)
            x[np.arange(half.size), here] = tops
            return self.run(Tiles(x.reshape(-1, self.tall, self.wide), amax, random))[1]

        first = levels(low)
        low, high = bisect(lambda tops: (levels(tops) != first).any(axis=1), low, high)
        return np.stack([low, np.minimum(high, ceiling)], axis=1).reshape(-1)[: owner.size]

    # Elements under them.

    def elements(self) -> tuple[Tiles, Bits]:
        """Return tiles whose elements lie on both sides of changes of their codes, three tiles of each maximum; some are beside zero."""
        owner, count = self.owner, self.owner.size
        place = np.repeat(self.draws.below(self.lanes, -(-count // 2)), 2)[:count]
        tops = self.changes(owner, place)
        if self.ceilings is not None:
            tops[np.flatnonzero(np.diff(owner, prepend=-1))] = self.ceilings
        random, amax = self.random(count), self.amax_of(owner)
        sign = self.draws.below(2, count, self.lanes) * self.sign

        def tiles(magnitudes: Bits) -> Tiles:
            x = magnitudes.copy()
            x[np.arange(count), place] = tops
            return Tiles((x | sign).astype(self.dtype).reshape(-1, self.tall, self.wide), amax, random)

        def ranks(magnitudes: Bits) -> Bits:
            return self.ranks[self.run(tiles(magnitudes))[0]].reshape(count, self.lanes)

        nothing, most = np.zeros((count, self.lanes), np.int64), np.repeat(tops[:, None], self.lanes, axis=1)
        least, largest = ranks(nothing), ranks(most)
        wanted = least + 1 + self.draws.below(np.maximum(largest - least, 1), count, self.lanes)
        low, _ = bisect(lambda magnitudes: ranks(magnitudes) >= wanted, nothing, most)
        side = self.draws.below(2, count, self.lanes)
        beyond = np.where(self.draws.below(2, count, self.lanes) == 0, -1, 2)
        small = (1 << self.draws.below(int(self.binade).bit_length(), count, self.lanes)) - self.draws.below(2, count, self.lanes)
        beyond = np.where(self.draws.below(SMALL, count, self.lanes) == 0, small - low, beyond)
        three = [tiles(np.clip(low + away, 0, tops[:, None])) for away in (side, 1 - side, beyond)]
        return _joined(*three), np.tile(owner, 3)

    def walks(self) -> tuple[Tiles, Bits]:
        """Return pairs of tiles that differ in one element by one code, where levels change: another maximum, another choice.

        Of a recipe that rotates any answer of the tile counts: no element decides its code alone.
        """
        owner, count = self.walker, self.walker.size
        ceiling = np.full(count, self.most) if self.ceilings is None else self.ceilings[owner]
        tops = self.tops(owner)
        x = np.maximum(tops[:, None] - self.draws.below(NEAR * self.binade, count, self.lanes), 0)
        sign = self.draws.below(2, count, self.lanes) * self.sign
        rows, moved = np.arange(count), self.draws.below(self.lanes, count)
        random, amax = self.random(count), self.amax_of(owner)

        def tiles(moving: Bits) -> Tiles:
            now = x.copy()
            now[rows, moved] = moving
            return Tiles((now | sign).astype(self.dtype).reshape(-1, self.tall, self.wide), amax, random)

        def answers(moving: Bits) -> Bits:
            codes, levels = self.run(tiles(moving))
            return np.concatenate([levels, codes.reshape(count, -1)], axis=1) if self.rotates else levels

        low = np.maximum(tops - self.draws.below(NEAR * self.binade, count), 0)
        high = np.minimum(tops + self.draws.below(self.binade, count), ceiling)
        low, high = np.minimum(low, high), np.maximum(low, high)
        first = answers(low)
        low, high = bisect(lambda moving: (answers(moving) != first).any(axis=1), low, high)
        return _joined(tiles(low), tiles(np.minimum(high, ceiling))), np.tile(owner, 2)

    # Running the recipe.

    def random(self, count: int) -> Bits | None:
        """Return random integers for tiles, where the recipe draws; where several elements share a word, zeros."""
        if self.form.draws is None:
            return None
        lanes, bits = self.form.draws.random_operand
        shape = (count, self.tall, self.wide)
        return self.draws.below(1 << bits if lanes == 1 else 1, *shape).astype(integer_dtype(None, bits))

    def run(self, tiles: Tiles) -> tuple[Bits, Bits]:
        """Return the codes of tiles, [tiles, elements], and all their levels, [tiles, numbers]."""
        if not _is_quick(self.form):
            return self._one_by_one(tiles)
        codes, levels = [], []
        for cells in self.cells(tiles, self.plan):
            count = len(cells["x"])
            codes.append(_flat(cells[self.program.outputs["codes"]], count, self.form.operation.cells))
            own = [self.program.outputs[level.name] for level in self.form.operation.block.facts.levels if level.granularity != "tensor"]
            levels.append(np.concatenate([np.zeros((count, 0), np.int64), *(_flat(cells[name], count) for name in own)], axis=1))
        found = np.concatenate(codes)
        return np.where(found < self.ranks.size, found, 0), np.concatenate(levels)  # a code that nobody knows is a marker beyond all codes

    def cells(self, tiles: Tiles, plan: LoweredProgram) -> Iterator[dict[str, Bits]]:
        """Yield every name of the program, chunk by chunk; tiles lie along the first axis, each under its own tensor maximum."""
        step = max(1, CHUNK // self.lanes)
        for start in range(0, len(tiles.x), step):
            part = tiles.pick(np.arange(start, min(start + step, len(tiles.x))))
            given: dict[str, Bits] = {}
            if part.amax is not None:
                given["tensor_amax"] = to_fp32(part.amax, self.program.arithmetic).reshape(-1, 1, 1, 1)
            given |= Machine(plan, given, self.signs).run(plan.once)
            given["x"] = to_values(part.x, self.source).reshape(-1, *self.form.operation.cells)
            if part.random is not None:
                given["random"] = part.random.reshape(given["x"].shape)
            yield Machine(plan, given, self.signs).run(plan.each)

    def _one_by_one(self, tiles: Tiles) -> tuple[Bits, Bits]:
        """Run tiles of one tensor maximum after the other, by the engine that does the recipe."""
        owner = np.zeros(len(tiles.x), np.int64) if tiles.amax is None else tiles.amax
        codes, levels = np.zeros((len(tiles.x), self.lanes), np.int64), None
        for amax in np.unique(owner):
            chosen = np.flatnonzero(owner == amax)
            operands: dict[str, Bits] = {"x": tiles.x[chosen].reshape(-1, self.wide)}
            operands |= {} if tiles.amax is None else {"tensor_amax": np.array(amax, "u4")}
            operands |= {} if tiles.random is None else {"random": tiles.random[chosen].reshape(-1, self.wide)}
            operands |= {} if self.signs is None else {"signs": np.array(self.signs, "u4")}
            found = expect(self.form, operands, "auto").arrays
            codes[chosen] = found["codes"].reshape(chosen.size, -1)
            inner = [array.reshape(chosen.size, -1) for name, array in found.items() if name != "codes" and array.shape]
            flat = np.concatenate(inner, axis=1).astype(np.int64)
            levels = np.zeros((len(tiles.x), flat.shape[1]), np.int64) if levels is None else levels
            levels[chosen] = flat
        assert levels is not None
        return codes, levels

    # What was reached.

    def reached(self, every: Tiles, parts: list[Bits]) -> list[Reach]:
        """Return what the tiles of each question reach."""
        codes, levels = self.run(every)
        bases = self.owner.size
        walks = self.walker.size
        ranks, ties = self.ranks[codes].reshape(len(codes), -1), self.ties(every)
        beside = np.zeros(ranks.shape, np.int64)  # the higher of two codes, on both sides of whose change numbers are asked
        changed = np.zeros(len(codes), bool)
        pairs = np.arange(0, bases - 1, 2)
        changed[pairs] = (levels[pairs] != levels[pairs + 1]).any(axis=1)
        for start, count in ((0, bases), (3 * bases, walks)):
            one, two = slice(start, start + count), slice(start + count, start + 2 * count)
            moved = (levels[one] != levels[two]).any(axis=1)
            next_to = (np.abs(ranks[one] - ranks[two]) == 1) & ~moved[:, None]
            beside[one] = np.where(next_to, np.maximum(ranks[one], ranks[two]), 0)
            changed[one] |= moved
        own = [level for level in self.form.operation.block.facts.levels if level.granularity != "tensor"]
        fmt: Format | None = get("format", own[0].format) if own else None
        scales = levels[:, 0] if fmt is not None and derive.codes(fmt).bits <= 8 else None
        several = np.unique(ranks).size
        return [
            Reach(
                tensors=int(self.maxima is not None), blocks=part.size, codes=set(np.unique(codes[part]).tolist()), magnitudes=several,
                changes=_counted(beside[part]), most_changes=int(self.ranks.max()), ties=int(ties[part].sum()),
                scales=set() if scales is None else set(np.unique(scales[part]).tolist()), scale_changes=int(changed[part].sum()),
                of_tensor=not own,
            )
            for part in parts
        ]  # fmt: skip

    def ties(self, every: Tiles) -> Bits:
        """Return how many elements of each tile are exactly half way between two codes when they are rounded."""
        casts = [
            (item.args[0], _midpoints(item.to))
            for item in self.program.instructions
            if item.op == "cast" and item.to is not None and item.type.extent == ELEMENT and isinstance(item.args[0], str)
        ]
        if not casts or not _is_quick(self.form):
            return np.zeros(len(every.x), np.int64)
        steps = tuple(LoweredStep(step) for step in self.program.instructions)
        once = tuple(step for step in steps if step.item.type.extent == TENSOR)
        plain = replace(self.plan, once=once, each=tuple(step for step in steps if step.item.type.extent != TENSOR))
        found = []
        for cells in self.cells(every, plain):
            ties = sum(_tied(cells[name], points) for name, points in casts)
            found.append(np.asarray(ties).reshape(len(cells["x"]), -1).sum(axis=1))
        return np.concatenate(found)


def bisect(answer: Callable[[Bits], Bits], low: Bits, high: Bits) -> tuple[Bits, Bits]:
    """Return adjacent integers between which an answer turns true; where it never does, the lower end and the next.

    answer: integers -> bool, false at `low`.
    """
    low, high = low.astype(np.int64), np.maximum(high, low + 1).astype(np.int64)
    high = np.where(answer(high), high, low + 1)
    while int((high - low).max()) > 1:
        middle = (low + high) // 2
        passed = answer(middle)
        low, high = np.where(passed, low, middle), np.where(passed, middle, np.maximum(high, low + 1))
        high = np.maximum(high, low + 1)
    return low, high


def _tied(values: Bits, points: Bits) -> Bits:
    """Return where magnitudes are one of some ascending points."""
    magnitudes = np.abs(values)
    place = np.minimum(np.searchsorted(points, magnitudes), points.size - 1)
    return np.asarray(points[place] == magnitudes)


def _midpoints(fmt: Format) -> Bits:
    """Return the numbers half way between adjacent magnitudes of a format; a sum of two of its numbers is exact in binary64 or no tie."""
    magnitudes = sorted({decode_code(code, fmt).magnitude for code in derive.finite_codes(fmt)})
    return np.array([float((a + b) / 2) for a, b in pairwise(magnitudes)], np.float64)


@bounded(32)
def _ranks(fmt: Format) -> Bits:
    """Return, for each code, how many smaller magnitudes the format has."""
    values = {code: decode_code(code, fmt).magnitude for code in derive.finite_codes(fmt)}
    order = sorted(set(values.values()))
    found = np.zeros(1 << (derive.codes(fmt).bits + derive.unused_high_bits(fmt)), np.int64)
    for code, value in values.items():
        found[code] = order.index(value)
    return found


def _counted(ranks: Bits) -> dict[int, int]:
    found, counts = np.unique(ranks[ranks > 0], return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _flat(cells: Bits, count: int, shape: tuple[int, ...] = ()) -> Bits:
    """Return the cells of each tile in a row, broadcast to a shape where one is given; numbers as their bits."""
    bits = np.ascontiguousarray(np.broadcast_to(cells, (count, *(shape or cells.shape[1:]))))
    return (bits.view(np.uint32) if bits.dtype == np.float32 else bits).reshape(count, -1)


def _joined(*parts: Tiles) -> Tiles:
    """Return tiles one after the other."""
    amax, random = ([getattr(part, name) for part in parts] for name in ("amax", "random"))
    return Tiles(
        np.concatenate([part.x for part in parts]),
        None if amax[0] is None else np.concatenate(amax),
        None if random[0] is None else np.concatenate(random),
    )


def _laid(form: QuantizeForm, tiles: Tiles, beside: int) -> dict[str, Bits]:
    """Return the operands x, random and signs: tiles side by side, `beside` of them, the rest zero."""
    count, tall, wide = tiles.x.shape
    strips = -(-count // beside)

    def laid(part: Bits) -> Bits:
        whole = np.zeros((strips * beside, tall, wide), part.dtype)
        whole[:count] = part
        return np.ascontiguousarray(whole.reshape(strips, beside, tall, wide).transpose(0, 2, 1, 3)).reshape(strips * tall, beside * wide)

    operands = {"x": laid(tiles.x)}
    if form.draws is not None and tiles.random is not None:
        lanes = form.draws.random_operand[0]
        operands["random"] = laid(tiles.random) if lanes == 1 else np.zeros((1, -(-operands["x"].size // lanes)), tiles.random.dtype)
    return {**operands, **form.own_signs}
