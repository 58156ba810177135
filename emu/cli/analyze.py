"""emu analyze: what recipes do to the tensors of a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from emu.analysis.analyze import inner_transform, tensor_report
from emu.analysis.draws import random_operand
from emu.analysis.plot import plot_kind, plot_reports
from emu.analysis.report import Report, total
from emu.base.errors import EmuError, FileError, OpenError, ShapeError
from emu.cli.quantize import check_operands, parse_signs, raw_or_float, selected, shown
from emu.cli.settings import InputPath, OutputPath, common_options, note, print_json, print_table, progress, settings_of
from emu.files import TensorFile, TensorInfo, open_tensors, skip_reason, whole_file
from emu.spec import Format, Recipe, Transform, get
from emu.spec.programs.program import quantize_program

RECIPES = ("nvfp4_te_ref", "nvufp4", "mxfp4_torchao_rceil", "e2m1_fp32scale", "e1m2_fp32scale", "hif4")
HEADER = ("tensor", "recipe", "rotation", "SQNR dB", "alpha-1 %", "coherent", "incoherent", "B_eff", "clipped %", "zero %")


@dataclass
class Found:
    """What came out: reports by tensor, and what was left out."""

    reports: list[tuple[TensorInfo, Report]] = field(default_factory=list)
    skipped: list[tuple[TensorInfo, str, str]] = field(default_factory=list)


@click.command("analyze")
@click.argument("file", type=InputPath())
@click.option("--recipe", "-r", "names", multiple=True, help=f"Recipe id or alias; repeatable [default: {' '.join(RECIPES)}].")
@click.option("--rht/--no-rht", default=True, show_default=True, help="Also with a rotation of 16 elements before.")
@click.option("--transform", default="rht16_ufp4", show_default=True, help="The rotation of --rht.")
@click.option("--signs", default="0xD7E8", show_default=True, help="Sign mask of the rotation, where it takes one.")
@click.option("--select", multiple=True, metavar="GLOB", help="Only tensors whose name matches; repeatable.")
@click.option("--axis", default=-1, show_default=True, help="Blocked axis.")
@click.option("--row-axis", default=-2, show_default=True, help="Other side of a 2-D tile.")
@click.option("--source", help="Format of raw codes, for unsigned integer tensors.")
@click.option("--random-key", type=int, help="Key of Philox4x32-10, for recipes that draw.")
@click.option("--engine", default="auto", show_default=True, help="exact, numpy or auto.")
@click.option("--totals", is_flag=True, help="Print the totals only.")
@click.option("--plot", type=OutputPath(dir_okay=False), help="Save a plot (.png, .svg, .pdf).")
@click.option("--title", help="Title of the plot, such as the name of the model [default: the name of FILE].")
@click.option("--force", is_flag=True, help="Replace the plot if it exists.")
@common_options
def command(
    file: str,
    names: tuple[str, ...],
    rht: bool,
    transform: str,
    totals: bool,
    plot: str | None,
    title: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Quantize the tensors of FILE in memory and print what is lost, per tensor, in total, and per recipe.

    SQNR; alpha-1 = <y,x>/<x,x> - 1 (below zero: shrunk); NMSE split in its coherent part (alpha-1)^2 and the incoherent rest;
    B_eff = exp(H)/K, the share of the code space in use; clipped: elements beyond the largest value of their scale; zero: elements whose
    code is zero.
    """
    recipes: list[Recipe] = [get("recipe", name) for name in names or RECIPES]
    for recipe in recipes:
        check_operands(recipe, options["random_key"] if quantize_program(recipe).drawing else None)
    rotation: Transform | None = get("transform", transform) if rht else None
    options["signs"] = parse_signs(options["signs"])
    options["source"] = None if options["source"] is None else get("format", options["source"])
    if plot is not None:
        plot_kind(Path(plot).suffix)
    with open_tensors(file) as tensors, progress() as bar:
        found = Found()
        for info in bar.track(selected(tensors, options.pop("select")), description="analyze"):
            _analyze(found, tensors, info, recipes, rotation, options)
    if not found.reports:
        info, recipe_id, reason = found.skipped[0]
        raise FileError(f"{file}: nothing to analyze: {info.name + ': ' if info.name else ''}{recipe_id} does not take it: {reason}")
    sums = _totals(found)
    _report(found, sums, file, totals)
    if plot is not None:
        with whole_file(plot, force) as stream:
            plot_reports([report for _, report in found.reports], stream, plot_kind(Path(plot).suffix), title or Path(file).name)
        note(f"{plot}: plot of {len(found.reports)} reports")


