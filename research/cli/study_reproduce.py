"""python -m research reproduce: everything of the shrinkage paper that scales down, as one record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from emu.base.atomic import check_target
from emu.cli.settings import bar_of, common_options, note, print_json, print_table, settings_of
from research.cli.kept_record import judge, keep

HEADER = ("where", "what", "paper", "ours", "same sign", "same size")


@click.command("reproduce")
@click.option("--part", "parts", multiple=True, metavar="PART", help="Only this part; repeatable: bias, tensors, gemm, depth, scales, ...")
@click.option("--quick", is_flag=True, help="Small shapes, one layer of the model: seconds; no record of the page.")
@click.option("--model", metavar="DIR", type=click.Path(path_type=Path), help="Folder of the MiniLM model; default: the installed package.")
@click.option("--tensors", metavar="FILE", type=click.Path(path_type=Path), help="Captured tensors to measure too.")
@click.option("--engine", default="auto", show_default=True, help="exact, numpy, c_ref, native, torch or auto: same codes.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Keep the whole record as JSON.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--check", metavar="FILE", type=click.Path(path_type=Path), help="Instead: does a kept record fit the spec?")
@common_options
def command(parts: tuple[str, ...], quick: bool, out: Path | None, check: Path | None, **options: Any) -> int:
    """Measure bias, tensors, products, depth, scale codecs, equal grids and a real model, and compare with arXiv 2606.20381.

    docs/shrinkage.md follows from the record. FILE of --tensors: what `python -m research train` captures, or any
    safetensors or npz with float matrices [rows, K], the contraction axis last and K a multiple of 16; names NAME.GEMM.OPERAND (GEMM fprop,
    dgrad or wgrad; OPERAND x, w or dy) make products of them.
    """
    from research.minilm import INSTALL, model_folder
    from research.reproduction import compare
    from research.reproduction import record as study

    if check is not None:
        return judge(check, study.stale(study.read_record(check)), study.COMMAND)
    if out is not None:
        if parts and not quick:
            raise click.UsageError("--out keeps the whole record: leave --part out")
        check_target(out, options["force"])
    folder = options["model"] or model_folder()
    chosen = parts or study.PARTS
    if folder is None and "model" in chosen:
        if out is not None and not quick:
            raise click.UsageError(f"the model is missing: {INSTALL}, or name its folder with --model")
        note(f"without tensors of a real model: {INSTALL}")
    with bar_of("reproduce") as tick:
        size = study.QUICK if quick else study.WHOLE
        record = study.run(folder, size, chosen, options["tensors"], options["engine"], tick)
    if out is not None:
        keep(out, study.KIND, record, options["force"])
    if settings_of().json:
        print_json(record)
    else:
        print_table([row.texts() for row in compare.rows(record)], HEADER)
    return 0
