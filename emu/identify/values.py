"""identify a quantize kernel that gives values alone: recipe and dequantize profile together. Scale bytes and codes stay unobservable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EmuError, OperandError, ShapeError, TargetError
from emu.check.model import Target
from emu.contracts.form import takes_signs
from emu.contracts.quantize.variants import Variant, changed, documented, family, shape_of
from emu.engines.run import run_dequantize
from emu.identify.cases import confirming
from emu.identify.decisions import answered
from emu.identify.kept_rows import kept, stem_of
from emu.identify.layout import Found
from emu.identify.model import Axis, Departure, Identity, Pair
from emu.identify.operands import ignores_signs, signs_axis, told_of_signs, without_signs
from emu.identify.quantize_calls import answers_of
from emu.identify.rows import OPEN, Call, Tile, calls, canonical, random_bits, shown_row
from emu.spec.models import Format
from emu.spec.programs.program import quantize_program
from emu.spec.registry import get

SHOWN: Final = 4
NEAREST: Final = 3
Values = NDArray[np.int64]


@dataclass(frozen=True)
class Faked:
    """A recipe, a profile of it, and their values by row; OPEN where nobody knows.   given: the kernel's."""

    item: Variant
    profile: str
    values: Values
    given: Values
    rows: tuple[Tile, ...]

    @property
    def name(self) -> str:
        """Recipe and profile."""
        return f"{self.item.name}, dequantize profile {self.profile}"

    @property
    def good(self) -> NDArray[np.bool_]:
        """Tell by row whether all known values agree."""
        known = (self.values != OPEN) & (self.given != OPEN)
        agreed: NDArray[np.bool_] = ((self.values == self.given) | ~known).all(axis=1)
        return agreed

    @property
    def compared(self) -> NDArray[np.bool_]:
        """Tell by row whether anything is compared."""
        known: NDArray[np.bool_] = ((self.values != OPEN) & (self.given != OPEN)).any(axis=1)
        return known

    @property
    def share(self) -> float:
        """How many of the compared rows agree, as a part of them."""
        return float((self.good & self.compared).sum() / max(int(self.compared.sum()), 1))


def identify_values(target: Target, among: Sequence[str] | None, layout: Found) -> Identity:
    """Return which recipe and profile a fake-quantizing kernel follows. Raises: TargetError, OperandError (none has kept rows)."""
    known = documented(among)
    found: list[Faked] = []
    for shape in sorted({shape_of(item.recipe) for item in known}):
        found += _family(target, family(known, shape), shape, layout)
    if not found:
        raise OperandError("identify: the kernel took no question: hand out its answers one code per place, or name another --source")
    order = sorted(found, key=lambda item: -item.share)
    fits = [item for item in order if item.good.all() and item.compared.any()]
    fits = fits or _changed(target, order, layout)
    first = (fits or order)[0]
    fits, best = _confirmed(target, fits, layout) if fits else ([], first)
    if not fits and not best.item.is_documented:  # a changed rule that nothing confirmed is no name for a kernel
        best = next((item for item in order if (item.item.base, item.profile) == (best.item.base, best.profile)), best)
    fits, unsigned = _told_of_signs(target, fits, layout) if fits else ([], True)
    kind = "nearest" if not fits else "documented" if fits[0].item.is_documented else "variant"
    names = tuple(item.name for item in fits) or (best.name,)
    axes = (
        *layout.axes,
        Axis("scale", "scale bytes", "unobservable here: the kernel gives values"),
        Axis("values", "profile", best.profile),
        *(signs_axis(fits[0].item, unsigned) if fits else ()),
    )
    title = " or ".join(names) if fits else f"nothing documented; nearest {best.name}"
    pairs = tuple(_pair(first, item) for item in found if item is not first and item.item.base != first.item.base)
    return Identity(
        target.name,
        target.op,
        kind,  # type: ignore[arg-type]
        names,
        title,
        axes,
        pairs,
        tuple(_departures(best)),
        int(best.compared.sum()),
        int((best.good & best.compared).sum()),
    )


