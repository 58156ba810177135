"""identify a kernel that quantizes or dequantizes under the scale of a row, of the tensor or of a large tile.

The recipes are few, and each is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from emu.base.errors import EmuError
from emu.check.model import Target
from emu.check.report.model import Report
from emu.check.run import check
from emu.contracts import form_of
from emu.contracts.dequantize.contract import DequantizeContract
from emu.contracts.form import Arrays, Bits, integer_dtype
from emu.identify.layout import Found
from emu.identify.model import Axis, Departure, Identity
from emu.identify.quantize_calls import Views
from emu.identify.shapes import confirmed_at
from emu.spec.contract import parse, recipes_of_blocks
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
    known = [f"quantize/{name}" for name in recipes_of_shared_scales(among)]
    found = _judged(target, (contract for contract in known if _is_of(contract, target, layout.x, layout.answers)), ASKED, multiple)
    if not found:
        return None
    found |= _judged(target, _fitting(found), ("decisions",), multiple)
    fits, best = _fitting(found), _nearest(found)
    name = best.removeprefix("quantize/")
    recipe: Recipe = get("recipe", name)
    title = f"{name} ({recipe.title})" if fits else f"nothing documented; nearest {name}"
    named = [contract.removeprefix("quantize/") for contract in fits or (best,)]
    identity = _identity(target, found[best], named, title, (Axis("layout", "scales", _whose(best)),))
    if not fits or not shapes:
        return identity
    return confirmed_at(target, Views(size=multiple), recipe, get("format", target.source or "fp32"), shapes, identity)


def identify_shared_dequantize(target: Target, among: Sequence[str] | None) -> Identity | None:
    """Return which dequantize profile of those recipes a kernel follows, or is nearest to; None where it takes the operands of none.

    among: ids of recipes, None: all.   Profiles with the same block and the same steps are one, and are named together.
    Tests: tests/identify/test_identify_shared.py.
    """
    same: dict[Any, list[str]] = {}
    for name in recipes_of_shared_scales(among):
        recipe: Recipe = get("recipe", name)
        for profile in recipe.facts.dequantize:
            contract = parse(f"dequantize/{name}/{profile}")
            same.setdefault(DequantizeContract.sameness(contract), []).append(str(contract))
    found: dict[str, Report] = {}
    for first, *_ in same.values():
        tall, _ = _block_of(first).facts.shape
        found |= _judged(target, (first,), ASKED if tall > 1 else (*ASKED, "shapes"))
    if not found:
        return None
    fits, best = _fitting(found), _nearest(found)
    named = [each for equal in same.values() if equal[0] in fits for each in equal]
    title = " or ".join(named) if fits else f"nothing documented; nearest {best}"
    whose = " or ".join(dict.fromkeys(map(_whose, fits or (best,))))
    return _identity(target, found[best], named if fits else [best], title, (Axis("layout", "scales", whose),))


def _judged(target: Target, contracts: Iterable[str], suites: tuple[str, ...], multiple: tuple[int, int] = (1, 1)) -> dict[str, Report]:
    """Return the report on each contract that a kernel could be asked about."""
    found: dict[str, Report] = {}
    for contract in contracts:
        try:
            report = check(target, contract, suites=suites, multiple=multiple)
        except EmuError:  # the target cannot be asked in its terms
            continue
        if report.verdict in ("pass", "differs"):
            found[contract] = report
    return found


def _fitting(found: Mapping[str, Report]) -> list[str]:
    """Return the contracts that pass."""
    return [contract for contract, report in found.items() if report.verdict == "pass"]


def _nearest(found: Mapping[str, Report]) -> str:
    """Return the contract of which the largest part agrees; one that passes first."""
    return min(found, key=lambda contract: (found[contract].verdict != "pass", -_agreed(found[contract]) / _asked(found[contract])))


def _asked(report: Report) -> int:
    """Return of how many codes a report speaks, those of a block whose scale differs among them."""
    return report.compared + report.hidden


def _agreed(report: Report) -> int:
    """Return how many codes are right: of those of a block whose scale differs none."""
    return report.compared - report.differing


def _identity(target: Target, report: Report, found: Sequence[str], title: str, axes: tuple[Axis, ...]) -> Identity:
    """Return what a report on the first of some contracts says of a kernel."""
    examples = (failure.example for failure in report.failures)
    return Identity(
        target.name,
        target.op,
        "documented" if report.verdict == "pass" else "nearest",
        tuple(found),
        title,
        axes,
        departures=tuple(Departure(one.operands, one.place, one.want, one.got) for one in examples),
        asked=_asked(report),
        agreed=_agreed(report),
    )


def _is_of(contract: str, target: Target, x: Bits, answers: Arrays) -> bool:
    """Tell whether answers to x have the names, shapes and widths that a recipe gives them."""
    form = form_of(contract, target.source)
    shapes = form.shapes({"x": x})
    given = [name for name in form.answers if name in answers and answers[name].shape == shapes[name]]
    return given == list(form.answers) and all(answers[name].dtype == integer_dtype(form.answers[name]) for name in given)


def recipes_of_shared_scales(among: Sequence[str] | None = None) -> list[str]:
    """Return the ids of the recipes whose scale is that of a row, of the tensor or of a large tile. Raises: SpecError (unknown id)."""
    chosen = names("recipe") if among is None else [get("recipe", name).id for name in among]
    return sorted({*chosen} - {*recipes_of_blocks()})


def _block_of(contract: str) -> Block:
    """Return the block of the recipe that a contract names."""
    recipe: Recipe = get("recipe", contract.split("/")[1])
    block: Block = get("block", recipe.facts.block)
    return block


def _whose(contract: str) -> str:
    """Return what shares a scale, in words."""
    block = _block_of(contract)
    rows, columns = block.facts.shape
    if rows * columns > 1:
        return f"one for a tile of {rows} x {columns}"
    return f"one for the {block.scale_level.granularity}"
