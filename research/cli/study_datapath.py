"""python -m research datapath: what quantization and the datapath cost a matrix product, on drawn data and on a real model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from emu.base.atomic import check_target
from emu.cli.settings import bar_of, common_options, note, print_json, print_table, settings_of
from research.cli.kept_record import judge, keep

PART = click.Choice(("errors", "nulls", "orders", "proof"))
HEADER = ("data", "recipe", "rotation", "quantization", "datapath", "relative", "nearest %", "mean ulp", "largest ulp")


@click.command("datapath")
@click.option("--part", "parts", multiple=True, type=PART, help="Only this part; repeatable.")
@click.option("--only", multiple=True, metavar="WORD", help="Only data and recipes whose name holds WORD; repeatable.")
@click.option("--model", metavar="DIR", type=click.Path(path_type=Path), help="Folder of the MiniLM model; default: the installed package.")
@click.option("--engine", default="auto", show_default=True, help="exact, numpy, c_ref, native, torch or auto: same figures.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 64), help="Threads of a matrix product.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Keep the whole record as JSON.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--check", metavar="FILE", type=click.Path(path_type=Path), help="Instead: does a kept record fit the spec?")
@common_options
def command(parts: tuple[str, ...], only: tuple[str, ...], model: Path | None, out: Path | None, check: Path | None, **options: Any) -> int:
    """Measure quantization error, datapath error and dependence on order, and prove when a product sum is exact.

    Elements E2M1, E1M2, INT4, E0M3 x scales UE4M3, UE5M3, E8M0, FP32 x datapaths, on normal data, outliers, wide ranges and MiniLM.
    docs/datapath_errors.md is written from the record by `python -m tools.docs build`.
    """
    from research.datapath import study
    from research.minilm import INSTALL, model_folder

    if check is not None:
        return judge(check, study.stale(study.read_record(check)), study.COMMAND)
    if out is not None:
        if parts or only:
            raise click.UsageError("--out keeps the whole study: leave --part and --only out")
        check_target(out, options["force"])
    folder = model or model_folder()
    if folder is None:
        if out is not None:
            raise click.UsageError(f"the model is missing: {INSTALL}, or name its folder with --model")
        note(f"without products of a real model: {INSTALL}")
    with bar_of("study") as tick:
        record = study.run(folder, parts or study.PARTS, only, options["engine"], options["jobs"], tick)
    if out is not None:
        keep(out, study.KIND, record, options["force"])
    if settings_of().json:
        print_json(record)
    else:
        _print(record)
    return 0


def _print(record: dict[str, Any]) -> None:
    """Print tables of the parts that were run."""
    if "errors" in record:
        print_table([line for row in record["errors"] for line in _lines(row)], HEADER, right=HEADER[5:])
    if "orders" in record:
        lines = [
            (row["data"], row["recipe"], row["datapath"], kind, f"{100 * found['changed']:.2f}", f"{found['largest_ulp']:g}")
            for row in record["orders"]
            for kind, found in row["kinds"].items()
        ]
        print_table(lines, ("data", "recipe", "datapath", "reordered", "changed %", "largest ulp"), right=("changed %", "largest ulp"))
    if "proof" in record:
        columns = ("pair", "integer_bits", "frac_bits", "adder_bits", "reported_exact_up_to", "fixed_point_bits", "largest_int64_k")
        print_table([[str(row[name]) for name in columns] for row in record["proof"]["pairs"]], columns, right=columns[1:])


def _lines(row: dict[str, Any]) -> list[tuple[str, ...]]:
    head = (row["data"], row["recipe"], row["rotation"], f"{row['quantization']:.4g}")
    return [
        (*head, name, f"{e['relative']:.3g}", f"{100 * e['nearest']:.2f}", f"{e['mean_ulp']:+.3g}", f"{e['largest_ulp']:.4g}")
        for name, e in row["datapaths"].items()
    ]