def _family(target: Target, known: Sequence[Variant], shape: tuple[int, int], layout: Found) -> list[Faked]:
    asked = _ask(target, known, shape, layout)
    if asked is None:
        return []
    rows, questions, given, result = asked
    return [item for each in known for item in _faked(each, rows, questions, given, target.source or "fp32", result)]


def _ask(
    target: Target, known: Sequence[Variant], shape: tuple[int, int], layout: Found, others: tuple[Tile, ...] = ()
) -> tuple[tuple[Tile, ...], list[Call], Values, Format] | None:
    """Return rows, calls, values by row and their format; None where the kernel does not take blocks of that shape.

    others: the rows to ask; none: those that are kept.
    """
    store = kept(stem_of(shape))
    if store is None and not others:
        return None
    rows = others or (store.rows if store is not None else ())
    source: Format = get("format", target.source or "fp32")
    bits = max(random_bits(quantize_program(item.recipe)) for item in known)
    try:
        if any(takes_signs(item.recipe) for item in known) and ignores_signs(target, source, shape, layout.views.size):
            rows = without_signs(rows)
        questions = calls(rows, shape, source)
        answers = answers_of(target, questions, layout.views, shape, len(rows), bits)
    except ShapeError:  # of the form that the kernel was declared by: its blocks are wider
        return None
    except TargetError as error:
        if error.verdict in ("raises", "shape"):
            return None
        raise
    result: Format = get("format", target.result or target.source or "fp32")
    return rows, questions, canonical(answers["values"], result), result


def _faked(item: Variant, rows: tuple[Tile, ...], asked: Sequence[Call], given: Values, source: str, result: Format) -> Iterator[Faked]:
    for profile in item.recipe.facts.dequantize:
        values = np.full(given.shape, OPEN, np.int64)
        for call in asked:
            found = _values(item, profile, call, get("format", source), result)
            if found is not None:
                tall = found.shape[0] // (call.x.size // given.shape[1])
                values[list(call.numbers)] = found.reshape(-1, tall * found.shape[1])[: len(call.numbers)]
        yield Faked(item, profile, canonical(values, result), given, rows)


def _values(item: Variant, profile: str, call: Call, source: Format, result: Format) -> Values | None:
    from emu.engines.c_ref.block import quantize_with_open

    program = quantize_program(item.recipe)
    bits = random_bits(program)
    drawn = call.random & np.uint32((1 << bits) - 1) if bits else None
    amax = call.amax if program.reads("tensor_amax") else None
    signs = call.signs if takes_signs(item.recipe) else None
    try:
        found, marks = quantize_with_open(item.recipe, call.x, source, tensor_amax=amax, random=drawn, signs=signs)
        if any(bool(mark.any()) for mark in (marks.codes, *marks.levels.values())):
            return None
        out = run_dequantize(item.recipe, found.codes, found.levels, profile=profile, result=result, engine="auto")
    except EmuError:
        return None
    return out.astype(np.int64)


def _confirmed(target: Target, fits: Sequence[Faked], layout: Found) -> tuple[list[Faked], Faked]:
    """Ask rows that no choice has seen: the directed rows of the first, blocks beside the changes of its scales, random blocks.

    Returns: what fits those too, and the first of it; none and what departs there.
    """
    left, base, shape = list(fits), fits[0].item.base, shape_of(fits[0].item.recipe)
    for others in confirming([base], target.source or "fp32", shape):
        same = [item for item in left if shape_of(item.item.recipe) == shape]
        asked = _ask(target, [item.item for item in same], shape, layout, others) if same else None
        if asked is None:
            continue
        rows, questions, given, result = asked
        tried = [
            next(
                each for each in _faked(item.item, rows, questions, given, target.source or "fp32", result) if each.profile == item.profile
            )
            for item in same
        ]
        left = [item for item, each in zip(same, tried, strict=True) if each.good.all()]
        if not left:
            return [], tried[0]
    return _decided(target, left, layout)


