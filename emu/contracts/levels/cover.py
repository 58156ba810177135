"""What the axes of spec/coverage/levels.yaml mean: each rounding, addition and random word of a row is a point, told by its level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from emu.contracts.contract import Values
from emu.contracts.cover import Bin, Point, Settled
from emu.contracts.dot.cases_ends import NARROW, ignores_bits, is_narrow, over_bits
from emu.contracts.levels.cases import told_of
from emu.contracts.levels.events import Event, events, name_of, narrow_events
from emu.spec.levels import rounding_of
from emu.spec.models.coverage import CoverageAxis
from emu.spec.models.levels import FixedHold, FloatHold
from emu.spec.registry import get

if TYPE_CHECKING:
    from emu.contracts.levels.contract import LevelsContract

SPLIT = {
    "rounding": ("lost", "parity", "move", "sign"),
    "shift": ("operand", "place", "kept"),
    "result": ("result", "sign"),
    "sum": ("cancellation",),
    "narrow": ("size", "lost", "move", "sign"),
}  # axes of an event whose bin has several words; others are one axis of their own name
SKIPPED = ("running", "range", "word")


class LevelsCover:
    """A row of a datapath of levels, as the coverage model sees it."""

    def __init__(self, op: LevelsContract) -> None:
        self.op, self.plan = op, op.plan
        self.levels = tuple(name_of(number, self.plan) for number in range(len(self.plan.levels) + 2))

    def bins_of(self, name: str, axis: CoverageAxis) -> tuple[str, ...] | None:
        """Return the bins of an axis; None where no level has it."""
        aligned = any(level.align is not None for level in self.plan.levels)
        if (name in ("exponent", *SPLIT["shift"]) and not aligned) or (name == "threshold" and not self.op.field.draws):
            return None
        if name == "size" and not any(map(self._narrow, range(len(self.levels)))):
            return None
        if name == "unused" and not ignores_bits(self.plan):
            return None
        return self.levels if axis.each == "level" else axis.bins

    def points(self, values: Values) -> list[Point]:
        """Return what a row exercises; nothing where it is open."""
        row = self.op.taken(values)
        told = None if self.op.has_open_bit(row) else told_of(row, self.op.field)
        if told is None:
            return []
        found = [_point(event) for event in (*events(told), *narrow_events(told)) if event[1] not in SKIPPED]
        return found + over_bits((*row.scale_a, *row.scale_b), self.plan)

    def settle(self, axes: Sequence[str], bins: Sequence[Bin]) -> Mapping[Bin, Settled]:
        """Return the bins of levels that have no such register, by the structure of the datapath."""
        if "level" not in axes:
            return {}
        place, out = axes.index("level"), {}
        for one in bins:
            why = self._lacks(one[place], axes) or self._keeps(one[place], dict(zip(axes, one, strict=True)))
            if why:
                out[one] = Settled("structure", why)
        return out

    def _lacks(self, name: str, axes: Sequence[str]) -> str:
        """Return why a level has no bin of a cross, or nothing."""
        number = self.levels.index(name)
        facts, roundings = self.plan.facts, self._holds(number)
        if "size" in axes:
            return "" if self._narrow(number) else f"there is no float register of at most {NARROW} bits"
        if "lost" in axes and all(rounding_of(item) is None for item in roundings):
            return "nothing is rounded there"
        if "end" in axes and not any(isinstance(item, FixedHold | FloatHold) for item in roundings) and not self._aligned(number):
            return "there is no register with an end"
        if ("exponent" in axes or "operand" in axes) and not self._aligned(number):
            return "nothing is aligned there"
        if "threshold" in axes and not any(mode and mode.random_bits for mode in map(rounding_of, roundings)):
            return "no random word is drawn there"
        adds = number > 0 and (number <= len(facts.levels) or facts.out.plus == "c")
        return "" if adds or "cancellation" not in axes else "nothing is added there"

    def _keeps(self, name: str, words: Mapping[str, str]) -> str:
        """Return why no narrow register of a level has a bin, or nothing: without a rounding it keeps each number, or flushes it."""
        kept = words.get("lost", "zero") == "zero" and words.get("move", "stay") in ("stay", "beyond")
        if "size" not in words or kept or any(item.rounding is not None for item in self._narrow(self.levels.index(name))):
            return ""
        return "nothing is rounded there"

    def _holds(self, number: int) -> list[Any]:
        """Return what holds numbers at a level: its register, then those of its scales."""
        facts = self.plan.facts
        hold = (facts.products.hold, *(level.hold for level in facts.levels), facts.out)[number]
        scale = (facts.products.scale, *(level.scale for level in facts.levels), "none")[number]
        parts = [] if isinstance(scale, str) else [scale.each, scale.product, scale.term]
        return [item for item in (hold, *parts) if item != "exact"]

    def _narrow(self, number: int) -> list[FloatHold]:
        return [item for item in self._holds(number) if isinstance(item, FloatHold) and is_narrow(get("format", item.format))]

    def _aligned(self, number: int) -> bool:
        return 0 < number <= len(self.plan.levels) and self.plan.levels[number - 1].align is not None


def _point(event: Event) -> Point:
    """Return an event as axis -> bin."""
    level, axis, found = event
    names = SPLIT.get(axis)
    if names is None:
        return {"level": level, axis: found.replace("+", "_and_").replace(" ", "_").replace("-", "minus_")}
    words = found.split(" ")
    if axis == "shift":
        words = [*words, "gone"] if len(words) == 2 else words  # dropped: it has no place
        words = [words[0], {"dropped": "below"}.get(words[1], words[1].replace("-", "minus_")), words[2]]
    point = dict(zip(names, words, strict=True))
    return point if axis == "result" else {"level": level, **point}
