"""identify a quantize kernel whose scale is that of a row, of the tensor or of a large tile: the recipes are few, and each is checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emu.base.errors import EmuError
from emu.check.model import Target
from emu.check.report.model import Report
from emu.check.run import check
from emu.contracts import form_of
from emu.contracts.form import Arrays, Bits, integer_dtype
from emu.identify.layout import Found
from emu.identify.model import Axis, Departure, Identity
from emu.identify.quantize_calls import Views
from emu.identify.shapes import confirmed_at
from emu.spec.contract import recipes_of_blocks
from emu.spec.models import Block, Recipe
from emu.spec.registry import get, names

ASKED: Final = ("directed", "stratified")


def identify_shared(
    target: Target,
    among: Sequence[str] | None,
    layout: Found,
    multiple: tuple[int, int] = (1, 1),
    shapes: Sequence[tuple[int, int]] = (),
) -> Identity | None:
    """Return which of those recipes a kernel follows, or is nearest to; None where its answers have the shapes of none of them.

    among: ids of recipes, None: all.   layout: what find_layout asked, and the answers.   multiple: rows and columns that the kernel needs.
    shapes: of matrices that confirm what was found too.   Tests: tests/identify/test_identify_shared.py.
    """
    found: dict[str, Report] = {}
    for name in recipes_of_shared_scales():
        if (among is None or name in among) and _is_of(name, target, layout.x, layout.answers):
            try:
                report = check(target, f"quantize/{name}", suites=ASKED, multiple=multiple)
            except EmuError:  # the target cannot be asked in its terms
                continue
            if report.verdict in ("pass", "differs"):
                found[name] = report
    if not found:
        return None
    fits = [name for name, report in found.items() if report.verdict == "pass"]
    best = min(found, key=lambda name: (found[name].verdict != "pass", found[name].differing / found[name].compared))
    report = found[best]
    recipe: Recipe = get("recipe", best)
    title = f"{best} ({recipe.title})" if fits else f"nothing documented; nearest {best}"
    identity = Identity(
        target.name,
        target.op,
        "documented" if fits else "nearest",
        tuple(fits) or (best,),
        title,
        (Axis("layout", "scales", _whose(recipe)),),
        departures=tuple(Departure(one.operands, one.place, one.want, one.got) for one in (failure.example for failure in report.failures)),
        asked=report.compared,
        agreed=report.compared - report.differing,
    )
    if not fits or not shapes:
        return identity
    return confirmed_at(target, Views(size=multiple), recipe, get("format", target.source or "fp32"), shapes, identity)


def _is_of(recipe: str, target: Target, x: Bits, answers: Arrays) -> bool:
    """Tell whether answers to x have the names, shapes and widths that a recipe gives them."""
    form = form_of(f"quantize/{recipe}", target.source)
    shapes = form.shapes({"x": x})
    given = [name for name in form.answers if name in answers and answers[name].shape == shapes[name]]
    return given == list(form.answers) and all(answers[name].dtype == integer_dtype(form.answers[name]) for name in given)


def recipes_of_shared_scales() -> list[str]:
    """Return the ids of the recipes whose scale is that of a row, of the tensor or of a large tile."""
    return sorted({*names("recipe")} - {*recipes_of_blocks()})


def _whose(recipe: Recipe) -> str:
    """Return what shares a scale, in words."""
    block: Block = get("block", recipe.facts.block)
    rows, columns = block.facts.shape
    if rows * columns > 1:
        return f"one for a tile of {rows} x {columns}"
    return f"one for the {block.scale_level.granularity}"
