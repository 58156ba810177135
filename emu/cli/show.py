"""emu show: the facts of one spec object, readable."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import click

from emu.base.errors import OpenError, SpecError
from emu.cli.settings import common_options, print_json, say, settings_of
from emu.pages import format_facts
from emu.pages.datapath_levels import datapath_words, level_lines
from emu.pages.datapath_widths import choices
from emu.pages.format_facts import MOST_BITS, derived
from emu.pages.formulas import emitted, expression, place_text
from emu.pages.series import facts as rule_facts
from emu.pages.series import parts, when
from emu.pages.training import PRODUCTS, RANDOM, SIGNS, TAIL
from emu.spec import KINDS, Block, Datapath, Format, Instruction, Policy, Recipe, Series, SpecObject, Training, derive, digest, get, names
from emu.spec.datapath import DatapathPlan
from emu.spec.family import family, family_line, table
from emu.spec.models import PLURALS
from emu.spec.models.block import OneElement, Sub
from emu.spec.models.instruction import FormFacts, IeeeFlags, InstructionVariant, RandomOperand, Register, ScaleOperand, forms
from emu.spec.models.levels import DatapathLevels
from emu.spec.models.policy import BySign
from emu.spec.programs.program import Program, dequantize_program, quantize_program
from emu.spec.registry import broken
from emu.spec.series import choice_of, member_id
from emu.spec.series import choices as members_of
from emu.spec.steps import in_levels
from emu.spec.training import SUMMED, plan_of


@click.command("show")
@click.argument("names_", metavar="[KIND/]ID...", nargs=-1, required=True)
@click.option("--all", "every", is_flag=True, help="Every code of a format, also of 8 to 16 bits.")
@common_options
def command(names_: tuple[str, ...], every: bool) -> None:
    """Show spec objects by id or alias: facts, values of a format, steps of a recipe, status, open points, sources."""
    found = [thing for name in names_ for thing in find(name)]
    if settings_of().json:
        print_json([_data(thing, every) for thing in found])
        return
    for number, thing in enumerate(found):
        say(*([""] if number else []), *_lines(thing, every))


def find(name: str) -> list[SpecObject]:
    """Return every object an id, an alias or kind/id means. Raises: SpecError with the nearest names."""
    kind, _, rest = name.rpartition("/")
    if kind:
        return [get(next((one for one, plural in PLURALS.items() if plural == kind), kind), rest)]
    found = [get(kind, name) for kind in KINDS if name in names(kind)]
    if found:
        return found
    series: list[Series] = [get("series", item) for item in names("series")]
    owner = next((item for item in series if choice_of(item, name) is not None), None)
    if owner is not None:
        return [get(owner.facts.of, name)]
    for kind in KINDS:
        found += [thing for thing in (get(kind, item) for item in names(kind)) if name in thing.accepted]
    fault = next((text for path, text in broken().items() if path.stem == name), None)
    if fault is not None and not found:
        raise SpecError(fault)
    if not found:
        known = sorted({item for kind in KINDS for item in names(kind)})
        line = family_line(name)
        if line is not None:
            raise SpecError(f"{name!r} {line}")
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        raise SpecError(f"{name!r} is unknown: " + (f"did you mean {' or '.join(near)}?" if near else "see `emu list`"))
    return found


def _lines(thing: SpecObject, every: bool) -> list[str]:
    lines = [f"{thing.kind}/{thing.id}: {thing.title}"]
    aliases = f", also called {', '.join(thing.aliases)}" if thing.aliases else ""
    lines.append(f"  status {thing.status}{aliases}, digest {digest(thing)[:16]}")
    lines += [f"  {line}" if line else "" for line in _body(thing, every)]
    lines += [f"  {line}" if line else "" for line in _family(thing)]
    for number, point in enumerate(thing.open):
        lines += ["", "  open"] if number == 0 else []
        lines.append(f"    {point.what} (until: {point.until})")
    if thing.sources:
        lines += ["", "  sources"]
    for source in thing.sources:
        only = f" [{', '.join(source.facts)}{': ' + source.status if source.status else ''}]" if source.facts else ""
        lines.append(f"    {source.ref}: {source.where}{only}")
    return lines


def _body(thing: SpecObject, every: bool) -> list[str]:
    if isinstance(thing, Format):
        return lines_format(thing, every)
    if isinstance(thing, Recipe):
        return lines_recipe(thing)
    if isinstance(thing, Policy):
        return lines_policy(thing)
    if isinstance(thing, Block):
        return lines_block(thing)
    if isinstance(thing, Instruction):
        return lines_instruction(thing)
    if isinstance(thing, Training):
        return lines_training(thing)
    if isinstance(thing, Series):
        return lines_series(thing)
    if isinstance(thing, Datapath):
        return ["", *datapath_words(thing), *lines_datapath(thing)]
    return ["", *plain(thing.facts_json())]


def lines_series(series: Series) -> list[str]:
    """Return how members are called, and the rules that make their facts."""
    every = [member_id(series, choice) for choice in members_of(series)]
    rules = [(when(rule), "; ".join(rule_facts(rule))) for rule in series.facts.rules]
    lines = ["", f"{len(every)} {PLURALS[series.facts.of]} {series.facts.name}, from {every[0]} to {every[-1]}: `emu show {every[-1]}`"]
    return [*lines, *(f"  {line}" for line in aligned(parts(series))), "", "facts", *(f"  {line}" for line in aligned(rules))]


def _members(thing: SpecObject) -> list[dict[str, str]]:
    """Return a row for each recipe of the family that a block or a format of elements names."""
    found = family(thing.id) if isinstance(thing, Block | Format) else None
    return [] if found is None else table(found)


def _family(thing: SpecObject) -> list[str]:
    """Return the recipes of a block's or format's family as a table; nothing for other objects."""
    rows = _members(thing)
    if not rows:
        return []
    same = "elements of this format" if isinstance(thing, Format) else "elements and scales of these formats"
    return ["", f"recipes with {same}", *(f"  {line}" for line in aligned([list(rows[0]), *(list(row.values()) for row in rows)]))]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines, columns below one another."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip() for row in rows]


def plain(data: Any, indent: str = "") -> list[str]:
    """Return nested facts as indented `key: value` lines."""
    out: list[str] = []
    for key, value in data.items():
        if isinstance(value, dict):
            out += [f"{indent}{key}", *plain(value, indent + "  ")]
        else:
            out.append(f"{indent}{key}: {value}")
    return out


def _data(thing: SpecObject, every: bool) -> dict[str, Any]:
    said = in_levels(thing) if isinstance(thing, Datapath) else thing
    data = said.model_dump(mode="json", by_alias=True, exclude_none=True)
    data["digest"] = digest(thing)
    if members := _members(thing):
        data["recipes"] = members
    if isinstance(thing, Format):
        data["derived"] = format_facts.derived(thing)
        data["codes"] = format_facts.table(thing, every)
    return data


# The part of emu show that speaks of blocks.


def lines_block(block: Block) -> list[str]:
    """Return elements, shape and levels as lines."""
    facts = block.facts
    rows, columns = facts.shape
    out = ["", f"value = element{''.join(_factor(level.name, level.meaning) for level in facts.levels)}{_times(facts.factor)}"]
    if isinstance(facts.element, OneElement):
        out.append(f"element {facts.element.format}")
    else:
        choices = "; ".join(f"{flag}: {item.format}{_times(item.factor)}" for flag, item in enumerate(facts.element.choice))
        out.append(f"element by flag {facts.element.flag} ({choices})")
    out.append(f"block {rows}x{columns}, packing {facts.packing}, scales {facts.scale_layout}")
    if facts.levels:
        out += ["", "levels, outermost first"]
    for level in facts.levels:
        per = f"{level.granularity.sub} elements" if isinstance(level.granularity, Sub) else level.granularity
        out.append(f"  {level.name}: {level.format}, one per {per}, {level.meaning}")
    return out


def _times(factor: str) -> str:
    return "" if factor == "1" else f" * {factor}"


def _factor(name: str, meaning: str) -> str:
    return {"multiply": f" * {name}", "divide": f" / {name}", "flag": ""}[meaning]


# The part of emu show that speaks of datapaths.


_SHOWN = 12


def lines_datapath(datapath: Datapath) -> list[str]:
    """Return what is derived for each choice of operands, or why nothing is."""
    try:
        if isinstance(datapath.facts, DatapathLevels):
            return ["", *level_lines(datapath)]
        plans = choices(datapath)
    except OpenError as error:
        return ["", f"refused: {error}"]
    rows = list(dict.fromkeys(_row(plan) for plan in plans))
    more = [f"  ... {len(rows) - _SHOWN} more: docs/reference/datapath/{datapath.id}.md"] if len(rows) > _SHOWN else []
    return ["", "derived widths", *(f"  {row}" for row in rows[:_SHOWN]), *more]


def _row(plan: DatapathPlan) -> str:
    widths = plan.widths
    operands = f"{plan.a.id} x {plan.b.id}" + (f", {plan.scale.id}" if plan.scale else "")
    exact = f"exact sum of {plan.step} in {widths.step_sum_bits} bits and a sign from 2^{widths.step_sum_lsb_exp}"
    parts = [f"product {widths.product_bits}", f"group sum {widths.group_sum_bits}", f"term {widths.term_bits}", exact]
    if plan.adder_bits is not None:
        parts.append(f"adder {plan.adder_bits} = {plan.frac_bits} + {plan.integer_bits} + 1, E at least {plan.floor}")
    if plan.largest_k is not None:
        parts.append(f"K at most {plan.largest_k} whatever the values are")
    return f"{operands}: {'; '.join(parts)}"


# The part of emu show that speaks of formats: derived facts and the table of values.


def lines_format(fmt: Format, every: bool) -> list[str]:
    """Return facts, derived facts and the table of values as lines."""
    facts = {key: value for key, value in fmt.facts_json().items() if key not in ("values", "values_bits")}
    out = ["", ", ".join(f"{key} {value}" for key, value in facts.items())]
    known = {key: " ".join(value) if isinstance(value, list) else value for key, value in derived(fmt).items()}
    out.append("derived: " + ", ".join(f"{key} {value}" for key, value in known.items()))
    rows = format_facts.table(fmt, every)
    width = derive.codes(fmt).bits
    if len(rows) < 1 << width:
        out += ["", f"landmarks of {1 << width} codes" + ("" if width > MOST_BITS else " (--all for every one)")]
    else:
        out.append("")
    widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in ("code", "bits", "value")}
    out.append("  ".join(key.ljust(widths[key]) for key in widths) + "  decimal")
    for row in rows:
        cells = [row[key].rjust(wide) if key == "value" else row[key].ljust(wide) for key, wide in widths.items()]
        out.append("  ".join([*cells, row["decimal"]]))
    return out


# The part of emu show that speaks of conversion policies.


def lines_policy(policy: Policy) -> list[str]:
    """Return one line per destination: overflow word, codes of NaN, Inf, zero and negative sources."""
    out = ["", "destination: what becomes of overflow, NaN, Inf, zero, negative (a pair: positive, negative source)"]
    for key, entry in policy.facts.items():
        parts = [f"overflow {entry.overflow}", f"nan {_pair(entry.nan)}"]
        pairs = {"overflow nan": entry.overflow_nan, "inf": entry.inf, "zero": entry.zero}
        parts += [f"{name} {_pair(outcome)}" for name, outcome in pairs.items() if outcome]
        if entry.negative is not None:
            parts.append(f"negative {entry.negative}" + (" after rounding" if entry.negative_of else ""))
        out.append(f"  {key.replace('_', ' ') if key in ('with_nan', 'without_nan') else key}: {', '.join(parts)}")
    return out


def _pair(outcome: BySign) -> str:
    return outcome.positive if outcome.positive == outcome.negative else f"{outcome.positive} {outcome.negative}"


# The part of emu show that speaks of recipes: numbered steps, what each is rounded to and where it lives.


def lines_recipe(recipe: Recipe) -> list[str]:
    """Return block, tail, domain and both programs as lines."""
    facts = recipe.facts
    block: Block = get("block", facts.block)
    out = ["", f"block {facts.block} ({block.title}), tail {facts.tail}"]
    if facts.domain.non_finite == "no":
        out.append("open for NaN and Inf: refused")
    if facts.domain.tensor_amax_min is not None:
        out.append(f"open for a tensor maximum below fp32 {facts.domain.tensor_amax_min}: refused")
    out += ["", f"quantize (each result rounded to {facts.arithmetic.to}, {facts.arithmetic.round}, unless it says otherwise)"]
    out += _program(quantize_program(recipe), facts.steps)
    for number, (profile, steps) in enumerate(facts.dequantize.items()):
        out += ["", f"dequantize, profile {profile}{' (default)' if number == 0 else ''}"]
        out += _program(dequantize_program(recipe, profile), steps)
    return out


def _program(program: Program, steps: Any) -> list[str]:
    rows = []
    for item, step in zip(program.instructions, steps, strict=False):
        rows.append((item.out, expression(item, step, program), place_text(item.type.extent, program)))
    wide = max((len(name) for name, _, _ in rows), default=0)
    out = [f"  {number:3}. {name.ljust(wide)} = {text}  [{extent}]" for number, (name, text, extent) in enumerate(rows, 1)]
    return [*out, f"  {len(rows) + 1:3}. emit {emitted(steps[-1])}"]


# The part of emu show that speaks of training recipes: the six operands as a table.


def lines_training(training: Training) -> list[str]:
    """Return operands and facts as lines."""
    facts = training.facts
    given = {f"{gemm}.{name}": item for gemm, name, item in training.operands()}
    rows = [("product", "operand", "summed over", "recipe", "rotation", "rounding")]
    for key, operand in plan_of(training).operands.items():
        rotation = "in the recipe" if operand.rotates else given[key].transform
        cells = (given[key].recipe, rotation, given[key].round)
        rows.append((f"{operand.gemm}: {PRODUCTS[operand.gemm]}", operand.name, SUMMED[operand.gemm], *cells))
    out = ["", *aligned(rows), ""]
    out += [f"operands are rounded to {facts.operands} first", f"signs: {SIGNS[facts.signs]}", f"random bits: {RANDOM[facts.random]}"]
    out += [f"lengths that no block divides: features {TAIL[facts.tail.features]}; tokens {TAIL[facts.tail.tokens]}"]
    if facts.kept_first != "0" or facts.kept_last != "0":
        out.append(f"kept in {facts.operands}: {facts.kept_first} of the layers at the beginning, {facts.kept_last} at the end")
    return out + ([f"based on {training.based_on}"] if training.based_on else [])


# The part of emu show that speaks of instructions: what is shared, and a line per form with what its words change.


MOST_FORMS = 64


def lines_instruction(family: Instruction) -> list[str]:
    """Return operation, shared facts, forms, reasons and choices as lines."""
    facts, found = family.facts, forms(family)
    out = ["", f"{facts.isa}: {facts.mnemonic}", f"performs {facts.performs}"]
    out += [f"{key}: {text(value)}" for key, value in _stated(facts).items()]
    for axis, words in facts.axes.items():
        out += ["", f"axis {axis}"]
        for word, variation in words.items():
            changes = "; ".join(f"{key} {text(value)}" for key, value in _stated(variation).items())
            out.append(f"  {word if variation.word is None else variation.word or '(nothing)'}: {changes or 'changes no fact'}")
    if facts.axes:
        out += ["", f"{len(found)} forms" + (f", the first {MOST_FORMS}" if len(found) > MOST_FORMS else "")]
        out += [f"  {_form(form, family)}" for form in found[:MOST_FORMS]]
    if family.rationale:
        out += ["", "why", *(f"  {reason}" for reason in family.rationale)]
    choices = [f"  {point.fact}=" + " | ".join(point.options) for point in family.open if point.fact and point.options]
    return [*out, "", "choices of emu.instruction", *choices] if choices else out


def _stated(facts: FormFacts) -> dict[str, Any]:
    """Return the facts that a family or a word states, in the order of the model."""
    return {key: getattr(facts, key) for key in FormFacts.model_fields if getattr(facts, key) is not None}


def _form(form: InstructionVariant, family: Instruction) -> str:
    return form.mnemonic + (f"  [{form.status}]" if form.status != family.status else "")


def text(value: Any) -> str:
    """Return a fact of a form in one line."""
    if isinstance(value, tuple):
        return ", ".join(text(item) for item in value)
    if isinstance(value, Register):
        slot = f" in slots of {value.slot} bits" if value.slot else ""
        return value.name if value.lanes == 1 and not slot else f"{value.name} ({value.lanes} lanes{slot}, first {value.first})"
    if isinstance(value, RandomOperand):
        return f"{value.name}, {value.bits} bits, read as {value.use} ({', '.join(value.profiles)})"
    if isinstance(value, ScaleOperand):
        return f"{value.name}, {value.bits} bits, {value.reads}, {value.apply}"
    if isinstance(value, IeeeFlags):
        return f"NV DZ OF UF NX, tininess {value.tininess} rounding"
    return str(value)
