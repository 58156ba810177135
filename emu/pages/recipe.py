"""The page of a recipe: both programs as numbered formulas, each with what one worked example gives at every step."""

from __future__ import annotations

from typing import Any

from emu.contracts.examples import decimal_text
from emu.engines.exact.decode import decode_code
from emu.pages.formulas import emitted, expression, place_text
from emu.pages.frame import Data, Writer
from emu.pages.render import Code
from emu.pages.trace import Trace, trace_dequantize, trace_quantize
from emu.spec import Block, Recipe, digest, get
from emu.spec.models.common import digest_json
from emu.spec.programs.program import Program, dequantize_program, quantize_program
from emu.spec.programs.types import ELEMENT, Instruction

LINE = 72
MOST = 16
_TAILS = {
    "error": "a length that is no multiple of the block is refused",
    "zero_pad_keep": "a short block is padded with zeros, and the padding is stored",
    "zero_pad_drop": "a short block is padded with zeros, and the padding is not stored",
}


def data(recipe: Recipe) -> Data:
    """Return what the template shows: both programs step by step, each with what one worked example gives, and all worked examples."""
    facts = recipe.facts
    worked, trace = _example(recipe) or (None, None)
    back = {profile: trace_dequantize(recipe, profile, trace) if trace else None for profile in facts.dequantize}
    return {
        "block": get("block", facts.block),
        "tail": _TAILS[facts.tail],
        "most": MOST,
        "worked": worked,
        "amax": trace.first("tensor_amax") if trace and "tensor_amax" in trace.cells else None,
        "worked_rows": _element_rows(trace) if trace else None,
        "quantize": _program(quantize_program(recipe), facts.steps, trace),
        "dequantize": [
            (profile, _program(dequantize_program(recipe, profile), steps, run), _element_rows(run) if run else None)
            for (profile, steps), run in zip(facts.dequantize.items(), back.values(), strict=True)
        ],
        "examples": [_rows(item, worked) for item in recipe.expect],
    }


_worked_runs: dict[tuple[str, str], tuple[Any, Trace] | None] = {}  # digests of facts and worked examples -> the run that is shown


def _example(recipe: Recipe) -> tuple[Any, Trace] | None:
    """Return the worked example, and its run, whose steps give most different bits: it shows most of the program."""
    key = (digest(recipe), digest_json([item.model_dump(mode="json") for item in recipe.expect]))
    if key not in _worked_runs:
        block: Block = get("block", recipe.facts.block)
        few = block.is_alone or block.facts.shape[0] == 1  # a large tile is more than a page shows
        runs = [(item, trace_quantize(recipe, item)) for item in recipe.expect if few]
        _worked_runs[key] = max(runs, key=lambda pair: _variety(pair[1]), default=None)
    return _worked_runs[key]


def _variety(trace: Trace) -> int:
    return len({cell for item in trace.program.instructions for cell in trace.cells[item.out].values()})


def _program(program: Program, steps: Any, trace: Trace | None) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for number, (item, step) in enumerate(zip(program.instructions, steps, strict=False), 1):
        formula = Code(f"{item.out} = {expression(item, step, program)}")
        rows.append((number, formula, place_text(item.type.extent, program), _worked(item, trace)))
    return [*rows, (len(rows) + 1, ("emit ", Code(emitted(steps[-1]))), "", "")]


def _worked(item: Instruction, trace: Trace | None) -> Any:
    """Return the first cell of a step that is shared by several elements."""
    if trace is None or item.type.extent == ELEMENT:
        return ""
    bits = trace.first(item.out)
    fmt = item.type.formats[0] if item.type.is_code else trace.program.arithmetic
    return (Code(bits), f" = {decimal_text(decode_code(int(bits, 16), fmt), 6)}") if bits != "open" else "open"


def _element_rows(trace: Trace) -> list[str]:
    """Return a line or more for every name that lives at elements, the given ones first."""
    names = [name for name in trace.program.given if name in trace.cells] + [item.out for item in trace.program.instructions]
    held = [name for name in names if trace.program.types[name].extent == ELEMENT]
    wide = max((len(name) for name in held), default=0)
    lines: list[str] = []
    known: dict[tuple[str, ...], str] = {}
    for name in held:
        cells = trace.row(name)[:MOST]
        if tuple(cells) in known:
            lines.append(f"{name.ljust(wide)}  the same as {known[tuple(cells)]}")
            continue
        known[tuple(cells)] = name
        count = max(LINE // (len(cells[0]) + 1) // 8 * 8, 8)
        parts = [" ".join(cells[start : start + count]) for start in range(0, len(cells), count)]
        lines += [(name if part is parts[0] else "").ljust(wide) + "  " + part for part in parts]
    return lines


def _rows(item: Any, worked: Any) -> tuple[str | None, bool, list[str]]:
    """Return (why, is shown above already, rows of hexadecimal text) of a worked example."""
    above = worked is not None and item == worked and len(item.codes.replace(" ", "")) <= MOST
    rows = [("x", item.x)] + [(name, text) for name in ("tensor_amax", "random") if (text := getattr(item, name))]
    rows += [("codes", item.codes), *item.levels.items(), *((f"values, {name}", text) for name, text in item.values.items())]
    wide = max(len(name) for name, _ in rows)
    return item.why, above, [f"{name.ljust(wide)}  {text}" for name, text in rows]


WRITER = Writer(
    "recipe",
    data,
    ("block.quantize", "block.dequantize", "program.run", "program._apply", "arithmetic.value_result", "arithmetic.round_result"),
)
