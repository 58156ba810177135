"""Datapaths of levels on tensors of codes: level by level, all nodes and rows of a level at once, integers alone.

Magnitudes are as wide as facts say that they can get (wide.py), so that every sum is exact. What is left out, can.can_levels says.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from emu.base.errors import EngineError, OpenError, OperandError, ShapeError
from emu.engines.torch.can import levels_fault
from emu.engines.torch.datapath import GPU_TILE, TILE
from emu.engines.torch.levels_hold import OVERFLOW, POLICY_REFUSES, code_of, held
from emu.engines.torch.levels_value import (
    Sum,
    Value,
    add,
    chosen,
    first_fault,
    flushed,
    invalid,
    joined,
    multiply,
    read,
    specials,
    zeros,
)  # fmt: skip
from emu.engines.torch.round import attach_sign
from emu.engines.torch.tensors import checked, code_dtype, signed_view, to_int64
from emu.spec import derive
from emu.spec.levels import LevelPlan, LevelsPlan, rounding_of
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.models.levels import FloatHold, Hold, Level, LevelScale
from emu.spec.registry import get

_SHARE = 16  # of a tile: a value has more tensors, and wider ones, than a product of one step


def dot(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    c: torch.Tensor | None,
    random: torch.Tensor | None,
    plan: LevelsPlan,
    flags: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the dot product of each row of A with the same row of B by a datapath of levels.

    a, b: codes [R, K].   scale_a, scale_b: codes [R, K / block], None without scales.   c: codes [R], None where the datapath has no C.
    random: unsigned integers [R, words] in the order of LevelsPlan.draws, None where nothing draws.
    flags: uint8 [R], filled with the exception flags of each row; None: not asked for.
    Returns: unsigned codes [R].   Exactness: equals emu.engines.exact.levels.dot bit for bit.
    Raises: ShapeError, OperandError (random words, a policy that refuses), OpenError (an open bit or policy, a register that overflows,
    with its row), EngineError (levels_fault).   Source: the datapath's sources.   Tests: tests/engines/torch/test_torch_levels.py.
    """
    _check(a, b, scale_a, scale_b, random, plan)
    out = torch.empty(len(a), dtype=code_dtype(plan.d), device=a.device)
    size = _rows_at_once(a)
    for start in range(0, len(a), size):
        rows = slice(start, start + size)
        given = [None if item is None else to_int64(item[rows]) for item in (a, b, scale_a, scale_b, c, random)]

        def where(row: int, first: int = start) -> str:
            return f"row {first + row}"

        codes, raised = _computed(given, plan, where)
        signed_view(out)[rows] = codes.to(signed_view(out).dtype)
        if flags is not None:
            flags[rows] = raised
    return out


