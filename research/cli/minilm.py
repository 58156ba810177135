"""python -m research minilm: activations and weights of a real model as a file of tensors."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
from safetensors.numpy import save

from emu.base.atomic import check_target, whole_file
from emu.base.errors import ToolError
from emu.cli.settings import common_options, note


@click.command("minilm")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The new .safetensors file.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@common_options
def command(out: Path, force: bool) -> None:
    """Write activations (bf16) and weights (fp32) of products of MiniLM: data for `emu study tensor --data FILE` and its like."""
    from research.minilm import INSTALL, PRODUCTS, model_folder, products

    check_target(out, force)
    folder = model_folder()
    if folder is None:
        raise ToolError(f"minilm: the model is missing: {INSTALL}")
    found = [(f"minilm_{item.name}_{side}", x) for item in products(folder, PRODUCTS) for side, x in (("x", item.x), ("w", item.w))]
    with whole_file(out, force) as stream:
        stream.write(save({name: np.ascontiguousarray(x) for name, x in found}))
    note(f"{out}: {len(found)} tensors")
