"""A datapath of levels as its wires: products, what each level leaves, its running register, the result. One of them is wrong.

The reference model computes the row; a subclass of it edits one integer on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from emu.contracts.levels.rows import LevelsRow
from emu.contracts.wires import Edit, edits
from emu.engines.exact.levels import Held, Number, Row
from emu.spec import derive
from emu.spec.levels import LevelsPlan
from emu.spec.models.levels import FixedHold, Hold

Answers = Callable[[LevelsRow], int]
Seen = Callable[[str, int, int], int]  # wire, number of the product or turn, value -> the value that the machine has there
WIDE = 24  # bits of a wire whose width no fact states


class Wired(Row):
    """A row of the reference model whose wires can be seen and changed."""

    seen: Seen
    ends: tuple[int, int] = (0, 0)  # units by which a register saturates early: at its least, at its largest
    at_end = False  # a register is looked at after its last addition alone

    def _product(self, product: int) -> Held:
        value = super()._product(product)
        if not isinstance(value, Number):
            return value
        changed = self.seen("products", product, value.significand)
        return value._replace(significand=changed, live=changed != 0 if changed != value.significand else value.live)

    def _node(self, level: int, node: int) -> Held:
        value = super()._node(level, node)
        if level == 0 or not isinstance(value, Number):
            return value
        return value._replace(significand=self.seen(f"{self.plan.levels[level - 1].facts.id}", node, value.significand))

    def _hold(self, value: Held, hold: Hold, place: tuple[int, int, int], unit_exp: int | None) -> Held:
        self.is_last = place[0] == 0 or place[2] + 1 == self._turns(place)
        held = super()._hold(value, hold, place, unit_exp)
        if place[0] == 0 or not isinstance(held, Number) or not isinstance(hold, FixedHold):
            return held
        return held._replace(significand=self.seen(f"register {self.plan.levels[place[0] - 1].facts.id}", place[2], held.significand))

    def _turns(self, place: tuple[int, int, int]) -> int:
        """How many additions the register of a node takes."""
        if not 0 < place[0] <= len(self.plan.levels):
            return place[2] + 1
        words = self.plan.levels[place[0] - 1].facts
        return -(-len(self.shape[place[0] - 1][place[1]]) // (words.by or 1)) if words.add == "chain" else place[2] + 1

    def _fixed(self, units: int, hold: FixedHold, unit_exp: int, level: int) -> Held:
        if self.at_end and not self.is_last:
            return Number(units, 0, -unit_exp, units != 0)
        held = super()._fixed(units, hold, unit_exp, level)
        half = 1 << (hold.bits - 1)
        if self.ends == (0, 0) or not isinstance(held, Number):
            return held
        lowest = 1 - half if hold.overflow == "saturate_symmetric" else -half
        kept = max(lowest + self.ends[0], min(half - 1 - self.ends[1], held.significand))
        return held._replace(significand=kept, live=kept != 0)


def code_of(row: LevelsRow, plan: LevelsPlan, seen: Seen, ends: tuple[int, int] = (0, 0), at_end: bool = False) -> int:
    """Return the code of a row. seen: what the machine has on each wire.   ends, at_end: how its registers end."""
    words = {draw[1:4]: word for draw, word in zip(plan.draws(len(row.a)), row.random, strict=True)}
    machine = Wired(row.a, row.b, row.scale_a, row.scale_b, row.c, words, plan)
    machine.seen, machine.ends, machine.at_end = seen, ends, at_end
    sign = derive.codes(plan.d).sign_bit
    code = machine.result().code
    plain = code & ~sign
    return code & sign | seen("result", 0, plain) if plain and not derive.is_nan_code(code, plan.d) else code


def _widths(plan: LevelsPlan) -> dict[str, tuple[int, bool]]:
    """Return wire -> (bits, is it signed)."""
    product = 2 + sum(derive.codes(fmt).bits for fmt in (plan.a, plan.b))
    out = {"products": (min(product, WIDE), True)}
    for level in plan.levels:
        hold, name = level.facts.hold, level.facts.id
        if isinstance(hold, FixedHold):
            out[f"register {name}"] = (hold.bits, True)
        elif hold == "exact":
            out[name] = (WIDE, True)
    return out | {"result": (derive.codes(plan.d).bits - 1, False)}


def wires(plan: LevelsPlan, k: int) -> Iterator[tuple[str, str, Answers]]:
    """Yield (text, stage, code of a row) for every wire that is wrong everywhere."""
    for wire, (bits, signed) in _widths(plan).items():
        for edit in _edits(wire, bits):
            yield edit.words(_words(wire)), wire, _answers(plan, wire, bits, signed, edit, None)
    for level in plan.levels:
        if isinstance(level.facts.hold, FixedHold):
            name = level.facts.id
            for ends, words in (
                ((1, 0), "its least value is never reached"),
                ((0, 1), "it stops one below its largest value"),
                ((1, 1), "it stops one early at both ends"),
            ):
                yield f"register {name}: {words}", name, lambda row, ends=ends: code_of(row, plan, _right, ends)  # type: ignore[misc]
            yield (
                f"register {name}: it is looked at after the last addition alone",
                name,
                lambda row: code_of(row, plan, _right, at_end=True),
            )
            break


def _right(wire: str, lane: int, value: int) -> int:
    return value


def _edits(wire: str, bits: int) -> Iterator[Edit]:
    """Yield the edits of a wire; where its width is a guess from above, narrower ones down to few bits."""
    yield from edits(bits, deep=max(4, bits - 5) if wire == "products" or bits == WIDE else 4)


def _words(wire: str) -> str:
    return wire if wire in ("products", "result") or wire.startswith("register") else f"level {wire}"


def wires_of_one_lane(plan: LevelsPlan, k: int) -> Iterator[tuple[str, str, Answers]]:
    """Yield (text, stage, code of a row) for every product, and every turn of a register, that is wrong alone."""
    shape = plan.shape(k)
    for wire, (bits, signed) in _widths(plan).items():
        numbered = wire == "products" or wire.startswith("register")
        for lane in range(k if numbered else 0):
            for edit in _edits(wire, bits):
                yield edit.words(f"{_words(wire)}, number {lane}"), wire, _answers(plan, wire, bits, signed, edit, lane)
    for number, level in enumerate(plan.levels):
        wire = level.facts.id
        if wire in _widths(plan):
            for node in range(len(shape[number]) if len(shape[number]) > 1 else 0):
                for edit in _edits(wire, WIDE):
                    yield edit.words(f"{_words(wire)}, number {node}"), wire, _answers(plan, wire, WIDE, True, edit, node)


def _answers(plan: LevelsPlan, wire: str, bits: int, signed: bool, edit: Edit, lane: int | None) -> Answers:
    def seen(name: str, at: int, value: int) -> int:
        return edit(value, bits, signed) if name == wire and lane in (None, at) else value

    return lambda row: code_of(row, plan, seen)
