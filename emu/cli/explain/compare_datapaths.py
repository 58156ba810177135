"""emu compare-datapaths: where two datapaths differ, how often and by how much, with the smallest example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emu.cli.explain import FREE, free_options
from emu.cli.settings import InputPath, common_options, note, print_json, print_table, progress, say, settings_of

if TYPE_CHECKING:
    from emu.contracts.dot.rows import DotRow
    from emu.explain.compare.datapaths import Comparison
    from emu.spec.datapath import DatapathPlan
    from emu.spec.levels import LevelsPlan

    NamedRows = tuple[str, list[DotRow]]

HEADER = ("rows", "compared", "differ", "largest", "mean", "worst error A", "worst error B", "A nearer", "B nearer")


@click.command("compare-datapaths")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@free_options
@click.option("--rows", default=32, show_default=True, type=click.IntRange(2, 1 << 20), help="Random rows per category, and rows of data.")
@click.option("--key", default=1, show_default=True, type=click.IntRange(0, (1 << 64) - 1), help="Key of the random rows.")
@click.option("--data", type=InputPath(path_type=Path), help="Measure on the rows of this .npy, .npz or .safetensors matrix too.")
@click.option("--tensor", metavar="NAME", help="Tensor of --data; left out: the first matrix of floats.")
@click.option("--recipe", metavar="ID", help="Recipe that quantizes data; left out: one that makes the operands.")
@click.option("--gaussian", is_flag=True, help="Measure on normal data too.")
@click.option("--outlier", is_flag=True, help="Measure on data with outliers too.")
@click.option("--full", is_flag=True, help="Print the whole trace of both for the example.")
@common_options
def command(
    first: str,
    second: str,
    rows: int,
    key: int,
    data: Path | None,
    tensor: str | None,
    recipe: str | None,
    gaussian: bool,
    outlier: bool,
    full: bool,
    **free: Any,
) -> int:
    """Compare datapaths A and B on the operands both take: ids, or id/e1m2xe1m2/ue4m3/16, also of files added by --spec.

    Rows are constructed and drawn by category, then a differing one is made small. Distances are in ulps of D (steps between result
    codes), errors in ulps of the exact value. Exit code 1: they differ; 0: no difference was found, or the facts prove equality.
    """
    from emu.contracts.levels.rows import in_levels
    from emu.explain.compare.datapaths import compare_datapaths
    from emu.explain.compare.pair import common_k, common_plans
    from emu.explain.compare.text import lines_of

    file, kinds = (data, tensor), [name for name, on in (("gaussian", gaussian), ("outlier", outlier)) if on]
    if in_levels(first) or in_levels(second):
        return _levels(first, second, rows, key, full, free, lambda one, k: _data(one, k, rows, key, recipe, file, kinds))
    one, two = common_plans(first, second, *map(free.get, FREE))
    given = _data(one, common_k(one, two), rows, key, recipe, file, kinds)
    with progress() as bar:
        task = bar.add_task("compare", total=None)
        found = compare_datapaths(
            one, two, key=key, rows=rows, given=given, step=lambda done, of: bar.update(task, completed=done, total=of)
        )
    if settings_of().json:
        print_json(_as_data(found))
    else:
        say(*lines_of(found))
        if full and found.small is not None:
            _print_traces(found)
        if found.tallies:
            say("")
            print_table([_cells(tally.data()) for tally in found.tallies], HEADER, right=HEADER[1:])
    return int(found.small is not None)


def _levels(
    first: str, second: str, rows: int, key: int, full: bool, free: dict[str, Any], data: Callable[[LevelsPlan, int], list[NamedRows]]
) -> int:
    """Compare two datapaths in levels. data: named rows of data for a plan and a K that both cover."""
    from emu.contracts.levels.trace import explain_levels
    from emu.contracts.levels.trace import lines_of as trace_lines
    from emu.explain.compare.levels import common_k, common_level_plans, compare_levels, data_row, example, given_to, lines_of, verdict

    one, two = common_level_plans(first, second, *map(free.get, FREE))
    named = [(name, [data_row(row, one, key, number) for number, row in enumerate(found)]) for name, found in data(one, common_k(one, two))]
    with progress() as bar:
        task = bar.add_task("compare", total=None)
        found = compare_levels(one, two, key=key, rows=rows, given=named, step=lambda done, of: bar.update(task, completed=done, total=of))
    if settings_of().json:
        out: dict[str, Any] = {"first": one.name, "second": two.name, "verdict": verdict(found), "same_facts": found.same_facts}
        out |= {"differ": found.small is not None, "tried": found.tried, "tallies": [tally.data() for tally in found.tallies]}
        print_json(out | {"origin": found.origin or None, "example": None if found.small is None else example(found.small, one, two)})
        return int(found.small is not None)
    say(*lines_of(found))
    if full and found.small is not None:
        for plan in (one, two):
            say("", *trace_lines(explain_levels(given_to(found.small, one, plan), plan)))
    if found.tallies:
        say("")
        print_table([_cells(tally.data()) for tally in found.tallies], HEADER, right=HEADER[1:])
    return int(found.small is not None)


def _data(
    plan: DatapathPlan | LevelsPlan,
    k: int,
    rows: int,
    key: int,
    recipe: str | None,
    file: tuple[Path | None, str | None],
    kinds: Sequence[str],
) -> list[NamedRows]:
    """Return named rows of data: the file's against normal activations, and generated ones."""
    from emu.explain.compare.data import data_rows, generated, read_matrix

    out: list[NamedRows] = []
    if file[0] is not None:
        matrix, name = read_matrix(file[0], file[1])
        matrix = matrix[:rows]
        found, how = data_rows(generated("gaussian", len(matrix), matrix.shape[1], key, "a"), matrix, plan, k, recipe)
        out.append((f"data {name}", found))
        note(f"data: {len(found)} rows of {name} against normal rows, K = {len(found[0].a)}, quantized by {how}")
    for kind in kinds:
        wide = max(1024 // k, 1) * k
        pair = [generated(kind, rows, wide, key, side) for side in ("a", "b")]  # type: ignore[arg-type]
        found, how = data_rows(pair[0], pair[1], plan, k, recipe)
        out.append((f"data {kind}", found))
        note(f"data: {len(found)} {kind} rows, K = {wide}, quantized by {how}")
    return out


def _cells(data: dict[str, Any]) -> tuple[str, ...]:
    mean = "" if data["mean_ulps"] is None else f"{data['mean_ulps']:.4g}"
    worst = [f"{item:.4g}" if data["differ"] else "" for item in data["worst_error_ulps"]]
    nearer = [str(item) if data["differ"] else "" for item in data["nearer_to_exact"]]
    return (data["name"], str(data["rows"]), str(data["differ"]), str(data["largest_ulps"]), mean, *worst, *nearer)


def _as_data(found: Comparison) -> dict[str, Any]:
    from emu.explain.compare.text import example, verdict

    out: dict[str, Any] = {"first": found.first.name, "second": found.second.name, "verdict": verdict(found)}
    out |= {"same_facts": found.same_facts, "differ": found.small is not None, "tried": found.tried}
    out |= {"tallies": [tally.data() for tally in found.tallies], "origin": found.origin or None}
    return out | {"example": None if found.small is None else example(found.small, found.first, found.second)}


def _print_traces(found: Comparison) -> None:
    from emu.contracts.dot.trace import explain_dot
    from emu.contracts.dot.trace_text import lines_of

    assert found.small is not None
    for plan in (found.first, found.second):
        say("", *lines_of(explain_dot(found.small, plan)))