def _decided(target: Target, fits: Sequence[Faked], layout: Found) -> tuple[list[Faked], Faked]:
    """Ask the tensors beside decisions of the first. Return as _confirmed."""
    source, result = get("format", target.source or "fp32"), get("format", target.result or target.source or "fp32")
    first = fits[0].item.recipe
    unsigned = takes_signs(first) and ignores_signs(target, source, shape_of(first), layout.views.size)
    left = list(fits)
    asked = answered(target, layout.views, fits[0].item.base, source, own_amax=True, unsigned=unsigned, finite=False)
    for call, answer in asked:
        given = None if isinstance(answer, str) else canonical(answer["values"][: len(call.x), : call.x.shape[1]].astype(np.int64), result)
        tried = []
        for item in left:
            values = _values(item.item, item.profile, call, source, result)
            if values is not None:
                rows = tuple(Tile(tuple(row), call.amax, signs=call.signs) for row in call.x.tolist())
                none = np.full(values.shape, OPEN - 1)
                tried.append((item, Faked(item.item, item.profile, canonical(values, result), none if given is None else given, rows)))
        wrong = [item for item, each in tried if not each.good.all()]
        if len(wrong) == len(left):
            return [], tried[0][1]
        left = [item for item in left if item not in wrong]
    return left, left[0]


def _told_of_signs(target: Target, fits: Sequence[Faked], layout: Found) -> tuple[list[Faked], bool]:
    """Return what fits, named as variants where the kernel ignores signs that it takes; and whether signs change nothing."""
    first = fits[0].item.recipe
    source: Format = get("format", target.source or "fp32")
    if not takes_signs(first) or not ignores_signs(target, source, shape_of(first), layout.views.size):
        return list(fits), False
    told = [replace(each, item=item) for each in fits for item in told_of_signs(target, [each.item])]
    return [each for each in told if each.item.is_documented] or told, True


def _changed(target: Target, order: Sequence[Faked], layout: Found) -> list[Faked]:
    """Return the variants with one rule around the nearest recipes that fit."""
    out: list[Faked] = []
    for near in order[:NEAREST]:
        shape = shape_of(near.item.recipe)
        asked = _ask(target, [near.item], shape, layout)
        if asked is None:
            continue
        rows, questions, given, result = asked
        for item in (*changed(near.item, "scale"), *changed(near.item, "codes")):
            tried = _faked(item, rows, questions, given, target.source or "fp32", result)
            out += [each for each in tried if each.good.all() and each.compared.any()]
    return out


def _departures(best: Faked) -> Iterator[Departure]:
    for place in np.flatnonzero(~best.good)[:SHOWN]:
        mine, theirs = best.values[place], best.given[place]
        at = int(np.flatnonzero((mine != theirs) & (mine != OPEN) & (theirs != OPEN))[0])
        yield Departure(shown_row(best.rows[int(place)]), f"values[{at}]", f"{int(mine[at]):#x}", f"{int(theirs[at]):#x}")


def _pair(best: Faked, other: Faked) -> Pair:
    if best.values.shape != other.values.shape:
        return Pair(best.name, other.name, "separated", "blocks of another shape")
    differ = (best.values != other.values) & (best.values != OPEN) & (other.values != OPEN) & (best.given != OPEN)
    rows = np.flatnonzero(differ.any(axis=1))
    if not len(rows):
        return Pair(
            best.name, other.name, "unobservable", "the values of the rows that were asked are the same; codes and scales are hidden"
        )
    at = int(np.flatnonzero(differ[rows[0]])[0])
    said = f"values[{at}] {int(best.values[rows[0], at]):x} and {int(other.values[rows[0], at]):x}"
    return Pair(best.name, other.name, "separated", said, shown_row(best.rows[int(rows[0])]))