def _analyze(
    found: Found, tensors: TensorFile, info: TensorInfo, recipes: list[Recipe], rotation: Transform | None, options: dict[str, Any]
) -> None:
    """Analyze one tensor under every recipe, without and with the rotation; collect reports and reasons."""
    source: Format | None = options["source"]
    array: Any = None
    for recipe in recipes:
        reason = skip_reason(info, recipe, options["axis"], options["row_axis"], source)
        if reason is not None:
            found.skipped.append((info, recipe.id, reason))
            continue
        if array is None:
            array = raw_or_float(tensors.read(info.name), source)
        for transform in _rotations(recipe, rotation):
            try:
                found.reports.append((info, _one(array, info, recipe, transform, options)))
            except OpenError as error:
                found.skipped.append((info, recipe.id, str(error)))
            except ShapeError as error:  # a length that the rotation does not divide
                found.skipped.append((info, recipe.id, str(error)))
            except EmuError as error:
                raise type(error)(f"{tensors.path}: {shown(info.name)}{error}") from None


def _rotations(recipe: Recipe, rotation: Transform | None) -> Iterator[Transform | None]:
    """Yield None (as it is) and the rotation; a recipe that rotates by itself has one way only."""
    yield None
    if rotation is not None and inner_transform(recipe) is None:
        yield rotation


def _one(array: Any, info: TensorInfo, recipe: Recipe, transform: Transform | None, options: dict[str, Any]) -> Report:
    used = transform or inner_transform(recipe)
    signs = options["signs"] if used is not None and used.facts.signs_operand == "yes" else None
    random = random_operand(recipe, info.shape, info.name, options["random_key"])
    axes = {key: options[key] for key in ("axis", "row_axis", "source", "engine")}
    return tensor_report(array, recipe, transform, signs=signs, random=random, **axes)


def _totals(found: Found) -> list[tuple[int, Report]]:
    """Return (number of tensors, total) per recipe and rotation; tensors with NaN or Inf are left out."""
    groups: dict[tuple[str, str | None], list[Report]] = {}
    for _, report in found.reports:
        if report.is_finite:
            groups.setdefault((report.recipe, report.transform), []).append(report)
    return [(len(group), total(group)) for group in groups.values()]


def _report(found: Found, sums: list[tuple[int, Report]], file: str, totals: bool) -> None:
    if settings_of().json:
        rows = [{"tensor": info.name, "shape": list(info.shape), "dtype": info.dtype, **report.figures()} for info, report in found.reports]
        skipped = [{"tensor": info.name, "recipe": recipe, "reason": reason} for info, recipe, reason in found.skipped]
        whole = [{"tensors": count, **report.figures()} for count, report in sums]
        print_json({"file": file, "reports": [] if totals else rows, "total": whole, "skipped": skipped})
        return
    lines = [] if totals else [_row(info.name or "-", report) for info, report in found.reports]
    lines += [_row(f"total of {count}", report) for count, report in sums]
    print_table(lines, HEADER, right=HEADER[3:])
    for recipe in dict.fromkeys(report.recipe for _, report in sums):
        note(f"{recipe}: {get('recipe', recipe).title}")
    broken = sum(not report.is_finite for _, report in found.reports)
    if broken:
        note(f"{broken} reports hold NaN or Inf: no figures, not in the totals")
    groups: dict[tuple[str, str], list[str]] = {}
    for info, recipe, reason in found.skipped:
        groups.setdefault((info.name, reason), []).append(recipe)
    for (name, reason), recipes in groups.items():
        note(f"skipped {name or '-'}, {' '.join(dict.fromkeys(recipes))}: {reason}")


def _row(name: str, report: Report) -> tuple[str, ...]:
    def text(value: float | None, form: str, factor: float = 1) -> str:
        return "-" if value is None else format(value * factor, form)

    return (
        name,
        report.recipe,
        report.transform or "none",
        text(report.sqnr_db, ".2f"),
        text(report.alpha_minus_1, "+.3f", 100),
        text(report.coherent, ".2e"),
        text(report.incoherent, ".2e"),
        text(report.bucket_ratio, ".3f"),
        text(report.clipped_share, ".2f", 100),
        text(report.zero_share, ".2f", 100),
    )
