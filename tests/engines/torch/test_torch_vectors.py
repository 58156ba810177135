"""The frozen vectors, row by row, through the torch engine: every row of an operation that it claims gives the stored codes."""

from __future__ import annotations

import importlib
import os
from collections import Counter
from functools import partial

import numpy as np
import pytest

from emu.contracts.contract import array_of
from emu.contracts.rows import inputs_of, mismatches
from emu.engines.run import run_dequantize
from emu.engines.table import choose
from emu.spec import derive, get
from emu.spec.derive import OPEN
from emu.spec.levels import LevelsPlan
from emu.vectors import find

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
block = importlib.import_module("emu.engines.torch.block")
conversion = importlib.import_module("emu.engines.torch.convert")
edge = importlib.import_module("emu.engines.torch.arrays")


def decoded(op, rows):
    places = op.known(rows)
    out = [((OPEN,),)] * len(rows)
    if not places:
        return out
    found = edge.decode(array_of([rows[place][0] for place in places], op.fmt), op.fmt, get("format", "fp32"))
    for place, code in zip(places, found.tolist(), strict=True):
        out[place] = ((code,),)
    return out


def converted(op, rows):
    choose("convert", "torch", op.source, op.fmt, op.rounding, op.policy)
    codes, drawn = op.arrays(rows)
    random = None if drawn is None else edge.tensor_of(drawn.astype(np.int64))
    found = conversion.marked(conversion.checked_signed(edge.tensor_of(codes), op.source), op.source, op.fmt, op.rounding, op.entry, random)
    mask = (1 << derive.codes(op.fmt).bits) - 1
    return [((code if code < 0 and code in (-1, -2) else code & mask,),) for code in found.tolist()]


def quantized(op, rows):
    def engine(stacked, amax, drawn):
        found = block.quantize(
            op.recipe,
            edge.tensor_of(stacked),
            op.source,
            tensor_amax=amax,
            random=None if drawn is None else edge.tensor_of(drawn),
            masked=True,
        )
        return found.codes.tolist(), {name: level.tolist() for name, level in found.levels.items()}

    return op.batch(rows, engine, stages=False)


ANSWERS = {
    "decode": decoded,
    "convert": converted,
    "quantize": quantized,
    "dequantize": lambda op, rows: op.batch(rows, partial(run_dequantize, engine="torch")),
    "transform": lambda op, rows: op.batch(rows, edge.transform),
    "dot": lambda op, rows: op.batch(rows, "torch" if isinstance(op.plan, LevelsPlan) else edge.dot),
}


@pytest.mark.parametrize("operation", list(ANSWERS))
def test_every_frozen_row(suites, operation):
    counted = Counter()
    for suite in suites(operation):
        op = find(suite.stem).operation
        rows = [inputs_of(suite.layout, row) for row in suite.rows]
        answers = ANSWERS[operation](op, rows)
        for number, (row, answer) in enumerate(zip(suite.rows, answers, strict=True)):
            assert mismatches(suite.layout, row, answer) == [], f"{suite.stem} tc={number + 1}"
            counted["rows"] += 1
    least = {"decode": 2000, "convert": 12000, "quantize": 1600, "dequantize": 150, "transform": 100, "dot": 600}[operation]
    assert counted["rows"] >= least, counted