def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    c: torch.Tensor | None,
    random: torch.Tensor | None,
    plan: LevelsPlan,
    flags: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return A times B transposed, every output one row of A and one row of B through all levels.

    a, b: codes [M, K] and [N, K].   scale_a, scale_b: codes [M, K / block] and [N, K / block].   c: codes [M, N].   random: [M, N, words].
    flags: uint8 [M, N], filled as by dot.
    Returns: unsigned codes [M, N].   Exactness, Raises: as dot.   Tests: tests/engines/torch/test_torch_levels.py.
    """
    _check(a, b, scale_a, scale_b, random, plan)
    out = torch.empty((len(a), len(b)), dtype=code_dtype(plan.d), device=a.device)
    left, right = ([None if x is None else to_int64(x) for x in pair] for pair in ((a, scale_a), (b, scale_b)))
    places = [None if x is None else to_int64(x).reshape(out.numel(), *x.shape[2:]) for x in (c, random)]
    size = _rows_at_once(a)
    for start in range(0, out.numel(), size):
        place = torch.arange(start, min(start + size, out.numel()), device=a.device)
        firsts, seconds = ([None if x is None else x[i] for x in side] for side, i in ((left, place // len(b)), (right, place % len(b))))
        given = [firsts[0], seconds[0], firsts[1], seconds[1], *(None if x is None else x[start : start + size] for x in places)]

        def where(row: int, first: int = start) -> str:
            return f"row {(first + row) // len(b)}, column {(first + row) % len(b)}"

        codes, raised = _computed(given, plan, where)
        signed_view(out).view(-1)[start : start + size] = codes.to(signed_view(out).dtype)
        if flags is not None:
            flags.view(-1)[start : start + size] = raised
    return out


def _rows_at_once(a: torch.Tensor) -> int:
    tile = TILE if a.device.type == "cpu" else GPU_TILE
    return max(tile // (_SHARE * int(a.shape[1])), 1)


def _check(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    random: torch.Tensor | None,
    plan: LevelsPlan,
) -> None:
    """Refuse a plan that this engine does not do, words and codes that do not fit. Raises: as dot."""
    why = levels_fault(plan)
    if why is not None:
        raise EngineError(f"engine torch does not do {plan.name} ({why}): engine exact does it")
    _check_random(random, a.shape[1], plan)
    _check_codes(a, b, scale_a, scale_b, plan)


def _check_random(random: torch.Tensor | None, k: int, plan: LevelsPlan) -> None:
    draws = plan.draws(k)
    given = 0 if random is None else random.shape[-1]
    if given != len(draws):
        raise ShapeError(f"random: datapath {plan.datapath.id} takes {len(draws)} words for K = {k}, not {given}")
    if random is None or not random.numel():
        return
    for column, (draw, most) in enumerate(zip(draws, to_int64(random).reshape(-1, given).amax(0).tolist(), strict=True)):
        if most >> draw.rounding.random_bits:
            raise OperandError(f"random: word {column} does not fit the {draw.rounding.random_bits} bits of {draw.rounding.id}")


def _check_codes(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor | None, scale_b: torch.Tensor | None, plan: LevelsPlan) -> None:
    """Check that codes fit their formats. Raises: OperandError, OpenError (an unused bit)."""
    for codes, fmt in ((a, plan.a), (b, plan.b), (scale_a, plan.scale), (scale_b, plan.scale)):
        if codes is not None and fmt is not None:
            try:
                checked(codes, fmt)
            except OpenError:
                if fmt is not plan.scale or plan.unused_bits == "open":
                    raise


def _computed(given: list[torch.Tensor | None], plan: LevelsPlan, name: Callable[[int], str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the codes and flags of some rows; refuse rows without a result. name: of a row. Raises: OpenError, OperandError."""
    codes, faults, flags = _Rows(plan, given).result()
    places = torch.nonzero(faults)
    if not len(places):
        return codes, flags
    row = int(places[0])
    where, kind = f"datapath {plan.datapath.id}: {name(row)}", int(faults[row])
    if kind == POLICY_REFUSES:
        raise OperandError(f"{where}: the policy refuses a value")
    raise OpenError(
        f"{where}: " + ("a register overflows where the datapath says error" if kind == OVERFLOW else "the policy does not know the result")
    )


