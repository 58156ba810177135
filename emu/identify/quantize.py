"""identify a quantize kernel: layout, then scale bytes, then element codes. Not here: kernels that give values alone (values.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OperandError
from emu.check.model import Target
from emu.contracts.form import takes_signs
from emu.contracts.quantize.variants import Variant, code_variants, documented, family, scale_variants, shape_of
from emu.identify.cases import confirming, plain
from emu.identify.decisions import Beside, beside_decisions, told_of_decisions
from emu.identify.kept_rows import kept, stem_of
from emu.identify.layout import UNDECIDED, UNKNOWN, Found, find_layout, swapped
from emu.identify.model import Axis, CodesAlone, Departure, Identity, Pair, PairVerdict
from emu.identify.operands import ignores_signs, signs_axis, takes_own_maximum, told_of_signs, without_signs
from emu.identify.quantize_calls import answers_of
from emu.identify.rows import OPEN, Answers, Call, Tile, calls, canonical, expected, random_bits, shown_row
from emu.identify.shapes import confirmed_at
from emu.identify.shared import identify_shared
from emu.spec import derive
from emu.spec.models import Block, Format
from emu.spec.programs.program import quantize_program
from emu.spec.registry import get

MOST: Final = 4  # nearest recipes whose variants are tried
INFINITE: Final = 0x7F800000  # fp32 code
SHOWN: Final = 4  # rows that a report prints


@dataclass(frozen=True)
class QuantizeAnswers:
    """What was asked and answered.

    own_amax: the kernel takes the tensor maximum from x.   unsigned: rows were asked without signs, which change nothing.
    only_finite: rows with NaN or Inf are left out.
    """

    rows: tuple[Tile, ...]
    calls: tuple[Call, ...]
    answers: Answers
    source: Format
    own_amax: bool
    unsigned: bool
    cache: dict[str, Answers]
    only_finite: bool = False

    def expected(self, item: Variant) -> Answers:
        """Return what a variant answers."""
        key = item.recipe.facts_digest
        if key not in self.cache:
            self.cache[key] = expected(item.recipe, self.calls, self.source, len(self.rows), self.own_amax)
        return self.cache[key]

    def finite(self) -> QuantizeAnswers:
        """Return the same with the answers of rows with NaN or Inf left out."""
        special = np.array([row.is_special or row.amax >= INFINITE for row in self.rows])
        answers = {name: np.where(special[:, None], OPEN, array) for name, array in self.answers.items()}
        return replace(self, answers=answers, only_finite=True)

    def given(self, item: Variant, name: str) -> NDArray[np.int64]:
        """Return the kernel's answers of one name, NaNs of a wide level as one code."""
        if name == "codes":
            return self.answers[name]
        block: Block = get("block", item.recipe.facts.block)
        level = next(level for level in block.facts.levels if level.name == name)
        return canonical(self.answers[name], get("format", level.format))

    def agreement(self, item: Variant, names: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return by row: do the answers of those names agree; is anything compared. A name that the variant lacks agrees nowhere."""
        wanted = self.expected(item)
        good, compared = np.ones(len(self.rows), bool), np.zeros(len(self.rows), bool)
        for name in names:
            if name not in wanted or wanted[name].shape != self.answers[name].shape:
                return np.zeros(len(self.rows), bool), np.ones(len(self.rows), bool)
            mine, theirs = wanted[name], self.given(item, name)
            known = (mine != OPEN) & (theirs != OPEN)
            good &= ((mine == theirs) | ~known).all(axis=1)
            compared |= known.any(axis=1)
        return good, compared

    def fits(self, item: Variant, names: Sequence[str]) -> bool:
        """Tell whether every answer of those names agrees, and something was compared."""
        good, compared = self.agreement(item, names)
        return bool(good.all()) and bool(compared.any())

    def score(self, item: Variant, names: Sequence[str]) -> int:
        """Return on how many rows those answers agree."""
        good, compared = self.agreement(item, names)
        return int((good & compared).sum())

    def nearness(self, item: Variant, names: Sequence[str]) -> tuple[int, int]:
        """Return on how many rows those answers agree, and how many codes do of rows whose levels agree."""
        wanted, codes = self.expected(item), self.answers.get("codes")
        score = self.score(item, names)
        if codes is None or "codes" not in names or wanted["codes"].shape != codes.shape:
            return score, 0
        right, _ = self.agreement(item, [name for name in names if name != "codes"])
        return score, int(((wanted["codes"] == codes) & (codes != OPEN) & right[:, None]).sum())


def identify_quantize(
    target: Target, among: Sequence[str] | None, multiple: tuple[int, int] = (1, 1), shapes: Sequence[tuple[int, int]] = ()
) -> Identity:
    """Return which recipe a quantize kernel follows.

    multiple: rows and columns that it needs; (1, 1): it is found out.   shapes: of matrices that confirm what was found too.
    Raises: TargetError, OperandError (no recipe has its blocks; shapes for a kernel that gives values alone).
    """
    layout = _layout(target, multiple)
    whole = _without_blocks(target, among, layout, multiple, shapes)
    if whole is not None:
        return whole
    assert layout.block is not None
    known = family(documented(among), layout.block)
    if not known:
        raise OperandError(f"identify: no recipe has one scale for {layout.block[0]} x {layout.block[1]} elements")
    asked = ask_rows(target, layout, known)
    known = _as_wide(known, asked.answers["codes"])
    found = _decode(asked, known)
    if layout.axes[0].finding == UNDECIDED and found[0] != "documented":
        exchanged = replace(layout, views=replace(layout.views, codes=swapped))
        again = ask_rows(target, exchanged, known)
        second = _decode(again, known)
        if second[0] == "documented":
            layout = replace(exchanged, axes=(Axis("layout", "packing", "high nibble first (pairs exchanged)"), *layout.axes[1:]))
            asked, found = again, second
    kind, items = found
    known_view = UNKNOWN not in layout.views.words  # else it may be right block by block: a whole matrix is not
    shown, special = asked, False
    if kind != "nearest" and known_view:
        items, other = _confirmed(target, layout, asked, known, items)
        if other is None:
            items, beside = _decided(target, layout, asked, items)
            items = told_of_signs(target, items) if asked.unsigned else items
            kind = "documented" if items[0].is_documented else "variant"
            found_it = told_of_decisions(report(target, layout, asked, known, kind, items), beside)
            if found_it.kind == "nearest":
                return found_it
            return confirmed_at(target, layout.views, items[0].recipe, asked.source, shapes, found_it, items[0].base)
        shown = other
    plain_kind, plain_items = _decode(asked.finite(), known)
    if kind == plain_kind == "nearest":  # how NaN and Inf are taken does not say what is near where all else differs
        items = plain_items
    if plain_kind != "nearest" and known_view:
        items, other = _confirmed(target, layout, asked.finite(), known, plain_items)
        special, shown = other is None, other or shown
    if special:
        items, beside = _decided(target, layout, asked.finite(), items)
        found_it = report(target, layout, shown, known, "nearest", items, all(each.departure is None for each in beside))
        return told_of_decisions(found_it, beside)
    found_it = report(target, layout, shown, known, "nearest", _documented(items, known))
    if items[0].is_documented:
        return found_it
    names = [name for name in asked.answers if name != "values"]
    count = f"{asked.score(items[0], names)} of the {len(asked.rows)} rows that were asked first, not confirmed"
    return replace(found_it, axes=(*found_it.axes, Axis("tried", items[0].name, count)))


def _without_blocks(
    target: Target, among: Sequence[str] | None, layout: Found, multiple: tuple[int, int], shapes: Sequence[tuple[int, int]]
) -> Identity | None:
    """Return what a kernel is whose scale more than a block shares, or that gives values alone; None where its answers follow blocks."""
    if len(layout.axes) > 1:  # it gives scales
        shared = identify_shared(target, among, layout, multiple, shapes) if UNKNOWN in layout.views.words else None
        if shared is None and layout.block is None:
            raise OperandError("identify: no recipe has as many scales as the kernel gives: leave --among out, or name their layout")
        return shared
    if layout.block is not None:
        return None
    if "values" not in layout.answers:
        raise CodesAlone("identify: the kernel gives codes and no scales: what converts number by number goes by --op convert")
    if shapes:
        raise OperandError("identify: shapes are asked of kernels that give codes: leave them out")
    from emu.identify.values import identify_values

    return identify_values(target, among, layout)


def _as_wide(known: Sequence[Variant], codes: NDArray[np.int64]) -> list[Variant]:
    """Return the recipes with the narrowest elements that hold the largest code of a kernel; all where none do."""
    least = int(codes.max()).bit_length()
    widths = {item.base: derive.codes(get("format", get("block", item.recipe.facts.block).element_formats[0])).bits for item in known}
    fitting = [bits for bits in widths.values() if bits >= least]
    return [item for item in known if widths[item.base] == min(fitting)] if fitting else list(known)


def _documented(items: Sequence[Variant], known: Sequence[Variant]) -> list[Variant]:
    """Return the recipe of what was found nearest: a changed rule that nothing confirmed is no name for a kernel."""
    return [next((item for item in known if item.base == items[0].base), items[0])]


def _layout(target: Target, multiple: tuple[int, int]) -> Found:
    """Return the layout under blocks of one row; where the answers do not follow those, under tiles of as many rows as columns."""
    layout = find_layout(target, 1, multiple)
    if layout.block is None or UNKNOWN not in layout.views.words:
        return layout
    tall = layout.block[1]
    tiled = find_layout(target, tall, multiple)
    if tiled.block is None or UNKNOWN in tiled.views.words:
        return layout
    return replace(tiled, block=(tall, tiled.block[1]))


def ask_rows(target: Target, layout: Found, known: Sequence[Variant]) -> QuantizeAnswers:
    """Ask the kept rows of a family. Raises: TargetError, OperandError (no kept rows)."""
    shape = shape_of(known[0].recipe)
    store = kept(stem_of(shape))
    if store is None:
        raise OperandError(f"identify: no kept rows for tiles of {shape[0]} x {shape[1]}: run `emu identify --refresh`")
    source: Format = get("format", target.source or "fp32")
    own = takes_own_maximum(target, source, layout)
    signed = any(takes_signs(item.recipe) for item in known)
    unsigned = not signed or ignores_signs(target, source, shape, layout.views.size)
    return _asked(target, layout, known, (*store.rows, *plain(shape, signed)), own, unsigned)


def _asked(target: Target, layout: Found, known: Sequence[Variant], rows: tuple[Tile, ...], own: bool, unsigned: bool) -> QuantizeAnswers:
    rows = without_signs(rows) if unsigned else rows
    source: Format = get("format", target.source or "fp32")
    shape = shape_of(known[0].recipe)
    questions = tuple(calls(rows, shape, source))
    bits = max(random_bits(quantize_program(item.recipe)) for item in known)
    answers = answers_of(target, questions, layout.views, shape, len(rows), bits)
    return QuantizeAnswers(rows, questions, answers, source, own, unsigned, {})


def _confirmed(
    target: Target, layout: Found, asked: QuantizeAnswers, known: Sequence[Variant], found: Sequence[Variant]
) -> tuple[list[Variant], QuantizeAnswers | None]:
    """Ask rows that no choice has seen: the directed rows of what was found, blocks beside the changes of its scales, random blocks.

    Returns: what gives all those answers too, and None; where nothing does, the first of what was found and what was asked.
    """
    names = [name for name in asked.answers if name != "values"]
    bases = list(dict.fromkeys(item.base for item in found))[:MOST]
    left = list(found)
    for rows in confirming(bases, asked.source.id, shape_of(known[0].recipe)):
        more = _asked(target, layout, known, rows, asked.own_amax, asked.unsigned)
        more = more.finite() if asked.only_finite else more
        fits = [item for item in left if more.agreement(item, names)[0].all()]
        if not fits:
            return left[:1], more
        left = fits
    return left, None


def _decided(
    target: Target, layout: Found, asked: QuantizeAnswers, found: Sequence[Variant]
) -> tuple[list[Variant], list[Beside]]:  # fmt: skip
    """Ask the decision tensors of what was found. Return what is right there too, else the first of it, and what came of each."""
    beside = beside_decisions(
        target, layout.views, found, asked.source, own_amax=asked.own_amax, unsigned=asked.unsigned, finite=asked.only_finite
    )
    left = [each for each in beside if each.departure is None] or beside[:1]
    return [each.item for each in left], left


def _decode(asked: QuantizeAnswers, known: Sequence[Variant]) -> tuple[str, list[Variant]]:
    """Return (documented | variant | nearest, variants that fit or the nearest one)."""
    levels = [name for name in asked.answers if name not in ("codes", "values")]
    scale = _stage(asked, known, levels, scale_variants) if levels else ("documented", list(known))
    if scale[0] == "nearest":
        names = [*levels, "codes"]
        pool = [item for base in scale[1] for item in (*scale_variants(base), *code_variants(base))]
        return "nearest", [max(pool, key=lambda item: (asked.score(item, levels), *asked.nearness(item, names), not item.changes))]
    names = [*levels, "codes"]
    codes = _stage(asked, scale[1], names, lambda item, depth: code_variants(item, known, depth))
    if codes[0] == "nearest":
        return "nearest", codes[1][:1]
    exact = [item for item in codes[1] if item.is_documented]
    return ("documented", exact) if exact else ("variant", _simplest(codes[1]))


def _simplest(items: Sequence[Variant]) -> list[Variant]:
    """Return the variants with the fewest changes."""
    least = min(len(item.changes) + bool(item.codes_of) for item in items)
    return [item for item in items if len(item.changes) + bool(item.codes_of) == least]


def _stage(
    asked: QuantizeAnswers, bases: Sequence[Variant], names: Sequence[str], more: Callable[[Variant, int], list[Variant]]
) -> tuple[str, list[Variant]]:
    """Return those of some variants that fit; else their changed ones, one rule, then two, around the nearest; else the nearest."""
    fits = [item for item in bases if asked.fits(item, names)]
    if fits:
        return "fits", fits
    order = sorted(bases, key=lambda item: asked.nearness(item, names), reverse=True)
    for depth, part in ((1, order[:MOST]), (1, order[MOST:]), (2, order[:1])):
        tried = [other for item in part for other in more(item, depth)]
        fits = [item for item in tried if asked.fits(item, names)]
        if fits:
            return "fits", _simplest(fits)
    return "nearest", order[:MOST]


def report(
    target: Target,
    layout: Found,
    asked: QuantizeAnswers,
    known: Sequence[Variant],
    kind: str,
    found: Sequence[Variant],
    special: bool = False,
) -> Identity:
    """Return the identity of what was found. special: all rows without NaN and Inf agree, those that confirm too."""
    best = found[0]
    names = [name for name in asked.answers if name != "values"]
    good, compared = asked.agreement(best, names)
    axes = [*layout.axes, *(_axes(asked, best, names) if kind != "nearest" else ())]
    if special:
        axes.append(Axis("rows", "rows without NaN and Inf", "all agree"))
    axes += [Axis("scale", "tensor maximum", "taken from x, not from the operand")] if asked.own_amax and _reads_amax(best) else []
    axes += signs_axis(best, asked.unsigned) if kind != "nearest" else []
    kinds: Any = kind if compared.any() else "nothing"
    title = f"{best.name} ({best.recipe.title})" if kind != "nearest" else f"nothing documented; nearest {best.name}"
    title += ", departs only where an element or the tensor maximum is NaN or Inf" if special else ""
    words = [axis.finding for axis in layout.axes]
    return Identity(
        target.name,
        target.op,
        kinds,
        tuple(item.name for item in found),
        "; ".join([title, *words]),
        tuple(axes),
        tuple(pairs_of(asked, best, known, names)),
        tuple(_departures(asked, best, names, good)),
        int(compared.sum()),
        int((good & compared).sum()),
    )


def _reads_amax(item: Variant) -> bool:
    return quantize_program(item.recipe).reads("tensor_amax")


def _axes(asked: QuantizeAnswers, best: Variant, names: Sequence[str]) -> list[Axis]:
    """Return the changes of a variant, and what it does where its sources are open."""
    out = [Axis("codes", "order", f"element codes as {best.codes_of}")] if best.codes_of else []
    out += [Axis("changed", axis, says) for axis, says in best.changes]
    mine = asked.expected(best)
    for item in (*scale_variants(best)[1:], *code_variants(best)[1:]):
        theirs = asked.expected(item)
        opened = any(((mine[name] == OPEN) & (theirs[name] != OPEN)).any() for name in names)
        if opened and asked.fits(item, names):
            axis, says = item.changes[-1]
            out.append(Axis("open in the sources", axis, says))
    return out


def _departures(asked: QuantizeAnswers, best: Variant, names: Sequence[str], good: NDArray[np.bool_]) -> list[Departure]:
    out = []
    wanted = asked.expected(best)
    for place in np.flatnonzero(~good)[:SHOWN]:
        row = asked.rows[int(place)]
        for name in sorted(names, key=lambda name: name == "codes"):  # codes follow from their scale
            if name not in wanted or wanted[name].shape != asked.answers[name].shape:
                out.append(Departure(shown_row(row), name, "another number of codes", str(asked.answers[name].shape[1])))
                break
            mine, theirs = wanted[name][place], asked.given(best, name)[place]
            differs = np.flatnonzero((mine != theirs) & (mine != OPEN) & (theirs != OPEN))
            if len(differs):
                at = int(differs[0])
                out.append(Departure(shown_row(row), f"{name}[{at}]", f"{int(mine[at]):#x}", f"{int(theirs[at]):#x}"))
                break
    return out


# Verdicts on pairs: what was found against every other documented variant of the same blocks.


def pairs_of(asked: QuantizeAnswers, best: Variant, known: Sequence[Variant], names: Sequence[str]) -> Iterator[Pair]:
    """Yield the verdict on what was found and each other documented recipe. names: the answers that the kernel gives."""
    for other in known:
        if other.recipe.facts_digest != best.recipe.facts_digest:
            yield _pair(asked, best, other, names)
    store = kept(stem_of(shape_of(best.recipe)))
    for _, base, name, verdict, domain in store.same if store is not None and best.is_documented else ():
        if base == best.base and verdict in ("equal", "not separated"):
            yield Pair(base, name, cast("PairVerdict", verdict), domain or f"{store.tried if store else 0} rows tried")


def _pair(asked: QuantizeAnswers, best: Variant, other: Variant, names: Sequence[str]) -> Pair:
    mine, theirs = asked.expected(best), asked.expected(other)
    shared = [name for name in names if name in mine and name in theirs and mine[name].shape == theirs[name].shape]
    if len(shared) < len([name for name in names if name in mine]):
        return Pair(best.name, other.name, "separated", "other levels")
    for name in shared:
        differ = (mine[name] != theirs[name]) & (mine[name] != OPEN) & (theirs[name] != OPEN) & (asked.answers[name] != OPEN)
        rows = np.flatnonzero(differ.any(axis=1))
        if len(rows):
            lane = int(np.flatnonzero(differ[rows[0]])[0])
            said = f"{name}[{lane}] {int(mine[name][rows[0], lane]):x} and {int(theirs[name][rows[0], lane]):x}"
            return Pair(best.name, other.name, "separated", said, shown_row(asked.rows[int(rows[0])]))
    return _unseparated(asked, best, other)


def _unseparated(asked: QuantizeAnswers, best: Variant, other: Variant) -> Pair:
    mine, theirs = asked.expected(best), asked.expected(other)
    for name in sorted(mine.keys() & theirs.keys() - set(asked.answers)):
        if mine[name].shape == theirs[name].shape and (mine[name] != theirs[name]).any():
            return Pair(best.name, other.name, "unobservable", f"the kernel does not give {name}")
    store = kept(stem_of(shape_of(best.recipe)))
    for first, second, verdict, domain in store.equal if store is not None else ():
        if {first, second} == {best.base, other.base} and best.is_documented and verdict == "equal":
            return Pair(best.name, other.name, "equal", domain)
    if any(((mine[name] == OPEN) != (theirs[name] == OPEN)).any() for name in mine.keys() & theirs.keys()):
        return Pair(best.name, other.name, "unobservable", "they part only where the sources of one leave the answer open")
    if any(asked.answers[name][numbers].min() == OPEN for name in asked.answers for numbers in [list(range(len(asked.rows)))]):
        return Pair(best.name, other.name, "unobservable", "the rows that separate them have no codes in the kernel's source format")
    return Pair(best.name, other.name, "not separated", f"{store.tried if store is not None else 0} rows tried")
