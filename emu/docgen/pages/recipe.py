"""The page of a recipe: both programs as numbered formulas, each with what one witness gives at every step."""

from __future__ import annotations

from typing import Any

from emu.base.caches import Cache
from emu.docgen.formulas import emitted, expression, place_text
from emu.docgen.frame import Context, Writer
from emu.docgen.markdown import code, fence, link, table
from emu.docgen.numbers import decimal_text
from emu.docgen.trace import Trace, trace_dequantize, trace_quantize
from emu.engines.exact.decode import decode_code
from emu.spec import Block, Recipe, digest, get
from emu.spec.models.common import digest_json
from emu.spec.programs.program import ELEMENT, Instruction, Program, dequantize_program, quantize_program

LINE = 72
MOST = 16
_TAILS = {
    "error": "a length that is no multiple of the block is refused",
    "zero_pad_keep": "a short block is padded with zeros, and the padding is stored",
    "zero_pad_drop": "a short block is padded with zeros, and the padding is not stored",
}


def body(recipe: Recipe, context: Context) -> list[str]:
    """Return the body of the page."""
    facts = recipe.facts
    block: Block = get("block", facts.block)
    lines = ["## What it writes", "", f"Block {link('block', facts.block)}: {block.title}. Tail: {_TAILS[facts.tail]} (`{facts.tail}`)."]
    if facts.domain.non_finite == "no":
        lines.append("NaN and Inf in x are open: refused.")
    if facts.domain.tensor_amax_min is not None:
        lines.append(f"A tensor maximum below fp32 `{facts.domain.tensor_amax_min}`, other than zero, is open: refused.")
    found = _witness(recipe)
    shown, trace = found or (None, None)
    lines += ["", "## Quantize", "", *_preamble(recipe), ""]
    lines += _program(quantize_program(recipe), facts.steps, trace)
    if trace:
        lines += ["", *_rows(shown, trace)]
    for number, (profile, steps) in enumerate(facts.dequantize.items()):
        lines += ["", f"## Dequantize: {profile}{' (default)' if number == 0 else ''}", ""]
        back = trace_dequantize(recipe, profile, trace) if trace else None
        lines += _program(dequantize_program(recipe, profile), steps, back)
        if back:
            lines += ["", *fence(_element_rows(back))]
    return lines


def _preamble(recipe: Recipe) -> list[str]:
    facts = recipe.facts
    lines = [
        "Each step takes the exact result of one operation and rounds it once:",
        f"to {link('format', facts.arithmetic.to)}, {link('rounding', facts.arithmetic.round)}, unless it says otherwise.",
    ]
    lines.append(
        "A value is computed once for the part of the tensor where it *lives*, and shared below. Constants in hexadecimal are bit patterns."
    )
    lines.append("*Worked* is the witness below: the bits of the first part, and what they mean.")
    return lines


# digests of facts and witnesses -> the run that is shown
_worked_runs: Cache[tuple[str, str], tuple[Any, Trace] | None] = Cache("emu.docgen.pages.recipe._worked_runs", 256)


def _witness(recipe: Recipe) -> tuple[Any, Trace] | None:
    """Return the witness, and its run, whose steps give most different bits: it shows most of the program."""
    key = (digest(recipe), digest_json([item.model_dump(mode="json") for item in recipe.expect]))
    if key not in _worked_runs:  # what is kept may be None
        runs = [(item, trace_quantize(recipe, item)) for item in recipe.expect]
        return _worked_runs.keep(key, max(runs, key=lambda pair: _variety(pair[1]), default=None))
    return _worked_runs.get(key)


def _variety(trace: Trace) -> int:
    return len({cell for item in trace.program.instructions for cell in trace.cells[item.out].values()})


def _program(program: Program, steps: Any, trace: Trace | None) -> list[str]:
    rows = []
    for number, (item, step) in enumerate(zip(program.instructions, steps, strict=False), 1):
        formula = code(f"{item.out} = {expression(item, step, program)}")
        rows.append((str(number), formula, place_text(item.type.extent, program), _worked(item, trace)))
    rows.append((str(len(rows) + 1), f"emit {code(emitted(steps[-1]))}", "", ""))
    return table(("step", "formula", "lives at", "worked"), rows)


def _worked(item: Instruction, trace: Trace | None) -> str:
    """Return the first cell of a step that is shared by several elements."""
    if trace is None or item.type.extent == ELEMENT:
        return ""
    bits = trace.first(item.out)
    fmt = item.type.formats[0] if item.type.is_code else trace.program.arithmetic
    return f"`{bits}` = {decimal_text(decode_code(int(bits, 16), fmt), 6)}" if bits != "open" else "open"


def _rows(witness: Any, trace: Trace) -> list[str]:
    why = f": {witness.why}" if witness.why else ""
    given = [f"tensor_amax `{trace.first('tensor_amax')}`"] if "tensor_amax" in trace.cells else []
    lines = [f"Worked witness{why}. x is {witness.source}{', ' if given else ''}{''.join(given)}; below, elements 0 to {MOST - 1}.", ""]
    return lines + fence(_element_rows(trace))


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


def witnesses(recipe: Recipe) -> list[str]:
    """Return every witness as rows of hexadecimal text; the worked one stands above already."""
    found = _witness(recipe)
    lines: list[str] = []
    for number, item in enumerate(recipe.expect, 1):
        lines += ["", f"{number}. {item.why or 'Witness'}"]
        if found and item == found[0] and len(item.codes.replace(" ", "")) <= MOST:
            lines[-1] += " (worked above)"
            continue
        rows = [("x", item.x)] + [(name, text) for name in ("tensor_amax", "random") if (text := getattr(item, name))]
        rows += [("codes", item.codes), *item.levels.items(), *((f"values, {name}", text) for name, text in item.values.items())]
        wide = max(len(name) for name, _ in rows)
        lines += ["", *fence(f"{name.ljust(wide)}  {text}" for name, text in rows)]
    return lines[1:]


WRITER = Writer(
    body,
    ("block.quantize", "block.dequantize", "program.run", "program._apply", "program._value_result", "arithmetic.round_result"),
    witnesses,
)
