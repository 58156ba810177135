"""The tensors beside decisions that a check asks: what was found of a quantize kernel must be right there too, else it is the nearest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from emu.base.errors import TargetError
from emu.check.inputs.finite import LeftOut, finite_only
from emu.check.inputs.suites import questions
from emu.check.model import Target
from emu.contracts import form_of
from emu.contracts.form import Arrays, Question
from emu.contracts.quantize.variants import Variant
from emu.engines.numpy.block import amax_bits
from emu.identify.model import Axis, Departure, Identity
from emu.identify.quantize_calls import Views, ask
from emu.identify.rows import OPEN, Bits, Call, canonical, quantized
from emu.identify.shapes import first_departure
from emu.spec.models import Block, Format, Recipe
from emu.spec.programs.program import quantize_program
from emu.spec.registry import get

SUITE = "decisions"


@dataclass(frozen=True)
class Beside:
    """Of one variant: rows that were asked and that agree, and the first place where it departs, None without one."""

    item: Variant
    asked: int
    agreed: int
    departure: Departure | None


def beside_decisions(
    target: Target, views: Views, items: Sequence[Variant], source: Format, *, own_amax: bool, unsigned: bool, finite: bool
) -> list[Beside]:
    """Ask the decision tensors of the first of some variants; compare the answers with each, to its first question that departs."""
    left = [Beside(item, 0, 0, None) for item in items]
    for call, answer in answered(target, views, items[0].base, source, own_amax=own_amax, unsigned=unsigned, finite=finite):
        left = [each if each.departure else _judged(each, call, answer, views, source) for each in left]
        if all(each.departure for each in left):
            break
    return left


def answered(
    target: Target, views: Views, base: str, source: Format, *, own_amax: bool, unsigned: bool, finite: bool
) -> Iterator[tuple[Call, dict[str, Bits] | str]]:
    """Yield the decision tensors of a recipe and a kernel's answers, or why it gave none.

    own_amax: every tensor holds its maximum.   unsigned: signs change nothing.   finite: tensors with NaN or Inf are left out.
    """
    form = form_of(f"quantize/{base}", source.id)
    options = {"key": 1, "count": None, "multiple": (1, 1), "calls": getattr(target, "calls", "pointers")}
    found = questions(form, SUITE, not own_amax, options)
    for question in finite_only(form, SUITE, found, (1, 1), LeftOut()) if finite else found:
        call = _call(question, source, unsigned)
        try:
            yield call, ask(target, call.x, call.amax, call.random, views.size, call.signs)
        except TargetError as error:
            if error.verdict not in ("raises", "shape"):
                raise
            yield call, f"{error.verdict}: {error}"


def _call(question: Question, source: Format, unsigned: bool) -> Call:
    operands = question.operands
    x = operands["x"]
    amax = int(operands["tensor_amax"]) if "tensor_amax" in operands else amax_bits(x, source)
    random = operands["random"].astype(np.uint32) if "random" in operands else np.zeros(x.shape, np.uint32)
    return Call(x, amax, random, (), 0 if unsigned or "signs" not in operands else int(operands["signs"]))


def shown_at(call: Call, row: int) -> dict[str, str]:
    """Return the operands of a row of a call for a report."""
    return {"x": " ".join(f"{int(code):0{2 * call.x.dtype.itemsize}x}" for code in call.x[row]), "tensor_amax": f"{call.amax:08x}"}


def _judged(so_far: Beside, call: Call, answer: dict[str, Bits] | str, views: Views, source: Format) -> Beside:
    recipe: Recipe = so_far.item.recipe
    program = quantize_program(recipe)
    wanted = quantized(recipe, program, call, source, call.amax if program.reads("tensor_amax") else None)
    if wanted is None:
        return so_far
    if isinstance(answer, str):
        return Beside(so_far.item, so_far.asked + len(call.x), so_far.agreed, Departure(shown_at(call, 0), "codes", "an answer", answer))
    good = np.ones(len(call.x), bool)
    for mine, theirs in _pairs(wanted, answer, views, recipe):
        right = np.asarray((mine == theirs) | (mine == OPEN))
        good &= np.repeat(right.reshape(len(right), -1).all(axis=1), -(-len(good) // len(right)))[: len(good)]

    first = int(np.argmin(good))
    departure = None if good.all() else first_departure(answer, wanted, views, recipe, call.x.shape, lambda _: shown_at(call, first))
    return Beside(so_far.item, so_far.asked + len(good), so_far.agreed + int(good.sum()), departure)


def _pairs(wanted: tuple[Bits, dict[str, Bits]], answer: Arrays, views: Views, recipe: Recipe) -> Iterator[tuple[Bits, Bits]]:
    """Yield what is wanted and what was given, of each answer, in one shape; a shape that does not fit is all wrong."""
    block: Block = get("block", recipe.facts.block)
    formats = {level.name: level.format for level in block.facts.levels}
    for name, array in {**wanted[1], "codes": wanted[0]}.items():
        if name not in answer:
            continue
        theirs = views.codes(answer[name]) if name == "codes" else views.scale(answer[name]) if name == "scale" else answer[name]
        mine = np.atleast_2d(array)
        theirs = theirs.reshape(mine.shape) if theirs.size == mine.size else theirs
        if theirs.ndim != mine.ndim or any(have < need for have, need in zip(theirs.shape, mine.shape, strict=True)):
            yield mine, np.full(mine.shape, OPEN - 1)
            continue
        theirs = theirs[tuple(slice(need) for need in mine.shape)].astype(np.int64)
        fmt = None if name == "codes" else get("format", formats[name])
        yield (mine, theirs) if fmt is None else (canonical(mine, fmt), canonical(theirs, fmt))


def told_of_decisions(identity: Identity, beside: Sequence[Beside]) -> Identity:
    """Return what was found with what is said of the decision tensors; only the nearest where the kernel departs there."""
    best = next((each for each in beside if each.departure is None), beside[0])
    said = f"{best.agreed} of {best.asked} rows agree" if best.departure is None else "departs"
    identity = replace(
        identity,
        axes=(*identity.axes, Axis("decisions", "tensors beside what it decides", said)),
        asked=identity.asked + best.asked,
        agreed=identity.agreed + best.agreed,
    )
    if best.departure is None:
        return identity
    name, where = best.item.base, "departs beside its decisions"
    title = f"nothing documented; nearest {name}: {identity.found[0]} on the rows that were asked first, {where}"
    return replace(identity, kind="nearest", found=(name,), title=title, departures=(best.departure,))
