"""The suites of a check by name, for a target that is asked here and for files that travel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from emu.check.inputs.bulk import exhaustive, stratified
from emu.check.inputs.decisions import QUICK, SLOW, WHOLE, decisions
from emu.check.inputs.directed import directed
from emu.check.inputs.shapes import shapes
from emu.contracts.form import Form, Question

SUITES: Final = ("directed", "exhaustive", "stratified", "decisions", "shapes")
FEW: Final = "few_decisions"


def completed(form: Form, suites: Iterable[str]) -> tuple[str, ...]:
    """Return the suites that a check asks for: those named, and for a quantizer some decisions where that suite is not among them."""
    named = tuple(suites)
    return named if form.op != "quantize" or "decisions" in named else (*named, FEW)


def questions(form: Form, suite: str, takes_amax: bool, options: Mapping[str, Any]) -> Iterator[Question]:
    """Yield the questions of a suite.

    suite: as `completed` returns it.   takes_amax: hand tensor maxima in as operands.
    options: count, key, multiple; where they are known shapes (a user's own) and calls (how the target is called, emu.check.model.Calls).
    """
    source = form.operands[form.main]
    multiple, key, slow = tuple(options["multiple"]), options["key"], options.get("calls", "files") == "programs"
    if suite == "directed":
        yield from directed(form, "fp32" if source is None else source.id, takes_amax, multiple)
    elif suite == "exhaustive":
        yield from exhaustive(form, takes_amax, multiple)
    elif suite == "stratified":
        yield from stratified(form, takes_amax, options["count"], key, multiple)
    elif suite in ("decisions", FEW):
        yield from decisions(form, takes_amax, key, multiple, QUICK if suite == FEW else SLOW if slow else WHOLE)
    else:
        lays, own = options.get("calls") == "arrays", tuple(tuple(shape) for shape in options.get("shapes", ()))
        empty = lays or options.get("calls") == "pointers"
        yield from shapes(form, takes_amax, key, multiple, own, lays, slow, empty)
