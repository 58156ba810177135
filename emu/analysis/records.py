"""The studies as records ready for JSON: bias per bin, tensors, scale codecs. Not here: printing (emu.cli), plots (plot.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any, Final

from emu.analysis import drawn_tensors as data
from emu.analysis import scales
from emu.analysis.bias import Bin, Expected, bin_bias, expected
from emu.analysis.cells import fp32_scaled
from emu.analysis.density import Density, Symmetric, empirical, flat, gaussian, laplace
from emu.analysis.grid import Grid, grid_of
from emu.analysis.predict import Prediction, predict, scaled
from emu.analysis.scaled import block_scaled
from emu.analysis.tensor import ROTATION, measure_all
from emu.base.errors import OperandError
from emu.files.record import Record as Kind
from emu.spec import Recipe, digest, get

DENSITIES: Final = ("flat", "gaussian", "laplace")
PREDICTED: Final = ("e2m1_fp32scale", "e1m2_fp32scale", "nvfp4_te_ref", "nvufp4", "mxfp4_torchao_floor", "mxe1m2_floor")
Named = tuple[str, Any]
Tick = Callable[[str], None]
Record = dict[str, Any]


def base_of(name: str) -> Symmetric | None:
    """Return the density that a model of drawn data takes: that of its name, None for data that no closed form describes."""
    return {"gaussian": gaussian(1.0), "laplace": laplace(1.0)}.get(name)


def densities_of(grid: Grid, names: Sequence[str], block: int) -> list[tuple[str, Density, Density]]:
    """Return (name, density by energy, density by count) for a grid. Raises: OperandError (unknown name, an unsigned format)."""
    if grid.values[0] >= 0:
        raise OperandError(f"format {grid.name} has no negative values: a format of elements is studied, not one of scales")
    found: list[tuple[str, Density, Density]] = []
    for name in names:
        base = base_of(name)
        if name == "flat":
            even = flat(grid.balanced.largest)
            found.append((name, even, even))
        elif base is None:
            raise OperandError(f"density {name!r} is unknown: one of {', '.join(DENSITIES)}; the numbers of a tensor come with --data")
        else:
            weighed, counted = (block_scaled(base, block, grid.balanced.largest, energy=energy) for energy in (True, False))
            found.append((name, weighed, counted))
    return found


def bias_record(formats: Sequence[str], names: Sequence[str] = DENSITIES, block: int = 16) -> Record:
    """Return bins and expectations of formats under densities in blocks with an exact scale.

    bins: one row per format, density and value, by count: mass, bias, error, in units of the grid; flat ones as exact fractions.
    expected: one row per format and density: alpha, its bin term, nmse, bucket ratio.   Raises: OperandError, SpecError.
    """
    record: Record = {"block": block, "bins": [], "expected": []}
    for name in formats:
        grid = grid_of(name)
        for label, weighed, counted in densities_of(grid, names, block):
            record["bins"] += [{"format": grid.name, "density": label, **_bin(item)} for item in bin_bias(grid.balanced, counted)]
            whole = expected(grid.balanced, weighed, counted)
            record["expected"].append({"format": grid.name, "density": label, **_figures(whole)})
    return record


def numbers_record(tensors: Iterable[Named], formats: Sequence[str], engine: str = "auto") -> Record:
    """Return bins and expectations of formats under the numbers of tensors, in blocks of 16 with a binary32 scale; exact by count.

    tensors: (name, array), the last axis blocked.   formats: each with a recipe in recipes.fp32_scaled.
    Raises: OperandError (a format without one), as predict.scaled.
    """
    known = fp32_scaled()
    record: Record = {"bins": [], "expected": []}
    for name, x in tensors:
        for chosen in formats:
            fmt = get("format", chosen).id
            if fmt not in known:
                raise OperandError(f"format {fmt} has no recipe with a binary32 scale: one of {', '.join(known)}")
            found = scaled(x, known[fmt], engine=engine, name=name)
            label = f"numbers of {name}"
            counted, weighed = empirical(found.numbers, name=name), empirical(found.numbers, found.weights, name)
            record["bins"] += [{"format": fmt, "density": label, **_rounded(_bin(item))} for item in bin_bias(found.grid, counted)]
            record["expected"].append({"format": fmt, "density": label, **_figures(expected(found.grid, weighed, counted))})
    return record


def prediction_rows(
    tensors: Iterable[Named],
    recipes: Sequence[str | Recipe] = PREDICTED,
    signs: int | None = None,
    engine: str = "auto",
    tick: Tick = lambda _: None,
) -> list[Record]:
    """Return measured and predicted shrinkage of tensors under recipes, as they are and rotated (the model only as they are).

    tensors: (name, array); drawn data named gaussian or laplace get the closed-form model of their density.   Raises: as predict.
    """
    rows = []
    for name, x in tensors:
        for recipe in recipes:
            for transform in (None, ROTATION):
                tick(f"{name} {get('recipe', recipe).id}")
                base = base_of(name) if transform is None else None
                mask = None if transform is None else signs
                rows.append(_prediction(predict(x, recipe, transform, mask, base=base, engine=engine, name=name)))
    return rows


def tensor_record(
    tensors: Iterable[Named],
    recipes: Sequence[str | Recipe] | None = None,
    signs: int | None = None,
    tick: Tick = lambda _: None,
    **options: Any,
) -> Record:
    """Return the figures of tensors under recipes, as they are and rotated.

    tensors: (name, array).   recipes: None: every recipe of the registry.   options: as tensor.measure.
    Returns: tensors (shape, spread), rows (figures), skipped (reason).   Raises: as tensor.measure_all.
    """
    record: Record = {"tensors": [], "rows": [], "skipped": []}
    for name, x in tensors:
        record["tensors"].append({"name": name, "shape": list(x.shape), "dtype": str(x.dtype), **_spread(x)})
        for row in measure_all(x, recipes, signs=signs, name=name, **options):
            tick(f"{name} {row.recipe}")
            if row.report is None:
                record["skipped"].append({"data": name, "recipe": row.recipe, "transform": row.transform, "reason": row.reason})
            else:
                figures = row.report.figures()
                record["rows"].append({"data": name, **figures, "digest": digest(get("recipe", row.recipe))})
    return record


def scales_record(tensors: Iterable[Named], signs: int | None = None, tick: Tick = lambda _: None, **options: Any) -> Record:
    """Return figures of every scale codec and grid, and who leads.

    options: codecs, grids, engine as scales.cells.   Raises: as scales.cells.
    """
    record: Record = {"rows": [], "leads": []}
    for name, x in tensors:
        found = list(scales.cells(x, data=name, signs=signs, tick=tick, **options))
        for cell in found:
            head = {"data": name, "codec": cell.codec, "element": cell.element, "block": cell.block}
            record["rows"].append({**head, **cell.report.figures(), "digest": digest(get("recipe", cell.recipe))})
        record["leads"] += [{**asdict(lead), "wins": lead.wins, "text": lead.text()} for lead in scales.leads(found)]
    return record


KIND: Final = Kind(
    "record of a study", "make it again", lambda place, value: not place or (len(place) == 1 and bool(value) and isinstance(value, list))
)
as_text = KIND.text  # one line a row


def _bin(item: Bin) -> Record:
    def plain(number: Any) -> Any:
        return str(number) if isinstance(number, Fraction) else number

    names = ("value", "low", "high", "mass", "bias", "error", "local")
    return {name: plain(getattr(item, name)) for name in names}


def _rounded(row: Record) -> Record:
    """Return a row whose exact mass, bias and error, fractions of hundreds of digits here, are rounded to binary64."""
    return {
        key: float(Fraction(value)) if key in ("mass", "bias", "error") and isinstance(value, str) else value for key, value in row.items()
    }


def _figures(item: Expected) -> Record:
    return {name: value if value < float("inf") else "inf" for name, value in item.figures().items()}


def _prediction(item: Prediction) -> Record:
    head = {"data": item.data, "recipe": item.recipe, "transform": item.transform, "density": item.density}
    figures = {name: None if found is None else _figures(found) for name, found in
               (("measured", item.measured), ("empirical", item.empirical), ("model", item.model))}  # fmt: skip
    return {**head, **figures, "flat_term": item.flat_term, "digest": digest(get("recipe", item.recipe))}


def _spread(x: Any) -> Record:
    try:
        return asdict(data.spread_of(x))
    except OperandError:
        return {}