class _Rows:
    """Some rows while they are computed. Values of a level are tensors [R, nodes]."""

    def __init__(self, plan: LevelsPlan, given: list[torch.Tensor | None]) -> None:
        a, b, scale_a, scale_b, self.c, self.random = given
        assert a is not None and b is not None
        self.plan, self.facts, self.device = plan, plan.facts, a.device
        self.shape = plan.shape(a.shape[1])
        self.columns = {draw[1:4]: column for column, draw in enumerate(plan.draws(a.shape[1]))}
        keep = self.facts.subnormal
        self.places = {flag: (number, levels) for number, (flag, levels) in enumerate(plan.flag_levels.items())}
        self.a, self.a_signals = self._read(a, plan.a, keep.elements)
        self.b, self.b_signals = self._read(b, plan.b, keep.elements)
        self.k, self.scales, self.scale_signals = a.shape[1], [], []
        for codes in (scale_a, scale_b) if plan.scale is not None else ():
            assert codes is not None and plan.scale is not None
            value, signals = self._read(codes, plan.scale, keep.scales)
            self.scales.append(value)
            self.scale_signals.append(signals)

    def result(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return (codes, faults, flags), int64 and uint8 [R]."""
        first = torch.arange(self.k, device=self.device)  # of the products below each value
        told = self._told() if self.facts.special.when == "once" else None  # what the operands below each value decide
        decided = None if told is None or any(level.facts.start == "c" for level in self.plan.levels) else told
        words = self.facts.products
        products = self._multiplied(self.a, self.b, 0)
        for signals in (self.a_signals, self.b_signals):
            products = products.raising(self._flag("NV", 0), signals)
        values = self._held(products, words.hold, self.plan.product_unit_exp, 0, self._nodes(self.k), False)
        values = self._times_scales(values, words.scale, first, 0, 1)
        for plan, nodes in zip(self.plan.levels, self.shape, strict=True):
            index = torch.tensor([list(children) for children in nodes], device=self.device)
            below = values.mapped(lambda t: t[..., index])  # noqa: B023
            lots = None if told is None else told[..., index]
            values, turn = self._level(plan, below, lots)
            first = first[index[:, 0]]
            values = self._times_scales(values, plan.facts.scale, first, plan.number, turn)
            told = None if lots is None else lots.any(-1)
        return self._out(values, None if decided is None else decided.any(-1, keepdim=True))

    # Operands

    def _nodes(self, count: int) -> torch.Tensor:
        return torch.arange(count, device=self.device)

    def _flag(self, flag: str, level: int) -> int | None:
        """The number of a flag that a level raises; None where it is not reported."""
        number, levels = self.places.get(flag, (None, frozenset()))
        return number if level in levels else None

    def _read(self, codes: torch.Tensor, fmt: Format, subnormals: str) -> tuple[Value, torch.Tensor | None]:
        """Codes as values that raise nothing yet, and where they are NaNs that signal; None where none may."""
        value, signals = read(codes, fmt, subnormals), None
        if self.plan.signals(fmt):
            assert isinstance(fmt.facts, FloatFacts)
            signals = value.nan & (codes >> (fmt.facts.frac_bits - 1) & 1 == 0)
        return self._unraised(value), signals

    def _unraised(self, value: Value) -> Value:
        if not self.places:
            return value
        return value._replace(flags=torch.zeros(len(self.places), *value.nan.shape, dtype=torch.bool, device=self.device))

    def _addend(self, nodes: int, level: int) -> Value:
        """C as a value, for each node. level: that it enters, which a NaN that signals makes invalid."""
        assert self.c is not None and self.plan.c is not None
        value, signals = self._read(self.c.unsqueeze(-1).expand(-1, nodes), self.plan.c, self.facts.subnormal.c)
        return value.raising(self._flag("NV", level), signals)

    def _multiplied(self, x: Value, y: Value, level: int) -> Value:
        found = multiply(x, y)
        number = self._flag("NV", level)
        return found if number is None else found.raising(number, invalid(x, y))

    def _told(self) -> torch.Tensor:
        """Return where the operands of a product make it (NaN, +infinity, -infinity), [3, R, K]; of flags a fourth: invalid."""
        total = multiply(self.a, self.b)
        wrong = invalid(self.a, self.b) | _either(self.a_signals, self.b_signals, total.nan)
        if self.scales:
            first, second = (self._over(scale, self._nodes(self.k)) for scale in self.scales)
            half = multiply(total, first)
            scaled = multiply(half, second)
            signals = [None if one is None else one[..., self._nodes(self.k) // self.plan.block] for one in self.scale_signals]
            more = wrong | invalid(total, first) | invalid(half, second) | _either(signals[0], signals[1], total.nan)
            if self.facts.special.nan_scale == "live":
                empty = (self.a.zero | self.b.zero) & (first.nan | second.nan) & ~self.a.nan & ~self.b.nan
                total, wrong = chosen(empty, total, scaled), torch.where(empty, wrong, more)
            else:
                total, wrong = scaled, more
        told = [total.nan, total.inf & ~total.negative, total.inf & total.negative]
        return torch.stack([*told, wrong] if self.places else told)

    def _decided(self, found: Value, running: Value | None, told: torch.Tensor, level: int) -> Value:
        """What operands decide in the place of a sum of a level, and the flags that are left then: those of what they are added to."""
        decided = _decided(found, running, told[:3])
        if not self.places:
            return decided
        nan, plus, minus, wrong = told
        if running is not None:
            nan, plus, minus = nan | running.nan, plus | (running.inf & ~running.negative), minus | (running.inf & running.negative)
        before = self._unraised(found) if running is None else running
        assert before.flags is not None and decided.flags is not None
        stops = nan | plus | minus
        flags = torch.where(stops, before.flags, decided.flags)
        return decided._replace(flags=flags).raising(self._flag("NV", level), stops & (wrong | (plus & minus)))

    def _over(self, scale: Value, products: torch.Tensor) -> Value:
        """The scales over some products."""
        return scale.mapped(lambda t: t[..., products // self.plan.block])

    # Levels

    def _level(self, plan: LevelPlan, terms: Value, told: torch.Tensor | None) -> tuple[Value, int]:
        """The values of a level before scales, and the roundings of each. terms: [R, nodes, of].   told: of each term, [3, ...]."""
        words = plan.facts
        if words.add == "chain":
            return self._chain(plan, terms, told)
        if words.add == "pairwise":
            return self._pairwise(plan, terms)
        nodes = terms.lsb.shape[1]
        total = add(terms, self._addend(nodes, plan.number) if words.plus == "c" else None, self._way(words, plan))
        return self._held(total, words.hold, plan.unit_exp, plan.number, self._nodes(nodes), True), 1

    def _chain(self, plan: LevelPlan, terms: Value, told: torch.Tensor | None) -> tuple[Value, int]:
        """One lot after the other into the running value."""
        words, (_, nodes, count), turn = plan.facts, terms.lsb.shape, 0
        places, way, by = self._nodes(nodes), self._way(plan.facts, plan), words.by or 1
        carried = words.start == "c"
        running: Value | None = None
        if carried:
            running = self._addend(nodes, plan.number)
            if self.plan.loads_c:
                running, turn = self._held(running, words.hold, plan.unit_exp, plan.number, places, False), 1
        elif words.start == "zero":
            running = self._unraised(zeros(terms.lsb[..., 0]))
        exact = words.hold == "exact" and words.align is None and not (carried and told is not None)
        if exact and not self.places:  # the order of additions does not matter
            return add(terms, running, way), turn + -(-count // by)
        for start in range(0, count, by):
            lot = terms.mapped(lambda t: t[..., start : start + by])  # noqa: B023
            if carried and self.facts.subnormal.c == "flush" and isinstance(words.hold, FloatHold):
                assert running is not None
                running = flushed(running, get("format", words.hold.format))
            found = self._held(add(lot, running, way), words.hold, plan.unit_exp, plan.number, places, True, turn)
            if carried and told is not None:
                assert running is not None
                found = self._decided(found, running, told[..., start : start + by].any(-1), plan.number)
            running, turn = found, turn + 1
        assert running is not None
        return running, turn

    def _pairwise(self, plan: LevelPlan, terms: Value) -> tuple[Value, int]:
        """Neighbours two by two, then their sums, until one is left."""
        words, nodes, turn = plan.facts, self._nodes(terms.lsb.shape[1]), 0
        if terms.lsb.shape[-1] == 1:
            total = add(terms, None, Sum(words.exponent, None, None, True, _goes_down(words.hold)))
            return self._held(total, words.hold, plan.unit_exp, plan.number, nodes, True), 1
        fault = first_fault(terms.fault)
        row = terms._replace(fault=torch.zeros_like(terms.fault))
        while (count := row.lsb.shape[-1]) > 1:
            half = count // 2
            pairs = row.mapped(lambda t: t[..., : 2 * half].unflatten(-1, (half, 2)))  # noqa: B023
            sums = add(pairs, None, self._way(words, plan))
            found = self._held(sums, words.hold, plan.unit_exp, plan.number, nodes.unsqueeze(-1), True, turn + self._nodes(half))
            fault = torch.where(fault != 0, fault, first_fault(found.fault))
            found, turn = found._replace(fault=torch.zeros_like(found.fault)), turn + half
            row = joined(found, row.mapped(lambda t: t[..., 2 * half :])) if count % 2 else found  # noqa: B023
        return row.mapped(lambda t: t[..., 0])._replace(fault=fault), turn

    def _times_scales(self, values: Value, words: LevelScale | str, first: torch.Tensor, level: int, turn: int) -> Value:
        """Values times both scales: each, their product and the result held as the level says. first: a product below each value."""
        if isinstance(words, str):
            return values
        nodes = self._nodes(len(first))
        given = [self._over(scale, first) for scale in self.scales]
        for side, signals in enumerate(self.scale_signals):
            if signals is not None:
                given[side] = given[side].raising(self._flag("NV", level), signals[..., first // self.plan.block])
        one, two = (self._held(scale, words.each, None, level, nodes, False, turn + side) for side, scale in enumerate(given))
        both = self._held(self._multiplied(one, two, level), words.product, None, level, nodes, False, turn + 2)
        found = self._held(self._multiplied(values, both, level), words.term, None, level, nodes, False, turn + 3)
        if self.facts.special.nan_scale == "always":
            return found
        return chosen((given[0].nan | given[1].nan) & ~values.nan & ~values.inf & ~values.live, values, found)

    # Registers

    def _held(
        self, x: Value, hold: Hold, unit_exp: int | None, level: int, nodes: torch.Tensor, of_sum: bool, turn: int | torch.Tensor = 0
    ) -> Value:
        """Values as a register holds them. nodes, turn: the places of their random words; they broadcast to the axes after the rows."""
        found, over = held(x, hold, unit_exp, self._words(hold, level, nodes, turn), of_sum, self.facts.special.zero)
        return found._replace(flags=x.flags).raising(self._flag("OF", level), over)

    def _words(self, hold: Hold, level: int, nodes: torch.Tensor, turn: int | torch.Tensor) -> torch.Tensor | None:
        """The random words of a rounding that draws; None for another."""
        rounding = rounding_of(hold)
        if rounding is None or not rounding.random_bits or self.random is None:
            return None
        node, when = torch.broadcast_tensors(nodes, torch.as_tensor(turn, device=self.device))
        places = zip(node.flatten().tolist(), when.flatten().tolist(), strict=True)
        columns = torch.tensor([self.columns[level, i, j] for i, j in places], device=self.device)
        return self.random[:, columns].unflatten(-1, node.shape)

    def _out(self, values: Value, told: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The last value, C where it enters at the end, and the rounding to the format of the result. told: [3 or 4, R, 1]."""
        out, fmt, last = self.facts.out, self.plan.d, len(self.plan.levels) + 1
        total = values
        if out.plus == "c":
            way = Sum("zero", None, None, True, _goes_down(out), self._flag("NV", last))
            total = add(values.mapped(lambda t: t.unsqueeze(-1)), self._addend(1, last), way)
        if told is not None:
            total = self._decided(total, None if self.plan.c is None else self._addend(1, last), told, last)
        codes, faults, over = code_of(total, out, self._words(out, last, self._nodes(1), 0), self.facts.special.zero)
        total = total.raising(self._flag("OF", last), over)
        if out.policy is None:
            codes = torch.where(total.inf, _infinity(total.negative, fmt), torch.where(total.nan, self.plan.nan_code, codes))
        flags = torch.zeros_like(codes, dtype=torch.uint8)
        for number in range(len(self.places)):
            assert total.flags is not None
            flags |= total.flags[number].to(torch.uint8) << number
        return codes[:, 0], faults[:, 0], flags[:, 0]

    def _way(self, words: Level, plan: LevelPlan) -> Sum:
        """How a level adds."""
        exponent, counts = "zero" if words.add == "chain" else words.exponent, words.cancelled_counts == "yes"
        raised = [self._flag(flag, plan.number) for flag in ("NV", "OF")]
        return Sum(exponent, words.align, plan.align, counts, _goes_down(words.hold), *raised)


def _either(x: torch.Tensor | None, y: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    found = torch.zeros_like(like)
    for one in (x, y):
        found = found if one is None else found | one
    return found


def _goes_down(hold: Hold) -> bool | None:
    """What Sum.goes_down is for sums that a hold takes: registers other than floats have no signed zero."""
    rounding = rounding_of(hold)
    return (rounding is not None and rounding.rounds_down) if isinstance(hold, FloatHold) else None


def _decided(found: Value, running: Value | None, told: torch.Tensor) -> Value:
    """Put in what NaN and infinite operands, told [3, ...], decide together with a running value; nothing beneath was computed then."""
    nan, plus, minus = told
    if running is not None:
        nan, plus, minus = nan | running.nan, plus | (running.inf & ~running.negative), minus | (running.inf & running.negative)
    nan, inf, negative = specials(nan, plus, minus)
    before = torch.zeros_like(found.fault) if running is None else running.fault
    return found.with_special(nan, inf, negative)._replace(fault=torch.where(nan | inf, before, found.fault))


def _infinity(negative: torch.Tensor, fmt: Format) -> torch.Tensor:
    inf = derive.codes(fmt).inf
    return attach_sign(torch.full_like(negative, inf or 0, dtype=torch.int64), negative, fmt)
